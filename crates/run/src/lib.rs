//! The run directory, on which everything in schedlab turns: hosts, guests and imported files produce run directories,
//! and every analysis reads them. This crate owns the table schemas, the reader and the writer; what they hold is data of the crate
//! `plan`. `FORMAT.md` describes what is written.
#![forbid(unsafe_code)]

pub mod error;
pub mod frame;
pub mod reader;
mod regular;
mod stored;
mod tables;
pub mod writer;

pub use error::RunError;
pub use reader::{Run, RunReader};
pub use tables::{Cell, Table, TableDir};
pub use writer::{RunLog, RunWriter};
