//! A text, a zero byte and a series of patches, of any bytes: read and placed, nothing outside the tree.
#![no_main]

#[path = "../bodies/patch.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::check(bytes));
