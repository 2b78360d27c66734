//! The threads of a client that make transactions: its own, under SCHED_OTHER (or what an arm set), and one under
//! SCHED_FIFO 99, which is either created for each transaction, as in the references, or kept.

use super::config::FifoThread;
use super::message::{Attributes, REPLY_BYTES, Reply, Request};
use super::report::FifoUse;
use super::timed::{Timed, Took};
use crate::task::{OwnCell, Step, TaskCells, TaskError, Work};
use crate::transport::{Caller, Client};
use schedlab_sys::{cpu_number, rusage, sched_attr, thread};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

/// sched_get_priority_max(SCHED_FIFO) on every Linux.
pub(super) const FIFO_PRIORITY: u8 = 99;

/// One transaction as its caller saw it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// 0 when not timed.
    pub(super) ns: u64,
    /// CLOCK_MONOTONIC; 0 when not timed.
    pub(super) end_ns: u64,
    pub(super) caller_tid: u32,
    /// The CPU right before the call; as in the references, the caller may be migrated before it makes the transaction.
    pub(super) caller_cpu: u32,
    pub(super) caller: Attributes,
    pub(super) reply: Reply,
}

/// What all calling threads of a client share.
#[derive(Clone, Copy)]
pub(super) struct Calling<'a> {
    pub(super) client: &'a dyn Client,
    pub(super) timed: &'a dyn Timed,
}

// `dyn Client` and `dyn Timed` are Sync, so this is Send: threads of the scope take copies.
impl<'a> Calling<'a> {
    /// The calling thread, ready for transactions.
    pub(super) fn here(self) -> Result<CallingThread<'a>, TaskError> {
        let attributes = sched_attr::get(0).map_err(TaskError::at(Step::Policy))?.into();
        Ok(CallingThread { caller: self.client.caller()?, timed: self.timed, tid: thread::current_tid(), attributes })
    }
}

/// One thread of a client.
pub(super) struct CallingThread<'a> {
    caller: Box<dyn Caller + 'a>,
    timed: &'a dyn Timed,
    tid: u32,
    attributes: Attributes,
}

impl CallingThread<'_> {
    /// Makes transaction `number` and verifies the reply.
    pub(super) fn transact(&mut self, number: u64) -> Result<Sample, TaskError> {
        let caller_cpu = cpu_number::current_cpu();
        let request = Request { number, cpu: caller_cpu, caller: self.attributes };
        let (request, mut reply) = (request.to_bytes(), [0; REPLY_BYTES]);
        let Took { ns, end_ns } = self.timed.transact(self.caller.as_mut(), &request, &mut reply)?;
        let reply = Reply::from_bytes(reply);
        if !reply.answers(number) {
            return Err(TaskError { step: Step::Token, detail: reply.number });
        }
        Ok(Sample { ns, end_ns, caller_tid: self.tid, caller_cpu, caller: self.attributes, reply })
    }

    /// Tells the server that there will be no more.
    pub(super) fn end(mut self) -> Result<(), TaskError> {
        self.caller.transact(&Request::end().to_bytes(), &mut [0; REPLY_BYTES])
    }
}

fn become_fifo() -> Result<(), TaskError> {
    sched_attr::set_policy(0, sched_attr::SCHED_FIFO, FIFO_PRIORITY.into()).map_err(TaskError::at(Step::Policy))
}

/// What the calling thread has used in its whole life.
fn used() -> FifoUse {
    let usage = rusage::of_thread();
    FifoUse {
        tid: thread::current_tid(),
        cpu_ns: usage.cpu_ns,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
    }
}

/// A thread that panicked.
const DIED: TaskError = TaskError { step: Step::Thread, detail: 0 };

/// Starts a thread of the client that lives inside `scope`.
pub(super) fn spawn<'scope, 'env, T: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    body: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, TaskError> {
    thread::spawn_small_scoped(scope, body).map_err(TaskError::at(Step::Thread))
}

/// Where FIFO transactions come from.
pub(super) enum FifoCaller<'scope, 'env> {
    /// Not permitted here.
    None,
    Fresh {
        scope: &'scope Scope<'scope, 'env>,
        calling: Calling<'env>,
        used: FifoUse,
    },
    Kept(KeptThread<'scope>),
}

impl<'scope, 'env> FifoCaller<'scope, 'env> {
    pub(super) fn start(
        scope: &'scope Scope<'scope, 'env>,
        calling: Calling<'env>,
        kind: Option<FifoThread>,
        kept_cell: (&'env TaskCells, usize),
    ) -> Result<Self, TaskError> {
        Ok(match kind {
            None => Self::None,
            Some(FifoThread::Fresh) => Self::Fresh { scope, calling, used: FifoUse::default() },
            Some(FifoThread::Kept) => Self::Kept(KeptThread::start(scope, calling, kept_cell)?),
        })
    }

    /// One transaction under SCHED_FIFO; `None` if there is no such thread here.
    pub(super) fn transact(&mut self, number: u64) -> Option<Result<Sample, TaskError>> {
        match self {
            Self::None => None,
            Self::Fresh { scope, calling, used } => Some(fresh(scope, *calling, number, used)),
            Self::Kept(thread) => Some(thread.transact(number)),
        }
    }

    /// Ends the thread, if there is one; returns what all FIFO threads used.
    pub(super) fn finish(self) -> Result<FifoUse, TaskError> {
        match self {
            Self::None => Ok(FifoUse::default()),
            Self::Fresh { used, .. } => Ok(used),
            Self::Kept(thread) => thread.finish(),
        }
    }
}

fn fresh<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    calling: Calling<'env>,
    number: u64,
    total: &mut FifoUse,
) -> Result<Sample, TaskError> {
    let body = move || {
        become_fifo()?;
        Ok((calling.here()?.transact(number)?, used()))
    };
    let (sample, used) = spawn(scope, body)?.join().unwrap_or(Err(DIED))?;
    total.add(used);
    Ok(sample)
}

/// A FIFO thread that makes transactions on request.
pub(super) struct KeptThread<'scope> {
    orders: SyncSender<u64>,
    answers: Receiver<Result<Sample, TaskError>>,
    handle: ScopedJoinHandle<'scope, FifoUse>,
}

impl<'scope> KeptThread<'scope> {
    fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        calling: Calling<'env>,
        (cells, cell): (&'env TaskCells, usize),
    ) -> Result<Self, TaskError> {
        let (orders, ordered) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let body = move || {
            let own = OwnCell::prepare(cells, cell);
            let mut thread = become_fifo().and_then(|()| calling.here());
            let mut work = Work::default();
            // Both channels end when the client drops its ends.
            while let Ok(number) = ordered.recv() {
                let sample = thread.as_mut().map_err(|e| *e).and_then(|t| t.transact(number));
                work.operations += 1;
                if answer.send(sample).is_err() {
                    break;
                }
            }
            // An error has already been sent to the client with the reply.
            let _ = own.finish(Ok(work), false);
            used()
        };
        Ok(Self { orders, answers, handle: spawn(scope, body)? })
    }

    fn transact(&mut self, number: u64) -> Result<Sample, TaskError> {
        self.orders.send(number).map_err(|_| DIED)?;
        self.answers.recv().unwrap_or(Err(DIED))
    }

    fn finish(self) -> Result<FifoUse, TaskError> {
        drop((self.orders, self.answers));
        self.handle.join().map_err(|_| DIED)
    }
}
