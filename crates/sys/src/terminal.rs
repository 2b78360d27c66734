//! Terminals: their width, raw mode, draining, and making one the controlling terminal of a session. Source:
//! termios(3), ioctl_tty(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Columns of the terminal; `None` if the descriptor is not a terminal, or the terminal does not know its size.
pub fn columns(fd: impl AsFd) -> Option<u16> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `struct winsize` through the pointer, which is to a live, exclusive one; a
    // descriptor that is not a terminal is refused with ENOTTY and nothing is written.
    let rc = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (rc == 0 && size.ws_col > 0).then_some(size.ws_col)
}

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

/// Waits until all output has been transmitted.
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
    use std::io::Write;

    #[test]
    fn a_file_is_no_terminal() {
        assert_eq!(columns(std::fs::File::open("/dev/null").unwrap()), None);
    }

    /// A pseudo-terminal that was given a size reports it.
    #[test]
    fn a_terminal_says_how_wide_it_is() {
        let Ok(master) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/ptmx") else {
            let skip = "schedlab-skip: a_terminal_says_how_wide_it_is: needs /dev/ptmx";
            let _ = writeln!(std::io::stderr(), "{skip}");
            return;
        };
        let size = libc::winsize { ws_row: 24, ws_col: 137, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: TIOCSWINSZ reads one `struct winsize` through the pointer, which is to a live one.
        let rc = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
        assert_eq!(rc, 0, "{}", std::io::Error::last_os_error());
        assert_eq!(columns(&master), Some(137));
    }

    #[test]
    fn what_is_no_terminal_is_refused() {
        let null = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(make_raw(null.as_fd()).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        assert_eq!(drain(null.as_fd()).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        assert_eq!(take_control(null.as_fd()).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
