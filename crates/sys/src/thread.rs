//! Thread ids, and threads with small stacks (a herd of 800 must not map 6 GB of stack). Source: gettid(2).

use std::io;
use std::thread::{Builder, JoinHandle};

/// Stack of a herd thread: enough for the loops and the standard library's start-up, in debug builds too.
pub const HERD_STACK_BYTES: usize = 128 << 10;

/// Thread id of the caller.
pub fn current_tid() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    let tid = unsafe { libc::gettid() };
    tid as u32
}

/// Process id of the caller.
pub fn current_pid() -> u32 {
    std::process::id()
}

/// Starts a thread with [`HERD_STACK_BYTES`] of stack; `EAGAIN` when the process limit is reached.
pub fn spawn_small<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    Builder::new().stack_size(HERD_STACK_BYTES).spawn(body)
}
