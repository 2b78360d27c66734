//! Sends files from a guest before its command has ended, so that a guest that dies loses no finished trial. The
//! command names a file and waits until it has been sent: nothing is sent while a trial runs.

use crate::frame::{Frame, MAX_FILE_BYTES, is_wanted};
use crate::guest::port::Port;
use schedlab_plan::lane::Provenance;
use schedlab_sys::fd;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Named pipes: one takes absolute paths, each with a zero byte at its end; the other returns a byte for each file
/// sent.
const ASKED: &str = "/schedlab/keep";
const ANSWERED: &str = "/schedlab/kept";

/// The init process's side.
pub(super) struct Requests {
    asked: File,
    answered: File,
    /// A path that has not yet arrived completely.
    pending: Vec<u8>,
}

impl Requests {
    pub(super) fn open() -> io::Result<Self> {
        let [asked, answered] = [ASKED, ANSWERED].map(|path| fd::named_pipe(Path::new(path)));
        Ok(Self { asked: asked?, answered: answered?, pending: Vec::new() })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.asked.as_fd()
    }

    /// Sends the requested files, and acknowledges each. Files that the host does not want, or that are gone, are
    /// acknowledged all the same.
    pub(super) fn serve(&mut self, wanted: &[String], port: &mut Port) -> io::Result<()> {
        let mut bytes = [0; 4096];
        let length = self.asked.read(&mut bytes)?;
        self.pending.extend_from_slice(&bytes[..length]);
        while let Some(end) = self.pending.iter().position(|&byte| byte == 0) {
            let asked: Vec<u8> = self.pending.drain(..=end).collect();
            let path = String::from_utf8_lossy(&asked[..end]).into_owned();
            if is_wanted(&path, wanted)
                && let Ok(content) = fs::read(&path)
                && content.len() < MAX_FILE_BYTES
            {
                port.send(&Frame::Kept { path, content })?;
                port.drain();
            }
            self.answered.write_all(b".")?;
        }
        Ok(())
    }
}

/// The command's side.
#[derive(Debug)]
pub struct Keeper {
    asks: File,
    answers: File,
}

impl Keeper {
    /// `None` if this is not one of our guests.
    pub fn of_this_guest() -> Option<Self> {
        Provenance::of_command_line(&fs::read_to_string("/proc/cmdline").ok()?)?;
        let is_pipe = |path: &str| fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo());
        if !is_pipe(ASKED) || !is_pipe(ANSWERED) {
            return None;
        }
        Some(Self { asks: File::options().write(true).open(ASKED).ok()?, answers: File::open(ANSWERED).ok()? })
    }

    /// Returns when the file has been sent to the host; a file that is too long to be sent, or that the host does not
    /// want, is not sent.
    pub fn keep(&mut self, file: &Path) -> io::Result<()> {
        let path = fs::canonicalize(file)?;
        self.asks.write_all(&[path.as_os_str().as_bytes(), &[0]].concat())?;
        self.answers.read_exact(&mut [0])
    }
}
