//! What each group did in stretches of a trace: how steady it was while the trace went on.

use super::names::group;
use crate::trace::filter::TaskFilter;
use crate::trace::follow::{Analysis, Now, Taken, follow};
use crate::trace::words;
use schedlab_trace::engine::{Began, Run, Task, TaskId, Wait};
use schedlab_trace::{Ended, PerTask, Reader, TraceError};
use std::collections::BTreeMap;

/// Stretches of a trace.
pub(super) const BLOCKS: usize = 10;

/// What was done in one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stretch {
    /// On a CPU, ns.
    pub(super) ran_ns: u64,
    /// Waiting for one, ns.
    pub(super) waited_ns: u64,
    /// Waits after wakeups that ended in it, and their lengths, ns.
    pub(super) wakeups: u64,
    pub(super) wakeup_ns: u64,
}

pub(super) type Stretches = [Stretch; BLOCKS];

/// Counts while a trace is read.
struct Counter<'a> {
    filter: &'a TaskFilter,
    start_ns: u64,
    block_ns: u64,
    tasks: PerTask<Stretches>,
    retired: BTreeMap<Ended, Stretches>,
}

/// The stretches of each group of a trace that goes from `start_ns` on for `length_ns`.
pub(super) fn stretches(
    reader: &mut Reader,
    (start_ns, length_ns): (u64, u64),
    filter: &TaskFilter,
    whole_names: bool,
) -> Result<BTreeMap<String, Stretches>, TraceError> {
    let block_ns = length_ns.div_ceil(BLOCKS as u64).max(1);
    let mut counter = Counter { filter, start_ns, block_ns, tasks: PerTask::default(), retired: BTreeMap::new() };
    let engine = follow(reader, filter, &mut [&mut counter])?;
    let names = reader.names();
    let mut groups: BTreeMap<String, Stretches> = BTreeMap::new();
    let mut sum = |name: String, done: &Stretches| add(groups.entry(group(&name, whole_names)).or_default(), done);
    for (task, done) in engine.tasks().iter().zip(counter.tasks.first(engine.tasks().len())) {
        if filter.has(task, names) {
            sum(words::thread(names, task.comm, task.tid), &done);
        }
    }
    for (ended, done) in counter.retired.iter().filter(|(ended, _)| filter.has_ended(ended, names)) {
        sum(words::ended(names, ended), done);
    }
    Ok(groups)
}

fn add(sum: &mut Stretches, more: &Stretches) {
    for (sum, more) in sum.iter_mut().zip(more) {
        sum.ran_ns += more.ran_ns;
        sum.waited_ns += more.waited_ns;
        sum.wakeups += more.wakeups;
        sum.wakeup_ns += more.wakeup_ns;
    }
}

impl Counter<'_> {
    fn at(&self, ns: u64) -> usize {
        ((ns.saturating_sub(self.start_ns) / self.block_ns) as usize).min(BLOCKS - 1)
    }

    /// Hands out the parts of a time by stretch.
    fn divide(&mut self, task: TaskId, (start, end): (u64, u64), to: fn(&mut Stretch) -> &mut u64) {
        let mut from = start.max(self.start_ns);
        while from < end {
            let at = self.at(from);
            let border = self.start_ns.saturating_add((at as u64 + 1).saturating_mul(self.block_ns));
            let until = if at == BLOCKS - 1 { end } else { end.min(border) };
            *to(&mut self.tasks.of(task)[at]) += until - from;
            from = until;
        }
    }
}

impl Analysis for Counter<'_> {
    fn take(&mut self, _taken: &Taken<'_>) {}

    fn ran(&mut self, _now: &Now<'_>, task: TaskId, run: &Run) {
        self.divide(task, (run.start, run.end), |stretch| &mut stretch.ran_ns);
    }

    fn waited(&mut self, _now: &Now<'_>, task: TaskId, wait: &Wait) {
        self.divide(task, (wait.start, wait.end), |stretch| &mut stretch.waited_ns);
        if wait.began != Began::Preempted {
            let at = self.at(wait.end);
            let stretch = &mut self.tasks.of(task)[at];
            stretch.wakeups += 1;
            stretch.wakeup_ns += wait.ns();
        }
    }

    fn retired(&mut self, _now: &Now<'_>, task: TaskId, as_known: &Task) {
        let done = std::mem::take(self.tasks.of(task));
        if let Some(ended) = self.filter.ended(as_known) {
            add(self.retired.entry(ended).or_default(), &done);
        }
    }
}
