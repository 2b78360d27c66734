//! Follows wakeups from task to task: each adds its wait to the delay of the chain.

use super::paths::{NodeId, Paths, Waker};
use crate::trace::follow::{AfterEvent, Analysis, BeforeEvent, Follows};
use crate::trace::lanes::CpuActivity;
use crate::trace::longest::Longest;
use crate::trace::recent::Recent;
use crate::trace::scope::Scope;
use schedlab_trace::engine::{Began, CensoredWait, Task, TaskId, Wait};
use schedlab_trace::{Cpu, Name, PerTask, StateClass, Tid, Wake, What};

/// Most wakeups that are kept to show the longest chains: 8 MB.
const MAX_STEPS: usize = 1 << 16;

/// Most wakeups of a chain: a longer chain is cut, and a new one starts.
pub(super) const MAX_LINKS: u8 = 16;

/// One wakeup of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The wakeup after which the waker ran.
    parent: Option<u64>,
    /// The waker.
    pub(super) waker: Waker,
    pub(super) waker_tid: Tid,
    /// Time of the waking.
    pub(super) waking: u64,
    /// How long the waker had been preempted since its own wakeup, ns.
    pub(super) waker_preempted_ns: u64,
    task: TaskId,
    /// Whether its wait is part of a path's sum.
    counted: bool,
    /// The part of the woken task's preemptions that is part of a path's sum, ns.
    preempted_ns: u64,
    /// How many threads it woke that were not asleep yet and may still go to sleep.
    unsettled: u32,
    /// Whether one of these wakings continued the chain.
    went_on: bool,
    /// Whether the task went to sleep, having woken only such threads.
    slept: bool,
    /// The wakee.
    pub(super) tid: Tid,
    pub(super) comm: Name,
    pub(super) wait: Wait,
}

/// The chain that a task continues while it runs.
#[derive(Debug, Clone, Copy)]
struct Chain {
    serial: u64,
    node: NodeId,
    links: u8,
    /// Sum of the waits so far, ns.
    delay_ns: u64,
    /// Time of the first waking.
    begun: u64,
    /// Time of the last switch-in.
    end: u64,
    end_cpu: Cpu,
    /// Number of the first step.
    first: u64,
    chosen: bool,
    /// Whether it has woken others: the chain continues there.
    woke: bool,
}

/// The waking of a task that is not on a CPU yet.
#[derive(Debug, Clone, Copy)]
struct Origin {
    waker: Waker,
    waker_tid: Tid,
    cpu: Cpu,
    ts: u64,
    waker_preempted_ns: u64,
    chain: Option<Chain>,
    chosen: bool,
    /// The woken task was not asleep: unless it sleeps, this wakeup has no effect.
    unsettled: bool,
}

/// What is known of a task while the trace is read.
#[derive(Debug, Clone, Copy, Default)]
struct Carrier {
    chain: Option<Chain>,
    preempted_ns: u64,
    from: Option<Origin>,
}

/// One of the longest chains.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LongChain {
    first: u64,
    pub(super) delay_ns: u64,
    pub(super) begun: u64,
    pub(super) end: u64,
    /// The steps from the origin on; the first ones may be missing if they are no longer kept.
    pub(super) steps: Vec<Step>,
    pub(super) whole: bool,
}

/// Follows chains while the engine runs.
#[derive(Debug)]
pub(in crate::trace) struct Tracker<'a> {
    scope: &'a Scope,
    carriers: PerTask<Carrier>,
    steps: Recent<Step>,
    pub(super) paths: Paths,
    pub(super) longest: Longest<LongChain>,
    /// Number of wakeups in the tables.
    pub(super) wakeups: u64,
    /// Number of chains that were cut because of their length.
    pub(super) cut: u64,
    pub(super) censored: [u64; 3],
}

impl<'a> Tracker<'a> {
    pub(super) fn new(scope: &'a Scope, longest_listed: usize) -> Self {
        Self {
            scope,
            carriers: PerTask::default(),
            steps: Recent::new(MAX_STEPS),
            paths: Paths::default(),
            longest: Longest::new(longest_listed),
            wakeups: 0,
            cut: 0,
            censored: [0; 3],
        }
    }

    /// The waker: the interrupt if there is one, because the interrupted thread has no part in it.
    fn waker(after: &AfterEvent<'_>, wake: &Wake) -> (Waker, Option<TaskId>) {
        let AfterEvent { event, engine, queues, .. } = *after;
        if wake.context.is_interrupt() {
            let hard = wake.context.is_hard();
            return (
                match queues.lanes.now(event.cpu) {
                    CpuActivity::Irq(irq, name) if hard => Waker::Irq(irq, name),
                    CpuActivity::Softirq(vec) if !hard => Waker::Softirq(vec),
                    _ if hard => Waker::Hard,
                    _ => Waker::Soft,
                },
                None,
            );
        }
        match engine.task(wake.waker) {
            _ if wake.waker == Tid::IDLE => (Waker::Idle, None),
            Some(task) => (Waker::Task(engine.tasks()[task.index()].comm), Some(task)),
            None => (Waker::Task(Name::UNKNOWN), None),
        }
    }

    /// Stores the waking of a task, with the chain that the waker continues.
    #[inline]
    fn woken(&mut self, after: &AfterEvent<'_>, wake: &Wake) {
        let AfterEvent { event, woken: Some(task), .. } = *after else { return };
        // sched_wakeup provides the waker only if there was no sched_waking; for a thread that is running it is no
        // wakeup.
        let known = after.known.get(task);
        if matches!(event.what, What::Wakeup(_)) {
            if known.on_cpu {
                return self.came_to_nothing(task);
            }
            if self.carriers.of(task).from.is_some() {
                return;
            }
        }
        self.came_to_nothing(task);
        let (waker, by) = Self::waker(after, wake);
        let mut origin = Origin {
            waker,
            waker_tid: wake.waker,
            cpu: event.cpu,
            ts: event.ts,
            waker_preempted_ns: 0,
            chain: None,
            chosen: false,
            unsettled: !known.left_asleep(),
        };
        if let Some(by) = by {
            origin.chosen = after.known.get(by).chosen;
            let carrier = self.carriers.of(by);
            (origin.chain, origin.waker_preempted_ns) = (carrier.chain, carrier.preempted_ns);
            if let Some(chain) = &mut carrier.chain {
                chain.woke |= !origin.unsettled;
            }
            let unsettled = origin.chain.filter(|_| origin.unsettled);
            if let Some(step) = unsettled.and_then(|chain| self.steps.get_mut(chain.serial)) {
                step.unsettled += 1;
            }
        }
        self.carriers.of(task).from = Some(origin);
    }

    /// A task got the CPU after a wakeup: adds a step to the chain.
    #[inline]
    fn step(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &Wait, origin: Origin) {
        let What::Switch { next, next_comm, .. } = before.event.what else { return };
        let known = before.known.get(task);
        let selected =
            (origin.chosen || known.chosen) && self.scope.has_prio(wait.prio) && self.scope.has_state(wait.left);
        let previous = origin.chain.filter(|previous| previous.links < MAX_LINKS);
        if let (None, Some(chain)) = (previous, origin.chain) {
            self.cut_off(&chain);
        }
        self.settle(&origin, true);
        let serial = self.steps.next();
        let step = Step {
            parent: previous.map(|b| b.serial),
            waker: origin.waker,
            waker_tid: origin.waker_tid,
            waking: origin.ts,
            waker_preempted_ns: previous.map_or(0, |_| origin.waker_preempted_ns),
            task,
            counted: false,
            preempted_ns: 0,
            unsettled: 0,
            went_on: false,
            slept: false,
            tid: next,
            comm: next_comm,
            wait: *wait,
        };
        let chain = self.go_on(&step, previous, (serial, selected));
        self.steps.push(step);
        if selected && self.scope.window.has(wait.end, wait.cpu) {
            self.wakeups += 1;
            let pair = self.paths.pair(origin.waker, next_comm);
            pair.waits.add(wait.ns());
            pair.other_cpu += u64::from(origin.cpu != wait.cpu);
            pair.chain_longest_ns = pair.chain_longest_ns.max(chain.delay_ns);
        }
        let returned = previous.is_some_and(|previous| self.was_in(&previous, task, next));
        if returned {
            // A round trip ends here; what the task does next starts a new chain.
            self.end(&chain);
        }
        *self.carriers.of(task) = Carrier { chain: (!returned).then_some(chain), ..Carrier::default() };
    }

    /// The chain after this step.
    fn go_on(&mut self, step: &Step, previous: Option<Chain>, (serial, selected): (u64, bool)) -> Chain {
        let ns = step.wait.ns();
        let of_before = previous.map_or_else(|| self.paths.root(step.waker), |previous| previous.node);
        Chain {
            serial,
            node: self.paths.child(of_before, step.comm),
            links: previous.map_or(0, |b| b.links) + 1,
            delay_ns: previous.map_or(0, |b| b.delay_ns) + step.waker_preempted_ns + ns,
            begun: previous.map_or(step.waking.min(step.wait.start), |b| b.begun),
            end: step.wait.end,
            end_cpu: step.wait.cpu,
            first: previous.map_or(serial, |b| b.first),
            chosen: selected || previous.is_some_and(|b| b.chosen),
            woke: false,
        }
    }

    fn remembered(&self, serial: u64) -> Option<Step> {
        self.steps.get(serial).copied()
    }

    /// Whether a task is part of a chain, as a wakee or as the origin.
    fn was_in(&self, chain: &Chain, task: TaskId, tid: Tid) -> bool {
        let mut at = self.remembered(chain.serial);
        while let Some(step) = at {
            if step.task == task {
                return true;
            }
            match step.parent {
                Some(parent) => at = self.remembered(parent),
                None => return matches!(step.waker, Waker::Task(_)) && step.waker_tid == tid,
            }
        }
        false
    }

    /// Counts a chain that no wakeup continues.
    fn end(&mut self, chain: &Chain) {
        if !chain.chosen || !self.scope.window.has(chain.end, chain.end_cpu) {
            return;
        }
        let new_ns = self.not_counted(chain.serial);
        let node = &mut self.paths.nodes[chain.node as usize];
        node.chains += 1;
        node.new_ns += new_ns;
        node.delay_ns += chain.delay_ns;
        node.longest_ns = node.longest_ns.max(chain.delay_ns);
        node.elapsed_ns += chain.end.saturating_sub(chain.begun);
        if self.longest.has_room(chain.delay_ns) {
            self.list(chain);
        }
    }

    /// Ends a chain of the maximum length, once, even if several wakeups continue it.
    #[cold]
    fn cut_off(&mut self, chain: &Chain) {
        self.cut += 1;
        let step = self.steps.get_mut(chain.serial);
        if step.is_none_or(|step| !std::mem::replace(&mut step.went_on, true)) {
            self.end(chain);
        }
    }

    /// The waits of a chain that no other branch has counted yet.
    fn not_counted(&mut self, last: u64) -> u64 {
        let (mut sum, mut at) = (0, Some(last));
        while let Some(step) = at.and_then(|serial| self.steps.get_mut(serial)) {
            if std::mem::replace(&mut step.counted, true) {
                break;
            }
            sum += step.wait.ns();
            let preempted_ns = step.waker_preempted_ns;
            at = step.parent;
            // If the task woke several others, each branch includes its preemptions up to that waking: the longest
            // includes all.
            if let Some(waker) = at.and_then(|serial| self.steps.get_mut(serial)) {
                sum += preempted_ns.saturating_sub(waker.preempted_ns);
                waker.preempted_ns = waker.preempted_ns.max(preempted_ns);
            }
        }
        sum
    }

    /// Lists one chain per origin, the one with the largest delay.
    #[cold]
    fn list(&mut self, chain: &Chain) {
        let of_origin = |long: &LongChain| long.first == chain.first;
        if self.longest.iter().any(|long| of_origin(long) && long.delay_ns >= chain.delay_ns) {
            return;
        }
        let known = self.longest.take(of_origin);
        let steps = known.and_then(|(_, long)| self.lengthened(long, chain));
        let (steps, whole) = steps.map_or_else(|| self.steps_of(chain), |steps| (steps, true));
        let (first, delay_ns, begun, end) = (chain.first, chain.delay_ns, chain.begun, chain.end);
        self.longest.add(delay_ns, LongChain { first, delay_ns, begun, end, steps, whole });
    }

    /// The steps from the origin on, as far as they are kept; and whether all are.
    fn steps_of(&self, chain: &Chain) -> (Vec<Step>, bool) {
        let mut steps = Vec::new();
        let mut serial = Some(chain.serial);
        while let Some(step) = serial.and_then(|serial| self.remembered(serial)) {
            serial = step.parent;
            steps.push(step);
        }
        steps.reverse();
        (steps, serial.is_none())
    }

    /// If a chain forks at its last task, as when one task wakes others again and again, only the last step differs.
    /// `None` if it forks elsewhere, or if its first steps are no longer kept.
    fn lengthened(&self, long: LongChain, chain: &Chain) -> Option<Vec<Step>> {
        let step = self.remembered(chain.serial).filter(|_| chain.first >= self.steps.first())?;
        let mut steps = long.steps;
        let last = steps.last_mut().filter(|last| last.parent == step.parent && step.parent.is_some())?;
        *last = step;
        Some(steps)
    }

    /// The task leaves its CPU. If it does not sleep, a waking previous that only kept it from sleeping.
    #[inline]
    fn leaves(&mut self, task: TaskId, class: StateClass) {
        if class.is_runnable() || class == StateClass::Dead {
            self.came_to_nothing(task);
        }
        if !class.is_runnable() {
            self.sleeps(task);
        }
    }

    /// The task sleeps: its chain ends here, unless a waking continues it.
    #[inline]
    fn sleeps(&mut self, task: TaskId) {
        let carrier = self.carriers.of(task);
        carrier.preempted_ns = 0;
        let Some(chain) = carrier.chain.take().filter(|chain| !chain.woke) else { return };
        match self.steps.get_mut(chain.serial) {
            Some(step) if step.went_on => {}
            Some(step) if step.unsettled > 0 => step.slept = true,
            _ => self.end(&chain),
        }
    }

    /// The last waking of the task, if there was one, only kept it from sleeping.
    #[inline]
    fn came_to_nothing(&mut self, task: TaskId) {
        if self.carriers.of(task).from.is_some() {
            self.forget_waker(task);
        }
    }

    #[cold]
    fn forget_waker(&mut self, task: TaskId) {
        if let Some(origin) = self.carriers.of(task).from.take() {
            self.settle(&origin, false);
        }
    }

    /// BeforeEvent it is known whether a waking of a thread that was not asleep was a wakeup, or only kept it from sleeping.
    #[inline]
    fn settle(&mut self, origin: &Origin, went_on: bool) {
        let Some(chain) = origin.chain.filter(|_| origin.unsettled) else { return };
        let Some(step) = self.steps.get_mut(chain.serial) else { return };
        step.unsettled = step.unsettled.saturating_sub(1);
        step.went_on |= went_on;
        if step.slept && !step.went_on && step.unsettled == 0 {
            self.end(&chain);
        }
    }
}

impl Analysis for Tracker<'_> {
    fn follows(&self) -> Follows {
        Follows::Cpus
    }

    #[inline]
    fn take(&mut self, after: &AfterEvent<'_>) {
        if let Some(task) = after.prev {
            self.leaves(task, after.class);
        }
        if let What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) = after.event.what {
            self.woken(after, &wake);
        }
    }

    #[inline]
    fn waited(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &Wait) {
        if wait.began == Began::Preempted {
            self.carriers.of(task).preempted_ns += wait.ns();
            // A waking of a preempted thread is not a wakeup.
            self.came_to_nothing(task);
        } else if let Some(origin) = self.carriers.of(task).from.take() {
            self.step(before, task, wait, origin);
        }
    }

    fn wait_censored(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &CensoredWait) {
        let origin = self.carriers.of(task).from;
        if wait.began == Began::Preempted {
            self.came_to_nothing(task);
        }
        *self.carriers.of(task) = Carrier::default();
        let (known, scope) = (before.known.get(task), self.scope);
        let selected = known.chosen || origin.is_some_and(|origin| origin.chosen);
        let counts = selected && scope.has_prio(wait.prio) && scope.has_state(wait.left);
        if counts && wait.began != Began::Preempted && scope.window.has_time(before.event.ts) {
            self.censored[wait.why as usize] += 1;
        }
    }

    fn retired(&mut self, _before: &BeforeEvent<'_>, task: TaskId, _as_known: &Task) {
        // The event that retires it is its last switch-out, and `take` will not find the task any more.
        self.sleeps(task);
        *self.carriers.of(task) = Carrier::default();
    }
}
