//! Thread ids, and threads with small stacks (a herd of 800 must not map 6 GB of stack). Source: gettid(2).

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

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

/// The same inside a scope, whose end joins it.
pub fn spawn_small_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    body: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().stack_size(HERD_STACK_BYTES).spawn_scoped(scope, body)
}
