//! When a wait ends, divides it by what its CPU did meanwhile.

use crate::trace::affinity::{ALL, Affinity, SetId, UNKNOWN};
use crate::trace::follow::{AfterEvent, Analysis, BeforeEvent, Follows};
use crate::trace::lanes::OnCpu;
use crate::trace::lanes::{CpuActivity, IdleTimes};
use crate::trace::longest::Longest;
use crate::trace::run_queues::{RunQueues, Stretch};
use crate::trace::scope::Scope;
use schedlab_trace::engine::{CensoredWait, Task, TaskId, Wait};
use schedlab_trace::{Context, Cpu, Ended, Event, Name, PerTask, Prio, StateClass, Tid, Wake, What};
use std::collections::{BTreeMap, HashMap};

/// Most parts listed for a wait.
const PARTS_LISTED: usize = 6;

/// The cause that a part of a wait is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Cause {
    /// Between the waking and the queue.
    Placing,
    /// What the CPU did.
    Cpu(CpuActivity<Name>),
}

/// A cause's number.
type CauseId = u32;

/// All causes that occurred, each with a number.
#[derive(Debug, Default)]
pub(super) struct Causes {
    pub(super) all: Vec<Cause>,
    by_name: Vec<CauseId>,
    others: HashMap<Cause, CauseId>,
}

impl Causes {
    #[inline]
    fn task(&mut self, comm: Name) -> CauseId {
        match self.by_name.get(comm.index()) {
            Some(id) if *id > 0 => id - 1,
            _ => self.new_task(comm),
        }
    }

    #[cold]
    fn new_task(&mut self, comm: Name) -> CauseId {
        let id = self.all.len() as CauseId;
        self.all.push(Cause::Cpu(CpuActivity::Task(comm)));
        if comm.index() >= self.by_name.len() {
            self.by_name.resize(comm.index() + 1, 0);
        }
        self.by_name[comm.index()] = id + 1;
        id
    }

    fn other(&mut self, cause: Cause) -> CauseId {
        let next = self.all.len() as CauseId;
        let id = *self.others.entry(cause).or_insert(next);
        if id == next {
            self.all.push(cause);
        }
        id
    }
}

/// How much of a thread's waits is charged to one cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) ns: u64,
    /// Number of waits that have a part with this cause.
    pub(super) waits: u64,
    /// The longest part of one wait.
    pub(super) longest_ns: u64,
}

impl Share {
    pub(super) fn add(&mut self, other: &Self) {
        self.ns += other.ns;
        self.waits += other.waits;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// The waits of one task, or of tasks that ended.
#[derive(Debug, Clone, Default)]
pub(super) struct WaitingTask {
    pub(super) tasks: u64,
    pub(super) waits: u64,
    pub(super) ns: u64,
    /// By cause, ascending.
    pub(super) shares: Vec<(CauseId, Share)>,
    /// How long another CPU was idle while its own CPU was not.
    pub(super) idle_elsewhere_ns: u64,
    /// Waits for which the thread's affinity was unknown, in a trace that contains affinities.
    pub(super) unknown_set_waits: u64,
    pub(super) censored: [u64; 3],
}

impl WaitingTask {
    #[inline]
    fn share(&mut self, cause: CauseId) -> &mut Share {
        let at = match self.shares.binary_search_by_key(&cause, |(id, _)| *id) {
            Ok(at) => at,
            Err(at) => {
                self.shares.insert(at, (cause, Share::default()));
                at
            }
        };
        &mut self.shares[at].1
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.tasks += other.tasks;
        self.waits += other.waits;
        self.ns += other.ns;
        self.idle_elsewhere_ns += other.idle_elsewhere_ns;
        self.unknown_set_waits += other.unknown_set_waits;
        self.censored.iter_mut().zip(other.censored).for_each(|(sum, more)| *sum += more);
        other.shares.iter().for_each(|(cause, share)| self.share(*cause).add(share));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waits + self.censored.iter().sum::<u64>() == 0
    }
}

/// A part of a listed wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    pub(super) cause: Cause,
    pub(super) ns: u64,
    /// Number of threads of that name.
    pub(super) threads: u32,
    /// The thread with the largest share of it.
    pub(super) most: (Option<Tid>, u64),
}

/// Parts by cause, the largest first, from pieces by thread.
fn parts(mut pieces: Vec<(Cause, Option<Tid>, u64)>) -> Vec<Part> {
    pieces.sort_unstable_by_key(|(cause, tid, _)| (*cause, *tid));
    pieces.dedup_by(|next, sum| {
        let same = (next.0, next.1) == (sum.0, sum.1);
        sum.2 += if same { next.2 } else { 0 };
        same
    });
    let mut parts: Vec<Part> = Vec::new();
    for (cause, tid, ns) in pieces.into_iter().filter(|piece| piece.2 > 0) {
        let threads = u32::from(tid.is_some());
        match parts.last_mut().filter(|part| part.cause == cause) {
            Some(part) => {
                (part.ns, part.threads) = (part.ns + ns, part.threads + threads);
                if ns > part.most.1 {
                    part.most = (tid, ns);
                }
            }
            None => parts.push(Part { cause, ns, threads, most: (tid, ns) }),
        }
    }
    parts.sort_unstable_by_key(|part| (std::cmp::Reverse(part.ns), part.cause));
    parts.truncate(PARTS_LISTED);
    parts
}

/// One of the longest waits, with its parts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LongWait {
    pub(super) wait: Wait,
    pub(super) tid: Tid,
    pub(super) comm: Name,
    pub(super) prio: Prio,
    pub(super) waker_comm: Name,
    pub(super) moves: u32,
    pub(super) idle_elsewhere_ns: u64,
    /// The largest first.
    pub(super) parts: Vec<Part>,
}

/// What is known of a task while the trace is read.
#[derive(Debug, Clone)]
struct Waiter {
    /// Whether it was woken since, or while, it was last on a CPU.
    woken: bool,
    waker_comm: Name,
    /// The CPUs that it may use, as far as they are known.
    allowed: SetId,
}

impl Default for Waiter {
    fn default() -> Self {
        Self { woken: false, waker_comm: Name::UNKNOWN, allowed: UNKNOWN }
    }
}

/// Counts while the engine runs.
#[derive(Debug)]
pub(in crate::trace) struct Counter<'a> {
    scope: &'a Scope,
    waiters: PerTask<Waiter>,
    /// When at least one CPU was idle: of all CPUs, and of each set of CPUs.
    idle: Vec<IdleTimes>,
    pub(super) affinity: Affinity,
    pub(super) causes: Causes,
    pub(super) victims: PerTask<WaitingTask>,
    pub(super) retired: BTreeMap<Ended, WaitingTask>,
    /// Waits whose priority is not in the trace, if only some priorities are asked for.
    pub(super) without_prio: u64,
    pub(super) longest: Longest<LongWait>,
    /// Causes of the current wait; a field, so that its allocation is reused.
    parts: Vec<(CauseId, u64)>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(scope: &'a Scope, longest_listed: usize, affinity: Affinity) -> Self {
        let idle = (0..=affinity.sets().count()).map(|_| IdleTimes::default()).collect();
        Self {
            scope,
            waiters: PerTask::default(),
            idle,
            affinity,
            causes: Causes::default(),
            victims: PerTask::default(),
            retired: BTreeMap::new(),
            without_prio: 0,
            longest: Longest::new(longest_listed),
            parts: Vec::new(),
        }
    }

    /// Divides a wait by cause, into `parts`; returns how long another CPU was idle.
    #[inline]
    fn divide(&mut self, queues: &RunQueues, task: TaskId, wait: &Wait) -> u64 {
        let Self { waiters, parts, causes, idle, affinity, .. } = self;
        parts.clear();
        let mut add = |cause: CauseId, ns: u64| match parts.iter_mut().find(|(id, _)| *id == cause) {
            _ if ns == 0 => {}
            Some((_, sum)) => *sum += ns,
            None => parts.push((cause, ns)),
        };
        let allowed = waiters.of(task).allowed;
        let idle =
            (!affinity.is_one(allowed)).then(|| &idle[usize::from(if allowed == UNKNOWN { ALL } else { allowed })]);
        // `idle` includes the thread's own CPU, which is not another one.
        let (mut elsewhere, mut own_idle) = (0, 0);
        queues.divide(task, wait, (wait.start, wait.end), |stretch, start, end| match stretch {
            Stretch::Placing if end > start => add(causes.other(Cause::Placing), end - start),
            Stretch::Placing => {}
            Stretch::WaitPart(CpuActivity::Task(OnCpu { comm, .. })) => add(causes.task(comm), end - start),
            Stretch::WaitPart(CpuActivity::Idle) => {
                own_idle += end - start;
                add(causes.other(Cause::Cpu(CpuActivity::Idle)), end - start);
            }
            Stretch::WaitPart(CpuActivity::Unknown) => add(causes.other(Cause::Cpu(CpuActivity::Unknown)), end - start),
            Stretch::WaitPart(CpuActivity::Irq(irq, name)) => {
                add(causes.other(Cause::Cpu(CpuActivity::Irq(irq, name))), end - start)
            }
            Stretch::WaitPart(CpuActivity::Softirq(vec)) => {
                add(causes.other(Cause::Cpu(CpuActivity::Softirq(vec))), end - start)
            }
            Stretch::Queue => {
                let some = idle.and_then(|idle| idle.at(end).zip(idle.at(start)));
                let own_idle = std::mem::take(&mut own_idle);
                elsewhere += some.map_or(0, |(to, from)| to.saturating_sub(from).saturating_sub(own_idle));
            }
        });
        elsewhere
    }

    /// Lists a wait that may be among the longest: divides it again, by thread.
    #[cold]
    fn list(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &Wait, idle_elsewhere_ns: u64) {
        let What::Switch { next, next_comm, next_prio, .. } = before.event.what else { return };
        let (mut pieces, mut moves) = (Vec::new(), 0_u32);
        before.queues.divide(task, wait, (wait.start, wait.end), |stretch, start, end| match stretch {
            Stretch::Placing => pieces.push((Cause::Placing, None, end - start)),
            Stretch::WaitPart(does) => {
                let (does, tid) = does.named(before.known);
                pieces.push((Cause::Cpu(does), tid, end - start));
            }
            Stretch::Queue => moves += 1,
        });
        let long = LongWait {
            wait: *wait,
            tid: next,
            comm: next_comm,
            prio: next_prio,
            waker_comm: self.waiters.of(task).waker_comm,
            moves: moves.saturating_sub(1) + before.queues.forgotten(task),
            idle_elsewhere_ns,
            parts: parts(pieces),
        };
        self.longest.add(wait.ns(), long);
    }

    /// Whether the scope includes waits of threads that left their CPU in this state and have this priority.
    #[inline]
    fn is_selected(&mut self, left: StateClass, prio: Prio) -> bool {
        let by_state = self.scope.has_state(left);
        self.without_prio += u64::from(by_state && self.scope.lacks_prio(prio));
        by_state && self.scope.has_prio(prio)
    }

    /// Records whether a CPU is idle; false also where that is unknown.
    #[inline]
    fn set_idle(&mut self, ts: u64, cpu: Cpu, idle: bool) {
        self.idle[usize::from(ALL)].set(ts, cpu, idle);
        for (set, cpus) in self.affinity.sets().filter(|(_, cpus)| cpus.len() > 1) {
            if cpus.contains(&u32::from(cpu.0)) {
                self.idle[usize::from(set)].set(ts, cpu, idle);
            }
        }
    }

    #[inline]
    fn woken(&mut self, after: &AfterEvent<'_>, wake: &Wake) {
        let AfterEvent { event, engine, .. } = *after;
        let Some(task) = after.woken else { return };
        let waker = if wake.context == Context::NONE { engine.task(wake.waker) } else { None };
        let waker_comm = waker.map_or(Name::UNKNOWN, |waker| engine.tasks()[waker.index()].comm);
        let known = after.known.get(task);
        let allowed = self.affinity.of(wake.tid);
        let waiter = self.waiters.of(task);
        waiter.allowed = allowed;
        if known.on_cpu && !matches!(event.what, What::Waking(_)) {
            return;
        }
        // A wakeup is used for its waker only if the waking is not in the trace.
        if !matches!(event.what, What::Wakeup(_)) || !std::mem::replace(&mut waiter.woken, true) {
            (waiter.waker_comm, waiter.woken) = (waker_comm, true);
        }
    }
}

impl Analysis for Counter<'_> {
    fn follows(&self) -> Follows {
        Follows::Queues
    }

    #[inline]
    fn take(&mut self, after: &AfterEvent<'_>) {
        let AfterEvent { event, engine, .. } = *after;
        let Event { ts, cpu, .. } = *event;
        match event.what {
            What::Switch { prev, next, .. } => {
                if let Some(task) = after.prev {
                    self.waiters.of(task).allowed = self.affinity.of(prev);
                }
                if let Some(task) = after.next {
                    self.waiters.of(task).woken = false;
                }
                self.set_idle(ts, cpu, next == Tid::IDLE);
            }
            What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) => self.woken(after, &wake),
            What::Migrate { .. } => {}
            What::GapBegin if cpu == Cpu::ANY => self.idle.iter_mut().for_each(|idle| idle.lose_all(ts)),
            What::GapBegin => self.set_idle(ts, cpu, false),
            What::Fork { .. } | What::Exec { .. } | What::SysEnter { .. } | What::CgroupAttach { .. } => {
                // For a wait that has begun, the affinity is no longer known.
                for task in self.affinity.take(event).into_iter().filter_map(|tid| engine.task(tid)) {
                    self.waiters.of(task).allowed = UNKNOWN;
                }
            }
            // A CPU that serves an interrupt is not idle.
            _ => self.set_idle(ts, cpu, after.queues.lanes.now(cpu) == CpuActivity::Idle),
        }
    }

    #[inline]
    fn waited(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &Wait) {
        let known = before.known.get(task);
        if !self.scope.window.has(wait.end, wait.cpu) || !self.is_selected(wait.left, wait.prio) {
            return;
        }
        let unknown_set = self.waiters.of(task).allowed == UNKNOWN && self.affinity.is_known();
        let idle_elsewhere_ns = self.divide(before.queues, task, wait);
        let parts = std::mem::take(&mut self.parts);
        let victim = self.victims.of(task);
        victim.waits += 1;
        victim.ns += wait.ns();
        victim.idle_elsewhere_ns += idle_elsewhere_ns;
        victim.unknown_set_waits += u64::from(unknown_set);
        for (cause, ns) in &parts {
            victim.share(*cause).add(&Share { ns: *ns, waits: 1, longest_ns: *ns });
        }
        self.parts = parts;
        if known.chosen && self.longest.has_room(wait.ns()) {
            self.list(before, task, wait, idle_elsewhere_ns);
        }
    }

    fn wait_censored(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &CensoredWait) {
        // The CPU on which the wait would have ended is not known.
        if self.scope.window.has_time(before.event.ts) && self.is_selected(wait.left, wait.prio) {
            self.victims.of(task).censored[wait.why as usize] += 1;
        }
    }

    fn retired(&mut self, before: &BeforeEvent<'_>, task: TaskId, as_known: &Task) {
        let done = std::mem::take(self.victims.of(task));
        *self.waiters.of(task) = Waiter::default();
        let ended = self.scope.tasks.ended(as_known).filter(|_| before.known.get(task).chosen && !done.is_empty());
        if let Some(ended) = ended {
            self.retired.entry(ended).or_default().add(&WaitingTask { tasks: 1, ..done });
        }
    }
}
