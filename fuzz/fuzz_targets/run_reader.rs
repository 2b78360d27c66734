//! A trial file and a manifest of any bytes: refused, or stored again without loss.
#![no_main]

#[path = "../bodies/run_reader.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::check(bytes));
