//! A termination request as a flag: SIGINT, SIGTERM and SIGHUP are recorded and not acted on, so that the work in
//! progress can end, the measurements can be stored and the host can be restored. The last signal that is caught
//! restores the default actions, so one more kills.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

/// Number of requests so far.
static REQUESTS: AtomicU32 = AtomicU32::new(0);
/// Number of requests that are caught.
static CAUGHT: AtomicU32 = AtomicU32::new(1);
/// The first signal that came; 0 while none has.
static FIRST: AtomicI32 = AtomicI32::new(0);
/// The line that the handler of the first signal writes to standard error while [`ANSWERS`] is set.
static ANSWER: OnceLock<&'static str> = OnceLock::new();
/// Whether the first signal is answered with [`ANSWER`].
static ANSWERS: AtomicBool = AtomicBool::new(false);

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Proof that the signals are caught.
#[derive(Debug, Clone, Copy)]
pub struct Interrupt(());

impl Interrupt {
    /// Catches the first of the three signals for the rest of the process. In children that exec, the default actions
    /// are back, because execve(2) resets handlers.
    pub fn catch() -> io::Result<Self> {
        Self::catch_first(1)
    }

    /// Also catches a second signal: for a process that must restore something now rather than at its next start, and
    /// that ends at once when it is signalled twice.
    pub fn catch_twice() -> io::Result<Self> {
        Self::catch_first(2)
    }

    fn catch_first(requests: u32) -> io::Result<Self> {
        CAUGHT.fetch_max(requests, Ordering::Relaxed);
        for signal in SIGNALS {
            install(signal)?;
        }
        Ok(Self(()))
    }

    /// Makes the first signal write this line to standard error at once, as long as the returned value lives: for a
    /// process that has to finish something, possibly lengthy, before it ends. A process has one such line.
    pub fn answer_with(self, line: &'static str) -> Answering {
        ANSWER.get_or_init(|| line);
        ANSWERS.store(true, Ordering::Relaxed);
        Answering(())
    }

    /// Whether one of the signals has come.
    pub fn requested(self) -> bool {
        self.signal().is_some()
    }

    /// The first signal that came.
    pub fn signal(self) -> Option<i32> {
        Some(FIRST.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// The first signal that came, for callers without a handle. `None` if none has come or signals are not caught.
    pub fn seen() -> Option<i32> {
        Self(()).signal()
    }

    /// Whether a second signal has come.
    pub fn insisted(self) -> bool {
        REQUESTS.load(Ordering::Relaxed) > 1
    }
}

/// While this lives, the first signal is answered with a line.
#[derive(Debug)]
pub struct Answering(());

impl Drop for Answering {
    fn drop(&mut self) {
        ANSWERS.store(false, Ordering::Relaxed);
    }
}

extern "C" fn remember(signal: libc::c_int) {
    let is_first = FIRST.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if REQUESTS.fetch_add(1, Ordering::Relaxed) + 1 >= CAUGHT.load(Ordering::Relaxed) {
        // Done first, so that the next signal kills even if writing the answer blocks.
        for signal in SIGNALS {
            // SAFETY: sets a default action and runs no code of ours; signal(2) is async-signal-safe.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    if let (true, true, Some(line)) = (is_first, ANSWERS.load(Ordering::Relaxed), ANSWER.get()) {
        answer(line);
    }
}

/// Writes from a signal handler, and preserves errno for the code that was interrupted.
fn answer(line: &str) {
    // SAFETY: takes nothing; the place is this thread's own and lives as long as it.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: that place, which no other thread writes.
    let before = unsafe { *errno };
    // SAFETY: the bytes of a live str; write(2) is async-signal-safe.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    // SAFETY: as read above.
    unsafe { *errno = before };
}

fn install(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: sigaction is a plain C struct for which all zeroes is a valid value (no flags, empty mask).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(libc::c_int) = remember;
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is initialised, and its handler uses atomics, signal(2) and write(2) alone, all
    // async-signal-safe.
    let result = unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caught_signal_is_remembered() {
        let interrupt = Interrupt::catch().unwrap();
        assert!(!interrupt.requested());
        crate::signal::kill(std::process::id(), libc::SIGHUP).unwrap();
        // kill(2) may hand a process-wide signal to another thread, where it arrives a little later.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !interrupt.requested() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!((interrupt.signal(), interrupt.insisted()), (Some(libc::SIGHUP), false));
    }
}
