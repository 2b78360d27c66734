//! Recordings of every format that `schedlab trace` reads, made small by the tools of others or byte by byte, and an
//! independent reading of each to compare its answers with.

pub mod dat_file;
pub mod instance;
pub mod lines;
pub mod numbers;
pub mod protobuf;
pub mod reference;
pub mod scratch;
