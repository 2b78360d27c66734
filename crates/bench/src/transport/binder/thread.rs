//! One thread's conversation with a binder driver: commands are collected and sent with the next call, and returns are
//! taken one by one. This code sends the acknowledgements that the driver requires.

use crate::task::{Step, TaskError};
use schedlab_sys::binder::protocol::{Stream, Transaction, command, returned, split_first};
use schedlab_sys::binder::{Driver, Outgoing, address_of};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// What a thread acts on.
pub(super) enum Event {
    /// The driver has taken what was sent.
    Complete,
    /// To be served.
    Transaction(Transaction),
    /// The answer to ours.
    Reply(Transaction),
}

/// A payload to send, with the offsets of the objects in it in the driver's form.
#[derive(Clone, Copy)]
pub(super) struct Payload<'a> {
    pub(super) data: &'a [u8],
    pub(super) offsets: &'a [u8],
}

impl<'a> Payload<'a> {
    pub(super) fn plain(data: &'a [u8]) -> Self {
        Self { data, offsets: &[] }
    }

    fn transaction(&self, target: u64, code: u32) -> Transaction {
        Transaction {
            target,
            code,
            data_size: self.data.len() as u64,
            offsets_size: self.offsets.len() as u64,
            buffer: address_of(self.data),
            offsets: address_of(self.offsets),
            ..Transaction::default()
        }
    }
}

const NOTHING: Payload<'static> = Payload { data: &[], offsets: &[] };

/// Bytes of returns read at a time: room for several transactions.
const RETURN_BYTES: usize = 512;

/// A thread of a process that has the driver open.
pub(super) struct BinderThread {
    driver: Arc<dyn Driver>,
    commands: Stream,
    returns: Box<[u8; RETURN_BYTES]>,
    unread: Range<usize>,
}

/// For `map_err` of a call to the driver.
fn refused(error: io::Error) -> TaskError {
    TaskError::at(Step::Transact)(error)
}

impl BinderThread {
    pub(super) fn new(driver: Arc<dyn Driver>) -> Self {
        Self { driver, commands: Stream::with_room(), returns: Box::new([0; RETURN_BYTES]), unread: 0..0 }
    }

    /// Makes the driver deliver transactions for objects of this process to this thread.
    pub(super) fn enter_looper(&mut self) {
        self.commands.push(command::ENTER_LOOPER);
    }

    /// Acquires a reference to a handle, before the payload that contained it is freed.
    pub(super) fn acquire(&mut self, handle: u32) {
        self.commands.push_u32(command::ACQUIRE, handle);
    }

    /// Frees a received payload with the next call.
    #[inline]
    pub(super) fn free(&mut self, received: &Transaction) {
        self.commands.push_u64(command::FREE_BUFFER, received.buffer);
    }

    /// Copies a received payload out; if its length is not that of `into`, it is a wrong reply.
    #[inline]
    pub(super) fn copy(&self, received: &Transaction, into: &mut [u8]) -> Result<(), TaskError> {
        if received.data_size != into.len() as u64 {
            return Err(TaskError { step: Step::Token, detail: received.data_size });
        }
        self.driver.copy_payload(received.buffer, into).map_err(refused)
    }

    /// Makes one synchronous transaction; the caller must free the payload of the transaction it returns.
    #[inline]
    pub(super) fn call(&mut self, handle: u32, code: u32, payload: Payload<'_>) -> Result<Transaction, TaskError> {
        self.commands.push_transaction(command::TRANSACTION, payload.transaction(handle.into(), code));
        let mut sending = payload;
        loop {
            if let Event::Reply(reply) = self.next(sending)? {
                return Ok(reply);
            }
            sending = NOTHING;
        }
    }

    /// Waits for a transaction to serve.
    #[inline]
    pub(super) fn receive(&mut self) -> Result<Transaction, TaskError> {
        loop {
            if let Event::Transaction(transaction) = self.next(NOTHING)? {
                return Ok(transaction);
            }
        }
    }

    /// Replies to the transaction received last and frees its payload. The reply comes first, so that the caller's time
    /// does not include the freeing.
    #[inline]
    pub(super) fn reply(&mut self, received: &Transaction, payload: Payload<'_>) -> Result<(), TaskError> {
        self.commands.push_transaction(command::REPLY, payload.transaction(0, 0));
        self.free(received);
        let mut sending = payload;
        while !matches!(self.next(sending)?, Event::Complete) {
            sending = NOTHING;
        }
        Ok(())
    }

    /// Sends the collected commands without waiting.
    fn flush(&mut self) {
        let outgoing = Outgoing { commands: self.commands.bytes(), data: &[], offsets: &[] };
        let _ = self.driver.write_read(&outgoing, &mut []);
        self.commands.clear();
    }

    /// The next event; when no returns are left, calls the driver with the collected commands and `sending`.
    #[inline]
    fn next(&mut self, sending: Payload<'_>) -> Result<Event, TaskError> {
        let mut sending = sending;
        loop {
            while let Some((element, length)) = split_first(&self.returns[self.unread.clone()]) {
                self.unread.start += length;
                match element.number {
                    returned::TRANSACTION_COMPLETE => return Ok(Event::Complete),
                    returned::TRANSACTION => return Ok(Event::Transaction(element.transaction().unwrap_or_default())),
                    returned::REPLY => return Ok(Event::Reply(element.transaction().unwrap_or_default())),
                    returned::INCREFS => {
                        let (id, cookie) = element.object();
                        self.commands.push_object(command::INCREFS_DONE, id, cookie);
                    }
                    returned::ACQUIRE => {
                        let (id, cookie) = element.object();
                        self.commands.push_object(command::ACQUIRE_DONE, id, cookie);
                    }
                    returned::DEAD_REPLY | returned::FAILED_REPLY | returned::FROZEN_REPLY | returned::ERROR => {
                        return Err(TaskError { step: Step::BinderAnswer, detail: element.number.into() });
                    }
                    // BR_NOOP, and notifications that short-lived tasks can ignore (released references, dead objects).
                    _ => {}
                }
            }
            self.exchange(sending)?;
            sending = NOTHING;
        }
    }

    #[inline]
    fn exchange(&mut self, sending: Payload<'_>) -> Result<(), TaskError> {
        let outgoing = Outgoing { commands: self.commands.bytes(), data: sending.data, offsets: sending.offsets };
        self.unread = 0..0;
        match self.driver.write_read(&outgoing, self.returns.as_mut_slice()) {
            Ok(transferred) => self.unread.end = transferred.read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(refused(error)),
        }
        self.commands.clear();
        Ok(())
    }
}

impl Drop for BinderThread {
    fn drop(&mut self) {
        self.flush();
        self.driver.thread_exit();
    }
}
