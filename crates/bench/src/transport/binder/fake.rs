//! A binder driver in user space, for tests: each open of it stands for a process, and the threads are those of the
//! test. It takes the same bytes as the kernel's driver and returns the same bytes: references, handles, payloads with
//! addresses that must be freed, a context manager, loopers, deaths.

use schedlab_sys::binder::protocol::{
    FlatObject, OBJECT_BYTES, Stream, TYPE_BINDER, TYPE_HANDLE, Transaction, command, returned, split_first,
};
use schedlab_sys::binder::{Driver, Outgoing, Transferred};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{ThreadId, current};

/// A thread of a process.
type Task = (usize, ThreadId);

#[derive(Default)]
struct FakeThread {
    /// Returns that wait for it.
    todo: VecDeque<Stream>,
    is_looper: bool,
    /// The tasks that it owes a reply, the last one first.
    serving: Vec<Task>,
}

/// An object: its owner and the owner's name and cookie for it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Node {
    owner: usize,
    id: u64,
    cookie: u64,
}

#[derive(Default)]
struct Process {
    is_dead: bool,
    threads: HashMap<ThreadId, FakeThread>,
    /// Transactions that any looper may take.
    todo: VecDeque<(Transaction, Task)>,
    /// Nodes by handle; 0 is the context manager's.
    handles: Vec<Node>,
    payloads: BTreeMap<u64, Vec<u8>>,
    acquired: Vec<u32>,
}

#[derive(Default)]
struct State {
    processes: Vec<Process>,
    manager: Option<usize>,
    next_address: u64,
}

/// The kernel's side.
#[derive(Default)]
pub(super) struct FakeKernel {
    state: Mutex<State>,
    changed: Condvar,
}

/// One opening.
pub(super) struct FakeDevice {
    kernel: Arc<FakeKernel>,
    process: usize,
}

impl FakeKernel {
    pub(super) fn open(self: &Arc<Self>) -> FakeDevice {
        let mut state = self.lock();
        state.processes.push(Process::default());
        FakeDevice { kernel: Arc::clone(self), process: state.processes.len() - 1 }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Payloads that were received and not freed, in all living processes.
    pub(super) fn leaked_payloads(&self) -> usize {
        self.lock().processes.iter().filter(|p| !p.is_dead).map(|p| p.payloads.len()).sum()
    }

    /// Number of handles that some process has acquired a reference to.
    pub(super) fn acquired(&self) -> usize {
        self.lock().processes.iter().map(|p| p.acquired.len()).sum()
    }
}

fn one(number: u32) -> Stream {
    let mut stream = Stream::default();
    stream.push(number);
    stream
}

impl State {
    fn thread(&mut self, task: Task) -> &mut FakeThread {
        self.processes[task.0].threads.entry(task.1).or_default()
    }

    fn target(&self, from: usize, handle: u64) -> Option<Node> {
        match handle {
            0 => self.manager.map(|owner| Node { owner, id: 0, cookie: 0 }),
            handle => self.processes[from].handles.get(handle as usize - 1).copied(),
        }
    }

    /// The payload as `to` receives it: objects become handles of the receiver, and its own handles become objects
    /// again.
    fn carry(&mut self, from: Task, to: usize, sent: &Transaction, outgoing: &Outgoing<'_>) -> Option<Transaction> {
        let mut data = outgoing.memory_at(sent.buffer, sent.data_size)?.to_vec();
        for offset in outgoing.memory_at(sent.offsets, sent.offsets_size)?.chunks_exact(8) {
            let at = u64::from_ne_bytes(offset.try_into().ok()?) as usize;
            let bytes: [u8; OBJECT_BYTES] = data.get(at..at + OBJECT_BYTES)?.try_into().ok()?;
            let object = FlatObject::from_bytes(&bytes);
            let node = match object.kind {
                TYPE_BINDER => {
                    let mut references = Stream::default();
                    references.push_object(returned::INCREFS, object.id, object.cookie);
                    references.push_object(returned::ACQUIRE, object.id, object.cookie);
                    self.thread(from).todo.push_back(references);
                    Node { owner: from.0, id: object.id, cookie: object.cookie }
                }
                TYPE_HANDLE => self.target(from.0, object.id)?,
                _ => return None,
            };
            let handles = &mut self.processes[to].handles;
            let known = handles.iter().position(|held| *held == node);
            let place = known.unwrap_or_else(|| {
                handles.push(node);
                handles.len() - 1
            });
            let translated = FlatObject { kind: TYPE_HANDLE, flags: 0, id: place as u64 + 1, cookie: 0 };
            data[at..at + OBJECT_BYTES].copy_from_slice(&translated.to_bytes());
        }
        self.next_address += 0x1000;
        let received = Transaction { buffer: self.next_address, offsets: 0, ..*sent };
        self.processes[to].payloads.insert(received.buffer, data);
        Some(received)
    }

    fn transact(&mut self, from: Task, sent: Transaction, outgoing: &Outgoing<'_>) {
        let target = self.target(from.0, sent.target).filter(|node| !self.processes[node.owner].is_dead);
        let Some(node) = target else { return self.thread(from).todo.push_back(one(returned::DEAD_REPLY)) };
        match self.carry(from, node.owner, &sent, outgoing) {
            None => self.thread(from).todo.push_back(one(returned::FAILED_REPLY)),
            Some(received) => {
                let received = Transaction { target: node.id, cookie: node.cookie, ..received };
                self.processes[node.owner].todo.push_back((received, from));
                self.thread(from).todo.push_back(one(returned::TRANSACTION_COMPLETE));
            }
        }
    }

    fn reply(&mut self, from: Task, sent: Transaction, outgoing: &Outgoing<'_>) {
        let Some(to) = self.thread(from).serving.pop() else {
            return self.thread(from).todo.push_back(one(returned::FAILED_REPLY));
        };
        self.thread(from).todo.push_back(one(returned::TRANSACTION_COMPLETE));
        if let Some(received) = self.carry(from, to.0, &sent, outgoing) {
            let mut reply = Stream::default();
            reply.push_transaction(returned::REPLY, received);
            self.thread(to).todo.push_back(reply);
        }
    }

    fn carry_out(&mut self, task: Task, outgoing: &Outgoing<'_>) -> io::Result<()> {
        let mut rest = outgoing.commands;
        while let Some((element, length)) = split_first(rest) {
            rest = &rest[length..];
            match element.number {
                command::TRANSACTION => self.transact(task, element.transaction().unwrap(), outgoing),
                command::REPLY => self.reply(task, element.transaction().unwrap(), outgoing),
                command::FREE_BUFFER => {
                    let freed = self.processes[task.0].payloads.remove(&element.u64());
                    freed.ok_or(io::ErrorKind::InvalidInput)?;
                }
                command::ACQUIRE => self.processes[task.0].acquired.push(element.u32()),
                command::ENTER_LOOPER => self.thread(task).is_looper = true,
                command::INCREFS_DONE | command::ACQUIRE_DONE => {}
                _ => return Err(io::ErrorKind::InvalidInput.into()),
            }
        }
        if rest.is_empty() { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// What the thread can receive now.
    fn take(&mut self, task: Task) -> Option<Stream> {
        if let Some(ready) = self.thread(task).todo.pop_front() {
            return Some(ready);
        }
        if !self.thread(task).is_looper {
            return None;
        }
        let (transaction, from) = self.processes[task.0].todo.pop_front()?;
        self.thread(task).serving.push(from);
        let mut stream = Stream::default();
        stream.push_transaction(returned::TRANSACTION, transaction);
        Some(stream)
    }
}

impl Driver for FakeDevice {
    fn write_read(&self, outgoing: &Outgoing<'_>, returns: &mut [u8]) -> io::Result<Transferred> {
        let task = (self.process, current().id());
        let mut state = self.kernel.lock();
        state.carry_out(task, outgoing)?;
        self.kernel.changed.notify_all();
        let written = outgoing.commands.len();
        if returns.is_empty() {
            return Ok(Transferred { written, read: 0 });
        }
        // The kernel always returns this first.
        let mut all = one(returned::NOOP).bytes().to_vec();
        loop {
            if let Some(ready) = state.take(task) {
                all.extend_from_slice(ready.bytes());
                returns[..all.len()].copy_from_slice(&all);
                return Ok(Transferred { written, read: all.len() });
            }
            state = self.kernel.changed.wait(state).unwrap();
        }
    }

    fn become_context_manager(&self) -> io::Result<()> {
        let mut state = self.kernel.lock();
        if state.manager.is_some() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        state.manager = Some(self.process);
        Ok(())
    }

    fn thread_exit(&self) {
        self.kernel.lock().processes[self.process].threads.remove(&current().id());
    }

    fn copy_payload(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        let state = self.kernel.lock();
        let payload = state.processes[self.process].payloads.get(&address).ok_or(io::ErrorKind::InvalidInput)?;
        into.copy_from_slice(&payload[..into.len()]);
        Ok(())
    }
}

impl Drop for FakeDevice {
    /// A process ends: callers that wait for it get a dead reply.
    fn drop(&mut self) {
        let mut state = self.kernel.lock();
        let process = &mut state.processes[self.process];
        process.is_dead = true;
        let queued = std::mem::take(&mut process.todo);
        let serving = std::mem::take(&mut process.threads);
        let waiting = queued.into_iter().map(|(_, from)| from);
        let waiting: Vec<Task> = waiting.chain(serving.into_values().flat_map(|thread| thread.serving)).collect();
        for task in waiting {
            state.thread(task).todo.push_back(one(returned::DEAD_REPLY));
        }
        self.kernel.changed.notify_all();
    }
}
