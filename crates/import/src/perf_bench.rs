//! `perf bench`: any number of benchmarks per log. `# Running 'sched/pipe' benchmark:` (or, in a collection, `# Running
//! sched/pipe benchmark...`) begins one, comments describe its parameters, and indented lines are its results. The
//! simple format (`-f simple`) prints a bare number without name or unit, so it needs an explicit `--kind`. These lines
//! are printed by tools/perf/bench/*.c and builtin-bench.c.

use crate::error::shown;
use crate::number::{grouped, plain};
use crate::table::{Measured, Table, tool};
use crate::{ImportError, Kind, Source};
use schedlab_plan::Direction::{self, HigherIsBetter, LowerIsBetter};

/// A line of results: the words before and after its number, the number's format, our name, our unit and the factor to
/// it, and the better direction.
struct Form {
    before: &'static str,
    after: &'static str,
    number: fn(&str) -> Option<f64>,
    name: &'static str,
    unit: (&'static str, f64),
    direction: Direction,
}

/// The first form that a benchmark prints is its primary metric. Only whole numbers are grouped by the locale.
#[rustfmt::skip]
const FORMS: [Form; 9] = [
    Form { before: "", after: " usecs/op", number: plain, name: "ns_per_op", unit: ("ns", 1e3), direction: LowerIsBetter },
    Form { before: "Total time: ", after: " [sec]", number: plain, name: "time_s", unit: ("s", 1.0), direction: LowerIsBetter },
    Form { before: "Averaged ", after: " operations/sec", number: grouped, name: "ops_per_s", unit: ("1/s", 1.0), direction: HigherIsBetter },
    Form { before: "", after: " ops/sec", number: grouped, name: "ops_per_s", unit: ("1/s", 1.0), direction: HigherIsBetter },
    Form { before: "", after: " GB/sec", number: plain, name: "bytes_per_s", unit: ("B/s", 1_073_741_824.0), direction: HigherIsBetter },
    Form { before: "", after: " MB/sec", number: plain, name: "bytes_per_s", unit: ("B/s", 1_048_576.0), direction: HigherIsBetter },
    Form { before: "", after: " KB/sec", number: plain, name: "bytes_per_s", unit: ("B/s", 1024.0), direction: HigherIsBetter },
    Form { before: "Wokeup ", after: " ms", number: plain, name: "time_s", unit: ("s", 1e-3), direction: LowerIsBetter },
    Form { before: "Requeued ", after: " ms", number: plain, name: "time_s", unit: ("s", 1e-3), direction: LowerIsBetter },
];

/// The benchmark that a `# Running` line begins.
fn running(line: &str) -> Option<&str> {
    let name = line.strip_prefix("# Running ")?.split(" benchmark").next()?;
    let name = name.trim_matches('\'');
    (line.contains(" benchmark") && name.contains('/') && !name.contains(' ')).then_some(name)
}

/// Whether the text has a line in which perf bench names a benchmark.
pub(crate) fn is_in(text: &str) -> bool {
    text.lines().any(|line| running(line).is_some())
}

/// All benchmarks of a log.
pub(crate) fn read(source: &Source, arm: u32, table: &mut Table) -> Result<(), ImportError> {
    let before = table.rows.len();
    if !is_in(&source.text) {
        return read_simple(source, arm, table);
    }
    let mut open: Option<Benchmark> = None;
    for line in source.text.lines() {
        if let Some(name) = running(line) {
            finish(open.replace(Benchmark::named(name)), source, arm, table);
        } else if let Some(comment) = line.strip_prefix("# ").filter(|_| open.is_some()) {
            // mem/memcpy measures several functions one after another under one heading.
            if comment.starts_with("function ") && open.as_ref().is_some_and(|b| !b.measured.metrics.is_empty()) {
                let next = open.as_ref().map(|b| Benchmark::named(&b.name));
                finish(std::mem::replace(&mut open, next), source, arm, table);
            }
            open.iter_mut().for_each(|b| b.learn(comment));
        } else if let Some(benchmark) = &mut open {
            benchmark.result(line);
        }
    }
    finish(open, source, arm, table);
    if table.rows.len() == before {
        return Err(ImportError::no_result(source, Kind::PerfBench, "a result such as `Total time: 0.123 [sec]`"));
    }
    if table.workloads.iter().any(|w| w.spec.args.get("benchmark").is_some_and(|b| b == "sched/pipe")) {
        table.warn(
            "sched/pipe of perf 6.15 and later keeps two messages under way and is up to twice as fast; its output does \
             not tell which it was: compare logs of one perf"
                .into(),
        );
    }
    Ok(())
}

/// A benchmark whose lines are being read.
#[derive(Debug, Default)]
struct Benchmark {
    name: String,
    args: Vec<(&'static str, String)>,
    measured: Measured,
}

impl Benchmark {
    fn named(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// `20 sender and receiver processes per group`, `10 groups == 400 processes run`,
    /// `Executed 20000 pipe operations between two processes`, `function 'default' (…)`, `Copying 1MB bytes ...`.
    fn learn(&mut self, comment: &str) {
        let words: Vec<&str> = comment.split_ascii_whitespace().collect();
        let mut arg = |key: &'static str, value: &str| self.args.push((key, value.trim_matches('\'').to_owned()));
        match words.as_slice() {
            [pairs, "sender", "and", "receiver", mode, ..] => {
                arg("pairs", pairs);
                arg("mode", mode);
            }
            [groups, "groups", "==", ..] => arg("groups", groups),
            ["Executed", loops, call @ ..] => {
                let loops = grouped(loops).map_or(0, |n| n as u64);
                arg("loops", &loops.to_string());
                match call {
                    ["pipe", "operations", "between", "two", mode] => arg("mode", mode),
                    [call, ..] => arg("call", call),
                    [] => {}
                }
                self.measured.operations = loops;
                self.measured.operation = "operation".into();
            }
            ["function", name, ..] => arg("function", name),
            ["Copying", bytes, ..] => arg("bytes", bytes),
            _ => {}
        }
    }

    /// Records a line of results, if it is one.
    fn result(&mut self, line: &str) {
        for form in FORMS {
            let Some(rest) = line.trim_start().strip_prefix(form.before) else { continue };
            let Some(at) = rest.find(form.after) else { continue };
            // `Wokeup 4 of 4 threads in 0.1642`: the number is the last word.
            let number = rest[..at].split_ascii_whitespace().next_back().and_then(form.number).filter(|x| *x >= 0.0);
            let is_alone = !form.before.is_empty() || !rest[..at].contains(' ');
            if let Some(number) = number.filter(|_| is_alone) {
                self.measured.metric(form.name, number * form.unit.1, form.unit.0, form.direction);
                return;
            }
        }
    }
}

/// A benchmark with results becomes a row; one without any known results becomes a warning.
fn finish(benchmark: Option<Benchmark>, source: &Source, arm: u32, table: &mut Table) {
    let Some(benchmark) = benchmark else { return };
    let names = benchmark.measured.metrics.iter().map(|m| m.name.as_str());
    let rank = |name: &str| FORMS.iter().position(|f| f.name == name);
    let Some(primary) = names.min_by_key(|name| rank(name)).map(str::to_owned) else {
        table.warn(format!("{}: {} has no result that is known here; left out", source.file, benchmark.name));
        return;
    };
    let mut args = vec![("benchmark", benchmark.name.as_str())];
    args.extend(benchmark.args.iter().map(|(key, value)| (*key, value.as_str())));
    let workload = table.workload(tool("perf-bench", &args), &primary);
    table.push(workload, arm, Ok(benchmark.measured));
}

/// `-f simple`: one number per line, without a name.
fn read_simple(source: &Source, arm: u32, table: &mut Table) -> Result<(), ImportError> {
    let mut rows = 0;
    for (index, line) in source.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if line.starts_with("# function ") {
            let why = "perf bench mem in the simple format has rates without their sizes; use its default format";
            return Err(ImportError::line(source, index + 1, why));
        }
        let seconds = plain(line.trim()).filter(|s| *s >= 0.0).ok_or_else(|| {
            let why = format!(
                "`{}` is neither the seconds of perf bench -f simple nor below a `# Running 'sched/pipe' benchmark:`",
                shown(line)
            );
            ImportError::line(source, index + 1, why)
        })?;
        let mut measured = Measured::default();
        measured.metric("time_s", seconds, "s", LowerIsBetter);
        let workload = table.workload(tool("perf-bench", &[("format", "simple")]), "time_s");
        table.push(workload, arm, Ok(measured));
        rows += 1;
    }
    if rows == 0 {
        return Err(ImportError::Empty(source.file.clone()));
    }
    table.warn(
        "the simple format names neither the benchmark nor its options; nothing here tells whether the logs are of one \
         benchmark"
            .into(),
    );
    Ok(())
}
