//! Any bytes as what a sampling ring holds.
#![no_main]

#[path = "../bodies/profile_records.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::check(bytes));
