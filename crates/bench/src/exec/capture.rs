//! The output of a command, read as it arrives, so that the command never blocks on a full pipe. Only the end is kept:
//! the metric is in a summary, and an error in the last lines.

use schedlab_sys::fd;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes kept per stream: room for a generous JSON report.
const KEPT_BYTES: usize = 8 << 20;
/// Characters of output in an error row.
const SHOWN_CHARS: usize = 400;

/// A pipe from a command, and the output read from it.
#[derive(Debug)]
pub(super) struct Capture {
    /// `None` once every writer has closed it.
    pipe: Option<File>,
    kept: Vec<u8>,
    keeps: usize,
    cut: bool,
}

impl Capture {
    pub(super) fn new(pipe: OwnedFd) -> Self {
        Self { pipe: Some(pipe.into()), kept: Vec::new(), keeps: KEPT_BYTES, cut: false }
    }

    /// The descriptor to poll, as long as the pipe is open.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads once; the pipe must be readable, so that this does not block.
    pub(super) fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut buffer = vec![0; 1 << 16];
        match pipe.read(&mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(got) => self.keep(&buffer[..got]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        // Cut in large steps: moving the rest for every line would cost more than reading it.
        if self.kept.len() > 2 * self.keeps {
            self.kept.drain(..self.kept.len() - self.keeps);
            self.cut = true;
        }
    }

    /// Reads what is in the pipe now; others may still hold it open.
    pub(super) fn drain(&mut self) {
        while let Some(fd) = self.fd() {
            if !fd::poll_readable(fd, 0).unwrap_or(false) {
                break;
            }
            self.read();
        }
    }

    /// The step is over: what a server that it left running still prints is read and discarded.
    pub(super) fn forget(&mut self) {
        self.keeps = 1 << 12;
        self.keep(&[]);
    }

    /// The text so far; bytes that are not UTF-8 become U+FFFD.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }

    /// Whether the beginning was dropped.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }
}

/// The end of a command's output, standard error first, as one line for an error row.
pub(super) fn tail(stdout: &str, stderr: &str) -> String {
    let said = if stderr.trim().is_empty() { stdout } else { stderr };
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let line: String = lines.join(" | ").chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.chars().count() {
        0 => "; it printed nothing".to_owned(),
        n if n <= SHOWN_CHARS => format!("; its output: {line}"),
        n => format!("; its output ended: …{}", line.chars().skip(n - SHOWN_CHARS).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_takes_what_is_there_and_does_not_wait_for_the_writer() {
        let pair = fd::pipe_pair().unwrap();
        let mut capture = Capture::new(pair.read);
        fd::write_full(pair.write.as_fd(), b"tps = 1\n").unwrap();
        capture.drain();
        assert_eq!((capture.text().as_str(), capture.fd().is_some()), ("tps = 1\n", true));
        drop(pair.write);
        capture.drain();
        assert!(capture.fd().is_none() && !capture.is_cut());
    }

    #[test]
    fn of_too_much_the_end_is_kept() {
        let mut capture = Capture { pipe: None, kept: Vec::new(), keeps: KEPT_BYTES, cut: false };
        for _ in 0..40 {
            capture.keep(&[b'x'; 1 << 20]);
        }
        capture.keep(b"the end");
        assert!(capture.is_cut() && capture.text().ends_with("the end") && capture.kept.len() <= 2 * KEPT_BYTES);
    }

    #[test]
    fn the_tail_is_one_line() {
        assert_eq!(tail("out\n", " \n"), "; its output: out");
        assert_eq!(tail("out", "a\n\n b\tc\n"), "; its output: a | b c");
        assert_eq!(tail("", ""), "; it printed nothing");
        let long = tail(&"y".repeat(1000), "");
        assert!(long.contains('…') && long.chars().count() < SHOWN_CHARS + 40 && !long.contains('\n'));
    }
}
