//! A file of any bytes given to the importers: refused in one line, or a run that can be stored and read.
#![no_main]

#[path = "../bodies/import.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::check(bytes));
