//! Follows wakeups from task to task: each carries the waiting of those before it.

use super::paths::{NodeId, Paths, Waker};
use crate::trace::follow::{Analysis, Follows, Now, Taken};
use crate::trace::lanes::Does;
use crate::trace::longest::Longest;
use crate::trace::recent::Recent;
use crate::trace::scope::Scope;
use schedlab_trace::engine::{Began, CensoredWait, Task, TaskId, Wait};
use schedlab_trace::{Cpu, Name, PerTask, StateClass, Tid, Wake, What};

/// Wakeups that are remembered so that the longest chains can be shown: 8 MB.
const MOST_STEPS: usize = 1 << 16;

/// Wakeups of a chain, at most: one that is longer begins anew.
pub(super) const MOST_LINKS: u8 = 16;

/// One wakeup of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The wakeup by which the waker runs.
    parent: Option<u64>,
    /// Who woke.
    pub(super) waker: Waker,
    pub(super) waker_tid: Tid,
    /// When it woke.
    pub(super) waking: u64,
    /// How long the waker had been preempted since its own wakeup, ns.
    pub(super) waker_preempted_ns: u64,
    task: TaskId,
    /// Its wait is in the sum of a path.
    counted: bool,
    /// The part of the woken task's preemptions that is in the sum of a path, ns.
    preempted_ns: u64,
    /// Wakings by it of threads that had not slept, and may or may not do so yet.
    unsettled: u32,
    /// One of these continued the chain.
    went_on: bool,
    /// It sleeps, and has woken only these.
    slept: bool,
    /// Who was woken.
    pub(super) tid: Tid,
    pub(super) comm: Name,
    pub(super) wait: Wait,
}

/// What a task carries on while it runs.
#[derive(Debug, Clone, Copy)]
struct Chain {
    serial: u64,
    node: NodeId,
    links: u8,
    /// Waiting so far, ns.
    delay_ns: u64,
    /// The first waking.
    begun: u64,
    /// When the last one was switched in.
    end: u64,
    end_cpu: Cpu,
    /// The first step.
    first: u64,
    chosen: bool,
    /// It has woken others: the chain continues there.
    woke: bool,
}

/// Who woke a task that is not on a CPU yet.
#[derive(Debug, Clone, Copy)]
struct Origin {
    waker: Waker,
    waker_tid: Tid,
    cpu: Cpu,
    ts: u64,
    waker_preempted_ns: u64,
    chain: Option<Chain>,
    chosen: bool,
    /// The woken task was not asleep: without a sleep, this wakeup has no effect.
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
    /// The steps from the origin on; the first ones may be missing if they are too long ago.
    pub(super) steps: Vec<Step>,
    pub(super) whole: bool,
}

/// Follows chains while the engine goes.
#[derive(Debug)]
pub(in crate::trace) struct Tracker<'a> {
    scope: &'a Scope,
    carriers: PerTask<Carrier>,
    steps: Recent<Step>,
    pub(super) paths: Paths,
    pub(super) longest: Longest<LongChain>,
    /// Wakeups that are in the tables.
    pub(super) wakeups: u64,
    /// Chains cut since they were too long.
    pub(super) cut: u64,
    pub(super) censored: [u64; 3],
}

impl<'a> Tracker<'a> {
    pub(super) fn new(scope: &'a Scope, longest_listed: usize) -> Self {
        Self {
            scope,
            carriers: PerTask::default(),
            steps: Recent::new(MOST_STEPS),
            paths: Paths::default(),
            longest: Longest::new(longest_listed),
            wakeups: 0,
            cut: 0,
            censored: [0; 3],
        }
    }

    /// Who wakes: the interrupt where there is one, since the thread it interrupted does nothing.
    fn waker(taken: &Taken<'_>, wake: &Wake) -> (Waker, Option<TaskId>) {
        let Taken { event, engine, queues, .. } = *taken;
        if wake.context.is_interrupt() {
            let hard = wake.context.is_hard();
            return (
                match queues.lanes.now(event.cpu) {
                    Does::Irq(irq, name) if hard => Waker::Irq(irq, name),
                    Does::Softirq(vec) if !hard => Waker::Softirq(vec),
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

    /// Remembers who woke a task, with what the waker carries.
    #[inline]
    fn woken(&mut self, taken: &Taken<'_>, wake: &Wake) {
        let Taken { event, woken: Some(task), .. } = *taken else { return };
        // A wakeup is used for its waker only if the waking is not in the trace; one of a thread that is running wakes
        // nobody.
        let known = taken.known.get(task);
        if matches!(event.what, What::Wakeup(_)) {
            if known.on_cpu {
                return self.came_to_nothing(task);
            }
            if self.carriers.of(task).from.is_some() {
                return;
            }
        }
        self.came_to_nothing(task);
        let (waker, by) = Self::waker(taken, wake);
        let mut origin = Origin {
            waker,
            waker_tid: wake.waker,
            cpu: event.cpu,
            ts: event.ts,
            waker_preempted_ns: 0,
            chain: None,
            chosen: false,
            unsettled: !known.asleep(),
        };
        if let Some(by) = by {
            origin.chosen = taken.known.get(by).chosen;
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

    /// A task got the CPU after a wakeup: a step more of the chain.
    #[inline]
    fn step(&mut self, now: &Now<'_>, task: TaskId, wait: &Wait, origin: Origin) {
        let What::Switch { next, next_comm, .. } = now.event.what else { return };
        let known = now.known.get(task);
        let selected =
            (origin.chosen || known.chosen) && self.scope.has_prio(wait.prio) && self.scope.has_state(wait.left);
        let before = origin.chain.filter(|before| before.links < MOST_LINKS);
        if let (None, Some(chain)) = (before, origin.chain) {
            self.cut_off(&chain);
        }
        self.settle(&origin, true);
        let serial = self.steps.next();
        let step = Step {
            parent: before.map(|b| b.serial),
            waker: origin.waker,
            waker_tid: origin.waker_tid,
            waking: origin.ts,
            waker_preempted_ns: before.map_or(0, |_| origin.waker_preempted_ns),
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
        let chain = self.go_on(&step, before, (serial, selected));
        self.steps.push(step);
        if selected && self.scope.window.has(wait.end, wait.cpu) {
            self.wakeups += 1;
            let pair = self.paths.pair(origin.waker, next_comm);
            pair.waits.add(wait.ns());
            pair.other_cpu += u64::from(origin.cpu != wait.cpu);
            pair.chain_longest_ns = pair.chain_longest_ns.max(chain.delay_ns);
        }
        let returned = before.is_some_and(|before| self.was_in(&before, task, next));
        if returned {
            // A round trip ends here; what the task does next begins another.
            self.end(&chain);
        }
        *self.carriers.of(task) = Carrier { chain: (!returned).then_some(chain), ..Carrier::default() };
    }

    /// What a task carries after this step.
    fn go_on(&mut self, step: &Step, before: Option<Chain>, (serial, selected): (u64, bool)) -> Chain {
        let ns = step.wait.ns();
        let of_before = before.map_or_else(|| self.paths.root(step.waker), |before| before.node);
        Chain {
            serial,
            node: self.paths.child(of_before, step.comm),
            links: before.map_or(0, |b| b.links) + 1,
            delay_ns: before.map_or(0, |b| b.delay_ns) + step.waker_preempted_ns + ns,
            begun: before.map_or(step.waking.min(step.wait.start), |b| b.begun),
            end: step.wait.end,
            end_cpu: step.wait.cpu,
            first: before.map_or(serial, |b| b.first),
            chosen: selected || before.is_some_and(|b| b.chosen),
            woke: false,
        }
    }

    fn remembered(&self, serial: u64) -> Option<Step> {
        self.steps.get(serial).copied()
    }

    /// Whether a task is in a chain, as one of the woken or as the origin.
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

    /// A chain that goes nowhere further.
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

    /// A chain that is as long as it may be ends, however many continue it.
    #[cold]
    fn cut_off(&mut self, chain: &Chain) {
        self.cut += 1;
        let step = self.steps.get_mut(chain.serial);
        if step.is_none_or(|step| !std::mem::replace(&mut step.went_on, true)) {
            self.end(chain);
        }
    }

    /// The waits of a chain that no other branch of it has counted yet.
    fn not_counted(&mut self, last: u64) -> u64 {
        let (mut sum, mut at) = (0, Some(last));
        while let Some(step) = at.and_then(|serial| self.steps.get_mut(serial)) {
            if std::mem::replace(&mut step.counted, true) {
                break;
            }
            sum += step.wait.ns();
            let preempted_ns = step.waker_preempted_ns;
            at = step.parent;
            // If it woke several tasks, each branch includes the shared beginning: the longest includes all of it.
            if let Some(waker) = at.and_then(|serial| self.steps.get_mut(serial)) {
                sum += preempted_ns.saturating_sub(waker.preempted_ns);
                waker.preempted_ns = waker.preempted_ns.max(preempted_ns);
            }
        }
        sum
    }

    /// One chain for each origin, the one that waited longest.
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

    /// From the origin on, as far as they are remembered; whether all are.
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
    /// `None` if it forks elsewhere, or its beginning is no longer remembered.
    fn lengthened(&self, long: LongChain, chain: &Chain) -> Option<Vec<Step>> {
        let step = self.remembered(chain.serial).filter(|_| chain.first >= self.steps.first())?;
        let mut steps = long.steps;
        let last = steps.last_mut().filter(|last| last.parent == step.parent && step.parent.is_some())?;
        *last = step;
        Some(steps)
    }

    /// The task leaves its CPU; where it does not sleep, who woke it before only kept it from that.
    #[inline]
    fn leaves(&mut self, task: TaskId, class: StateClass) {
        if class.is_runnable() || class == StateClass::Dead {
            self.came_to_nothing(task);
        }
        if !class.is_runnable() {
            self.sleeps(task);
        }
    }

    /// The task sleeps: what it carried ends here, unless others carry it on.
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

    /// The last waker of the task, if any, only kept it from sleeping.
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

    /// It shows whether a waking of a thread that had not slept was a wakeup, or kept it from sleeping.
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
    fn take(&mut self, taken: &Taken<'_>) {
        if let Some(task) = taken.out {
            self.leaves(task, taken.class);
        }
        if let What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) = taken.event.what {
            self.woken(taken, &wake);
        }
    }

    #[inline]
    fn waited(&mut self, now: &Now<'_>, task: TaskId, wait: &Wait) {
        if wait.began == Began::Preempted {
            self.carriers.of(task).preempted_ns += wait.ns();
            // A waking of a preempted thread is no wakeup.
            self.came_to_nothing(task);
        } else if let Some(origin) = self.carriers.of(task).from.take() {
            self.step(now, task, wait, origin);
        }
    }

    fn wait_censored(&mut self, now: &Now<'_>, task: TaskId, wait: &CensoredWait) {
        let origin = self.carriers.of(task).from;
        if wait.began == Began::Preempted {
            self.came_to_nothing(task);
        }
        *self.carriers.of(task) = Carrier::default();
        let (known, scope) = (now.known.get(task), self.scope);
        let selected = known.chosen || origin.is_some_and(|origin| origin.chosen);
        let counts = selected && scope.has_prio(wait.prio) && scope.has_state(wait.left);
        if counts && wait.began != Began::Preempted && scope.window.has_time(now.event.ts) {
            self.censored[wait.why as usize] += 1;
        }
    }

    fn retired(&mut self, _now: &Now<'_>, task: TaskId, _as_known: &Task) {
        // Its last switch-out is being taken, and `take` will not find it.
        self.sleeps(task);
        *self.carriers.of(task) = Carrier::default();
    }
}
