//! Recordings in every format that `schedlab trace` reads, made small by other tools or byte by byte, and an
//! independent reader for each to compare the answers with.

pub mod dat_file;
pub mod instance;
pub mod lines;
pub mod numbers;
pub mod protobuf;
pub mod reference;
pub mod scratch;
