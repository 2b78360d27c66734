//! A C file of any bytes: scanned, nothing outside its lines.
#![no_main]

#[path = "../bodies/source.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::check(bytes));
