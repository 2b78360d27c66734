//! Google Benchmark's JSON (`--benchmark_format=json`, `--benchmark_out`), including that of other programs in the same
//! layout. Each run of type `iteration` is a row, so `--benchmark_repetitions` gives n. Aggregates (mean, median,
//! stddev, cv, BigO, RMS) are computed from those rows and are not rows themselves. Times become ns, whatever their
//! `time_unit`.

use crate::json::{documents, number, text};
use crate::table::{Measured, Table, tool};
use crate::{ImportError, Source};
use schedlab_plan::Direction::{self, HigherIsBetter, LowerIsBetter, Neutral};
use serde_json::{Map, Value};

const CUT_SHORT: &str = "the program was ended before it closed its list of benchmarks; let it run to its end";

/// Suffixes of aggregates in files older than 1.5, which state no `run_type`.
const AGGREGATES: [&str; 6] = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];

/// Fields of a run that are not counters.
const FIELDS: [&str; 17] = [
    "name",
    "run_name",
    "run_type",
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "aggregate_name",
    "aggregate_unit",
    "iterations",
    "real_time",
    "cpu_time",
    "time_unit",
    "label",
    "big_o",
    "rms",
];

/// Whether the text is a document of Google Benchmark, complete or truncated.
pub(crate) fn is_in(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    start.starts_with('{') && start.contains("\"context\"") && start.contains("\"benchmarks\"")
}

/// All runs of all documents of a file.
pub(crate) fn read(source: &Source, arm: u32, table: &mut Table) -> Result<(), ImportError> {
    let (mut rows, mut aggregates) = (0, 0);
    for (line, document) in documents(source, CUT_SHORT)? {
        let runs = document.get("benchmarks").and_then(Value::as_array).ok_or_else(|| {
            ImportError::line(source, line, "this JSON has no list `benchmarks`; it is not Google Benchmark's")
        })?;
        warn_of_context(source, &document, table);
        for (index, run) in runs.iter().enumerate() {
            let wrong = |why: &str| ImportError::line(source, line, format!("benchmark {}: {why}", index + 1));
            let run = run.as_object().ok_or_else(|| wrong("is not an object"))?;
            let name = text(run, "name").ok_or_else(|| wrong("has no name"))?;
            if is_aggregate(run, name) {
                aggregates += 1;
                continue;
            }
            rows += 1;
            // The name without suffixes: newer files have it in addition to `name`, which may contain more.
            let spec = tool("google-benchmark", &[("benchmark", text(run, "run_name").unwrap_or(name))]);
            let result = match measured(run) {
                Ok(measured) => measured,
                Err(why) => return Err(wrong(&format!("`{name}` {why}"))),
            };
            let workload = table.workload(spec, "real_time_ns");
            table.push(workload, arm, result);
        }
    }
    match (rows, aggregates) {
        (0, 0) => Err(ImportError::nothing(source, "its list `benchmarks` is empty; did a filter match nothing?")),
        (0, _) => Err(ImportError::nothing(
            source,
            "it has only aggregates, from which no interval can be computed; repeat without \
             --benchmark_report_aggregates_only",
        )),
        _ => Ok(()),
    }
}

fn is_aggregate(run: &Map<String, Value>, name: &str) -> bool {
    match text(run, "run_type") {
        Some(kind) => kind == "aggregate",
        None => AGGREGATES.iter().any(|suffix| name.ends_with(suffix)),
    }
}

/// Adds warnings from what the program reports about itself and its repetitions.
fn warn_of_context(source: &Source, document: &Map<String, Value>, table: &mut Table) {
    let context = document.get("context").and_then(Value::as_object);
    if context.and_then(|c| text(c, "library_build_type")) == Some("debug") {
        table.warn(format!("{}: its benchmark library was built for debugging; times may be off", source.file));
    }
    if context.and_then(|c| c.get("cpu_scaling_enabled")) == Some(&Value::Bool(true)) {
        table.warn(format!("{}: CPU frequency scaling was on", source.file));
    }
    let runs = document.get("benchmarks").and_then(Value::as_array).into_iter().flatten();
    if runs.filter_map(Value::as_object).filter_map(|r| number(r, "repetitions")).any(|n| n > 1.0) {
        table.warn(
            "repetitions are of one process each file: what differs from process to process (memory layout, placement) \
             is not in their spread"
                .into(),
        );
    }
}

/// The row of a run, or its error as a failed row; `Err` if the file is malformed.
fn measured(run: &Map<String, Value>) -> Result<Result<Measured, String>, String> {
    let flag = |key: &str| run.get(key) == Some(&Value::Bool(true));
    for (occurred, message) in [("error_occurred", "error_message"), ("skipped", "skip_message")] {
        if flag(occurred) || (occurred == "skipped" && text(run, "skipped").is_some_and(|s| !s.is_empty())) {
            return Ok(Err(text(run, message).filter(|m| !m.is_empty()).unwrap_or("skipped with an error").to_owned()));
        }
    }
    let unit = text(run, "time_unit").ok_or("has no time_unit")?;
    let factor = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        other => return Err(format!("has the time_unit `{}`; ns, us, ms and s are known", crate::error::shown(other))),
    };
    let mut measured = Measured { operation: "iteration".into(), ..Measured::default() };
    measured.operations = run.get("iterations").and_then(Value::as_u64).unwrap_or(0);
    for (key, name) in [("real_time", "real_time_ns"), ("cpu_time", "cpu_time_ns")] {
        let value = number(run, key).filter(|v| *v >= 0.0).ok_or_else(|| format!("has no {key}"))?;
        measured.metric(name, value * factor, "ns", LowerIsBetter);
    }
    for (name, value) in run.iter().filter(|(name, _)| !FIELDS.contains(&name.as_str())) {
        if let Some(value) = value.as_f64().filter(|v| v.is_finite()) {
            let (unit, direction) = counter(name);
            measured.metric(name, value, unit, direction);
        }
    }
    if let Some(label) = text(run, "label").filter(|l| !l.is_empty()) {
        measured.notes.push(label.to_owned());
    }
    Ok(Ok(measured))
}

/// Unit and direction of the counters that Google Benchmark defines; a program's own counters are neutral facts.
fn counter(name: &str) -> (&'static str, Direction) {
    match name {
        "bytes_per_second" => ("B/s", HigherIsBetter),
        "items_per_second" => ("1/s", HigherIsBetter),
        "allocs_per_iter" => ("1/op", LowerIsBetter),
        "max_bytes_used" => ("B", LowerIsBetter),
        _ => ("", Neutral),
    }
}
