//! Reads a trace once for an analysis that needs more than the engine's intervals: also the events, and what is known
//! of each task besides its states.

use super::filter::TaskFilter;
use super::lanes::OnCpu;
use super::run_queues::RunQueues;
use super::scope::Chosen;
use schedlab_trace::engine::{CensoredWait, Engine, Observer, Run, Task, TaskId, Wait};
use schedlab_trace::{
    Cpu, Event, Name, PerTask, Prio, Reader, StateClass, Tid, TraceError, Wake, What, for_each_batch,
    for_each_batch_twice, for_each_named_batch,
};

/// The event that the engine is processing; its callbacks result from it.
pub(super) struct BeforeEvent<'a> {
    pub(super) event: &'a Event,
    /// What was known of the tasks before the event.
    pub(super) known: &'a KnownTasks,
    /// CPUs and queues before the event, if an analysis asks for them.
    pub(super) queues: &'a RunQueues,
    /// The thread that wakes another, before the event; `None` if it is an interrupt, or a thread not seen before.
    pub(super) waker: Option<TaskId>,
}

/// An event that the engine has processed, passed on to an analysis.
pub(super) struct AfterEvent<'a> {
    pub(super) event: &'a Event,
    /// Class of the state in a switch.
    pub(super) class: StateClass,
    pub(super) engine: &'a Engine,
    /// What is known of the tasks after the event.
    pub(super) known: &'a KnownTasks,
    /// CPUs and queues after the event, as far as an analysis needs them.
    pub(super) queues: &'a RunQueues,
    /// The tasks that left a CPU, got a CPU, or are being woken: `None` for idle threads.
    pub(super) prev: Option<TaskId>,
    pub(super) next: Option<TaskId>,
    pub(super) woken: Option<TaskId>,
}

/// What an analysis needs to be followed; each includes those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Follows {
    /// What is known of each task.
    #[default]
    Tasks,
    /// What each CPU does and did.
    Cpus,
    /// Which threads wait in which queue.
    Queues,
}

/// Receives for each event first what the engine derives from it, then the event itself.
pub(super) trait Analysis: Send {
    fn follows(&self) -> Follows {
        Follows::Tasks
    }
    fn take(&mut self, _after: &AfterEvent<'_>) {}
    fn ran(&mut self, _before: &BeforeEvent<'_>, _task: TaskId, _run: &Run) {}
    fn waited(&mut self, _before: &BeforeEvent<'_>, _task: TaskId, _wait: &Wait) {}
    fn wait_censored(&mut self, _before: &BeforeEvent<'_>, _task: TaskId, _wait: &CensoredWait) {}
    fn slept(&mut self, _before: &BeforeEvent<'_>, _task: TaskId, _state: StateClass, _span: (u64, u64)) {}
    fn retired(&mut self, _before: &BeforeEvent<'_>, _task: TaskId, _as_known: &Task) {}
}

/// Reads a trace to its end. One state machine is compiled for all analyses: a virtual call costs less than the compile
/// time and the code size of one per analysis.
pub(super) fn follow(
    reader: &mut Reader,
    filter: &TaskFilter,
    analyses: &mut [&mut dyn Analysis],
) -> Result<Engine, TraceError> {
    let (mut follower, mut chosen) = (Follower::new(analyses), Chosen::new(filter));
    if filter.comms.is_empty() {
        for_each_batch(reader, |batch, classes| follower.take(batch, classes, &chosen))?;
    } else {
        for_each_named_batch(reader, |batch, classes, names| {
            chosen.learn(filter, names);
            follower.take(batch, classes, &chosen);
        })?;
    }
    Ok(follower.finish())
}

/// The same with some of the analyses in a thread of their own, each thread with its own state machine. If CPUs are
/// free, this is faster than one thread with one state machine.
pub(super) fn follow_in_two_threads(
    reader: &mut Reader,
    filter: &TaskFilter,
    here: &mut [&mut dyn Analysis],
    there: &mut [&mut dyn Analysis],
) -> Result<Engine, TraceError> {
    if !filter.comms.is_empty() {
        // The selected threads are determined batch by batch, in one thread.
        let mut all: Vec<&mut dyn Analysis> = Vec::new();
        here.iter_mut().for_each(|analysis| all.push(&mut **analysis));
        there.iter_mut().for_each(|analysis| all.push(&mut **analysis));
        return follow(reader, filter, &mut all);
    }
    let chosen = Chosen::new(filter);
    let (mut follower, mut other) = (Follower::new(here), Follower::new(there));
    let here = |batch: &[Event], classes: &[StateClass]| follower.take(batch, classes, &chosen);
    for_each_batch_twice(reader, here, |batch, classes| other.take(batch, classes, &chosen))?;
    other.finish();
    Ok(follower.finish())
}

/// A state machine with the analyses that it notifies.
struct Follower<'s, 'a> {
    engine: Engine,
    relay: Relay<'s, 'a>,
}

impl<'s, 'a> Follower<'s, 'a> {
    fn new(all: &'s mut [&'a mut dyn Analysis]) -> Self {
        let event = Event { ts: 0, cpu: Cpu::ANY, what: What::GapBegin };
        let follows = all.iter().map(|analysis| analysis.follows()).max().unwrap_or_default();
        let (known, queues) = (KnownTasks::default(), RunQueues::default());
        let relay = Relay { all, known, queues, follows, event, waker: None };
        Self { engine: Engine::default(), relay }
    }

    fn take(&mut self, batch: &[Event], classes: &[StateClass], chosen: &Chosen) {
        let Self { engine, relay } = self;
        engine.expect(batch);
        for event in batch {
            relay.event = *event;
            relay.waker = match event.what {
                What::Waking(wake) | What::Wakeup(wake) => wake.by_thread().and_then(|waker| engine.task(waker)),
                _ => None,
            };
            if matches!(event.what, What::GapEnd { .. })
                && let Some(tid) = engine.current(event.cpu).filter(|tid| *tid != Tid::IDLE)
                && let Some(task) = engine.task(tid)
            {
                relay.known.lose(task);
            }
            engine.take_dyn(event, classes, relay);
            relay.taken(event, classes, engine, chosen);
        }
    }

    fn finish(mut self) -> Engine {
        self.engine.finish_dyn(&mut self.relay);
        self.engine
    }
}

/// Combines all analyses into a single observer of the engine. What no analysis needs is not passed on.
struct Relay<'s, 'a> {
    all: &'s mut [&'a mut dyn Analysis],
    known: KnownTasks,
    queues: RunQueues,
    follows: Follows,
    event: Event,
    waker: Option<TaskId>,
}

impl Relay<'_, '_> {
    fn each(&mut self, mut call: impl FnMut(&mut dyn Analysis, &BeforeEvent<'_>)) {
        let before = BeforeEvent { event: &self.event, known: &self.known, queues: &self.queues, waker: self.waker };
        self.all.iter_mut().for_each(|analysis| call(&mut **analysis, &before));
    }

    fn taken(&mut self, event: &Event, classes: &[StateClass], engine: &Engine, chosen: &Chosen) {
        let (mut class, mut prev, mut next, mut woken) = (StateClass::Unknown, None, None, None);
        let (cpus, queues) = (self.follows >= Follows::Cpus, self.follows == Follows::Queues);
        match event.what {
            What::Switch { prev_state, next_comm: comm, next_prio: prio, .. } => {
                class = classes.get(prev_state.index()).copied().unwrap_or(StateClass::Unknown);
                (prev, next) = self.known.switch(event, class, engine, chosen);
                if queues {
                    self.queues.switched(event, class, prev, next);
                }
                if cpus {
                    self.queues.lanes.switch(event.ts, event.cpu, next.map(|task| OnCpu { task, comm, prio }));
                }
            }
            What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) => {
                woken = self.known.woken(&wake, engine, chosen);
                if let Some(task) = woken.filter(|_| queues) {
                    self.queues.woken(event, wake.target_cpu, task, self.known.get(task));
                }
            }
            _ => self.take_rare(event, engine),
        }
        let after = AfterEvent { event, class, engine, known: &self.known, queues: &self.queues, prev, next, woken };
        self.all.iter_mut().for_each(|analysis| analysis.take(&after));
    }

    fn take_rare(&mut self, event: &Event, engine: &Engine) {
        match event.what {
            What::Exec { tid, old_tid } => self.known.exec(tid, engine.task(tid), engine.task(old_tid)),
            What::Migrate { tid, .. } if self.follows == Follows::Queues => {
                if let Some(task) = engine.task(tid) {
                    self.queues.moved(event, task, self.known.get(task));
                }
            }
            _ if self.follows >= Follows::Cpus => self.queues.lanes.take_rare(event),
            _ => {}
        }
    }
}

impl Observer for Relay<'_, '_> {
    fn ran(&mut self, task: TaskId, run: &Run) {
        self.each(|analysis, before| analysis.ran(before, task, run));
    }

    fn waited(&mut self, task: TaskId, wait: &Wait) {
        self.each(|analysis, before| analysis.waited(before, task, wait));
    }

    fn wait_censored(&mut self, task: TaskId, wait: &CensoredWait) {
        self.each(|analysis, before| analysis.wait_censored(before, task, wait));
    }

    fn slept(&mut self, task: TaskId, state: StateClass, start: u64, end: u64) {
        self.each(|analysis, before| analysis.slept(before, task, state, (start, end)));
    }

    fn retired(&mut self, task: TaskId, as_known: &Task) {
        self.each(|analysis, before| analysis.retired(before, task, as_known));
        self.known.forget(task);
        if self.follows == Follows::Queues {
            self.queues.retired(task);
        }
    }
}

/// What the events show of a task besides its states.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) tid: Tid,
    /// At its last switch.
    pub(super) comm: Name,
    /// At its last switch or waking.
    pub(super) prio: Prio,
    /// How it last left a CPU.
    pub(super) left: StateClass,
    /// Where it was switched in or out last.
    pub(super) cpu: Option<Cpu>,
    pub(super) on_cpu: bool,
    /// Whether the filter selects it, by its present or an earlier name.
    pub(super) chosen: bool,
}

/// The default for a task that no event has mentioned.
static STRANGER: Known = Known {
    tid: Tid::IDLE,
    comm: Name::UNKNOWN,
    prio: Prio::UNKNOWN,
    left: StateClass::Unknown,
    cpu: None,
    on_cpu: false,
    chosen: false,
};

/// All tasks, by number.
#[derive(Debug, Default)]
pub(super) struct KnownTasks(PerTask<Known>);

impl Default for Known {
    fn default() -> Self {
        STRANGER
    }
}

impl KnownTasks {
    #[inline]
    pub(super) fn get(&self, task: TaskId) -> &Known {
        self.0.get(task).unwrap_or(&STRANGER)
    }

    /// The number will be reused for another task.
    fn forget(&mut self, task: TaskId) {
        *self.0.of(task) = STRANGER;
    }

    /// It is no longer known where the task is.
    fn lose(&mut self, task: TaskId) {
        let known = self.0.of(task);
        (known.on_cpu, known.left) = (false, StateClass::Unknown);
    }

    /// A thread continues under another id.
    fn exec(&mut self, tid: Tid, new: Option<TaskId>, old: Option<TaskId>) {
        let Some((new, old)) = new.zip(old).filter(|(new, old)| new != old) else { return };
        *self.0.of(new) = Known { tid, ..*self.get(old) };
        self.lose(old);
    }

    /// The task that is being woken, after the engine has processed the event.
    #[inline]
    fn woken(&mut self, wake: &Wake, engine: &Engine, chosen: &Chosen) -> Option<TaskId> {
        let task = if wake.tid == Tid::IDLE { None } else { engine.task(wake.tid) }?;
        let known = self.0.of(task);
        known.tid = wake.tid;
        known.learn(wake.comm, wake.prio, chosen);
        Some(task)
    }

    /// The tasks that left and got the CPU, after the engine has processed the switch; `None` for idle threads.
    #[inline]
    fn switch(
        &mut self,
        event: &Event,
        class: StateClass,
        engine: &Engine,
        chosen: &Chosen,
    ) -> (Option<TaskId>, Option<TaskId>) {
        let What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, .. } = event.what else {
            return (None, None);
        };
        let of = |tid: Tid| if tid == Tid::IDLE { None } else { engine.task(tid) };
        let (left, entered, cpu) = (of(prev), of(next), Some(event.cpu));
        if let Some(task) = left {
            let known = self.0.of(task);
            (known.tid, known.left, known.cpu, known.on_cpu) = (prev, class, cpu, false);
            known.learn(prev_comm, prev_prio, chosen);
        }
        if let Some(task) = entered {
            let known = self.0.of(task);
            (known.tid, known.cpu, known.on_cpu) = (next, cpu, true);
            known.learn(next_comm, next_prio, chosen);
        }
        (left, entered)
    }
}

impl Known {
    #[inline]
    fn learn(&mut self, comm: Name, prio: Prio, chosen: &Chosen) {
        if comm != Name::UNKNOWN {
            self.comm = comm;
        }
        if prio != Prio::UNKNOWN {
            self.prio = prio;
        }
        self.chosen = self.chosen || chosen.has(self.tid, comm);
    }

    /// Whether it was preempted and is in a queue.
    pub(super) fn left_runnable(&self) -> bool {
        !self.on_cpu && self.left.is_runnable()
    }

    /// Whether it is asleep, as far as is known.
    pub(super) fn left_asleep(&self) -> bool {
        !self.on_cpu && !self.left.is_runnable()
    }
}
