//! PLAN.toml of any bytes: refused in one sentence, or a plan whose canonical text is the same plan.
#![no_main]

#[path = "../bodies/plan.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::check(bytes));
