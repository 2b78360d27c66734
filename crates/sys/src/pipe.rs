//! Reads and writes a child's pipes in separate threads, so that neither side waits for the other.

use crate::thread::start;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A pipe that is being read.
#[derive(Debug)]
pub struct Reader {
    thread: JoinHandle<()>,
    bytes: Arc<Mutex<Vec<u8>>>,
}

/// Reads a pipe to its end, which comes when the last process that can write to it has closed it.
pub fn drain(pipe: impl Into<OwnedFd>) -> Reader {
    let mut pipe = File::from(pipe.into());
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&bytes);
    let read = move || _ = pipe.read_to_end(&mut into.lock().unwrap_or_else(PoisonError::into_inner));
    Reader { thread: start(Box::new(read)), bytes }
}

impl Reader {
    /// All bytes read; waits for the end of the pipe.
    pub fn bytes(self) -> Vec<u8> {
        let _ = self.thread.join();
        std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A pipe that is being written.
#[derive(Debug)]
pub struct Writer {
    thread: JoinHandle<()>,
    failed: Arc<Mutex<Option<io::Error>>>,
}

/// Writes bytes into a pipe and closes it.
pub fn feed(pipe: impl Into<OwnedFd>, bytes: Vec<u8>) -> Writer {
    let mut pipe = File::from(pipe.into());
    let failed = Arc::new(Mutex::new(None));
    let into = Arc::clone(&failed);
    let write = move || *into.lock().unwrap_or_else(PoisonError::into_inner) = pipe.write_all(&bytes).err();
    Writer { thread: start(Box::new(write)), failed }
}

impl Writer {
    /// Waits until everything is written; an error if the reader closed the pipe before it had everything.
    pub fn end(self) -> io::Result<()> {
        let _ = self.thread.join();
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_that_answers_while_it_is_asked_is_heard_in_full() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let sent: Vec<u8> = (0..1_000_000u32).map(|n| n as u8).collect();
        let writer = feed(child.stdin.take().unwrap(), sent.clone());
        let reader = drain(child.stdout.take().unwrap());
        assert!(reader.bytes() == sent);
        writer.end().unwrap();
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_reader_that_leaves_early_is_an_error() {
        let mut child = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let writer = feed(child.stdin.take().unwrap(), vec![0; 1 << 20]);
        assert_eq!(writer.end().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(child.wait().unwrap().success());
    }
}
