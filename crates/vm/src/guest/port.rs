//! The guest's end of the port.

use crate::frame::Frame;
use schedlab_sys::terminal;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// A serial line. Frames are sent over it; the only thing that arrives is one kind of order.
pub(super) struct Port(File);

/// The order to end the command, as Ctrl-C on a terminal would.
pub(crate) const END_COMMAND: u8 = 3;

impl Port {
    pub(super) fn open(device: &str) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(device)?;
        terminal::make_raw(file.as_fd())?;
        Ok(Self(file))
    }

    pub(super) fn send(&mut self, frame: &Frame) -> io::Result<()> {
        self.0.write_all(&frame.encode())
    }

    /// For poll, as long as an order may come.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Reads what has arrived; returns whether the command is to end. An error if nothing can ever arrive.
    pub(super) fn end_requested(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 64];
        match self.0.read(&mut bytes)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => Ok(bytes[..length].contains(&END_COMMAND)),
        }
    }

    /// Waits until the last byte has been sent, because powering off loses the rest.
    pub(super) fn drain(&self) {
        let _ = terminal::drain(self.0.as_fd());
    }
}
