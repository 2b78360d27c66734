//! The gate of hackbench's tasks: each task writes one byte when it is ready and polls a second channel, into which the
//! control process writes one byte. Nobody reads that byte, so poll stays ready and releases all tasks.

use crate::task::{Step, TaskError};
use schedlab_sys::fd::{self, Pair};
use std::io;
use std::os::fd::AsFd;

/// Both channels; they use the workload's own transport, as in the reference.
#[derive(Debug)]
pub(crate) struct Gate {
    ready: Pair,
    wake: Pair,
}

impl Gate {
    pub(crate) fn new(pair: impl Fn() -> io::Result<Pair>) -> io::Result<Self> {
        Ok(Self { ready: pair()?, wake: pair()? })
    }

    /// Task side: ready, then block until the release.
    pub(crate) fn ready_and_wait(&self) -> Result<(), TaskError> {
        fd::write_full(self.ready.write.as_fd(), b"*").map_err(TaskError::at(Step::Ready))?;
        fd::poll_readable(self.wake.read.as_fd(), u64::MAX).map_err(TaskError::at(Step::Ready))?;
        Ok(())
    }

    /// Control side: takes one ready byte; `false` if none came before the deadline.
    pub(crate) fn take_ready(&self, deadline_ns: u64) -> io::Result<bool> {
        if !fd::poll_readable(self.ready.read.as_fd(), deadline_ns)? {
            return Ok(false);
        }
        fd::read_full(self.ready.read.as_fd(), &mut [0])?;
        Ok(true)
    }

    /// Control side: releases the tasks.
    pub(crate) fn release(&self) -> io::Result<()> {
        fd::write_full(self.wake.write.as_fd(), b"*")
    }
}
