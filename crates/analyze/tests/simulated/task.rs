//! A task of the simulated machine: its state, and the truth of what happened to it.

use std::collections::BTreeMap;

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum At {
    Asleep,
    Placing,
    Queued,
    Running,
    Gone,
}

/// How a wait began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum After {
    Waking,
    /// Enqueued at once.
    Birth,
    Preemption,
}

/// A wait in progress.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) after: After,
    pub(crate) ns: u64,
    pub(crate) placing_ns: u64,
    /// Whether a `sched_wakeup` reported the time when it was enqueued.
    pub(crate) reported: bool,
    /// Whether the waking came before the switch-out.
    pub(crate) repaired: bool,
    pub(crate) by: BTreeMap<String, u64>,
    pub(crate) idle_elsewhere_ns: u64,
}

/// One time on a CPU, as `trace timehist` reports it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Turn {
    pub(crate) at_ns: u64,
    pub(crate) cpu: u16,
    pub(crate) slept_ns: Option<u64>,
    pub(crate) wakeup_wait_ns: Option<u64>,
    pub(crate) preempt_wait_ns: Option<u64>,
    pub(crate) run_ns: u64,
    pub(crate) left: String,
}

/// What happened to a task.
#[derive(Debug, Clone, Default)]
pub(crate) struct Truth {
    pub(crate) wakeup_ns: Vec<u64>,
    pub(crate) placement_ns: Vec<u64>,
    pub(crate) queueing_ns: Vec<u64>,
    pub(crate) preempt_ns: Vec<u64>,
    /// By what the CPU did.
    pub(crate) blamed_ns: BTreeMap<String, u64>,
    pub(crate) idle_elsewhere_ns: u64,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    pub(crate) migrations: u64,
    pub(crate) repaired: u64,
    pub(crate) unfinished: u64,
    pub(crate) slept_ns: BTreeMap<char, u64>,
    pub(crate) turns: Vec<Turn>,
}

#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) tid: u32,
    pub(crate) comm: String,
    pub(crate) prio: i32,
    pub(crate) at: At,
    /// The CPU where it runs or last ran, or whose queue it is on.
    pub(crate) cpu: usize,
    pub(crate) ran_on: Option<usize>,
    /// Its kind of sleep and how long it has slept; `None` if the trace does not show since when.
    pub(crate) asleep: Option<(char, u64)>,
    pub(crate) waiting: Option<Waiting>,
    /// Whether it was woken before it was asleep.
    pub(crate) pending: bool,
    pub(crate) turn: Turn,
    pub(crate) truth: Truth,
}

impl Waiting {
    pub(crate) fn new(after: After) -> Self {
        Self {
            after,
            ns: 0,
            placing_ns: 0,
            reported: false,
            repaired: false,
            by: BTreeMap::new(),
            idle_elsewhere_ns: 0,
        }
    }
}

impl Task {
    pub(crate) fn leave(&mut self, now: u64, letter: &str, full: bool) {
        let mut turn = std::mem::take(&mut self.turn);
        (turn.at_ns, turn.cpu, turn.left) = (now, self.cpu as u16, letter.to_owned());
        self.truth.turns.push(turn);
        if letter.starts_with('R') {
            self.truth.involuntary += 1;
            (self.at, self.waiting) = (At::Queued, Some(Waiting::new(After::Preemption)));
            self.pending = false;
            return;
        }
        self.truth.voluntary += 1;
        (self.at, self.asleep) = match letter {
            "X" => (At::Gone, None),
            _ => (At::Asleep, letter.chars().next().map(|letter| (letter, 0))),
        };
        if std::mem::take(&mut self.pending) && full {
            // The waking came first: the task never slept, and waits from now on.
            let waiting = Waiting { repaired: true, ..Waiting::new(After::Waking) };
            (self.at, self.asleep, self.waiting) = (At::Placing, None, Some(waiting));
        }
    }

    pub(crate) fn enter(&mut self, cpu: usize) {
        if self.ran_on.is_some_and(|before| before != cpu) {
            self.truth.migrations += 1;
        }
        (self.at, self.cpu, self.ran_on) = (At::Running, cpu, Some(cpu));
        let Some(waiting) = self.waiting.take() else { return };
        let truth = &mut self.truth;
        match waiting.after {
            After::Preemption => {
                truth.preempt_ns.push(waiting.ns);
                self.turn.preempt_wait_ns = Some(waiting.ns);
            }
            after => {
                truth.wakeup_ns.push(waiting.ns);
                truth.repaired += u64::from(waiting.repaired);
                self.turn.wakeup_wait_ns = Some(waiting.ns);
                if waiting.reported {
                    truth.placement_ns.push(waiting.placing_ns);
                }
                if waiting.reported || after == After::Birth {
                    truth.queueing_ns.push(waiting.ns - waiting.placing_ns);
                }
            }
        }
        for (what, ns) in waiting.by {
            *truth.blamed_ns.entry(what).or_default() += ns;
        }
        truth.idle_elsewhere_ns += waiting.idle_elsewhere_ns;
    }
}
