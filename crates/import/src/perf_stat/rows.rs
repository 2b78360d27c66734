//! Makes rows of a run of perf stat. For times lower is better; other counts are neutral facts. A `<not counted>` event
//! is a counter with the reason, and no metric; a multiplexed count is marked as an estimate.

use super::{Count, Run, Running, Span, Value};
use crate::Source;
use crate::table::{Measured, Table, tool};
use schedlab_plan::{Count as Counted, Counter, Direction, SeriesPoint};

const NS_PER_S: f64 = 1e9;

/// Adds the rows of a run to the table.
pub(super) fn push(source: &Source, run: &Run, arm: u32, table: &mut Table) {
    let spec = tool("perf-stat", &[("target", run.target.as_str())]);
    if !run.each_elapsed_s.is_empty() {
        let workload = table.workload(spec, "elapsed_s");
        for seconds in &run.each_elapsed_s {
            let mut measured = Measured::default();
            measured.metric("elapsed_s", *seconds, "s", Direction::LowerIsBetter);
            table.push(workload, arm, Ok(measured));
        }
        table.warn(format!(
            "{}: the times of --table are a row each; the other counts are means over these runs and belong to none of \
             them, so they were left out",
            source.file
        ));
        return;
    }
    let measured = measured(run);
    let Some(primary) = primary(&measured) else {
        // A run in which nothing was counted becomes a failed row with the reason.
        let why =
            run.counts.first().map_or("nothing was counted".into(), |c| format!("`{}` {}", c.event, reason(c.value)));
        let workload = table.workload(spec, "elapsed_s");
        table.push(workload, arm, Err(why));
        return;
    };
    if run.repetitions.is_some_and(|n| n > 1) || run.counts.iter().any(|c| c.variance_percent.is_some()) {
        table.warn(format!(
            "{}: perf stat -r prints means, so its repetitions are one row; run perf stat several times, or add --table, \
             and each run counts",
            source.file
        ));
    }
    let workload = table.workload(spec, &primary);
    table.push(workload, arm, Ok(measured));
}

/// The elapsed time, else the first time, else the first count.
fn primary(measured: &Measured) -> Option<String> {
    let of = |wanted: &dyn Fn(&str, Direction) -> bool| {
        measured.metrics.iter().find(|m| wanted(&m.name, m.direction)).map(|m| m.name.clone())
    };
    of(&|name, _| name == "elapsed_s").or_else(|| of(&|_, d| d != Direction::Neutral)).or_else(|| of(&|_, _| true))
}

fn measured(run: &Run) -> Measured {
    let mut measured = Measured::default();
    let last_interval = run.counts.iter().filter_map(interval_end).max();
    let elapsed_s = run.elapsed_s.or(last_interval.map(|ns| ns as f64 / NS_PER_S));
    for (name, value) in [("elapsed_s", elapsed_s), ("user_s", run.user_s), ("sys_s", run.sys_s)] {
        if let Some(value) = value {
            measured.metric(name, value, "s", Direction::LowerIsBetter);
        }
    }
    measured.series = run.counts.iter().filter_map(|c| point(c, run)).collect();
    let totals = totals(&run.counts);
    for total in &totals {
        measured.counters.push(counter(total, run, elapsed_s));
    }
    for event in events(&totals) {
        let values: Vec<f64> = totals.iter().filter(|t| t.event == event).filter_map(counted).collect();
        // The sum over CPUs, sockets or threads. If one of them is missing, the sum would be wrong.
        let of_event = totals.iter().filter(|t| t.event == event);
        if values.len() == of_event.clone().count()
            && let Some(first) = of_event.clone().next()
        {
            let (unit, is_time) = unit(&first.unit, event);
            let direction = if is_time { Direction::LowerIsBetter } else { Direction::Neutral };
            measured.metric(event, values.iter().sum(), unit, direction);
        }
    }
    measured.notes = notes(run, &totals);
    measured
}

fn interval_end(count: &Count) -> Option<u64> {
    match count.span {
        Span::Until(ns) => Some(ns),
        Span::Whole | Span::Summary => None,
    }
}

fn counted(count: &Count) -> Option<f64> {
    match count.value {
        Value::Counted(value) => Some(value),
        Value::NotCounted | Value::NotSupported => None,
    }
}

/// One count per event and scope for the whole run: perf's own total, or the sum of the intervals. An interval in which
/// the task did not run has no count and adds nothing; only a run without any count has no total.
fn totals(counts: &[Count]) -> Vec<Count> {
    let has_whole = counts.iter().any(|c| interval_end(c).is_none());
    let mut totals: Vec<Count> = Vec::new();
    for count in counts.iter().filter(|c| !has_whole || interval_end(c).is_none()) {
        match totals.iter_mut().find(|t| t.event == count.event && t.scope == count.scope) {
            None => totals.push(Count { span: Span::Whole, ..count.clone() }),
            // An event asked for twice (`-e cycles,cycles`) is counted once.
            Some(_) if has_whole => {}
            Some(total) => add(total, count),
        }
    }
    totals
}

fn add(total: &mut Count, count: &Count) {
    let (Some(more), so_far) = (counted(count), counted(total)) else { return };
    total.value = Value::Counted(so_far.unwrap_or(0.0) + more);
    total.running = match (so_far, total.running.ns, count.running.ns) {
        (None, ..) => count.running,
        (_, Some(a), Some(b)) if a > 0 || b > 0 => {
            // Time wanted in both: running time divided by its share.
            let wanted = |ns: u64, share: f64| if share > 0.0 { ns as f64 / share } else { ns as f64 };
            let (ran, wanted) = (a.saturating_add(b), wanted(a, total.running.share) + wanted(b, count.running.share));
            Running { share: (ran as f64 / wanted).min(1.0), ns: Some(ran) }
        }
        _ => Running { share: total.running.share.min(count.running.share), ns: total.running.ns },
    };
}

/// Events in the order printed, each once.
fn events(totals: &[Count]) -> Vec<&str> {
    let mut events: Vec<&str> = Vec::new();
    for total in totals {
        if !events.contains(&total.event.as_str()) {
            events.push(&total.event);
        }
    }
    events
}

/// Our unit for perf's unit, and whether less is better, as it is for CPU time and elapsed time.
fn unit<'u>(unit: &'u str, event: &str) -> (&'u str, bool) {
    let name = event.split(':').next().unwrap_or_default();
    let is_time = matches!(name, "task-clock" | "cpu-clock" | "duration_time" | "user_time" | "system_time");
    match unit {
        "msec" => ("ms", is_time),
        "" | "ns" if is_time => ("ns", true),
        "" => ("1", false),
        "Joules" => ("J", false),
        other => (other, is_time),
    }
}

/// `workload`, `host`, `cpu0`, `node1`, or perf's own name.
fn scope(scope: &str, target: &str) -> String {
    let numbered =
        |prefix: &str| scope.strip_prefix(prefix).filter(|n| n.bytes().all(|b| b.is_ascii_digit()) && !n.is_empty());
    match (scope, target) {
        ("", "system wide") => "host".into(),
        ("", _) => "workload".into(),
        _ => match (numbered("CPU"), numbered("N"), numbered("S")) {
            (Some(n), ..) => format!("cpu{n}"),
            (_, Some(n), _) => format!("node{n}"),
            (.., Some(n)) => format!("socket{n}"),
            _ => scope.into(),
        },
    }
}

fn reason(value: Value) -> &'static str {
    match value {
        Value::NotSupported => "was not supported by that machine (no such counter, or a VM without vPMU)",
        _ => "was never on the PMU while the task ran (perf: <not counted>)",
    }
}

/// A count as a counter. Times of CPU become ns, the unit of all our times.
fn counter(total: &Count, run: &Run, elapsed_s: Option<f64>) -> Counter {
    let (name, scale) = match total.unit.as_str() {
        "msec" => (format!("{}_ns", total.event), 1e6),
        "" | "ns" => (total.event.clone(), 1.0),
        unit => (format!("{} ({unit})", total.event), 1.0),
    };
    let count = match total.value {
        Value::Counted(value) => {
            let value = (value * scale).round() as u64;
            match enabled(total.running, elapsed_s) {
                Some((running_ns, enabled_ns)) => Counted::Scaled { value, running_ns, enabled_ns },
                None => Counted::Exact(value),
            }
        }
        no => Counted::NotCounted(format!("`{}` {}", total.event, reason(no))),
    };
    Counter { name, scope: scope(&total.scope, &run.target), source: "perf stat".into(), count }
}

/// Running time and wanted time of a multiplexed event. If only the share is known, it is applied to the elapsed time,
/// or to a second.
fn enabled(running: Running, elapsed_s: Option<f64>) -> Option<(u64, u64)> {
    if running.share >= 1.0 {
        return None;
    }
    match running.ns {
        Some(ran) if ran > 0 && running.share > 0.0 => Some((ran, (ran as f64 / running.share).round() as u64)),
        _ => {
            let wanted = (elapsed_s.unwrap_or(1.0) * NS_PER_S).round() as u64;
            Some(((wanted as f64 * running.share).round() as u64, wanted))
        }
    }
}

fn point(count: &Count, run: &Run) -> Option<SeriesPoint> {
    let (name, scale) =
        if count.unit == "msec" { (format!("{}_ns", count.event), 1e6) } else { (count.event.clone(), 1.0) };
    let (t_ns, delta) = (interval_end(count)?, counted(count)? * scale);
    Some(SeriesPoint { t_ns, name, scope: scope(&count.scope, &run.target), delta })
}

fn notes(run: &Run, totals: &[Count]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(n) = run.repetitions.filter(|&n| n > 1) {
        notes.push(format!("all counts are means of {n} runs"));
    }
    for total in totals {
        if let Some(percent) = total.variance_percent {
            notes.push(format!("{}: standard deviation of its mean over the runs {percent} %", total.event));
        }
        let missing = |c: &&Count| interval_end(c).is_some() && c.event == total.event && c.scope == total.scope;
        let without = run.counts.iter().filter(missing).filter(|c| counted(c).is_none()).count();
        if without > 0 && counted(total).is_some() {
            notes.push(format!("{}: not counted in {without} intervals, which add nothing to it", total.event));
        }
    }
    notes
}
