//! Which block comes next. Blocks of a workload run one after the other; those of a sweep's values alternate, so that
//! no value has a time of day to itself.

use super::{Event, Experiment};
use crate::schedule::Coins;
use crate::stopping::{self, Pace, Stop};
use anyhow::Result;
use std::collections::BTreeSet;

/// A workload in progress.
struct Member {
    workload: u32,
    pace: Pace,
    /// Arms that are not applied.
    dropped: BTreeSet<u32>,
    /// Time that this process has spent on it, ns.
    spent_ns: u64,
}

/// The result of starting a workload.
enum Begun {
    /// An earlier run has finished it.
    Already,
    Running(Member),
    Stopped(Stop),
}

impl Experiment<'_> {
    /// Runs workloads whose blocks are interleaved; returns the last reason to stop.
    pub(super) fn run_group(&mut self, group: &[u32]) -> Result<Stop> {
        let mut open = Vec::new();
        let mut reason = Stop::Planned;
        for &workload in group {
            match self.begin(workload)? {
                Begun::Already => {}
                Begun::Running(member) => open.push(member),
                Begun::Stopped(stop) => {
                    (self.events)(Event::Ended { workload, reason: &stop.reason() });
                    if stop != Stop::NothingToCompare {
                        return Ok(stop);
                    }
                    reason = stop;
                }
            }
        }
        while let Some(next) = self.next_in_turn(&open) {
            let member = &mut open[next];
            let workload = member.workload;
            let Some(stop) = self.step(member)? else { continue };
            (self.events)(Event::Ended { workload, reason: &stop.reason() });
            if matches!(stop, Stop::Interrupted | Stop::Void(_)) {
                return Ok(stop);
            }
            open.remove(next);
            reason = stop;
        }
        Ok(reason)
    }

    /// The workload whose block was cut by an interrupt, otherwise the one with the fewest blocks; a coin decides
    /// between equals. Derived from the rows, so that a resumed run continues as the interrupted one would have.
    fn next_in_turn(&self, open: &[Member]) -> Option<usize> {
        let place = |member: &Member| {
            let (whole, begun) = member.pace.turn(&self.known.tally);
            let coin = Coins::new(self.manifest.seed, &[u64::from(member.workload), begun as u64, 0x70]).next();
            (whole, begun, coin)
        };
        (0..open.len()).min_by_key(|&member| place(&open[member]))
    }

    /// A workload's warm-up block and the forecast from it.
    fn begin(&mut self, workload: u32) -> Result<Begun> {
        let Some(pace) = Pace::new(&self.manifest, workload, &self.known.tally) else { return Ok(Begun::Already) };
        (self.events)(Event::Workload { index: workload, planned: pace.planned_blocks() });
        let started_at = (self.clock)();
        // An interrupt may have cut it; finished trials are not repeated.
        if !self.trials.iter().any(|t| t.workload == workload && !t.warm_up) {
            self.rows_of_refused(workload)?;
            let mut dropped = self.arms_not_applied(workload);
            if let Some(stop) = self.nothing_left(workload, &dropped) {
                return Ok(Begun::Stopped(stop));
            }
            if let Some(stop) = self.run_block(workload, 0, None, true, &mut dropped)? {
                return Ok(Begun::Stopped(stop));
            }
        }
        let dropped = self.arms_not_applied(workload);
        self.refuse_hopeless(workload)?;
        let (block_ns, blocks) = pace.forecast(&self.known.tally);
        (self.events)(Event::Forecast { workload, block_ns, blocks, trials: &self.trials, manifest: &self.manifest });
        let spent_ns = (self.clock)() - started_at;
        Ok(Begun::Running(Member { workload, pace, dropped, spent_ns }))
    }

    /// One block of a workload, or the reason why it needs none.
    fn step(&mut self, member: &mut Member) -> Result<Option<Stop>> {
        let started_at = (self.clock)();
        let stop = self.look_and_run_block(member)?;
        member.spent_ns += (self.clock)() - started_at;
        Ok(stop)
    }

    fn look_and_run_block(&mut self, member: &mut Member) -> Result<Option<Stop>> {
        let Member { workload, pace, dropped, spent_ns } = member;
        let workload = *workload;
        if let Some(stop) = self.nothing_left(workload, dropped) {
            return Ok(Some(stop));
        }
        if let Some(stop) = stopping::ended_by_look(&self.manifest, workload)
            && pace.turn(&self.known.tally).0
        {
            return Ok(Some(stop));
        }
        pace.set_elapsed(*spent_ns);
        if let Some(stop) = self.look(workload, pace, None)? {
            return Ok(Some(stop));
        }
        if let Some(stop) = pace.stop_before_next_block(&self.known.tally) {
            return Ok(Some(self.look(workload, pace, Some(1.0))?.unwrap_or(stop)));
        }
        let (block, repeats) = pace.next_block(&self.known.tally);
        let stop = self.run_block(workload, block, repeats, false, dropped)?;
        if matches!(stop, Some(Stop::Interrupted)) {
            let fraction = pace.fraction(&self.known.tally);
            self.look(workload, pace, Some(fraction))?;
        }
        Ok(stop)
    }
}
