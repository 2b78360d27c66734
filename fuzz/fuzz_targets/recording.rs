//! A recording and a page of any bytes: refused, or read in bounded memory.
#![no_main]

#[path = "../bodies/recording.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::check(bytes));
