//! The context manager of a run: a separate process at handle 0, with which servers register their object under their
//! pair's number, and from which clients get a handle to it. It does what Android's servicemanager does, but with
//! numbers for names.

use super::thread::{BinderThread, Payload};
use crate::task::{Step, TaskError};
use crate::transport::Manager;
use schedlab_sys::binder::protocol::returned;
use schedlab_sys::binder::protocol::{
    FlatObject, OBJECT_BYTES, SERVED_OBJECT_FLAGS, TYPE_BINDER, TYPE_HANDLE, Transaction,
};
use schedlab_sys::clock::{monotonic_ns, sleep_until_ns};
use std::collections::BTreeMap;

/// The context manager's handle.
const HANDLE: u32 = 0;

/// Requests to the manager.
const REGISTER: u32 = 1;
const LOOK_UP: u32 = 2;
const DONE: u32 = 3;

/// A pair's number, then an object.
const NUMBERED_OBJECT_BYTES: usize = 8 + OBJECT_BYTES;
/// The offset of the object in it, in the driver's form.
const OBJECT_OFFSET: [u8; 8] = 8u64.to_ne_bytes();

fn numbered(pair: u64, object: FlatObject) -> [u8; NUMBERED_OBJECT_BYTES] {
    let mut data = [0; NUMBERED_OBJECT_BYTES];
    data[..8].copy_from_slice(&pair.to_ne_bytes());
    data[8..].copy_from_slice(&object.to_bytes());
    data
}

fn object_of(data: &[u8; NUMBERED_OBJECT_BYTES]) -> FlatObject {
    FlatObject::from_bytes(&std::array::from_fn(|i| data[8 + i]))
}

/// The manager's process.
pub(super) struct ContextManager {
    open: super::Opener,
    pairs: u64,
    thread: Option<BinderThread>,
    handles: BTreeMap<u64, u32>,
    looked_up: u64,
    done: u64,
}

impl ContextManager {
    pub(super) fn new(open: super::Opener, pairs: u64) -> Self {
        Self { open, pairs, thread: None, handles: BTreeMap::new(), looked_up: 0, done: 0 }
    }

    fn serve_one(&mut self) -> Result<(), TaskError> {
        let Some(thread) = &mut self.thread else { return Err(TaskError { step: Step::Transact, detail: 0 }) };
        let asked = thread.receive()?;
        match asked.code {
            REGISTER => {
                let mut data = [0; NUMBERED_OBJECT_BYTES];
                thread.copy(&asked, &mut data)?;
                let (pair, object) = (u64::from_ne_bytes(std::array::from_fn(|i| data[i])), object_of(&data));
                if object.kind != TYPE_HANDLE {
                    return Err(TaskError { step: Step::Token, detail: object.kind.into() });
                }
                thread.acquire(object.id as u32);
                self.handles.insert(pair, object.id as u32);
                thread.reply(&asked, Payload::plain(&[]))
            }
            LOOK_UP => {
                let mut pair = [0; 8];
                thread.copy(&asked, &mut pair)?;
                let Some(&handle) = self.handles.get(&u64::from_ne_bytes(pair)) else {
                    // The object is not registered yet: the client asks again.
                    return thread.reply(&asked, Payload::plain(&[]));
                };
                let object = FlatObject { kind: TYPE_HANDLE, flags: 0, id: handle.into(), cookie: 0 };
                self.looked_up += 1;
                let data = numbered(u64::from_ne_bytes(pair), object);
                thread.reply(&asked, Payload { data: &data, offsets: &OBJECT_OFFSET })
            }
            DONE => {
                self.done += 1;
                thread.reply(&asked, Payload::plain(&[]))
            }
            code => Err(TaskError { step: Step::Token, detail: code.into() }),
        }
    }
}

impl Manager for ContextManager {
    /// Serves until every client has its server's handle.
    fn prepare(&mut self) -> Result<(), TaskError> {
        let driver = (self.open)().map_err(TaskError::at(Step::BinderOpen))?;
        driver.become_context_manager().map_err(TaskError::at(Step::ContextManager))?;
        let mut thread = BinderThread::new(driver);
        thread.enter_looper();
        self.thread = Some(thread);
        while self.looked_up < self.pairs {
            self.serve_one()?;
        }
        Ok(())
    }

    /// Serves until every client has reported that it is done.
    fn run(&mut self) -> Result<u64, TaskError> {
        while self.done < self.pairs {
            self.serve_one()?;
        }
        Ok(self.done)
    }
}

/// How long a server or client waits for the processes it needs; they all start at the same time.
const PATIENCE_NS: u64 = 20_000_000_000;

/// Repeats a call until `accept` takes the reply; a manager that is not there yet causes a dead reply.
fn call_until<T>(
    thread: &mut BinderThread,
    code: u32,
    payload: Payload<'_>,
    mut accept: impl FnMut(&mut BinderThread, &Transaction) -> Result<Option<T>, TaskError>,
) -> Result<T, TaskError> {
    let give_up = monotonic_ns() + PATIENCE_NS;
    loop {
        let failed = match thread.call(HANDLE, code, payload) {
            Ok(reply) => {
                let accepted = accept(thread, &reply)?;
                thread.free(&reply);
                match accepted {
                    Some(value) => return Ok(value),
                    None => TaskError { step: Step::BinderAnswer, detail: 0 },
                }
            }
            Err(error) if error.step == Step::BinderAnswer && error.detail == u64::from(returned::DEAD_REPLY) => error,
            Err(error) => return Err(error),
        };
        if monotonic_ns() > give_up {
            return Err(failed);
        }
        sleep_until_ns(monotonic_ns() + 1_000_000);
    }
}

/// Server side: registers this process's object as that of `pair`.
pub(super) fn register(thread: &mut BinderThread, pair: u64) -> Result<(), TaskError> {
    // The driver treats name and cookie as pointers, which it never follows; the name must not be 0.
    let object = FlatObject { kind: TYPE_BINDER, flags: SERVED_OBJECT_FLAGS, id: pair + 1, cookie: pair + 1 };
    let data = numbered(pair, object);
    call_until(thread, REGISTER, Payload { data: &data, offsets: &OBJECT_OFFSET }, |_, _| Ok(Some(())))
}

/// Client side: a handle to the object of `pair`.
pub(super) fn look_up(thread: &mut BinderThread, pair: u64) -> Result<u32, TaskError> {
    call_until(thread, LOOK_UP, Payload::plain(&pair.to_ne_bytes()), |thread, reply| {
        if reply.data_size == 0 {
            return Ok(None);
        }
        let mut data = [0; NUMBERED_OBJECT_BYTES];
        thread.copy(reply, &mut data)?;
        let handle = object_of(&data).id as u32;
        thread.acquire(handle);
        Ok(Some(handle))
    })
}

/// Client side: reports that this pair is done, so that the manager need not wait for it.
pub(super) fn done(thread: &mut BinderThread) -> Result<(), TaskError> {
    let reply = thread.call(HANDLE, DONE, Payload::plain(&[]))?;
    thread.free(&reply);
    Ok(())
}
