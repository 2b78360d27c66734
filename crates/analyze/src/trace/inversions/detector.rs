//! Compares the waits and sleeps of threads of high priority with what ran meanwhile.

use crate::trace::follow::{AfterEvent, Analysis, BeforeEvent, Follows, Known, KnownTasks};
use crate::trace::lanes::{CpuActivity, OnCpu};
use crate::trace::longest::Longest;
use crate::trace::recent::Recent;
use crate::trace::scope::Scope;
use schedlab_trace::engine::{Began, CensoredWait, Task, TaskId, Wait};
use schedlab_trace::{Cpu, Ended, Name, PerTask, Prio, StateClass, Tid, What};
use std::collections::BTreeMap;

/// Most waits and sleeps that are kept for each task.
const MAX_PAST: usize = 64;

/// Most threads that are followed from waker to waker.
const MAX_LINKS: usize = 8;

/// Most threads shown for one inversion.
const PARTS_LISTED: usize = 4;

/// What a task did while it did not run.
#[derive(Debug, Clone, Copy)]
enum Past {
    /// Waited for this CPU.
    Waited { start: u64, end: u64, cpu: Cpu },
    /// Slept until it was woken, by a thread or by something that cannot be followed.
    Slept { end: u64, by: Option<TaskId> },
}

/// A thread of lower priority that ran instead, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lower {
    pub(super) who: Who,
    pub(super) ns: u64,
    pub(super) cpu: Cpu,
}

/// A thread, with its name and priority at that time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Who {
    pub(super) tid: Tid,
    pub(super) comm: Name,
    pub(super) prio: Prio,
}

/// A thread that the one of high priority depended on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Link {
    pub(super) who: Who,
    /// How long it was kept from running by threads of lower priority than the first one.
    pub(super) ns: u64,
    /// The longest first.
    pub(super) behind: Vec<Lower>,
    /// Whether its priority was raised meanwhile.
    pub(super) boosted: bool,
}

/// One time that a thread of high priority was held up.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Inversion {
    pub(super) who: Who,
    /// Start of its sleep; `None` if only its own wait counts.
    pub(super) slept_from: Option<u64>,
    pub(super) wait: Wait,
    /// The part during its own wait, ns.
    pub(super) own_ns: u64,
    pub(super) own: Vec<Lower>,
    /// The parts through the threads that it waited for, the nearest first.
    pub(super) links: Vec<Link>,
    /// Whether it depends on something further back than is kept.
    pub(super) cut: bool,
}

impl Inversion {
    pub(super) fn links_ns(&self) -> u64 {
        self.links.iter().map(|link| link.ns).sum()
    }

    pub(super) fn ns(&self) -> u64 {
        self.own_ns + self.links_ns()
    }
}

/// Numbers of one kind of inversion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) times: u64,
    pub(super) ns: u64,
    pub(super) longest_ns: u64,
}

impl Sum {
    fn count(&mut self, ns: u64) {
        if ns > 0 {
            self.add(&Self { times: 1, ns, longest_ns: ns });
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.times += other.times;
        self.ns += other.ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// How one task, or those that ended, were held up.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    pub(super) tasks: u64,
    /// The highest priority that it had.
    pub(super) prio: Option<Prio>,
    pub(super) waits: u64,
    pub(super) waited_ns: u64,
    pub(super) own: Sum,
    pub(super) chain: Sum,
    /// By the name of the thread that ran instead.
    pub(super) by: BTreeMap<Name, (Sum, Sum)>,
    pub(super) censored: [u64; 3],
}

impl Held {
    pub(super) fn add(&mut self, other: &Self) {
        self.tasks += other.tasks;
        self.prio = higher(self.prio, other.prio);
        self.waits += other.waits;
        self.waited_ns += other.waited_ns;
        self.own.add(&other.own);
        self.chain.add(&other.chain);
        for (name, (own, chain)) in &other.by {
            let sum = self.by.entry(*name).or_default();
            sum.0.add(own);
            sum.1.add(chain);
        }
        self.censored.iter_mut().zip(other.censored).for_each(|(sum, more)| *sum += more);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waits + self.censored.iter().sum::<u64>() == 0
    }
}

fn higher(a: Option<Prio>, b: Option<Prio>) -> Option<Prio> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.get() < a.get() { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// What is known of a task while the trace is read.
#[derive(Debug, Clone)]
struct State {
    past: Recent<Past>,
    /// When its priority was last raised.
    boosted: Option<u64>,
    /// How it was held up before it was woken.
    blocked: Option<(u64, Vec<Link>, bool)>,
}

impl Default for State {
    fn default() -> Self {
        Self { past: Recent::new(MAX_PAST), boosted: None, blocked: None }
    }
}

fn who(known: &KnownTasks, task: TaskId, prio: Prio) -> Who {
    let Known { tid, comm, .. } = *known.get(task);
    Who { tid, comm, prio }
}

/// Detects inversions while the engine runs.
#[derive(Debug)]
pub(in crate::trace) struct Detector<'a> {
    scope: &'a Scope,
    states: PerTask<State>,
    pub(super) held: PerTask<Held>,
    pub(super) retired: BTreeMap<Ended, Held>,
    pub(super) longest: Longest<Inversion>,
    /// Number of `sched_pi_setprio` events that raised a priority.
    pub(super) boosts: u64,
}

impl<'a> Detector<'a> {
    pub(super) fn new(scope: &'a Scope, longest_listed: usize) -> Self {
        Self {
            scope,
            states: PerTask::default(),
            held: PerTask::default(),
            retired: BTreeMap::new(),
            longest: Longest::new(longest_listed),
            boosts: 0,
        }
    }

    #[inline]
    fn remember(&mut self, task: TaskId, past: Past) {
        self.states.of(task).past.push(past);
    }

    /// Whether waits at this priority are analysed: real-time priorities if the request names none.
    fn is_high(&self, prio: Prio) -> bool {
        if self.scope.prios.is_empty() { prio.is_realtime() } else { self.scope.has_prio(prio) }
    }

    /// The threads that ran on a CPU at a lower priority than `high`.
    fn lower(
        before: &BeforeEvent<'_>,
        cpu: Cpu,
        (from, to): (u64, u64),
        (high, but): (Prio, TaskId),
    ) -> (u64, Vec<Lower>) {
        let mut parts: Vec<(TaskId, Prio, u64)> = Vec::new();
        before.queues.lanes.walk(cpu, from, to, |start, end, does| {
            let CpuActivity::Task(OnCpu { task, prio, .. }) = does else { return };
            if task == but || prio == Prio::UNKNOWN || prio <= high {
                return;
            }
            match parts.iter_mut().find(|part| part.0 == task) {
                Some(part) => part.2 += end - start,
                None => parts.push((task, prio, end - start)),
            }
        });
        let ns = parts.iter().map(|part| part.2).sum();
        parts.sort_unstable_by_key(|part| (std::cmp::Reverse(part.2), part.0));
        let lower = parts.into_iter().map(|(task, prio, ns)| Lower { who: who(before.known, task, prio), ns, cpu });
        (ns, lower.collect())
    }

    /// How the threads that a sleeping thread depended on were delayed: its waker, the waker of that thread, and so on,
    /// as far as the delays are within the sleep.
    fn follow_back(&mut self, before: &BeforeEvent<'_>, high: Prio, (from, to): (u64, u64)) -> (Vec<Link>, bool) {
        let (mut links, mut at, mut until) = (Vec::new(), before.waker, to);
        let mut cut = false;
        while let Some(task) = at.take() {
            if links.len() >= MAX_LINKS {
                return (links, true);
            }
            let past = std::mem::replace(&mut self.states.of(task).past, Recent::new(MAX_PAST));
            let mut link =
                Link { who: who(before.known, task, Prio::UNKNOWN), ns: 0, behind: Vec::new(), boosted: false };
            link.who.prio = before.known.get(task).prio;
            link.boosted = self.states.of(task).boosted.is_some_and(|ts| (from..=until).contains(&ts));
            // Nothing was dropped from its history.
            let mut reached = past.first() == 0;
            for past in (past.first()..past.next()).rev().filter_map(|serial| past.get(serial)) {
                match *past {
                    Past::Waited { end, .. } | Past::Slept { end, .. } if end <= from => {
                        reached = true;
                        break;
                    }
                    Past::Waited { start, end, cpu } => {
                        let within = (start.max(from), end.min(until));
                        let (ns, mut behind) = Self::lower(before, cpu, within, (high, task));
                        link.ns += ns;
                        link.behind.append(&mut behind);
                    }
                    Past::Slept { end, by, .. } if end <= until => {
                        (at, until, reached) = (by, end, true);
                        break;
                    }
                    // A sleep after the relevant time.
                    Past::Slept { .. } => {}
                }
            }
            self.states.of(task).past = past;
            cut |= !reached;
            link.behind.sort_by_key(|lower| std::cmp::Reverse(lower.ns));
            links.push(link);
        }
        (links, cut)
    }

    /// A thread of high priority got its CPU.
    #[cold]
    fn settle(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &Wait, prio: Prio) {
        let blocked = self.states.of(task).blocked.take().filter(|_| wait.began != Began::Preempted);
        if !self.scope.window.has(wait.end, wait.cpu) || !self.scope.has_state(wait.left) {
            return;
        }
        let (own_ns, own) = Self::lower(before, wait.cpu, (wait.start, wait.end), (prio, task));
        let (slept_from, links, cut) = match blocked {
            Some((from, links, cut)) => (Some(from), links, cut),
            None => (None, Vec::new(), false),
        };
        let mut episode =
            Inversion { who: who(before.known, task, prio), slept_from, wait: *wait, own_ns, own, links, cut };
        if let What::Switch { next, next_comm, .. } = before.event.what {
            (episode.who.tid, episode.who.comm) = (next, next_comm);
        }
        let held = self.held.of(task);
        held.prio = higher(held.prio, Some(prio));
        held.waits += 1;
        held.waited_ns += wait.ns();
        held.own.count(episode.own_ns);
        held.chain.count(episode.links_ns());
        for lower in &episode.own {
            held.by.entry(lower.who.comm).or_default().0.count(lower.ns);
        }
        for lower in episode.links.iter().flat_map(|link| &link.behind) {
            held.by.entry(lower.who.comm).or_default().1.count(lower.ns);
        }
        if episode.ns() > 0 && self.longest.has_room(episode.ns()) && before.known.get(task).chosen {
            episode.own.truncate(PARTS_LISTED);
            episode.links.retain(|link| link.ns > 0);
            episode.links.iter_mut().for_each(|link| link.behind.truncate(PARTS_LISTED));
            self.longest.add(episode.ns(), episode);
        }
    }
}

impl Analysis for Detector<'_> {
    fn follows(&self) -> Follows {
        Follows::Cpus
    }

    #[inline]
    fn take(&mut self, after: &AfterEvent<'_>) {
        let What::PiSetprio { tid, oldprio, newprio, .. } = after.event.what else { return };
        if newprio < oldprio {
            self.boosts += 1;
            if let Some(task) = after.engine.task(tid) {
                self.states.of(task).boosted = Some(after.event.ts);
            }
        }
    }

    #[inline]
    fn waited(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &Wait) {
        let What::Switch { next_prio, .. } = before.event.what else { return };
        if self.is_high(next_prio) {
            self.settle(before, task, wait, next_prio);
        }
        self.remember(task, Past::Waited { start: wait.start, end: wait.end, cpu: wait.cpu });
    }

    fn slept(&mut self, before: &BeforeEvent<'_>, task: TaskId, _state: StateClass, (start, end): (u64, u64)) {
        let (by, prio) = (before.waker, before.known.get(task).prio);
        if self.is_high(prio) {
            let (links, cut) = self.follow_back(before, prio, (start, end));
            self.states.of(task).blocked = Some((start, links, cut));
        }
        self.remember(task, Past::Slept { end, by });
    }

    fn wait_censored(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &CensoredWait) {
        self.states.of(task).blocked = None;
        // The CPU on which the wait would have ended is not known.
        let selected = self.scope.window.has_time(before.event.ts) && self.scope.has_state(wait.left);
        if selected && self.is_high(wait.prio) {
            self.held.of(task).censored[wait.why as usize] += 1;
        }
    }

    fn retired(&mut self, before: &BeforeEvent<'_>, task: TaskId, as_known: &Task) {
        *self.states.of(task) = State::default();
        let done = std::mem::take(self.held.of(task));
        let ended = self.scope.tasks.ended(as_known).filter(|_| before.known.get(task).chosen && !done.is_empty());
        if let Some(ended) = ended {
            self.retired.entry(ended).or_default().add(&Held { tasks: 1, ..done });
        }
    }
}
