//! File descriptors for the workloads: connected pairs for each transport, full reads and writes that resume short
//! ones, and poll. Source: pipe(7), unix(7), tcp(7), poll(2).

use crate::{clock, tcp};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A connected pair; what is written to `write` is read from `read`.
#[derive(Debug)]
pub struct Pair {
    /// The receiving end.
    pub read: OwnedFd,
    /// The sending end.
    pub write: OwnedFd,
}

/// pipe(2).
pub fn pipe_pair() -> io::Result<Pair> {
    let (read, write) = std::io::pipe()?;
    Ok(Pair { read: read.into(), write: write.into() })
}

/// AF_UNIX stream socketpair(2).
pub fn unix_pair() -> io::Result<Pair> {
    let (read, write) = UnixStream::pair()?;
    Ok(Pair { read: read.into(), write: write.into() })
}

/// A TCP connection over 127.0.0.1: the accepted end reads, the connecting end writes.
pub fn tcp_pair() -> io::Result<Pair> {
    let connection = tcp::connect(&tcp::listen(Ipv4Addr::LOCALHOST)?)?;
    Ok(Pair { read: connection.accepted.into(), write: connection.connecting.into() })
}

/// Makes a named pipe that only its owner may open, and opens both ends, so that a process that opens one end need not
/// wait for the other. Source: mkfifo(3), fifo(7).
pub fn named_pipe(path: &Path) -> io::Result<File> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: reads the live, NUL-terminated name.
    if unsafe { libc::mkfifo(name.as_ptr(), 0o600) } != 0 {
        return Err(io::Error::last_os_error());
    }
    File::options().read(true).write(true).open(path)
}

/// Opens a pipe or device for writing. If a pipe has no reader, returns `ENXIO` at once, where a plain open would wait
/// for one.
pub fn open_with_reader(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    drop(File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path)?);
    File::options().write(true).open(path)
}

/// Reads until `buffer` is full; `UnexpectedEof` when the other end closes before that.
#[inline(always)]
pub fn read_full(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        let rest = &mut buffer[done..];
        // SAFETY: the kernel writes at most `rest.len()` bytes into the live, exclusively borrowed slice.
        let got = unsafe { libc::read(fd.as_raw_fd(), rest.as_mut_ptr().cast(), rest.len()) };
        if got <= 0 {
            interrupted_or(got)?;
            continue;
        }
        done += got as usize;
    }
    Ok(())
}

/// Writes all of `buffer`; `BrokenPipe` when the other end is closed.
#[inline(always)]
pub fn write_full(fd: BorrowedFd<'_>, buffer: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        let rest = &buffer[done..];
        // SAFETY: the kernel only reads `rest.len()` bytes of the live slice.
        let put = unsafe { libc::write(fd.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
        if put <= 0 {
            interrupted_or(put)?;
            continue;
        }
        done += put as usize;
    }
    Ok(())
}

#[cold]
fn interrupted_or(result: isize) -> io::Result<()> {
    if result == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

/// Polls one descriptor for input until CLOCK_MONOTONIC `deadline_ns` (`u64::MAX`: no limit); returns whether it became
/// readable or hung up. This is the level-triggered wait of hackbench's tasks.
pub fn poll_readable(fd: BorrowedFd<'_>, deadline_ns: u64) -> io::Result<bool> {
    poll_first(&mut [entry(fd)], deadline_ns)
}

/// Polls several descriptors; returns, in their order, which of them became readable or hung up (none at the deadline).
pub fn poll_any(fds: &[BorrowedFd<'_>], deadline_ns: u64) -> io::Result<Vec<bool>> {
    let mut entries: Vec<libc::pollfd> = fds.iter().map(|&fd| entry(fd)).collect();
    poll_first(&mut entries, deadline_ns)?;
    Ok(entries.iter().map(|entry| entry.revents != 0).collect())
}

fn entry(fd: BorrowedFd<'_>) -> libc::pollfd {
    libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

/// Whether any entry became ready before the deadline.
fn poll_first(entries: &mut [libc::pollfd], deadline_ns: u64) -> io::Result<bool> {
    loop {
        let timeout_ms = match deadline_ns {
            u64::MAX => -1,
            // Rounded up: an early return would spin.
            at => at.saturating_sub(clock::monotonic_ns()).div_ceil(1_000_000).min(i32::MAX as u64) as i32,
        };
        // SAFETY: `entries` are live, exclusively borrowed pollfds for the length of the call.
        let ready = unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, timeout_ms) };
        match ready {
            -1 => interrupted_or(-1)?,
            0 => return Ok(false),
            _ => return Ok(true),
        }
    }
}

/// Reads at most `buffer.len()` bytes from offset 0, for re-reading /proc files; returns the number of bytes read.
pub fn read_from_start(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most `buffer.len()` bytes into the live, exclusively borrowed slice.
    let got = unsafe { libc::pread(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    if got < 0 { Err(io::Error::last_os_error()) } else { Ok(got as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_named_pipe_is_written_with_nobody_there_and_read_by_its_name() {
        use std::io::{Read, Write};
        let path = std::env::temp_dir().join(format!("schedlab-named-pipe-{}", std::process::id()));
        let mut ours = named_pipe(&path).unwrap();
        let mut theirs = File::open(&path).unwrap();
        open_with_reader(&path).unwrap();
        ours.write_all(b"x").unwrap();
        let mut byte = [0];
        theirs.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"x");
        assert_eq!(named_pipe(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop((ours, theirs));
        assert_eq!(open_with_reader(&path).unwrap_err().raw_os_error(), Some(libc::ENXIO), "nobody reads");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn every_pair_carries_bytes_from_write_to_read() {
        for make in [pipe_pair, unix_pair, tcp_pair] {
            let pair = make().unwrap();
            assert!(!poll_readable(pair.read.as_fd(), clock::monotonic_ns() + 1_000_000).unwrap());
            write_full(pair.write.as_fd(), b"message").unwrap();
            assert!(poll_readable(pair.read.as_fd(), u64::MAX).unwrap());
            let mut buffer = [0; 7];
            read_full(pair.read.as_fd(), &mut buffer).unwrap();
            assert_eq!(&buffer, b"message");
            drop(pair.write);
            assert_eq!(read_full(pair.read.as_fd(), &mut buffer).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn a_write_without_a_reader_is_broken_pipe() {
        let pair = pipe_pair().unwrap();
        drop(pair.read);
        assert_eq!(write_full(pair.write.as_fd(), b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
