//! The guest's end of the port.

use crate::frame::Frame;
use schedlab_sys::terminal;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;

/// A serial line, written to and never read.
pub(super) struct Port(File);

impl Port {
    pub(super) fn open(device: &str) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(device)?;
        terminal::make_raw(file.as_fd())?;
        Ok(Self(file))
    }

    pub(super) fn send(&mut self, frame: &Frame) -> io::Result<()> {
        self.0.write_all(&frame.encode())
    }

    /// Until the last byte has left; a machine that is switched off keeps none.
    pub(super) fn drain(&self) {
        let _ = terminal::drain(self.0.as_fd());
    }
}
