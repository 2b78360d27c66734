//! Whether the standard library captures backtraces. Source: std::backtrace, "Environment Variables": the answer is
//! looked up once in a process.

use std::backtrace::Backtrace;

/// What the library asks first.
const KEY: &str = "RUST_LIB_BACKTRACE";

/// No backtrace is captured from now on, whatever `RUST_BACKTRACE` says; commands that are started inherit that as it was. The
/// released binary has no tables for unwinding, and libgcc's unwinder aborts where it finds none: an error that captures
/// where it came from would be the end without a word. The first thing in `main`: no other thread may run yet.
pub fn capture_none() {
    let asked = std::env::var_os(KEY);
    if asked.is_none() && std::env::var_os("RUST_BACKTRACE").is_none() {
        return;
    }
    // SAFETY: the process has this thread alone, so nobody reads or writes the environment meanwhile.
    unsafe { std::env::set_var(KEY, "0") };
    // Looked up here, and never again.
    let _ = Backtrace::capture();
    match asked {
        // SAFETY: as above.
        Some(asked) => unsafe { std::env::set_var(KEY, asked) },
        // SAFETY: as above.
        None => unsafe { std::env::remove_var(KEY) },
    }
}
