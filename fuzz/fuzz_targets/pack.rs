//! A pack of any bytes: refused in one sentence, or one that is written as it was read. The checksum of what is drawn is made to
//! fit, or nothing behind it would be reached.
#![no_main]

#[path = "../bodies/pack.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::check(bytes));
