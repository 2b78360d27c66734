//! Terminals as a byte stream, and as the controlling terminal of a session. Source: termios(3), tty_ioctl(4).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Raw mode: no echo, no translation of newlines, no signals from bytes, eight bits.
pub fn make_raw(terminal: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: termios is a plain C struct of integers, for which all zeros is a valid value.
    let mut modes: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: `modes` is a live, writable termios for the length of the call.
    if unsafe { libc::tcgetattr(terminal.as_raw_fd(), &raw mut modes) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `modes` is live, initialised above and exclusively borrowed.
    unsafe { libc::cfmakeraw(&raw mut modes) };
    // SAFETY: `modes` is a live, initialised termios that the call only reads.
    let rc = unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &raw const modes) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits until everything written has left the machine.
pub fn drain(terminal: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes a live descriptor.
    let rc = unsafe { libc::tcdrain(terminal.as_raw_fd()) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes it the controlling terminal of the calling session leader, so that Ctrl-C reaches what runs in it.
pub fn take_control(terminal: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: TIOCSCTTY takes a number: 0, do not steal it from another session.
    let rc = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn what_is_no_terminal_is_refused() {
        let null = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(make_raw(null.as_fd()).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        assert_eq!(drain(null.as_fd()).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        assert_eq!(take_control(null.as_fd()).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
