//! One trial in print: first the lines that its reference tool would print (hackbench, perf bench, context1), then what
//! schedlab knows in addition: rates, latency, legs, placement, switches, and what could not be counted, with the
//! reason.

use crate::escape::terminal;
use crate::number::{count, ns, percent, quantity};
use crate::table::{Align, Cell, Table, width, wrap};
use crate::{labels, tables};
use schedlab_plan::require::CALLS;
use schedlab_plan::{Count, Counter, TrialOutcome, counted};
use std::io::{self, Write};

/// Sentences wider than this are hard to read, however wide the terminal is.
const WIDEST: usize = 100;

const QUANTILES: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];

/// The outcome of one trial for a terminal `columns` wide. The lines of the reference tool are not wrapped, because
/// they are for comparison with that tool.
pub fn bench_text(outcome: &TrialOutcome, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let columns = columns.max(40);
    let text = columns.min(WIDEST);
    for line in &outcome.native_lines {
        writeln!(out, "{}", terminal(line).trim_end())?;
    }
    if !outcome.native_lines.is_empty() {
        writeln!(out)?;
    }
    let operations = format!("{} × {}", count(outcome.operations), outcome.operation);
    writeln!(out, "{}: {operations}, verified", terminal(&outcome.workload))?;
    let mut rows: Vec<(String, String)> = metrics(outcome);
    rows.extend(facts(outcome));
    let column = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    for (name, value) in &rows {
        let space = " ".repeat(column - width(name));
        for (i, line) in wrap(&terminal(value), text.saturating_sub(4 + column)).iter().enumerate() {
            let lead = if i == 0 { format!("{}{space}", terminal(name)) } else { " ".repeat(column) };
            writeln!(out, "  {lead}  {line}")?;
        }
    }
    histograms(outcome, columns, out)?;
    crate::topdown::write(outcome, out)?;
    for line in remarks(outcome) {
        for (i, part) in wrap(&terminal(&line), text - 4).iter().enumerate() {
            writeln!(out, "{}{part}", if i == 0 { "  - " } else { "    " })?;
        }
    }
    Ok(())
}

/// Metrics, without those that another part of the output shows better.
fn metrics(outcome: &TrialOutcome) -> Vec<(String, String)> {
    let elsewhere = |name: &str| {
        let of_histogram = outcome.histograms.iter().any(|h| name.starts_with(&format!("{}_p", h.name)));
        let elsewhere = name.starts_with("tier_share_") || name.ends_with("_per_op") || crate::topdown::is_node(name);
        of_histogram || elsewhere
    };
    let shown = outcome.metrics.iter().filter(|m| !elsewhere(&m.name));
    shown.map(|m| (m.name.clone(), quantity(m.value, &m.unit))).collect()
}

fn facts(outcome: &TrialOutcome) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |name: &str, parts: Vec<String>| {
        if !parts.is_empty() {
            rows.push((name.to_owned(), parts.join(", ")));
        }
    };
    let total: u64 = outcome.tiers.iter().map(|t| t.operations).sum();
    let share = |n: u64| percent(n as f64 / total.max(1) as f64);
    row(
        "placement",
        outcome.tiers.iter().map(|t| format!("{} {}", labels::tier(t.tier), share(t.operations))).collect(),
    );
    row("per operation", per_operation(outcome));
    let settings = outcome.applied.iter().map(|a| match &a.not_applied {
        None => format!("{} (read back: {})", a.setting, a.effective),
        Some(why) => format!("{} NOT APPLIED: {why}", a.setting),
    });
    row("settings", settings.collect());
    let loads = outcome.loads.iter().map(|l| {
        let dead = if l.alive { "" } else { ", DIED EARLY" };
        let used = format!("{} used {} of CPU time", l.spec, ns(l.achieved_cpu_ns as f64));
        match l.asked_cpu_ns {
            0 => format!("{used}{dead}"),
            asked => format!("{used}, {} of what it asked for{dead}", percent(l.achieved_cpu_ns as f64 / asked as f64)),
        }
    });
    row("load", loads.collect());
    if outcome.stamping.stamped > 0 {
        let s = &outcome.stamping;
        let every = if s.every == 1 { "every operation".to_owned() } else { format!("1 operation in {}", s.every) };
        row(
            "stamping",
            vec![format!("{every}, {} stamped, costs {} of the run time", count(s.stamped), percent(s.cost_share))],
        );
    }
    let phase = |p: &schedlab_plan::Phase| format!("{} {}", p.name, ns(p.end_ns.saturating_sub(p.start_ns) as f64));
    row("phases", outcome.phases.iter().map(phase).collect());
    let group = |g: &schedlab_plan::TaskGroup| {
        // A kernel without autogroups names none.
        let named: Vec<&str> =
            [&g.autogroup, &g.cgroup].into_iter().map(|n| n.as_str()).filter(|n| !n.is_empty()).collect();
        format!("{} in {}", counted(g.tasks, "tasks"), named.join(" and "))
    };
    row("task groups", outcome.groups.iter().map(group).collect());
    rows
}

/// The workload's own counts per operation; the machine's are in the JSON.
fn per_operation(outcome: &TrialOutcome) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for counter in outcome.counters.iter().filter(|c| is_shown(c)) {
        let Some(value) = counter.count.value().filter(|_| outcome.operations > 0) else { continue };
        if (counter.scope == "netns" && value == 0) || names.contains(&counter.name.as_str()) {
            continue;
        }
        names.push(&counter.name);
        let about = if matches!(counter.count, Count::Scaled { .. }) { "about " } else { "" };
        let each = tables::counter_value(&counter.name, Some(value as f64 / outcome.operations as f64));
        shown.push(format!("{} {about}{each}", counter.name));
    }
    shown
}

/// Whether it is a counter of the workload, or one that the user named.
fn is_shown(counter: &Counter) -> bool {
    matches!(counter.scope.as_str(), "workload" | "netns") || counter.name.starts_with(CALLS)
}

fn histograms(outcome: &TrialOutcome, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let table = histogram_table(outcome, &QUANTILES);
    let fits = |table: &Table| table.lines(usize::MAX / 2, false).iter().all(|l| width(l) + 2 <= columns);
    // On a narrow terminal the median and the tail matter more than the 90th percentile.
    let table = if fits(&table) { table } else { histogram_table(outcome, &[QUANTILES[0], QUANTILES[2]]) };
    if table.rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for line in table.lines(columns.saturating_sub(2), false) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// A row for each distribution, followed by its tiers if there are several.
fn histogram_table(outcome: &TrialOutcome, quantiles: &[(f64, &'static str)]) -> Table {
    let mut header = vec![("distribution", Align::Left), ("stamped", Align::Right), ("min", Align::Right)];
    header.extend(quantiles.iter().map(|(_, name)| (*name, Align::Right)));
    header.push(("max", Align::Right));
    let mut table = Table::new(&header);
    for named in &outcome.histograms {
        let samples = named.histogram.count();
        // A single tier would only repeat the distribution.
        let tiers = outcome.histograms.iter().filter(|h| h.name == named.name && h.tier.is_some());
        if samples == 0 || (named.tier.is_some() && tiers.count() < 2) {
            continue;
        }
        let name = match named.tier {
            Some(tier) => format!("  {}", labels::tier(tier)),
            None => named.name.clone(),
        };
        let mut row: Vec<Cell> =
            vec![terminal(&name).into(), count(samples).into(), ns(named.histogram.min_ns as f64).into()];
        for (q, _) in quantiles {
            // With fewer than ten samples beyond a quantile it is not reported.
            let enough = samples as f64 * (1.0 - q) >= 10.0;
            let value = named.histogram.quantile_ns(*q).filter(|_| enough);
            row.push(value.map_or_else(|| crate::number::NONE.to_owned(), ns).into());
        }
        row.push(ns(named.histogram.max_ns as f64).into());
        table.push(row);
    }
    table
}

/// Notes and counters that are missing, each reason once.
fn remarks(outcome: &TrialOutcome) -> Vec<String> {
    let counters = outcome.counters.iter().filter_map(|counter| match &counter.count {
        Count::NotCounted(why) => Some((why.as_str(), counter.name.as_str())),
        _ => None,
    });
    let reasons = labels::grouped(counters);
    let missing = reasons.into_iter().map(|(why, names)| {
        let more = if names.len() > 6 { format!(" and {} more", names.len() - 6) } else { String::new() };
        let names = names.into_iter().take(6).collect::<Vec<_>>().join(", ");
        format!("not counted: {names}{more}: {why}")
    });
    outcome.notes.iter().cloned().chain(missing).collect()
}
