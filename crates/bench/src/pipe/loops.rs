//! The timed loops of `pipe/1` and `pipe2/1`, compiled once for each stamping level, delay, end condition and width.
//!
//! Every token is verified on both sides. A token of 8 bytes or more holds a 48-bit counter and, above it, the writer's
//! CPU; shorter ones hold a 32-bit counter. The counter with all bits set ends a copy.
//!
//! The stamps of the strict loop: W = before the parent's write, R' = after the child's read, W' = before the child's
//! write, R = after the parent's read. latency = R − W; the legs are R' − W, W' − R', R − W' and (next W) − R, the last
//! of which includes the parent's own bookkeeping.

use crate::delay::Delay;
use crate::dispatch::{TimedLoop, Until};
use crate::recorder::Recorder;
use crate::stamp::Stamp;
use crate::task::{Step, TaskError, Work};
use crate::topology::Topology;
use schedlab_plan::Tier;
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::{cpu_number, fd};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const COUNTER_BITS: u32 = 48;
const COUNTER: u64 = (1 << COUNTER_BITS) - 1;

/// Words of the copy's shared line.
const CHILD_READ: usize = 0;
const CHILD_WRITE: usize = 1;

/// One side's descriptors and buffer.
pub(super) struct Side<'a> {
    pub(super) input: &'a OwnedFd,
    pub(super) output: &'a OwnedFd,
    pub(super) message: &'a mut [u8],
}

impl Side<'_> {
    #[inline(always)]
    fn write<const WIDE: bool>(&mut self, counter: u64) -> Result<(), TaskError> {
        if WIDE {
            let token = u64::from(cpu_number::current_cpu()) << COUNTER_BITS | counter & COUNTER;
            self.message[..8].copy_from_slice(&token.to_ne_bytes());
        } else {
            self.message[..4].copy_from_slice(&(counter as u32).to_ne_bytes());
        }
        fd::write_full(self.output.as_fd(), self.message).map_err(TaskError::at(Step::Write))
    }

    /// Reads the counter and the writer's CPU.
    #[inline(always)]
    fn read<const WIDE: bool>(&mut self) -> Result<(u64, u32), TaskError> {
        fd::read_full(self.input.as_fd(), self.message).map_err(TaskError::at(Step::Read))?;
        if WIDE {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&self.message[..8]);
            let token = u64::from_ne_bytes(bytes);
            Ok((token & COUNTER, (token >> COUNTER_BITS) as u32))
        } else {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&self.message[..4]);
            let token = u32::from_ne_bytes(bytes);
            Ok((if token == u32::MAX { COUNTER } else { token.into() }, 0))
        }
    }
}

#[inline(always)]
fn must_equal(got: u64, sent: u64) -> Result<(), TaskError> {
    if got == sent { Ok(()) } else { Err(TaskError { step: Step::Token, detail: got }) }
}

/// What both loops of a copy share, besides their own descriptors.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) topology: &'a Topology,
    pub(super) recorder: Option<&'a Recorder>,
    pub(super) copy: usize,
    /// The copy's line, into which the child writes its stamps.
    pub(super) line: &'a [AtomicU64],
    pub(super) counter: &'a AtomicU64,
}

impl Shared<'_> {
    #[inline(always)]
    fn record(&self, series: usize, tier: Tier, ns: u64) {
        if let Some(recorder) = self.recorder {
            recorder.record(series, tier, self.copy, ns);
        }
    }
    /// A whole round trip.
    #[inline(always)]
    fn record_operation(&self, tier: Tier, begun_ns: u64, end_ns: u64) {
        if let Some(recorder) = self.recorder {
            recorder.record_operation(0, tier, self.copy, end_ns.saturating_sub(begun_ns), end_ns);
        }
    }
    #[inline(always)]
    fn tier<const WIDE: bool>(&self, other: u32) -> Tier {
        if WIDE { self.topology.tier(cpu_number::current_cpu(), other) } else { Tier::SameCpu }
    }
}

/// The parent of the strict loop.
pub(super) struct StrictParent<'a, const WIDE: bool> {
    pub(super) side: Side<'a>,
    pub(super) shared: Shared<'a>,
}

impl<const WIDE: bool> TimedLoop for StrictParent<'_, WIDE> {
    type Output = Result<Work, TaskError>;

    fn run<S: Stamp, P: Delay, U: Until>(mut self, mut stamp: S, delay: P, until: U) -> Self::Output {
        let mut work = Work::default();
        let mut last_read: Option<(u64, Tier)> = None;
        while until.more(work.operations) {
            delay.spin();
            let due = stamp.due();
            let mut write_ns = 0;
            if S::ANY && (due || last_read.is_some()) {
                write_ns = monotonic_ns();
                if let Some((read_ns, tier)) = last_read.take() {
                    self.shared.record(4, tier, write_ns.saturating_sub(read_ns));
                }
            }
            self.side.write::<WIDE>(work.operations)?;
            let (counter, child_cpu) = self.side.read::<WIDE>()?;
            let read_ns = if due { monotonic_ns() } else { 0 };
            must_equal(counter, work.operations)?;
            let tier = self.shared.tier::<WIDE>(child_cpu);
            if WIDE {
                work.tiers[tier as usize] += 1;
            }
            if due {
                let child_read = self.shared.line[CHILD_READ].load(Acquire);
                let child_write = self.shared.line[CHILD_WRITE].load(Acquire);
                self.shared.record_operation(tier, write_ns, read_ns);
                self.shared.record(1, tier, child_read.saturating_sub(write_ns));
                self.shared.record(2, tier, child_write.saturating_sub(child_read));
                self.shared.record(3, tier, read_ns.saturating_sub(child_write));
                last_read = Some((read_ns, tier));
                work.stamped += 1;
            }
            work.operations += 1;
            self.shared.counter.store(work.operations, Relaxed);
        }
        self.side.write::<WIDE>(u64::MAX)?;
        Ok(work)
    }
}

/// The child of the strict loop; it ends at the end token, whatever made the parent send it.
pub(super) struct StrictChild<'a, const WIDE: bool> {
    pub(super) side: Side<'a>,
    pub(super) shared: Shared<'a>,
}

impl<const WIDE: bool> TimedLoop for StrictChild<'_, WIDE> {
    type Output = Result<Work, TaskError>;

    fn run<S: Stamp, P: Delay, U: Until>(mut self, mut stamp: S, _delay: P, _until: U) -> Self::Output {
        let mut work = Work::default();
        loop {
            let (counter, _) = self.side.read::<WIDE>()?;
            if counter == COUNTER {
                return Ok(work);
            }
            let due = stamp.due();
            if due {
                self.shared.line[CHILD_READ].store(monotonic_ns(), Release);
            }
            must_equal(counter, work.operations)?;
            if due {
                self.shared.line[CHILD_WRITE].store(monotonic_ns(), Release);
            }
            self.side.write::<WIDE>(counter)?;
            work.operations += 1;
        }
    }
}

/// Either side of the two-token loop: writes, then reads the partner's token. The parent decides when to end: it sends
/// the end token in place of its next one, and reads the one that the child has written meanwhile.
pub(super) struct TwoTokens<'a, const WIDE: bool> {
    pub(super) side: Side<'a>,
    pub(super) shared: Shared<'a>,
    pub(super) is_parent: bool,
}

impl<const WIDE: bool> TimedLoop for TwoTokens<'_, WIDE> {
    type Output = Result<Work, TaskError>;

    fn run<S: Stamp, P: Delay, U: Until>(mut self, mut stamp: S, delay: P, until: U) -> Self::Output {
        let mut work = Work::default();
        if !self.is_parent {
            return self.follow();
        }
        while until.more(work.operations) {
            delay.spin();
            let due = stamp.due();
            let write_ns = if due { monotonic_ns() } else { 0 };
            self.side.write::<WIDE>(work.operations)?;
            let (counter, other_cpu) = self.side.read::<WIDE>()?;
            let read_ns = if due { monotonic_ns() } else { 0 };
            must_equal(counter, work.operations)?;
            let tier = self.shared.tier::<WIDE>(other_cpu);
            if WIDE {
                work.tiers[tier as usize] += 1;
            }
            if due {
                self.shared.record_operation(tier, write_ns, read_ns);
                work.stamped += 1;
            }
            work.operations += 1;
            self.shared.counter.store(work.operations, Relaxed);
        }
        self.side.write::<WIDE>(u64::MAX)?;
        self.side.read::<WIDE>()?;
        Ok(work)
    }
}

impl<const WIDE: bool> TwoTokens<'_, WIDE> {
    #[inline(always)]
    fn follow(&mut self) -> Result<Work, TaskError> {
        let mut work = Work::default();
        loop {
            self.side.write::<WIDE>(work.operations)?;
            let (counter, _) = self.side.read::<WIDE>()?;
            if counter == COUNTER {
                return Ok(work);
            }
            must_equal(counter, work.operations)?;
            work.operations += 1;
        }
    }
}
