//! The timed loop of `throughput/1` and the code around it.
//!
//! For each payload the client first finds out how many operations fit into its time, as Google Benchmark does, so that
//! the timed loop counts and reads no clock (except for sampled latencies). t0 is before the first of them, t1 after
//! the last; the client thread's CPU clock is read outside both. An operation sends the payload and returns when all of
//! it has come back.

use super::shared::{Batch, Pace};
use crate::delay::Delay;
use crate::dispatch::{LoopOrder, TimedLoop, Until};
use crate::recorder::Recorder;
use crate::stamp::Stamp;
use crate::task::{Step, TaskError, Work};
use crate::transport::{Caller, Server};
use schedlab_plan::Tier;
use schedlab_sys::clock::{monotonic_ns, thread_cpu_ns};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// One batch of echoes of one payload.
struct Echoes<'a> {
    caller: &'a mut dyn Caller,
    payload: &'a [u8],
    echo: &'a mut [u8],
    recorder: Option<&'a Recorder>,
    series: usize,
    /// Operations before this batch, and the task's counter.
    before: u64,
    counter: &'a AtomicU64,
}

impl TimedLoop for Echoes<'_> {
    /// Stamped operations.
    type Output = Result<u64, TaskError>;

    fn run<S: Stamp, P: Delay, U: Until>(self, mut stamp: S, delay: P, until: U) -> Self::Output {
        let (mut done, mut stamped) = (0, 0);
        while until.more(done) {
            let due = stamp.due();
            let t0 = if due { monotonic_ns() } else { 0 };
            delay.spin();
            self.caller.transact(self.payload, self.echo)?;
            if due {
                let end_ns = monotonic_ns();
                if let Some(recorder) = self.recorder {
                    recorder.record_operation(self.series, Tier::SameCpu, 0, end_ns - t0, end_ns);
                }
                stamped += 1;
            }
            done += 1;
            self.counter.store(self.before + done, Relaxed);
        }
        Ok(stamped)
    }
}

/// What a client needs.
pub(super) struct ClientTask<'a> {
    pub(super) pair: usize,
    pub(super) payloads: &'a [usize],
    /// Number of operations of each payload; with `None`, as many as fit into `payload_ns`.
    pub(super) loops: Option<u64>,
    pub(super) payload_ns: u64,
    /// What the loops are compiled for; the client determines the number of operations.
    pub(super) order: LoopOrder,
    pub(super) recorder: Option<&'a Recorder>,
    pub(super) pace: &'a Pace,
    pub(super) counter: &'a AtomicU64,
}

/// A trial batch must take 1 / this of a payload's time before the number of operations is extrapolated from it.
const TRIAL_SHARE: u64 = 20;

impl ClientTask<'_> {
    /// Runs all payloads, one after the other; the buffers were made before the gate.
    pub(super) fn run(&self, caller: &mut dyn Caller, buffers: &mut Buffers) -> Result<Work, TaskError> {
        let mut work = Work::default();
        for series in 0..self.payloads.len() {
            self.pace.wait_for_all(series);
            let batch = self.measure(caller, buffers, series, &mut work)?;
            self.pace.leave(self.pair, series, batch);
            // The server switches to the next payload after one more echo of this one.
            self.pace.announce(self.pair, self.payloads.get(series + 1).copied());
            self.echo(caller, buffers, series, 1, &mut work, None)?;
        }
        Ok(work)
    }

    fn measure(
        &self,
        caller: &mut dyn Caller,
        buffers: &mut Buffers,
        series: usize,
        work: &mut Work,
    ) -> Result<Batch, TaskError> {
        let operations = match self.loops {
            Some(loops) => loops,
            None => self.fitting(caller, buffers, series, work)?,
        };
        let cpu_before = thread_cpu_ns();
        let t0 = monotonic_ns();
        let stamped = self.echo(caller, buffers, series, operations, work, self.recorder)?;
        let t1 = monotonic_ns();
        let cpu_ns = thread_cpu_ns() - cpu_before;
        work.stamped += stamped;
        buffers.verify(self.payloads[series])?;
        Ok(Batch { operations, real_ns: t1 - t0, cpu_ns })
    }

    /// Finds out how many operations fit: batches double in size until one is long enough to extrapolate from.
    fn fitting(
        &self,
        caller: &mut dyn Caller,
        buffers: &mut Buffers,
        series: usize,
        work: &mut Work,
    ) -> Result<u64, TaskError> {
        let mut operations = 1;
        loop {
            let t0 = monotonic_ns();
            self.echo(caller, buffers, series, operations, work, None)?;
            let took_ns = (monotonic_ns() - t0).max(1);
            if took_ns >= self.payload_ns / TRIAL_SHARE {
                return Ok((operations as f64 * self.payload_ns as f64 / took_ns as f64).ceil().max(1.0) as u64);
            }
            operations *= 2;
        }
    }

    fn echo(
        &self,
        caller: &mut dyn Caller,
        buffers: &mut Buffers,
        series: usize,
        operations: u64,
        work: &mut Work,
        recorder: Option<&Recorder>,
    ) -> Result<u64, TaskError> {
        let bytes = self.payloads[series];
        let order = LoopOrder { loops: Some(operations), ..self.order.clone() };
        let (payload, echo) = (&buffers.payload[..bytes], &mut buffers.echo[..bytes]);
        let (before, counter) = (work.operations, self.counter);
        let stamped = order.run(Echoes { caller, payload, echo, recorder, series, before, counter })?;
        work.operations += operations;
        Ok(stamped)
    }
}

/// A client's payload, and the bytes that came back.
pub(super) struct Buffers {
    payload: Vec<u8>,
    echo: Vec<u8>,
}

impl Buffers {
    /// The references' pattern: each byte is its index.
    pub(super) fn new(bytes: usize) -> Self {
        Self { payload: (0..bytes).map(|i| i as u8).collect(), echo: vec![0; bytes] }
    }

    /// The last echo must equal the payload; afterwards it is overwritten, so that it cannot pass for the next one.
    fn verify(&mut self, bytes: usize) -> Result<(), TaskError> {
        let wrong = self.payload[..bytes].iter().zip(&self.echo).position(|(sent, got)| sent != got);
        if let Some(at) = wrong {
            return Err(TaskError { step: Step::Token, detail: self.echo[at].into() });
        }
        // The complement of the pattern differs from it in every byte.
        self.echo.iter_mut().zip(&self.payload).for_each(|(echo, sent)| *echo = !sent);
        Ok(())
    }
}

/// The server: echoes payloads of the current size until all sizes are done.
pub(super) fn serve(
    server: &mut dyn Server,
    pace: &Pace,
    pair: usize,
    mut buffer: Vec<u8>,
    first: usize,
) -> Result<Work, TaskError> {
    let mut work = Work::default();
    let mut bytes = Some(first);
    while let Some(size) = bytes {
        server.receive(&mut buffer[..size])?;
        // Read before the reply: after it, the client may already announce the size after the next.
        bytes = pace.announced(pair);
        server.reply(&buffer[..size])?;
        work.operations += 1;
    }
    Ok(work)
}
