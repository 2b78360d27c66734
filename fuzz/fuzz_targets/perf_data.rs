//! Any bytes as perf.data, a file or a stream: refused in one line, or read with problems beside the events.
#![no_main]

#[path = "../bodies/trace.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::check(bytes, b"PERFILE2"));
