//! Transport over the binder driver: what Android's processes use, and the only one of our transports with which a
//! kernel lets a server run with its caller's scheduling attributes. Each process opens the device itself. A context
//! manager of our own brings the pairs together (see [`manager`]), so no servicemanager is needed, and several pairs
//! can share a device.
//!
//! A transaction takes one ioctl in the client (send, wait, take the reply) and two in the server (send the reply;
//! wait). Received payloads are copied out of the driver's mapping, because every other transport copies too, and freed
//! with the next call, as libbinder does.

mod device;
#[cfg(test)]
mod fake;
mod manager;
mod thread;

pub(super) use device::{choose, inherits_real_time};

use super::{Caller, Client, Link, Manager, Server};
use crate::task::{Step, TaskError};
use manager::ContextManager;
use schedlab_sys::binder::Driver;
use schedlab_sys::binder::protocol::Transaction;
use std::io;
use std::sync::Arc;
use thread::{BinderThread, Payload};

/// Opens the driver for the calling process.
pub(super) type Opener = Arc<dyn Fn() -> io::Result<Arc<dyn Driver>> + Send + Sync>;

/// The code of a client's request to its server.
const TRANSACT: u32 = 1;

/// The process of the context manager, for `pairs` pairs.
pub(super) fn context_manager(open: &Opener, pairs: u32) -> Box<dyn Manager> {
    Box::new(ContextManager::new(Arc::clone(open), pairs.into()))
}

/// One pair.
pub(super) struct BinderLink {
    open: Opener,
    pair: u64,
}

impl BinderLink {
    pub(super) fn new(open: &Opener, pair: u32) -> Self {
        Self { open: Arc::clone(open), pair: pair.into() }
    }

    fn open(&self) -> Result<Arc<dyn Driver>, TaskError> {
        (self.open)().map_err(TaskError::at(Step::BinderOpen))
    }
}

impl Link for BinderLink {
    fn client(&mut self) -> Result<Box<dyn Client>, TaskError> {
        let driver = self.open()?;
        let handle = manager::look_up(&mut BinderThread::new(Arc::clone(&driver)), self.pair)?;
        Ok(Box::new(BinderClient { driver, handle }))
    }

    fn server(&mut self) -> Result<Box<dyn Server>, TaskError> {
        let mut thread = BinderThread::new(self.open()?);
        manager::register(&mut thread, self.pair)?;
        thread.enter_looper();
        Ok(Box::new(BinderServer { thread, asked: None }))
    }
}

struct BinderClient {
    driver: Arc<dyn Driver>,
    handle: u32,
}

impl Client for BinderClient {
    fn caller(&self) -> Result<Box<dyn Caller + '_>, TaskError> {
        Ok(Box::new(BinderCaller { thread: BinderThread::new(Arc::clone(&self.driver)), handle: self.handle }))
    }
}

impl Drop for BinderClient {
    fn drop(&mut self) {
        // If the manager has died, the control process notices.
        let _ = manager::done(&mut BinderThread::new(Arc::clone(&self.driver)));
    }
}

struct BinderCaller {
    thread: BinderThread,
    handle: u32,
}

impl Caller for BinderCaller {
    #[inline]
    fn transact(&mut self, request: &[u8], reply: &mut [u8]) -> Result<(), TaskError> {
        let received = self.thread.call(self.handle, TRANSACT, Payload::plain(request))?;
        let copied = self.thread.copy(&received, reply);
        self.thread.free(&received);
        copied
    }
}

struct BinderServer {
    thread: BinderThread,
    asked: Option<Transaction>,
}

impl Server for BinderServer {
    #[inline]
    fn receive(&mut self, request: &mut [u8]) -> Result<(), TaskError> {
        let asked = self.thread.receive()?;
        self.asked = Some(asked);
        self.thread.copy(&asked, request)
    }

    #[inline]
    fn reply(&mut self, reply: &[u8]) -> Result<(), TaskError> {
        let nothing_asked = TaskError { step: Step::Transact, detail: 0 };
        let asked = self.asked.take().ok_or(nothing_asked)?;
        self.thread.reply(&asked, Payload::plain(reply))
    }
}

#[cfg(test)]
mod tests;
