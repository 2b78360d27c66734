//! From a finished command to the outcome: its metric, and what its whole process tree used.

use super::config::{Config, Output};
use super::script::Report;
use super::{INFO, Run};
use crate::error::BenchError;
use crate::herd::Timeline;
use crate::metrics::{self, metric};
use schedlab_plan::{Direction, Metric, StampingReport, TaskRecord, TrialOutcome, shell_words};
use schedlab_sys::clock::monotonic_ns;

/// Metrics reported for every command; a command's own metric must have another name.
pub(super) const OWN_METRICS: &[&str] =
    &["time_s", "cpu_s", "cpus_utilized", "server_cpu_s", "max_rss_bytes", "minor_faults_per_op"];

/// The first thread's schedstat stands for the tree only if that thread used nearly all of the tree's CPU time.
const COVERED_SHARE: f64 = 0.98;

pub(super) fn build(run: &Run<'_>, report: &Report, line: &Timeline, pid: u32) -> Result<TrialOutcome, BenchError> {
    let value = value(run.config, report)?;
    let (tasks, uncovered) = tasks(report, pid);
    let primary = value.as_ref().map(|value| value.name.clone());
    let mut all: Vec<Metric> = value.into_iter().collect();
    all.extend(usage(report, line));
    let own = metrics::per_operation(&tasks, 1, &[], &[]);
    // cpu_s has it already.
    all.extend(own.into_iter().filter(|metric| metric.name != "cpu_ns_per_op"));
    let native_lines = native_lines(run.config, &all, primary.as_deref());
    Ok(TrialOutcome {
        operations: 1,
        metrics: all,
        phases: metrics::phases(run.setup_ns, line, monotonic_ns()),
        tasks,
        stamping: StampingReport { level: run.order.stamping, every: 0, stamped: 0, cost_ns: 0.0, cost_share: 0.0 },
        native_lines,
        notes: notes(report, uncovered),
        ..INFO.outcome()
    })
}

/// The metric that was asked for. If it is missing, the trial is an error that quotes the end of the output.
fn value(config: &Config, report: &Report) -> Result<Option<Metric>, BenchError> {
    let Some(wanted) = &config.wanted else { return Ok(None) };
    let output = match config.output {
        Output::Stdout | Output::Both => &report.stdout,
        Output::Stderr => &report.stderr,
    };
    let found = wanted.find(output).map_err(|why| {
        let cut = if report.cut { " (of more than 8 MiB only the end is kept)" } else { "" };
        let said = super::capture::tail(&report.stdout, &report.stderr);
        BenchError::Command(format!(
            "`{}`: {why}{cut}{said}",
            shell_words::join(config.script.command.iter().map(String::as_str))
        ))
    })?;
    Ok(Some(metric(&wanted.name, found, &wanted.unit, wanted.direction)))
}

/// Wall time, CPU time and memory of the tree.
fn usage(report: &Report, line: &Timeline) -> Vec<Metric> {
    let time_s = (line.steady_end_ns - line.t0_ns) as f64 / 1e9;
    let cpu_s = (report.command.cpu_ns + report.orphans.cpu_ns) as f64 / 1e9;
    let rss = report.command.max_rss_bytes.max(report.orphans.max_rss_bytes);
    let faults = report.command.minor_faults + report.orphans.minor_faults;
    let mut found = vec![
        metric("time_s", time_s, "s", Direction::LowerIsBetter),
        metric("cpu_s", cpu_s, "s", Direction::LowerIsBetter),
        metric("cpus_utilized", cpu_s / time_s.max(1e-9), "CPUs", Direction::Neutral),
        metric("max_rss_bytes", rss as f64, "bytes", Direction::LowerIsBetter),
        metric("minor_faults_per_op", faults as f64, "1/op", Direction::Neutral),
    ];
    let server = report.server_cpu_ns.map(|ns| metric("server_cpu_s", ns as f64 / 1e9, "s", Direction::LowerIsBetter));
    found.extend(server);
    found
}

/// One row for the command with everything it waited for, and one for processes that outlived their parents; and
/// whether schedstat covers too little of the CPU time to be reported.
fn tasks(report: &Report, pid: u32) -> (Vec<TaskRecord>, bool) {
    let row = |role: &str, tid, usage: &super::script::Usage| TaskRecord {
        tid,
        role: role.to_owned(),
        operations: u64::from(role == "command"),
        cpu_ns: Some(usage.cpu_ns),
        voluntary_switches: Some(usage.voluntary_switches),
        involuntary_switches: Some(usage.involuntary_switches),
        ..TaskRecord::default()
    };
    let mut command = row("command", pid, &report.command);
    let total_ns = report.command.cpu_ns + report.orphans.cpu_ns;
    let covered = report.schedstat.map_or(0.0, |[run_ns, ..]| run_ns as f64 / total_ns.max(1) as f64);
    if let Some([run_ns, run_delay_ns, timeslices]) = report.schedstat.filter(|_| covered >= COVERED_SHARE) {
        (command.run_ns, command.run_delay_ns, command.timeslices) =
            (Some(run_ns), Some(run_delay_ns), Some(timeslices));
    }
    let mut rows = vec![command];
    if report.orphans.processes > 0 {
        rows.push(row("orphans", 0, &report.orphans));
    }
    (rows, covered < COVERED_SHARE)
}

fn notes(report: &Report, uncovered: bool) -> Vec<String> {
    // Without numbers that differ between trials, because equal notes are merged and counted.
    let mut notes = Vec::new();
    if uncovered {
        notes.push(
            "run delay is not counted: the CPU time of the command's first thread is not that of its whole tree".into(),
        );
    }
    if report.orphans.processes > 0 {
        notes.push("processes outlived their parents; their usage is counted".into());
    }
    if !report.left_behind.is_empty() {
        let mut names = report.left_behind.clone();
        names.sort_unstable();
        names.dedup();
        let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        notes.push(format!("processes were left behind and killed: {shown}"));
    }
    notes
}

/// The command and its result, then the lines of output that contain it.
fn native_lines(config: &Config, all: &[Metric], primary: Option<&str>) -> Vec<String> {
    let line = shell_words::join(config.script.command.iter().map(String::as_str));
    let shown = |name: &str| all.iter().find(|m| m.name == name).map(|m| format!("{name} {} {}", m.value, m.unit));
    let mut lines = vec![format!("$ {line}")];
    lines.extend(primary.and_then(shown));
    lines
}

#[cfg(test)]
mod tests {
    use super::super::script::Usage;
    use super::*;

    #[test]
    fn schedstat_of_one_thread_does_not_speak_for_many() {
        let usage = Usage { processes: 1, cpu_ns: 1_000_000, ..Usage::default() };
        let report = Report { command: usage, schedstat: Some([990_000, 5_000, 3]), ..Report::default() };
        let (rows, uncovered) = tasks(&report, 7);
        assert_eq!((rows[0].run_delay_ns, uncovered), (Some(5_000), false));
        let report = Report { orphans: usage, ..report };
        let (rows, uncovered) = tasks(&report, 7);
        assert_eq!((rows.len(), rows[0].run_delay_ns, rows[0].cpu_ns), (2, None, Some(1_000_000)));
        assert!(uncovered);
    }
}
