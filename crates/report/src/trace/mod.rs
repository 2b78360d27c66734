//! Findings of traces in print, and the list of analyses.

mod affine;
mod analysis;
mod basis;
mod blame;
mod chains;
mod check;
mod copies;
mod diff;
mod explain;
mod inversions;
mod kworkers;
mod latency;
mod map;
mod overview;
mod perf_latency;
mod pooled_kworkers;
mod queues;
mod recording;
mod slow;
mod states;
mod timehist;

pub use analysis::{AnalysisError, Filtered, Form, RenderedOutput, Takes, TraceAnalysis};
pub use check::{trace_check, trace_check_claim};
pub use copies::{trace_copies, trace_copies_svg};
pub use diff::trace_diff;
pub use kworkers::trace_kworkers;
pub use latency::trace_latency;
pub use map::map_line;
pub use overview::trace_overview;
pub use perf_latency::perf_latency_text;
pub use pooled_kworkers::{pooled_kworkers, pooled_kworkers_svg};
pub use recording::{Recording, recording_text};
pub use slow::trace_slow;
pub use timehist::{MAX_TURNS, timehist_header, timehist_line, timehist_svg};

use crate::document::{Block, Document, Remark, Section};
use crate::labels::{capital, full_stop};
use crate::number::{count, ns_of};
use schedlab_analyze::trace::{self, Definition, TraceFacts};
use schedlab_plan::counted;

/// Width of a picture in its own file, px.
const WIDTH: f64 = 760.0;

/// Every analysis that needs nothing but a trace and the common options, in the order in which they are listed.
pub const ANALYSES: &[TraceAnalysis] = &[
    TraceAnalysis {
        name: "queues",
        question: "Show how long each CPU's run queue was: time at each length, over time, and while another CPU was idle",
        examples: &["schedlab trace queues perf.data", "schedlab trace queues out/trace --cpu 0"],
        takes: Takes {
            filters: Filtered::NotTasks("the length of a queue counts all threads that run or wait there"),
            ..Takes::TRACE
        },
        definitions: trace::queues::DEFINITIONS,
        wanted: trace::queues::wanted,
        run: |reader, request, form| form.of(&trace::queues(reader, request)?, queues::page),
    },
    TraceAnalysis {
        name: "blame",
        question: "Show behind whom tasks waited: what had their CPU meanwhile, in total and for the longest waits",
        examples: &[
            "schedlab trace blame perf.data",
            "schedlab trace blame perf.data --comm 'nginx*' --state S --top 5",
        ],
        takes: Takes::WAITS,
        definitions: trace::blame::DEFINITIONS,
        wanted: trace::blame::wanted,
        run: |reader, request, form| form.of(&trace::blame(reader, request)?, blame::page),
    },
    TraceAnalysis {
        name: "chains",
        question: "Show who woke whom: how delays add up along a chain of wakeups",
        examples: &["schedlab trace chains perf.data", "schedlab trace chains out/trace --top 5"],
        takes: Takes { each_task: false, ..Takes::WAITS },
        definitions: trace::chains::DEFINITIONS,
        wanted: trace::chains::wanted,
        run: |reader, request, form| form.of(&trace::chains(reader, request)?, chains::page),
    },
    TraceAnalysis {
        name: "inversions",
        question: "Find real-time threads delayed by lower priorities: those that they depend on do not get the CPU",
        examples: &["schedlab trace inversions perf.data", "schedlab trace inversions perf.data --prio rt"],
        takes: Takes::WAITS,
        definitions: trace::inversions::DEFINITIONS,
        wanted: trace::inversions::wanted,
        run: |reader, request, form| form.of(&trace::inversions(reader, request)?, inversions::page),
    },
    TraceAnalysis {
        name: "affine",
        question: "Count wakee flips: with an estimate of the kernel's wake_wide()",
        examples: &["schedlab trace affine perf.data", "schedlab trace affine perf.data --llc-size 8"],
        takes: Takes {
            filters: Filtered::NotStates("who wakes another is on a CPU"),
            each_task: true,
            rows: Some(20),
            llc_size: true,
        },
        definitions: trace::affine::DEFINITIONS,
        wanted: trace::affine::wanted,
        run: |reader, request, form| form.of(&trace::affine(reader, request)?, affine::page),
    },
    TraceAnalysis {
        name: "explain",
        question: "Run several analyses in one pass: blame, chains, inversions, kworkers and map",
        examples: &["schedlab trace explain perf.data", "schedlab trace explain out/trace --comm 'nginx*'"],
        takes: Takes::WAITS,
        definitions: &[],
        wanted: trace::explain::wanted,
        run: |reader, request, form| form.of(&trace::explain(reader, request)?, explain::page),
    },
    TraceAnalysis {
        name: "states",
        question: "Show where the time of each task went: running, waiting, asleep",
        examples: &["schedlab trace states perf.data", "schedlab trace states perf.data --top 0"],
        takes: Takes {
            filters: Filtered::NotTimes("the time of a task is added up over the whole trace"),
            rows: Some(20),
            ..Takes::TRACE
        },
        definitions: &[],
        wanted: trace::states::wanted,
        run: |reader, request, form| form.of(&trace::states(reader, request)?, states::page),
    },
    TraceAnalysis {
        name: "check",
        question: "Check whether the trace can be trusted: lost events, inconsistent switches, clocks, events that were not recorded",
        examples: &["schedlab trace check perf.data", "schedlab trace check out/trace --json"],
        takes: Takes::TRACE,
        definitions: &[],
        wanted: trace::check::wanted,
        run: |reader, _, form| form.of(&trace::check(reader)?, trace_check),
    },
];

/// The definitions of the numbers of every analysis, in the order in which they are listed: first those of
/// [`ANALYSES`], then those of analyses with options of their own.
pub fn trace_definitions() -> impl Iterator<Item = &'static Definition> {
    let own = [
        trace::kworkers::DEFINITIONS,
        trace::overview::DEFINITIONS,
        trace::copies::DEFINITIONS,
        trace::slow::DEFINITIONS,
        trace::diff::DEFINITIONS,
    ];
    let of_rows = ANALYSES.iter().map(|row| row.definitions);
    [trace::definitions()].into_iter().chain(of_rows).chain(own).flatten()
}

/// What the pages of traces have in common.
impl Document {
    /// A page with its claim and the origin of the trace.
    fn of_trace(claim: impl Into<String>, trace: &TraceFacts) -> Self {
        let claim = claim.into();
        let mut text = trace.format.clone();
        let mut add = |before: &str, what: &str| {
            if !what.is_empty() {
                text += &format!("{before}{what}");
            }
        };
        add(" of ", &trace.hostname);
        add(", kernel ", &trace.release);
        add(" ", &trace.arch);
        add(", by ", &trace.recorder);
        add("; clock: ", &trace.clock);
        let events = match trace.events_in_file() {
            all if all > trace.events => format!("{} of the file's {} events", trace.events, all),
            _ => counted(trace.events, "events"),
        };
        let origin = Block::Origin(format!("{text}; {}, {events}", ns_of(trace.length_ns)));
        let unmatched = trace.unmatched.iter().filter(|unmatched| !claim.contains(unmatched.as_str()));
        let unmatched = Block::warnings(unmatched.cloned());
        Self(vec![Section::body("", claim, [origin].into_iter().chain(unmatched).collect())])
    }

    /// The page with what a reader must know about its numbers.
    fn ends(mut self, remarks: impl IntoIterator<Item = Remark>) -> Self {
        self.add("", Block::remarks(remarks).into_iter().collect());
        self
    }
}

/// The claim if nothing was found: see [`TraceFacts::nothing`].
fn nothing(trace: &TraceFacts, known: &str) -> String {
    full_stop(&capital(&trace.nothing(known)))
}

/// The note on rows that `--top` left out.
fn more(number: u64, what: &str) -> Option<Remark> {
    (number > 0).then(|| Remark::note(format!("{} more {what}; --top 0 shows all", count(number))))
}

/// Sentences that begin with a number, for the numbers that are not 0; each has a text for 1 and one for others.
fn numbered<'s>(numbers: impl IntoIterator<Item = (u64, &'s str, &'s str)>) -> impl Iterator<Item = Remark> {
    let numbers = numbers.into_iter().filter(|(number, ..)| *number > 0);
    numbers
        .map(|(number, one, more)| Remark::note(format!("{} {}", count(number), if number == 1 { one } else { more })))
}

/// What a reader of the findings must know about the trace.
fn remarks(trace: &TraceFacts) -> impl Iterator<Item = Remark> {
    let numbers = [
        (
            trace.repaired_wakings,
            "waking came before the switch-out that it ended; that wait begins there",
            "wakings came before the switch-out that they ended; those waits begin there",
        ),
        (
            trace.cancelled_sleeps,
            "waking found its thread not asleep yet, and it did not sleep",
            "wakings found their thread not asleep yet, and it did not sleep",
        ),
        (
            trace.unseen_wakings,
            "thread was switched in after a sleep, and its waking was not recorded",
            "threads were switched in after a sleep, and their waking was not recorded",
        ),
        (
            trace.gaps,
            "stretch of some CPU has missing events; waits there that overlap it are censored",
            "stretches of some CPU have missing events; waits there that overlap them are censored",
        ),
        (
            trace.late_gaps,
            "of them was found late: a wait that had ended by then is counted, though it may overlap it",
            "of them were found late: waits that had ended by then are counted, though they may overlap one",
        ),
    ];
    numbered(numbers).chain(trace.problems.iter().map(Remark::warning))
}

/// The task of a row: `name:tid` for one task, `name:(n)` for several, as in perf.
fn task(comm: &str, tid: Option<u32>, tasks: u64) -> String {
    match tid {
        Some(tid) => format!("{comm}:{tid}"),
        None => format!("{comm}:({tasks})"),
    }
}
