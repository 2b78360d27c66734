//! Waiting for a process with a time limit: pidfd_open(2) and poll(2), Linux 5.3 and later.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A descriptor that becomes readable when the process ends.
pub fn open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two integers and touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor; nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Waits, at most `limit`, until a child (or any process that we may signal) has ended; returns whether it has. The
/// process is not reaped. A signal to us does not shorten the wait.
pub fn wait_exit(pid: u32, limit: Duration) -> io::Result<bool> {
    let fd = open(pid)?;
    let deadline = std::time::Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // Rounded up, so that the last call never spins with a time-out of zero.
        let timeout_ms = left.as_millis().saturating_add(1).min(i32::MAX as u128) as i32;
        // SAFETY: `poll` is one initialised pollfd that outlives the call.
        match unsafe { libc::poll(&mut poll, 1, timeout_ms) } {
            1.. => return Ok(true),
            0 if left.is_zero() || std::time::Instant::now() >= deadline => return Ok(false),
            0 => {}
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_seen_and_a_time_out_too() {
        let mut child = std::process::Command::new("sleep").arg("0.05").spawn().unwrap();
        assert!(wait_exit(child.id(), Duration::from_secs(10)).unwrap());
        child.wait().unwrap();
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        assert!(!wait_exit(child.id(), Duration::from_millis(20)).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
