//! How wide the terminal behind a file descriptor is. Source: ioctl_tty(2), `TIOCGWINSZ`.

use std::os::fd::{AsFd, AsRawFd};

/// Columns of the terminal; `None` when it is none, or one that does not know its size.
pub fn columns(fd: impl AsFd) -> Option<u16> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `struct winsize` through the pointer, which is to a live, exclusive one; a descriptor
    // that is no terminal is refused with ENOTTY and nothing is written.
    let rc = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (rc == 0 && size.ws_col > 0).then_some(size.ws_col)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_is_no_terminal() {
        assert_eq!(columns(std::fs::File::open("/dev/null").unwrap()), None);
    }

    /// A pseudo-terminal set to a size has it.
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
}
