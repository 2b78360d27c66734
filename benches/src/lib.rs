//! What the benchmarks of this project share: finding the binary, interleaved pairs, series that resume, tables.
//! They measure with the released binary, as a user would, and judge with the project's own statistics.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)] // Benchmarks are programs: their tables are their output.

pub mod bulk;
pub mod cyclictest;
pub mod draws;
pub mod formats;
pub mod ftrace_pages;
pub mod kill;
pub mod load;
pub mod pairs;
pub mod perf_file;
pub mod plant;
pub mod processes;
pub mod program;
pub mod requests;
pub mod sentinel;
pub mod series;
pub mod share;
pub mod table;
