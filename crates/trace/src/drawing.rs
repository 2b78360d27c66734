//! Timelines written by hand, for tests. A line is an event: CPU, time in µs, what happened. Threads are single letters
//! with ids from 10 (`A`) on, or `A=7` where two threads share an id; `.` is the idle thread.
//!
//! ```text
//! 0 10 A S > B          A leaves CPU 0 asleep, B gets it
//! 1 12 waking A by C    sched_waking; `irq` after it: by an interrupt in C; `on 0`: A was there
//! 0 13 wakeup A on 0    sched_wakeup
//! 0 14 new A on 0       sched_wakeup_new
//! 0 15 migrate A 0 1
//! 0 16 fork A B
//! 0 17 exit B
//! 0 18 rename A name
//! 0 19 exec A B         B continues under the id of A
//! 0 20 lost 3
//! ```

use crate::engine::{Censored, CensoredWait, Counts, Engine, Observer, Run, TaskId, Wait};
use crate::event::{Context, Cpu, Event, Prio, Tid, Wake, What};
use crate::names::{Name, Names};
use crate::order::Order;
use crate::prev_state::{PrevStates, StateClass};
use crate::problem::Problems;
use crate::{Reader, TraceError};

/// Everything that a reader yields.
pub(crate) fn read_all(mut reader: Reader) -> Result<(Vec<Event>, Reader), TraceError> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    Ok((all, reader))
}

/// The events of a drawing, as a reader would yield them: in the order of the lines, with losses kept separately.
pub(crate) struct Drawing {
    pub(crate) lines: Vec<Line>,
    pub(crate) names: Names,
    pub(crate) states: PrevStates,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Line {
    Event(Event),
    Lost { cpu: Cpu, ts: u64, lost: u64 },
}

impl Drawing {
    pub(crate) fn new(text: &str) -> Self {
        let mut drawing = Self { lines: Vec::new(), names: Names::default(), states: PrevStates::default() };
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let cpu = Cpu(words[0].parse().expect("a CPU"));
            let ts = words[1].parse::<u64>().expect("a time in µs") * 1000;
            let line = match words[2..] {
                ["lost", lost] => Line::Lost { cpu, ts, lost: lost.parse().expect("a number") },
                _ => Line::Event(Event { ts, cpu, what: drawing.what(&words[2..]) }),
            };
            drawing.lines.push(line);
        }
        drawing
    }

    fn what(&mut self, words: &[&str]) -> What {
        let cpu = |text: &str| Cpu(text.parse().expect("a CPU"));
        let prio = Prio::from_raw(120);
        match *words {
            [prev, state, ">", next] => {
                let ((prev, prev_comm), (next, next_comm)) = (self.thread(prev), self.thread(next));
                let prev_state = self.states.of_letters(state);
                What::Switch { prev, next, prev_comm, next_comm, prev_prio: prio, next_prio: prio, prev_state }
            }
            ["waking", who, "by", waker, ref rest @ ..] => {
                let context = if rest == ["irq"] { Context::from_common_flags(8) } else { Context::NONE };
                let was_on = if let ["on", was_on] = *rest { cpu(was_on) } else { Cpu::ANY };
                What::Waking(Wake { waker: self.thread(waker).0, context, ..self.wake(who, was_on) })
            }
            ["wakeup", who, "on", on] => What::Wakeup(self.wake(who, cpu(on))),
            ["new", who, "on", on] => What::WakeupNew(self.wake(who, cpu(on))),
            ["migrate", who, from, to] => {
                let (tid, comm) = self.thread(who);
                What::Migrate { tid, comm, prio, orig_cpu: cpu(from), dest_cpu: cpu(to) }
            }
            ["fork", parent, child] => {
                let (child, comm) = self.thread(child);
                What::Fork { parent: self.thread(parent).0, child, comm }
            }
            ["exit", who] => {
                let (tid, comm) = self.thread(who);
                What::Exit { tid, comm }
            }
            ["exec", who, old] => What::Exec { tid: self.thread(who).0, old_tid: self.thread(old).0 },
            ["rename", who, name] => What::Comm { tid: self.thread(who).0, comm: self.names.intern(name) },
            _ => panic!("`{}` is not an event", words.join(" ")),
        }
    }

    fn wake(&mut self, who: &str, target_cpu: Cpu) -> Wake {
        let (tid, comm) = self.thread(who);
        Wake { tid, comm, waker: Tid::IDLE, target_cpu, prio: Prio::from_raw(120), context: Context::NONE }
    }

    fn thread(&mut self, word: &str) -> (Tid, Name) {
        match word.split_once('=') {
            _ if word == "." => (Tid::IDLE, self.names.intern("swapper")),
            Some((name, tid)) => (Tid(tid.parse().expect("a thread id")), self.names.intern(name)),
            None => (Tid(10 + u32::from(word.as_bytes()[0] - b'A')), self.names.intern(word)),
        }
    }

    /// In the order of time, with the gaps marked.
    pub(crate) fn ordered(&self) -> Vec<Event> {
        let (mut order, mut problems) = (Order::default(), Problems::default());
        for line in &self.lines {
            match *line {
                Line::Event(event) => order.push(event, &mut problems),
                Line::Lost { cpu, ts, lost } => order.lost(cpu, ts, lost, &mut problems),
            }
        }
        order.finish(&mut problems);
        let mut events = Vec::new();
        while order.is_ready() {
            let mut batch = Vec::new();
            order.take(&mut batch);
            events.extend(batch);
        }
        events
    }
}

/// Checks that a file of a fuzz target's corpus equals what is written here; with `SCHEDLAB_BLESS`, writes it.
pub(crate) fn is_in_corpus(target: &str, name: &str, bytes: &[u8]) {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    if std::env::var_os("SCHEDLAB_BLESS").is_some() {
        std::fs::create_dir_all(&dir).expect("a directory");
        std::fs::write(dir.join(name), bytes).expect("written");
    }
    let there = std::fs::read(dir.join(name)).unwrap_or_default();
    assert!(there == bytes, "{target}/{name} differs from what is written here: SCHEDLAB_BLESS=1 cargo test");
}

/// What the engine reported, one line each, times in µs; tasks as `A`, or `A#3` by number if a name is used twice.
pub(crate) struct Observed {
    pub(crate) lines: Vec<String>,
    pub(crate) counts: Counts,
    pub(crate) tasks: Vec<crate::engine::Task>,
    pub(crate) retired: u64,
}

impl Observed {
    /// The lines in which one of these words follows the task.
    pub(crate) fn of(&self, words: &[&str]) -> Vec<&str> {
        let wanted = |line: &&String| line.split(' ').nth(1).is_some_and(|word| words.contains(&word));
        self.lines.iter().filter(wanted).map(String::as_str).collect()
    }

    /// What became of waits.
    pub(crate) fn waits(&self) -> Vec<&str> {
        self.of(&["waited", "censored"])
    }
}

/// Runs the engine over a drawing.
pub(crate) fn observe(text: &str) -> Observed {
    let drawing = Drawing::new(text);
    observe_events(&drawing.ordered(), &drawing.names, &drawing.states)
}

/// Runs the engine over events.
pub(crate) fn observe_events(events: &[Event], names: &Names, states: &PrevStates) -> Observed {
    observe_by(Engine::default(), events, names, states)
}

/// Runs this engine over events.
pub(crate) fn observe_by(mut engine: Engine, events: &[Event], names: &Names, states: &PrevStates) -> Observed {
    let mut log = Log::default();
    let classes = states.classes();
    engine.expect(events);
    for event in events {
        engine.take(event, &classes, &mut log);
    }
    engine.finish(&mut log);
    let name = |id: usize| {
        let task = &engine.tasks()[id];
        let first = task.first_comm.unwrap_or(task.comm);
        let twice = engine.tasks().iter().filter(|t| t.tid == task.tid).count() > 1;
        if twice { format!("{}#{id}", names.text(first)) } else { names.text(first).to_owned() }
    };
    let lines = log.lines.iter().map(|(task, line)| format!("{} {line}", name(task.index()))).collect();
    Observed { lines, counts: engine.counts(), tasks: engine.tasks().to_vec(), retired: log.retired }
}

#[derive(Default)]
struct Log {
    lines: Vec<(TaskId, String)>,
    retired: u64,
}

impl Log {
    fn add(&mut self, task: TaskId, line: String) {
        self.lines.push((task, line));
    }
}

impl Observer for Log {
    fn ran(&mut self, task: TaskId, run: &Run) {
        let left = run.left.map_or("the end".to_owned(), |(_, class)| format!("{class:?}"));
        self.add(task, format!("ran {}-{} on {} to {left}", run.start / 1000, run.end / 1000, run.cpu.0));
    }

    fn waited(&mut self, task: TaskId, wait: &Wait) {
        let queued = wait.queued.map_or(String::new(), |q| format!(" queued {}", q / 1000));
        self.add(task, format!("waited {}-{} {:?}{queued}", wait.start / 1000, wait.end / 1000, wait.began));
    }

    fn wait_censored(&mut self, task: TaskId, wait: &CensoredWait) {
        self.add(task, format!("censored {:?} {:?}", wait.began, wait.why));
    }

    fn run_censored(&mut self, task: TaskId, why: Censored) {
        self.add(task, format!("run-censored {why:?}"));
    }

    fn slept(&mut self, task: TaskId, state: StateClass, start: u64, end: u64) {
        self.add(task, format!("slept {}-{} {state:?}", start / 1000, end / 1000));
    }

    fn retired(&mut self, _task: TaskId, _known: &crate::engine::Task) {
        self.retired += 1;
    }

    fn moved(&mut self, task: TaskId, from: Cpu, to: Cpu) {
        self.add(task, format!("moved {} to {}", from.0, to.0));
    }
}
