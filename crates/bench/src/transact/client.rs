//! The client process: each iteration makes a transaction from the FIFO thread and then one from its own thread, as in
//! the references. Everything except [`super::timed`] is outside the timed region.

use super::calling_thread::{Calling, CallingThread, FifoCaller, Sample, spawn};
use super::config::FifoThread;
use super::message::Attributes;
use super::report::{Account, Class, FirstMiss, Kept, Reports};
use super::timed::Timed;
use super::trace_stop::TraceStop;
use crate::recorder::Recorder;
use crate::task::{Step, StopFlag, TaskCells, TaskError, Work};
use crate::topology::Topology;
use crate::transport::Client;
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::sched_attr::{self, SCHED_FIFO};
use std::sync::atomic::Ordering::Relaxed;

/// Transactions of the nice probe.
const NICE_PROBES: u64 = 10;
/// How much higher than the server's the caller's nice value is then.
const NICER_BY: i32 = 5;

/// Everything that a client needs; the fork copies it into the client's process.
pub(super) struct ClientTask<'a> {
    pub(super) pair: usize,
    pub(super) task: usize,
    /// The cell of its FIFO thread, when one is kept.
    pub(super) kept_cell: usize,
    /// Number of iterations; `None` runs until the stop flag is set.
    pub(super) loops: Option<u64>,
    pub(super) fifo: Option<FifoThread>,
    pub(super) deadline_ns: u64,
    pub(super) stop_on_miss: bool,
    pub(super) trace: Option<&'a TraceStop>,
    pub(super) probes_nice: bool,
    pub(super) timed: &'a dyn Timed,
    pub(super) recorder: Option<&'a Recorder>,
    pub(super) topology: &'a Topology,
    pub(super) cells: &'a TaskCells,
    pub(super) reports: &'a Reports,
}

impl ClientTask<'_> {
    /// Makes transactions until the end, tells the server, and stores the account.
    pub(super) fn run(&self, client: &dyn Client) -> Result<Work, TaskError> {
        let calling = Calling { client, timed: self.timed };
        let mut count = Count { task: self, work: Work::default(), account: Account::default() };
        std::thread::scope(|scope| {
            let mut fifo = FifoCaller::start(scope, calling, self.fifo, (self.cells, self.kept_cell))?;
            let mut own = calling.here()?;
            self.iterate(&mut fifo, &mut own, &mut count, &self.cells.stop_flag())?;
            count.account.fifo_use = fifo.finish()?;
            if self.probes_nice {
                count.probe_nice(scope, calling)?;
            }
            own.end()
        })?;
        self.reports.store(self.pair, count.account);
        Ok(count.work)
    }

    fn iterate(
        &self,
        fifo: &mut FifoCaller<'_, '_>,
        own: &mut CallingThread<'_>,
        count: &mut Count<'_>,
        stop: &StopFlag,
    ) -> Result<(), TaskError> {
        let limit = self.loops.unwrap_or(u64::MAX);
        let mut iteration = 0;
        while iteration < limit && !stop.is_set() {
            if let Some(sample) = fifo.transact(count.work.operations) {
                count.note(Class::Fifo, iteration, &sample?, stop);
            }
            let sample = own.transact(count.work.operations)?;
            count.note(Class::Other, iteration, &sample, stop);
            iteration += 1;
        }
        Ok(())
    }
}

/// The client's counts while it runs.
struct Count<'a> {
    task: &'a ClientTask<'a>,
    work: Work,
    account: Account,
}

impl Count<'_> {
    fn note(&mut self, class: Class, iteration: u64, sample: &Sample, stop: &StopFlag) {
        let task = self.task;
        let server = sample.reply.server;
        let not_sync = u64::from(sample.caller_cpu != sample.reply.cpu);
        let tally = &mut self.account.tallies[class as usize];
        tally.transactions += 1;
        tally.not_sync += not_sync;
        tally.not_sync_at_fifo += if is_top_fifo(server) { not_sync } else { 0 };
        tally.policy_differs += u64::from(server.policy != sample.caller.policy);
        tally.priority_differs += u64::from(server.priority != sample.caller.priority);
        let tier = task.topology.tier(sample.caller_cpu, sample.reply.cpu);
        self.work.tiers[tier as usize] += 1;
        self.work.operations += 1;
        task.cells.counter(task.task).store(self.work.operations, Relaxed);
        if let Some(recorder) = task.recorder {
            recorder.record(class as usize, tier, 0, sample.ns);
            recorder.keep_slow(class as usize, task.pair, sample.ns, sample.end_ns, sample.caller_tid);
            self.work.stamped += 1;
            if sample.ns > task.deadline_ns {
                tally.misses += 1;
                self.on_miss(class, iteration, sample.ns, stop);
            }
        }
        let kept = Kept {
            ns: sample.ns,
            caller_tid: sample.caller_tid,
            caller_cpu: sample.caller_cpu,
            server_cpu: sample.reply.cpu,
            server,
        };
        task.reports.keep(task.pair, class, iteration, &kept);
    }

    #[cold]
    fn on_miss(&mut self, class: Class, iteration: u64, took_ns: u64, stop: &StopFlag) {
        if !self.task.stop_on_miss || stop.is_set() {
            return;
        }
        // Stop the trace first: every further microsecond may overwrite what led to the miss.
        if let Some(trace) = self.task.trace {
            trace.stop();
        }
        stop.set();
        self.account.first_miss = Some(FirstMiss { class, iteration, took_ns, at_ns: monotonic_ns() });
    }

    /// Some transactions, outside the measured ones, from a thread with a higher nice value than the server's: does the
    /// server adopt it while it serves? Raising nice needs no permission, and ends with the thread.
    fn probe_nice<'scope, 'env>(
        &mut self,
        scope: &'scope std::thread::Scope<'scope, 'env>,
        calling: Calling<'env>,
    ) -> Result<(), TaskError> {
        let first = self.work.operations;
        let body = move || -> Result<(u64, u64), TaskError> {
            let policy = || TaskError::at(Step::Policy);
            let nice = (sched_attr::nice(0).map_err(policy())? + NICER_BY).min(19);
            sched_attr::set_nice(0, nice).map_err(policy())?;
            let mut thread = calling.here()?;
            let mut differs = 0;
            for number in first..first + NICE_PROBES {
                differs += u64::from(i32::from(thread.transact(number)?.reply.server.nice) != nice);
            }
            Ok((NICE_PROBES, differs))
        };
        let died = TaskError { step: Step::Thread, detail: 0 };
        (self.account.nice_probes, self.account.nice_differs) = spawn(scope, body)?.join().unwrap_or(Err(died))?;
        Ok(())
    }
}

fn is_top_fifo(attributes: Attributes) -> bool {
    u32::from(attributes.policy) == SCHED_FIFO && attributes.priority == super::calling_thread::FIFO_PRIORITY
}
