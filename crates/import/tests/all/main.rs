//! The tests of the crate from outside, in one program: each program is linked on its own.

mod corpus;
mod imports;
mod json_tools;
mod kinds;
mod lab;
mod perf;
mod properties;
mod unixbench;
