//! The integration tests of the crate, in one program, because each program is linked separately.

mod corpus;
mod imports;
mod json_tools;
mod kinds;
mod lab;
mod perf;
mod properties;
mod unixbench;
