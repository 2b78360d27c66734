//! Any bytes as trace.dat: refused in one line, or read with problems beside the events.
#![no_main]

#[path = "../bodies/trace.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::check(bytes, b"\x17\x08\x44tracing"));
