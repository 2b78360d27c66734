//! What the threads of each name did: in total, and in stretches of the trace, which show how steady it was.

use super::names::group;
use crate::trace::filter::TaskFilter;
use crate::trace::follow::{AfterEvent, Analysis, BeforeEvent};
use crate::trace::labels;
use schedlab_plan::histogram::Histogram;
use schedlab_trace::engine::{Began, CensoredWait, Engine, Run, Task, TaskId, Wait};
use schedlab_trace::{Cells, Ended, PerTask, Reader};
use std::collections::BTreeMap;

/// Number of stretches of a trace.
pub(super) const STRETCHES: usize = 10;

/// What threads did in one stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stretch {
    /// On a CPU, ns.
    pub(super) ran_ns: u64,
    /// Waiting for one, ns.
    pub(super) waited_ns: u64,
    /// Number of waits after wakeups that ended in it, and their total length, ns.
    pub(super) wakeups: u64,
    pub(super) wakeup_ns: u64,
}

pub(super) type Stretches = [Stretch; STRETCHES];

/// Threads of one name.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    pub(super) ran_ns: u64,
    pub(super) wakeup: Histogram,
    pub(super) preempt_ns: u64,
    /// Zero if they were not requested.
    pub(super) stretches: Stretches,
}

/// All threads that the filter selects.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) by_name: BTreeMap<String, Group>,
    /// Number of known waits, and of censored ones.
    pub(super) waits: u64,
    pub(super) censored: u64,
}

/// What one thread did, or several that ended.
#[derive(Debug, Clone, Default)]
struct Done {
    seen: bool,
    ran_ns: u64,
    wakeup: Cells,
    preempts: u64,
    preempt_ns: u64,
    censored: u64,
    stretches: Stretches,
}

impl Done {
    fn add(&mut self, more: &Self) {
        self.seen |= more.seen;
        self.ran_ns += more.ran_ns;
        self.wakeup.merge(&more.wakeup);
        self.preempts += more.preempts;
        self.preempt_ns += more.preempt_ns;
        self.censored += more.censored;
        add(&mut self.stretches, &more.stretches);
    }
}

fn add(sum: &mut Stretches, more: &Stretches) {
    for (sum, more) in sum.iter_mut().zip(more) {
        sum.ran_ns += more.ran_ns;
        sum.waited_ns += more.waited_ns;
        sum.wakeups += more.wakeups;
        sum.wakeup_ns += more.wakeup_ns;
    }
}

/// Counts while a trace is read.
pub(super) struct Counter<'a> {
    filter: &'a TaskFilter,
    /// Start of the first stretch and length of each, if they are requested.
    stretches: Option<(u64, u64)>,
    tasks: PerTask<Done>,
    retired: BTreeMap<Ended, Done>,
}

impl<'a> Counter<'a> {
    /// `span`: the time that is divided into stretches.
    pub(super) fn new(filter: &'a TaskFilter, span: Option<(u64, u64)>) -> Self {
        let stretches = span.map(|(start, end)| (start, end.saturating_sub(start).div_ceil(STRETCHES as u64).max(1)));
        Self { filter, stretches, tasks: PerTask::default(), retired: BTreeMap::new() }
    }

    pub(super) fn groups(self, engine: &Engine, reader: &Reader, whole_names: bool) -> Groups {
        let (names, mut groups) = (reader.names(), Groups::default());
        let mut sum = |name: String, done: &Done| {
            let of = groups.by_name.entry(group(&name, whole_names)).or_default();
            of.ran_ns += done.ran_ns;
            of.wakeup.merge(&done.wakeup.histogram());
            of.preempt_ns += done.preempt_ns;
            add(&mut of.stretches, &done.stretches);
            groups.waits += done.wakeup.count() + done.preempts;
            groups.censored += done.censored;
        };
        for (task, done) in engine.tasks().iter().zip(self.tasks.first(engine.tasks().len())) {
            if done.seen && self.filter.has(task, names) {
                sum(labels::thread(names, task.comm, task.tid), &done);
            }
        }
        for (ended, done) in self.retired.iter().filter(|(ended, _)| self.filter.has_ended(ended, names)) {
            sum(labels::ended(names, ended), done);
        }
        groups
    }

    /// Divides an interval among the stretches.
    fn divide(&mut self, task: TaskId, (start, end): (u64, u64), to: fn(&mut Stretch) -> &mut u64) {
        let Some((start_ns, each_ns)) = self.stretches else { return };
        let done = self.tasks.of(task);
        let mut from = start.max(start_ns);
        while from < end {
            let at = stretch((start_ns, each_ns), from);
            let border = start_ns.saturating_add((at as u64 + 1).saturating_mul(each_ns));
            let until = if at == STRETCHES - 1 { end } else { end.min(border) };
            *to(&mut done.stretches[at]) += until - from;
            from = until;
        }
    }
}

fn stretch((start_ns, each_ns): (u64, u64), ns: u64) -> usize {
    ((ns.saturating_sub(start_ns) / each_ns) as usize).min(STRETCHES - 1)
}

impl Analysis for Counter<'_> {
    fn take(&mut self, after: &AfterEvent<'_>) {
        if let Some(task) = after.prev {
            self.tasks.of(task).seen = true;
        }
    }

    fn ran(&mut self, _before: &BeforeEvent<'_>, task: TaskId, run: &Run) {
        let done = self.tasks.of(task);
        done.seen = true;
        done.ran_ns += run.end.saturating_sub(run.start);
        self.divide(task, (run.start, run.end), |stretch| &mut stretch.ran_ns);
    }

    fn waited(&mut self, _before: &BeforeEvent<'_>, task: TaskId, wait: &Wait) {
        self.divide(task, (wait.start, wait.end), |stretch| &mut stretch.waited_ns);
        let done = self.tasks.of(task);
        done.seen = true;
        if wait.began == Began::Preempted {
            done.preempts += 1;
            done.preempt_ns += wait.ns();
            return;
        }
        done.wakeup.add(wait.ns());
        if let Some(stretches) = self.stretches {
            let stretch = &mut done.stretches[stretch(stretches, wait.end)];
            stretch.wakeups += 1;
            stretch.wakeup_ns += wait.ns();
        }
    }

    fn wait_censored(&mut self, _before: &BeforeEvent<'_>, task: TaskId, _wait: &CensoredWait) {
        let done = self.tasks.of(task);
        (done.seen, done.censored) = (true, done.censored + 1);
    }

    fn retired(&mut self, _before: &BeforeEvent<'_>, task: TaskId, as_known: &Task) {
        let done = std::mem::take(self.tasks.of(task));
        if let Some(ended) = self.filter.ended(as_known).filter(|_| done.seen) {
            self.retired.entry(ended).or_default().add(&done);
        }
    }
}
