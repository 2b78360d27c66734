//! Follows both partners of each copy through a trace.

use super::{CopiesOrder, CopySlice, CopyTasks, TracedCopy};
use crate::trace::filter::TaskFilter;
use crate::trace::follow::{AfterEvent, Analysis, BeforeEvent, follow};
use schedlab_trace::engine::{Engine, Run, Task, TaskId, Wait};
use schedlab_trace::{Cpu, Event, PerTask, Reader, Tid, TraceError, What};

/// What is followed.
pub(super) struct Followed {
    pairs: Vec<Pair>,
    /// Thread ids in order, each with the index of its copy and of the partner.
    partners: Vec<(Tid, usize, usize)>,
    /// Waits and runs by [`TaskId`].
    times: PerTask<Times>,
    steady: (u64, u64),
}

/// The CPUs of the two partners of a copy.
#[derive(Debug, Default)]
struct Pair {
    /// The CPU where each was last switched in.
    at: [Option<Cpu>; 2],
    /// Time up to which the sums are complete, ns.
    since: u64,
    together_ns: u64,
    apart_ns: u64,
    flips: u64,
    /// Whether they were on one CPU when that was last known.
    were_together: Option<bool>,
    /// The CPU of each when it was last known.
    were_at: [Option<Cpu>; 2],
    voluntary: u64,
    involuntary: u64,
    migrations: u64,
    slices: Vec<Slice>,
}

/// Sums over one slice.
#[derive(Debug, Clone, Default)]
struct Slice {
    together_ns: u64,
    apart_ns: u64,
    /// Time of each partner by CPU.
    on: [Vec<(Cpu, u64)>; 2],
}

/// Sums over one task.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    delay_ns: u64,
    waits: u64,
    run_ns: u64,
}

impl Analysis for Followed {
    fn ran(&mut self, _before: &BeforeEvent<'_>, task: TaskId, run: &Run) {
        let ns = self.within(run.start, run.end);
        self.times.of(task).run_ns += ns;
    }

    fn waited(&mut self, _before: &BeforeEvent<'_>, task: TaskId, wait: &Wait) {
        let ns = self.within(wait.start, wait.end);
        let of = self.times.of(task);
        of.delay_ns += ns;
        of.waits += u64::from(ns > 0);
    }

    fn retired(&mut self, _before: &BeforeEvent<'_>, task: TaskId, _as_known: &Task) {
        *self.times.of(task) = Times::default();
    }

    fn take(&mut self, after: &AfterEvent<'_>) {
        let (event, class) = (after.event, after.class);
        match event.what {
            What::Switch { prev, next, .. } => {
                let is_steady = (self.steady.0..self.steady.1).contains(&event.ts);
                if is_steady && let Some((copy, _)) = self.partner(prev) {
                    let pair = &mut self.pairs[copy];
                    let count = if class.is_runnable() { &mut pair.involuntary } else { &mut pair.voluntary };
                    *count += 1;
                }
                if let Some((copy, partner)) = self.partner(next) {
                    self.pairs[copy].switched_in(partner, event, is_steady, self.steady);
                }
            }
            // A partner may have been switched in elsewhere during the gap.
            What::GapBegin => {
                for pair in &mut self.pairs {
                    pair.advance(event.ts, self.steady);
                    pair.at = [None; 2];
                }
            }
            _ => {}
        }
    }
}

impl Followed {
    pub(super) fn read(reader: &mut Reader, order: &CopiesOrder) -> Result<(Engine, Self), TraceError> {
        let mut followed = Self::new(order);
        let engine = follow(reader, &TaskFilter::default(), &mut [&mut followed])?;
        followed.pairs.iter_mut().for_each(|pair| pair.advance(order.steady.1, order.steady));
        Ok((engine, followed))
    }

    fn new(order: &CopiesOrder) -> Self {
        let pair = |_: &CopyTasks| Pair {
            since: order.steady.0,
            slices: vec![Slice::default(); order.slices],
            ..Pair::default()
        };
        let partners = |(copy, tasks): (usize, &CopyTasks)| [0, 1].map(|n| (Tid(tasks.tids[n]), copy, n));
        let mut partners: Vec<_> = order.copies.iter().enumerate().flat_map(partners).collect();
        partners.sort_unstable();
        let pairs = order.copies.iter().map(pair).collect();
        Self { pairs, partners, times: PerTask::default(), steady: order.steady }
    }

    /// The copy and the partner that a thread belongs to.
    fn partner(&self, tid: Tid) -> Option<(usize, usize)> {
        let at = self.partners.binary_search_by_key(&tid, |(of, ..)| *of).ok()?;
        Some((self.partners[at].1, self.partners[at].2))
    }

    /// The part of an interval that is in the steady phase, ns.
    fn within(&self, start: u64, end: u64) -> u64 {
        end.min(self.steady.1).saturating_sub(start.max(self.steady.0))
    }

    /// The rows of the copies, without the comparison between them.
    pub(super) fn rows(self, engine: &Engine, order: &CopiesOrder) -> Vec<TracedCopy> {
        // If the thread id was used by another task before, that task has no time in the steady phase.
        let mut of = vec![[Times::default(); 2]; self.pairs.len()];
        for (task, times) in engine.tasks().iter().zip(self.times.all()) {
            if let Some((copy, partner)) = self.partner(task.tid) {
                of[copy][partner].add(times);
            }
        }
        let pairs = order.copies.iter().zip(self.pairs).zip(of);
        pairs.map(|((tasks, pair), of)| pair.row(tasks, of, order.steady)).collect()
    }
}

impl Times {
    fn add(&mut self, other: &Self) {
        self.delay_ns += other.delay_ns;
        self.waits += other.waits;
        self.run_ns += other.run_ns;
    }
}

impl Pair {
    /// Adds the time up to `to`, during which nothing changed.
    fn advance(&mut self, to: u64, steady: (u64, u64)) {
        let (from, to) = (self.since, to.clamp(steady.0, steady.1));
        if to <= from {
            return;
        }
        self.since = to;
        let together = match self.at {
            [Some(one), Some(other)] => Some(one == other),
            _ => None,
        };
        let (number, all) = (self.slices.len() as u128, u128::from(steady.1 - steady.0));
        let start_of = |slice: usize| steady.0 + (slice as u128 * all / number) as u64;
        let mut slice = (u128::from(from - steady.0) * number / all) as usize;
        let mut at = from;
        while at < to && slice < self.slices.len() {
            let end = to.min(start_of(slice + 1));
            let ns = end.saturating_sub(at);
            self.slices[slice].add(self.at, together, ns);
            match together {
                Some(true) => self.together_ns += ns,
                Some(false) => self.apart_ns += ns,
                None => {}
            }
            (at, slice) = (at.max(end), slice + 1);
        }
    }

    fn switched_in(&mut self, partner: usize, event: &Event, is_steady: bool, steady: (u64, u64)) {
        let here = Some(event.cpu);
        if self.at[partner] == here {
            return;
        }
        self.advance(event.ts, steady);
        self.migrations += u64::from(is_steady && self.were_at[partner].is_some_and(|cpu| cpu != event.cpu));
        (self.at[partner], self.were_at[partner]) = (here, here);
        self.see(is_steady);
    }

    /// A partner has moved to another CPU.
    fn see(&mut self, is_steady: bool) {
        let [Some(one), Some(other)] = self.at else { return };
        let together = one == other;
        self.flips += u64::from(is_steady && self.were_together.is_some_and(|were| were != together));
        self.were_together = Some(together);
    }

    fn row(self, tasks: &CopyTasks, of: [Times; 2], steady: (u64, u64)) -> TracedCopy {
        let steady_ns = steady.1.saturating_sub(steady.0).max(1) as f64;
        let known = self.together_ns + self.apart_ns;
        let sum = |of_one: fn(&Times) -> u64| of.iter().map(of_one).sum::<u64>();
        let ops = tasks.operations.max(1) as f64;
        TracedCopy {
            copy: tasks.copy,
            tids: tasks.tids,
            operations: tasks.operations,
            score_per_s: tasks.operations as f64 / steady_ns * 1e9,
            relative: 0.0,
            co_located_share: share(self.together_ns, known),
            flips: self.flips,
            queue_delay_ns: of.map(|task| task.delay_ns),
            queue_delay_ns_per_op: sum(|task| task.delay_ns) as f64 / ops,
            waits: sum(|task| task.waits),
            run_ns: of.map(|task| task.run_ns),
            voluntary: self.voluntary,
            involuntary: self.involuntary,
            switches_per_op: (self.voluntary + self.involuntary) as f64 / ops,
            migrations: self.migrations,
            known_share: known as f64 / steady_ns,
            slices: self.slices.iter().map(Slice::to_slice).collect(),
        }
    }
}

impl Slice {
    fn add(&mut self, at: [Option<Cpu>; 2], together: Option<bool>, ns: u64) {
        match together {
            Some(true) => self.together_ns += ns,
            Some(false) => self.apart_ns += ns,
            None => {}
        }
        for (on, cpu) in self.on.iter_mut().zip(at) {
            let Some(cpu) = cpu else { continue };
            match on.iter_mut().find(|(known, _)| *known == cpu) {
                Some((_, sum)) => *sum += ns,
                None => on.push((cpu, ns)),
            }
        }
    }

    fn to_slice(&self) -> CopySlice {
        let longest =
            |on: &Vec<(Cpu, u64)>| on.iter().max_by_key(|(cpu, ns)| (*ns, std::cmp::Reverse(*cpu))).map(|on| on.0.0);
        let together = share(self.together_ns, self.together_ns + self.apart_ns);
        CopySlice { cpus: [longest(&self.on[0]), longest(&self.on[1])], together }
    }
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}
