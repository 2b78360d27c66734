//! A termination request as a flag: SIGINT, SIGTERM and SIGHUP are remembered, not acted on, so that the trial in
//! progress ends, its row is stored and the host is restored. A second SIGINT has the default effect and kills.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Proof that the signals are caught.
#[derive(Debug, Clone, Copy)]
pub struct Interrupt(());

impl Interrupt {
    /// Catches the three signals for the rest of the process. Children that exec get the default actions back, as
    /// execve(2) resets handlers.
    pub fn catch() -> io::Result<Self> {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            install(signal)?;
        }
        Ok(Self(()))
    }

    /// Whether one of the signals has come.
    pub fn requested(self) -> bool {
        REQUESTED.load(Ordering::Relaxed)
    }
}

extern "C" fn remember(_signal: libc::c_int) {
    REQUESTED.store(true, Ordering::Relaxed);
}

fn install(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: sigaction is a plain C struct for which all zeroes is a valid value (no flags, empty mask).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(libc::c_int) = remember;
    action.sa_sigaction = handler as libc::sighandler_t;
    // SA_RESETHAND: the second one is not held up by whatever made the user press it again.
    action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
    // SAFETY: `action` is initialised, and its handler only stores to an atomic, which is async-signal-safe.
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
        // kill(2) may hand a process-wide signal to another thread, a little later.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !interrupt.requested() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(interrupt.requested());
    }
}
