//! Comparison of two traces, or of two sets of traces: for the threads of each name, what they did per second of the
//! trace, how long they waited, behind whom, and who woke them; and how long the queues were. The largest changes come
//! first.
//! A trace is one observation. Variation inside one trace shows how steady it was, not what another recording of the
//! same thing would show. So one trace per side gets a description, and a verdict needs five per side.

mod judge;
mod measure;
mod names;
mod numbers;
mod presence;
mod rows;
mod threads;

pub use judge::decides;
pub use measure::{Compared, DiffError, TraceMetrics, TraceSurvey, compared, look, measure, wanted};

use super::facts::Definition;
use super::filter::TaskFilter;
use measure::same_recording;
use schedlab_plan::json::small;
use serde::Serialize;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-diff/1";

/// Rows of a table by default: the JSON of such a document is below [`MAX_BYTES`].
pub const ROWS: usize = 5;

/// Most bytes of the JSON with the default number of rows, however long the names are: tables lose rows until it fits.
pub const MAX_BYTES: usize = 20_000;

/// Most shift functions.
pub const SHIFTS: usize = 4;

/// What the numbers mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        id: "diff/1",
        means: "the mean over the traces of B less that over the traces of A, of a number for each second of the trace or for each \
                wait, so that traces of different lengths compare. Threads are matched by name, runs of digits in it read as *. \
                Only events that are in every trace are used. With two traces or more a side the interval is Welch's t at 95 %, a \
                trace being one observation",
    },
    Definition {
        id: "moved/3",
        means: "with five traces or more a side: p at most 0.05, and a change of at least 1 ms a second, a hundredth of a thread or \
                of the time, or 5 % of what is counted otherwise. p is of a permutation test, corrected for all that is judged: of \
                all ways to make two sides of these traces (of 20 000 drawn ones, where there are more than 50 000), the share \
                in which any number that has no smaller p differs as much as this one does here, by the difference of the mean \
                logarithms over their standard deviation (Westfall and Young's step-down max T). Half of the 0.05 is for the \
                times and waits of the ten names that ran most in all traces and for the queues, half for all other numbers \
                (all of it where one of the two has none). A number is judged if each side has it in five traces, however the \
                traces are divided. With fewer traces there is no verdict",
    },
    Definition {
        id: "apart/1",
        means: "of fewer traces, a description and no verdict: each trace is cut into ten stretches of equal length, and no stretch \
                of one side reaches the other side's, with room between them as wide as the wider side (of a name that one side \
                lacks: there in every stretch of the other), and a change ten times \
                that of moved/3. Two recordings of the same thing may be apart",
    },
    Definition {
        id: "behind/1",
        means: "for how long threads of other names waited behind the threads of this one (blame/1)",
    },
];

/// Options of the comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffOptions {
    /// Threads whose runs, waits and wakeups are compared; queues are those of all threads.
    pub tasks: TaskFilter,
    /// Whether names are compared unchanged: then `worker-1` and `worker-2` differ.
    pub whole_names: bool,
    /// Rows of each table, all for `Some(usize::MAX)`; if `None`, [`ROWS`] or fewer, so that the JSON fits.
    pub top: Option<usize>,
}

/// One number of a row in both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffChange {
    /// Its name: `ran`, `behind`, `waited`, `wakeup_mean`, `wakeup_p99`, `wakeups`, `mean_wait`, `delay`, `chains`,
    /// `mean_delay`, `length`, `crowded`, `not_conserved`.
    pub of: &'static str,
    /// `ns/s` (of each second of the trace), `ns`, `1/s`, `threads` or `share`.
    pub unit: &'static str,
    /// Mean over the traces of A; absent if none of them has it.
    pub a: Option<f64>,
    /// The same of B.
    pub b: Option<f64>,
    /// B minus A; absent if either is.
    pub change: Option<f64>,
    /// The interval of the change, with two traces or more a side.
    pub interval: Option<[f64; 2]>,
    /// p after correction, with five traces or more a side.
    pub p: Option<f64>,
    /// Lowest and highest value of A: of its traces, or without a verdict of the stretches of its traces, where they are
    /// known.
    pub a_range: Option<[f64; 2]>,
    /// The same of B.
    pub b_range: Option<[f64; 2]>,
    /// `moved` or `not shown` with a verdict; `apart` or `not apart` without one; `not compared` where a side does not
    /// tell it or too few times, `small` where it is shown and less than what is named, or cannot be as large, `no
    /// spread` where it is not known by how much the number varies inside a trace.
    pub says: &'static str,
}

/// Threads of one name, a waker and a woken, or a path of wakeups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffRow {
    /// Names, with `→` from a waker to its wakee.
    pub name: String,
    /// `A` or `B` where only that side has it.
    pub only: Option<&'static str>,
    /// Its numbers.
    pub changes: Vec<DiffChange>,
}

/// Rows about one thing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffTable {
    /// `threads`, `waits`, `wakers`, `chains` or `queues`.
    pub about: &'static str,
    /// Rows that moved or are apart first, then by change of time.
    pub rows: Vec<DiffRow>,
    /// Rows that are not shown.
    pub more_rows: u64,
}

/// A decile of waits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DiffDecile {
    /// Share of the waits that are at most this long.
    pub share: f64,
    /// Mean over the traces of A, ns.
    pub a_ns: f64,
    /// The same of B, ns.
    pub b_ns: f64,
    /// The interval of their difference, ns, with two traces or more a side.
    pub interval_ns: Option<[f64; 2]>,
}

/// A shift function: how waits after wakeups differ from decile to decile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffShift {
    /// Whose.
    pub name: String,
    /// Waits in all traces of A.
    pub a_waits: u64,
    /// The same of B.
    pub b_waits: u64,
    /// From 0.1 to 0.9.
    pub deciles: Vec<DiffDecile>,
}

/// A trace of a side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffTrace {
    /// Its file.
    pub file: String,
    /// Its format, as in `perf.data`.
    pub format: String,
    /// The kernel; empty if it is not in the trace.
    pub release: String,
    /// From its first event to its last, s.
    pub seconds: f64,
    /// Waits that are known.
    pub waits: u64,
    /// Censored waits, which are in none of these numbers.
    pub censored: u64,
    /// Stretches of some CPU in which events are missing.
    pub gaps: u64,
    /// Share of the time of its CPUs in which it is not known who ran.
    pub unknown: f64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceDiff {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// `verdict` with five traces or more a side, else `description`.
    pub basis: &'static str,
    /// Names that moved or are apart, largest change first: those of the table of threads, then the others.
    pub named: Vec<String>,
    /// Threads that ran for a hundredth of a CPU or more in one side only and are not named, with how much they ran:
    /// largest first, at most five.
    pub one_sided: Vec<DiffRow>,
    /// Numbers that were judged together.
    pub judged: u64,
    /// The traces of A.
    pub a: Vec<DiffTrace>,
    /// The traces of B.
    pub b: Vec<DiffTrace>,
    /// What the two sides do not record alike, and problems of the traces, a sentence each.
    pub remarks: Vec<String>,
    /// What these events are not sufficient for.
    pub lacking: Vec<String>,
    /// The tables.
    pub tables: Vec<DiffTable>,
    /// Shift functions of the first [`SHIFTS`] names in the table of waits.
    pub shifts: Vec<DiffShift>,
}

/// Compares two sides.
pub fn diff(
    a: &[TraceMetrics],
    b: &[TraceMetrics],
    used: &Compared,
    options: &DiffOptions,
) -> Result<TraceDiff, DiffError> {
    same_recording(a, b)?;
    let mut found = rows::found(a, b, used, options)?;
    let all = found.clone();
    let mut top = options.top.unwrap_or(ROWS);
    found.keep(top);
    while options.top.is_none() && top > 1 && small(&found).map_or(0, |text| text.len()) >= MAX_BYTES {
        top -= 1;
        found = all.clone();
        found.keep(top);
    }
    Ok(found)
}

impl TraceDiff {
    /// Removes the rows after the first `most` of each table, and the shifts of the removed rows.
    fn keep(&mut self, most: usize) {
        for table in &mut self.tables {
            table.more_rows += table.rows.len().saturating_sub(most) as u64;
            table.rows.truncate(most);
        }
        self.named.truncate(most.max(ROWS));
        let shown = self.tables.iter().filter(|table| table.about == "waits").flat_map(|table| &table.rows);
        let shown: Vec<&str> = shown.map(|row| row.name.as_str()).collect();
        self.shifts.retain(|shift| shown.contains(&shift.name.as_str()));
        self.shifts.truncate(SHIFTS);
    }
}
