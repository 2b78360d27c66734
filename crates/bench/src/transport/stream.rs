//! Transports over byte streams: a unix socket pair, or two pipes. A request or reply is one write and one read of a
//! fixed size; short ones are resumed.

use super::{Caller, Client, Link, Server};
use crate::task::{Step, TaskError};
use schedlab_sys::fd;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// One process's end.
struct Ends {
    input: OwnedFd,
    output: OwnedFd,
}

/// Both ends, until a process takes its own and closes the other's.
pub(super) struct StreamLink(Option<(Ends, Ends)>);

impl StreamLink {
    pub(super) fn unix() -> io::Result<Self> {
        let pair = fd::unix_pair()?;
        // Both directions share the socket; a second descriptor for it costs nothing.
        let both = |socket: OwnedFd| Ok::<_, io::Error>(Ends { input: socket.try_clone()?, output: socket });
        Ok(Self(Some((both(pair.write)?, both(pair.read)?))))
    }

    pub(super) fn pipes() -> io::Result<Self> {
        let (there, back) = (fd::pipe_pair()?, fd::pipe_pair()?);
        let client = Ends { input: back.read, output: there.write };
        Ok(Self(Some((client, Ends { input: there.read, output: back.write }))))
    }

    fn take(&mut self) -> (Ends, Ends) {
        self.0.take().expect("each forked process takes its end once")
    }
}

impl Link for StreamLink {
    fn client(&mut self) -> Result<Box<dyn Client>, TaskError> {
        Ok(Box::new(self.take().0))
    }
    fn server(&mut self) -> Result<Box<dyn Server>, TaskError> {
        Ok(Box::new(self.take().1))
    }
}

impl Client for Ends {
    fn caller(&self) -> Result<Box<dyn Caller + '_>, TaskError> {
        Ok(Box::new(self))
    }
}

impl Caller for &Ends {
    #[inline]
    fn transact(&mut self, request: &[u8], reply: &mut [u8]) -> Result<(), TaskError> {
        fd::write_full(self.output.as_fd(), request).map_err(TaskError::at(Step::Write))?;
        fd::read_full(self.input.as_fd(), reply).map_err(TaskError::at(Step::Read))
    }
}

impl Server for Ends {
    #[inline]
    fn receive(&mut self, request: &mut [u8]) -> Result<(), TaskError> {
        fd::read_full(self.input.as_fd(), request).map_err(TaskError::at(Step::Read))
    }
    #[inline]
    fn reply(&mut self, reply: &[u8]) -> Result<(), TaskError> {
        fd::write_full(self.output.as_fd(), reply).map_err(TaskError::at(Step::Write))
    }
}
