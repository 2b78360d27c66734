//! Maps the options of a run to one of the compiled loops: stamping level × injected spin × end condition.

use crate::delay::{Delay, DelayCell, NoDelay};
use crate::stamp::{All, Off, Sampled, Stamp};
use crate::task::StopFlag;
use schedlab_plan::Stamping;

/// When a timed loop ends.
pub(crate) trait Until: Clone + Send + 'static {
    /// Whether to continue after `done` operations.
    fn more(&self, done: u64) -> bool;
}

/// Ends after a number of operations.
#[derive(Clone, Copy)]
pub(crate) struct Loops(pub(crate) u64);

impl Until for Loops {
    #[inline(always)]
    fn more(&self, done: u64) -> bool {
        done < self.0
    }
}

impl Until for StopFlag {
    #[inline(always)]
    fn more(&self, _done: u64) -> bool {
        !self.is_set()
    }
}

/// The length of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Loops(u64),
    DurationNs(u64),
}

impl Length {
    pub(crate) fn loops(self) -> Option<u64> {
        match self {
            Self::Loops(loops) => Some(loops),
            Self::DurationNs(_) => None,
        }
    }

    pub(crate) fn duration_ns(self) -> Option<u64> {
        match self {
            Self::Loops(_) => None,
            Self::DurationNs(ns) => Some(ns),
        }
    }
}

/// What the loops of one run are compiled for.
#[derive(Clone)]
pub(crate) struct LoopOrder {
    pub(crate) stamping: Stamping,
    pub(crate) every: u64,
    pub(crate) phase: u64,
    pub(crate) delay: Option<DelayCell>,
    /// Operations of the task; `None` runs until the stop flag is set.
    pub(crate) loops: Option<u64>,
    pub(crate) stop: StopFlag,
}

/// A timed loop, generic over everything that must not be a branch in it.
pub(crate) trait TimedLoop {
    type Output;
    fn run<S: Stamp, P: Delay, U: Until>(self, stamp: S, delay: P, until: U) -> Self::Output;
}

impl LoopOrder {
    /// Runs the instance of `body` for this order.
    pub(crate) fn run<B: TimedLoop>(&self, body: B) -> B::Output {
        match self.stamping {
            Stamping::Off => self.with_stamp(Off, body),
            Stamping::Sampled => self.with_stamp(Sampled::new(self.every, self.phase), body),
            Stamping::All => self.with_stamp(All, body),
        }
    }

    fn with_stamp<S: Stamp, B: TimedLoop>(&self, stamp: S, body: B) -> B::Output {
        match &self.delay {
            None => self.with_delay(stamp, NoDelay, body),
            Some(cell) => self.with_delay(stamp, cell.clone(), body),
        }
    }

    fn with_delay<S: Stamp, P: Delay, B: TimedLoop>(&self, stamp: S, delay: P, body: B) -> B::Output {
        match self.loops {
            Some(loops) => body.run(stamp, delay, Loops(loops)),
            None => body.run(stamp, delay, self.stop.clone()),
        }
    }
}
