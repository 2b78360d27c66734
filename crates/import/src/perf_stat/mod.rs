//! `perf stat` in its three forms: human-readable (`human.rs`), `-x SEP` (`separated.rs`) and `-j` (`json_lines.rs`).
//! All yield [`Run`]s, one per execution of perf stat, from which `rows.rs` makes rows.
//!
//! How much a run counts for n: with `-r N` perf prints means, so N executions are one row, unless `--table` lists the
//! time of each. With `-I` the lines are parts of one run: a time series and its sum, never n.

mod human;
mod json_lines;
mod rows;
mod separated;

use crate::table::Table;
use crate::{ImportError, Kind, Source};

/// One execution of perf stat, including all repetitions of `-r`.
#[derive(Debug, Clone, Default, PartialEq)]
struct Run {
    /// What was measured: a command, `system wide`, `CPU(s) 0`; empty if the format does not say.
    target: String,
    /// Repetitions of `-r`, if the format has them.
    repetitions: Option<u64>,
    /// Counts in the order printed.
    counts: Vec<Count>,
    /// The footer, s: elapsed, user, sys.
    elapsed_s: Option<f64>,
    user_s: Option<f64>,
    sys_s: Option<f64>,
    /// Elapsed time of each repetition (`--table`), s.
    each_elapsed_s: Vec<f64>,
}

/// One line: an event on a scope, in the whole run or in an interval of it.
#[derive(Debug, Clone, PartialEq)]
struct Count {
    /// From 1.
    line: usize,
    /// When.
    span: Span,
    /// perf's own name of the aggregate (`S0`, `CPU3`, `N1`, `comm-pid`) or cgroup; empty for all together.
    scope: String,
    value: Value,
    /// `msec`, `Joules`, `MiB`; empty for plain counts.
    unit: String,
    event: String,
    /// Standard deviation of the mean over repetitions, percent of it.
    variance_percent: Option<f64>,
    /// How long the event was really counted.
    running: Running,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Whole,
    /// A line of `-I`: ns from the start to the end of the interval.
    Until(u64),
    /// A line of `--summary`, the whole run again.
    Summary,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Counted(f64),
    NotCounted,
    NotSupported,
}

/// Share of the time an event was on the PMU; less than 1 makes its count an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Running {
    share: f64,
    /// If the format has it.
    ns: Option<u64>,
}

impl Running {
    const ALWAYS: Self = Self { share: 1.0, ns: None };

    /// From perf's percentage, of which it prints two decimals.
    fn from_percent(percent: f64, ns: Option<u64>) -> Self {
        Self { share: (percent / 100.0).clamp(0.0, 1.0), ns }
    }
}

/// `<not counted>` and `<not supported>`.
fn no_value(text: &str) -> Option<Value> {
    match text {
        "<not counted>" => Some(Value::NotCounted),
        "<not supported>" => Some(Value::NotSupported),
        _ => None,
    }
}

/// The `SECONDS.NNNNNNNNN` at the beginning of a line of `-I`, in ns. perf prints a point in every locale.
fn interval_ns(text: &str) -> Option<u64> {
    let (seconds, nanos) = text.split_once('.')?;
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if nanos.len() != 9 || !digits(nanos) || !digits(seconds) {
        return None;
    }
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos.parse().ok()?)
}

/// Whether the text has lines of perf stat.
pub(crate) fn is_in(text: &str) -> bool {
    human::is_in(text) || json_lines::is_in(text) || separated::is_in(text)
}

/// All runs of a log.
pub(crate) fn read(source: &Source, arm: u32, table: &mut Table) -> Result<(), ImportError> {
    let runs = if json_lines::is_in(&source.text) {
        json_lines::runs(source)?
    } else if human::is_in(&source.text) {
        human::runs(source)?
    } else {
        separated::runs(source)?
    };
    if runs.iter().all(|r| r.counts.is_empty() && r.elapsed_s.is_none()) {
        return Err(ImportError::no_result(source, Kind::PerfStat, "a count of perf stat"));
    }
    runs.iter().for_each(|run| rows::push(source, run, arm, table));
    Ok(())
}

/// Collects runs of a format that does not mark where a run begins: a new one begins at `# started on`, if the time of
/// `-I` goes back, or if an event occurs again for its scope and span.
#[derive(Debug, Default)]
struct Runs {
    done: Vec<Run>,
    open: Run,
    seen: std::collections::BTreeSet<(u64, String, String)>,
}

impl Runs {
    fn push(&mut self, count: Count) {
        let moment = match count.span {
            Span::Whole => 0,
            Span::Until(ns) => ns,
            Span::Summary => u64::MAX,
        };
        let key = (moment, count.scope.clone(), count.event.clone());
        let last = self.open.counts.last().map(|c| c.span);
        let goes_back = match (last, count.span) {
            (Some(Span::Until(before)), Span::Until(now)) => now < before,
            (Some(Span::Summary), Span::Until(_)) => true,
            _ => false,
        };
        if goes_back || self.seen.contains(&key) {
            self.end_run();
        }
        self.seen.insert(key);
        self.open.counts.push(count);
    }

    fn end_run(&mut self) {
        self.seen.clear();
        let open = std::mem::take(&mut self.open);
        if !open.counts.is_empty() {
            self.done.push(open);
        }
    }

    /// The runs. If a run lacks an event that its neighbours have, the log is incomplete, or an event was requested
    /// twice.
    fn finish(mut self, source: &Source) -> Result<Vec<Run>, ImportError> {
        self.end_run();
        let events = |run: &Run| run.counts.iter().map(|c| c.event.clone()).collect::<std::collections::BTreeSet<_>>();
        let first = self.done.first().map(events).unwrap_or_default();
        for run in &self.done {
            let these = events(run);
            if let Some(odd) = first.symmetric_difference(&these).next() {
                let line = run.counts.first().map_or(1, |c| c.line);
                let why = format!(
                    "the run that starts here and the first one differ in `{odd}`: a log cut short, or an event asked \
                     for twice; keep whole runs of one list of events"
                );
                return Err(ImportError::line(source, line, why));
            }
        }
        Ok(self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_nine_decimals() {
        assert_eq!(interval_ns("1.000000001"), Some(1_000_000_001));
        for text in ["1.5", "1,000000001", ".000000001", "1.00000000x", "99999999999999.000000000"] {
            assert_eq!(interval_ns(text), None, "{text}");
        }
    }
}
