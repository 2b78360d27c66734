//! Reads a file that QEMU writes, as it grows and up to a limit, because only our disk limits what a guest writes; and
//! keeps the last lines of its console.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Most bytes read from a guest's console; the longest boots seen print some 100 kB.
pub const MAX_CONSOLE_BYTES: u64 = 64 << 20;
/// Most bytes read from its port: its command's output and the files that it sends.
pub const MAX_PORT_BYTES: u64 = 1 << 30;
/// Most bytes read at once, so that memory use does not depend on the file's size.
const PIECE: u64 = 16 << 20;

/// A growing file.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    file: Option<File>,
    most: u64,
}

impl Growing {
    /// A file that may not exist yet, and its maximum size.
    pub fn new(path: &Path, most: u64) -> Self {
        Self { path: path.to_owned(), file: None, most }
    }

    /// Whether it is larger than its maximum size.
    pub fn is_over(&self) -> bool {
        self.file.as_ref().and_then(|file| file.metadata().ok()).is_some_and(|file| file.len() > self.most)
    }

    /// What was added since the last call, at most 16 MiB of it; an error if the file exceeds its maximum size.
    pub fn read_new(&mut self) -> io::Result<Vec<u8>> {
        if self.file.is_none() {
            match File::open(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                opened => self.file = Some(opened?),
            }
        }
        if self.is_over() {
            let limit = format!("it has more than {} MiB, the most that is taken of one guest", self.most >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, limit));
        }
        let mut bytes = Vec::new();
        if let Some(file) = &mut self.file {
            file.take(PIECE).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }
}

/// Bytes of the console that are kept.
const KEPT_BYTES: usize = 64 * 1024;

/// The console's last part.
#[derive(Debug, Default)]
pub struct LastWords {
    kept: Vec<u8>,
}

impl LastWords {
    /// Adds console output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        let surplus = self.kept.len().saturating_sub(KEPT_BYTES);
        self.kept.drain(..surplus);
    }

    /// Its last lines without terminal sequences; never empty.
    pub fn last_lines(&self, count: usize) -> String {
        let lines = super::program::last_lines(&self.text(), count);
        if lines.is_empty() { "(the console is empty)".into() } else { lines }
    }

    /// Whether there was no output.
    pub fn is_empty(&self) -> bool {
        self.text().trim().is_empty()
    }

    /// The text after `Kernel panic - not syncing: `.
    pub fn panic(&self) -> Option<String> {
        let text = self.text();
        let (_, rest) = text.split_once("Kernel panic - not syncing: ")?;
        rest.lines().next().map(|line| line.trim().to_owned())
    }

    /// As text, without control sequences and carriage returns.
    pub(super) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let mut plain = String::with_capacity(text.len());
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\x1b' => skip_sequence(&mut rest),
                '\n' => plain.push('\n'),
                c if c.is_control() => {}
                c => plain.push(c),
            }
        }
        plain
    }
}

/// After ESC: `[` with parameters up to a final letter, or one character.
fn skip_sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if rest.next() == Some('[') {
        for c in rest.by_ref() {
            if ('@'..='~').contains(&c) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_growing_file_is_read_in_parts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("port");
        let mut growing = Growing::new(&path, 100);
        assert_eq!(growing.read_new().unwrap(), b"");
        let mut file = File::create(&path).unwrap();
        for part in ["one", "", "two"] {
            file.write_all(part.as_bytes()).unwrap();
            assert_eq!(growing.read_new().unwrap(), part.as_bytes());
        }
    }

    #[test]
    fn a_file_that_does_not_end_is_read_up_to_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("console");
        let file = File::create(&path).unwrap();
        let mut growing = Growing::new(&path, 40 << 20);
        file.set_len(40 << 20).unwrap();
        let read: Vec<usize> = (0..4).map(|_| growing.read_new().unwrap().len() >> 20).collect();
        assert_eq!(read, [16, 16, 8, 0]);
        file.set_len((40 << 20) + 1).unwrap();
        assert!(growing.is_over());
        let refused = growing.read_new().unwrap_err().to_string();
        assert_eq!(refused, "it has more than 40 MiB, the most that is taken of one guest");
    }

    #[test]
    fn the_last_words_are_plain_and_a_panic_is_named() {
        let mut console = LastWords::default();
        assert!(console.is_empty());
        assert_eq!(console.last_lines(3), "(the console is empty)");
        console.push(b"\x1bc\x1b[?7l\x1b[2J\x1b[0mSeaBIOS\r\n\r\n[    1.0] one\r\n");
        assert_eq!(console.panic(), None);
        console.push(b"[    1.2] Kernel panic - not syncing: VFS: Unable to mount root fs\r\n[ 1.3] CPU: 0\r\n");
        assert_eq!(console.panic().unwrap(), "VFS: Unable to mount root fs");
        assert_eq!(console.last_lines(2).lines().count(), 2);
        assert!(console.last_lines(9).starts_with("SeaBIOS\n[    1.0] one\n"));
        console.push(&vec![b'x'; 2 * KEPT_BYTES]);
        assert_eq!(console.kept.len(), KEPT_BYTES);
    }
}
