//! Whether the standard library captures backtraces. Source: std::backtrace, "Environment Variables": the library reads
//! the variables once per process.

use std::backtrace::Backtrace;

/// The variable that the library reads first.
const KEY: &str = "RUST_LIB_BACKTRACE";

/// From now on no backtrace is captured, whatever `RUST_BACKTRACE` is set to. Child processes inherit the environment
/// unchanged. The released binary has no unwind tables, and libgcc's unwinder aborts when it finds none, so an error
/// that captures a backtrace would end the process without a message. Call this first in `main`, before any other
/// thread runs.
pub fn capture_none() {
    let asked = std::env::var_os(KEY);
    if asked.is_none() && std::env::var_os("RUST_BACKTRACE").is_none() {
        return;
    }
    // SAFETY: the process has this thread alone, so nobody reads or writes the environment meanwhile.
    unsafe { std::env::set_var(KEY, "0") };
    // The library reads the variable here, and never again.
    let _ = Backtrace::capture();
    match asked {
        // SAFETY: as above.
        Some(asked) => unsafe { std::env::set_var(KEY, asked) },
        // SAFETY: as above.
        None => unsafe { std::env::remove_var(KEY) },
    }
}
