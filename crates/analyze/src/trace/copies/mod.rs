//! The copies of a workload of pairs, each with its score: where its two partners were over time, how long they waited
//! for a CPU, how often they were switched and migrated; and which of these correlates with the score.

mod follow;
mod joined;

use super::facts::{Definition, TraceFacts};
use super::lacking::lacking;
use super::scope::Scope;
use follow::Followed;
pub use joined::{CopiesOfArm, CopiesOfArms, Correlation};
use schedlab_plan::{InOrder, TrialOutcome};
use schedlab_trace::{Kind, Kinds, Reader, TraceError};
use serde::Serialize;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-copies/1";

/// What the numbers mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        id: "co-located/1",
        means: "share of the steady phase in which both partners of a copy were on one CPU. A thread is on the CPU where it \
                was switched in last, also while it sleeps or waits; time before its first switch-in, or behind missing \
                events, is not known and in no share",
    },
    Definition {
        id: "queue-delay/1",
        means: "time that the partners waited for a CPU in the steady phase, after wakeups and after preemptions: the trace's \
                counterpart of schedstat's run delay",
    },
    Definition {
        id: "copy-correlation/1",
        means: "Pearson's r over copies, of the score against each of the others, all as ratios to the mean of their trial, so \
                that only differences between the copies of one trial count; r² is the share of the scores' variance that \
                goes with it. Not a cause",
    },
];

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    Kinds::TASKS
}

/// A copy as described by its trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyTasks {
    /// Its number.
    pub copy: u32,
    /// Thread ids of its partners, the parent first.
    pub tids: [u32; 2],
    /// Operations that it completed.
    pub operations: u64,
}

/// The copies of a trial, and the time that it measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiesOrder {
    /// The copies, by number.
    pub copies: Vec<CopyTasks>,
    /// The steady phase, ns of the trace's clock.
    pub steady: (u64, u64),
    /// Slices that the steady phase is cut into.
    pub slices: usize,
}

impl CopiesOrder {
    /// From a trial's outcome; the error says what it lacks.
    pub fn of(outcome: &TrialOutcome, slices: usize) -> Result<Self, String> {
        let steady =
            outcome.phases.iter().find(|phase| phase.name == "steady").ok_or("the trial has no steady phase")?;
        if steady.end_ns <= steady.start_ns {
            return Err("the trial's steady phase has no length".to_owned());
        }
        let mut tasks: Vec<_> = outcome.tasks.iter().enumerate().collect();
        tasks.in_order_by_key(|(at, task)| (task.group, *at));
        let mut copies = Vec::new();
        for tasks in tasks.chunk_by(|(_, a), (_, b)| a.group == b.group) {
            let copy = tasks[0].1.group;
            let [(_, first), (_, second)] = *tasks else {
                let tasks = tasks.len();
                return Err(format!(
                    "group {copy} of {} has {tasks} tasks; copies are pairs, as those of pipe",
                    outcome.workload
                ));
            };
            copies.push(CopyTasks { copy, tids: [first.tid, second.tid], operations: first.operations });
        }
        Ok(Self { copies, steady: (steady.start_ns, steady.end_ns), slices: slices.max(1) })
    }
}

/// A stretch of the steady phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CopySlice {
    /// The CPU on which each partner spent most time; absent if unknown.
    pub cpus: [Option<u16>; 2],
    /// Share in which both were on one CPU.
    pub together: Option<f64>,
}

/// What a copy did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TracedCopy {
    /// Its number.
    pub copy: u32,
    /// Thread ids of its partners.
    pub tids: [u32; 2],
    /// Operations.
    pub operations: u64,
    /// Operations a second of the steady phase.
    pub score_per_s: f64,
    /// Its score against the mean of its trial's copies.
    pub relative: f64,
    /// Share of the time with both partners on one CPU; absent where it is not known of any time.
    pub co_located_share: Option<f64>,
    /// Times that they came onto one CPU or parted.
    pub flips: u64,
    /// Waits for a CPU of each partner, added up, ns.
    pub queue_delay_ns: [u64; 2],
    /// The same of both, for each operation.
    pub queue_delay_ns_per_op: f64,
    /// Waits of both.
    pub waits: u64,
    /// On a CPU (`run/1`), each partner, ns.
    pub run_ns: [u64; 2],
    /// Voluntary switches of both.
    pub voluntary: u64,
    /// Involuntary switches of both.
    pub involuntary: u64,
    /// Switches for each operation.
    pub switches_per_op: f64,
    /// Times that a partner was switched in on another CPU than before.
    pub migrations: u64,
    /// Share of the steady phase in which the CPUs of both are known.
    pub known_share: f64,
    /// Over time.
    pub slices: Vec<CopySlice>,
}

/// What was found in one trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Copies {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// What the recorded events are not sufficient for.
    pub lacking: Vec<String>,
    /// Length of the steady phase, ns.
    pub steady_ns: u64,
    /// Copies, by number.
    pub copies: Vec<TracedCopy>,
}

/// Reads the trace of a trial to its end.
pub fn copies(reader: &mut Reader, order: &CopiesOrder) -> Result<Copies, TraceError> {
    let (engine, followed) = Followed::read(reader, order)?;
    let mut copies = followed.rows(&engine, order);
    let mean = copies.iter().map(|row| row.score_per_s).sum::<f64>() / copies.len().max(1) as f64;
    copies.iter_mut().for_each(|row| row.relative = if mean > 0.0 { row.score_per_s / mean } else { 0.0 });
    let kinds = reader.info().kinds;
    Ok(Copies {
        schema: SCHEMA,
        trace: TraceFacts::of(reader, &engine, &Scope::default()),
        definitions: DEFINITIONS,
        lacking: lacking(kinds, &[(Kind::SchedWaking, "waits after wakeups are not known")]),
        steady_ns: order.steady.1.saturating_sub(order.steady.0),
        copies,
    })
}
