//! What a run's design adds to its comparisons, as tables for terminal, Markdown and HTML: how a swept option scales, and
//! the main effects of a factorial.

use crate::number::{effect, maybe_quantity, p_value, percent, quantity};
use crate::table::{Align, Cell, Table};
use crate::{tables, words};
use schedlab_analyze::{CopyRow, Findings, MainEffect, Scaling, ScalingRow, WorkloadFindings};

/// Copies of one row that are printed one by one; more are in the JSON.
const COPIES_SHOWN: usize = 16;

/// What a scaling table is called.
pub(crate) fn scaling_title(scaling: &Scaling) -> String {
    format!("Scaling: {} over {}", scaling.metric, scaling.option)
}

/// The arm, where there are several.
fn arm_cell(findings: Option<&Findings>, arm: u32) -> Option<Cell> {
    let findings = findings.filter(|findings| findings.arms.len() > 1)?;
    Some(words::arm_name(findings, arm).into())
}

fn header<'h>(option: &'h str, findings: Option<&Findings>, rest: &[(&'h str, Align)]) -> Table {
    let mut header = vec![(option, Align::Left)];
    header.extend(arm_cell(findings, 0).map(|_| ("arm", Align::Left)));
    header.extend(rest);
    Table::new(&header)
}

/// Score, linearity, spread over runs and fairness: a row for each value and arm.
pub(crate) fn scaling_table(findings: Option<&Findings>, scaling: &Scaling) -> Table {
    let columns = [
        ("score", Align::Right),
        ("linearity", Align::Left),
        ("spread", Align::Right),
        ("runs", Align::Right),
        ("Jain", Align::Right),
    ];
    let mut table = header(&scaling.option, findings, &columns);
    for row in &scaling.rows {
        let mut cells: Vec<Cell> = vec![row.value.as_str().into()];
        cells.extend(arm_cell(findings, row.arm));
        cells.extend([
            maybe_quantity(row.score, &scaling.unit).into(),
            linearity(row).into(),
            row.spread.map_or_else(none, percent).into(),
            row.n.to_string().into(),
            row.fairness.map_or_else(none, |x| format!("{x:.3}")).into(),
        ]);
        table.push(cells);
    }
    table
}

fn none() -> String {
    crate::number::NONE.to_owned()
}

/// `0.98 [0.95, 1.01]`; 1 is linear.
fn linearity(row: &ScalingRow) -> String {
    match row.linearity {
        None => none(),
        Some(e) if e.level == 0.0 || e.lo == e.hi => format!("{:.2}", e.value),
        Some(e) => format!("{:.2} [{:.2}, {:.2}]", e.value, e.lo, e.hi),
    }
}

/// Each copy's operations and where its partners ran: a row for each value and arm.
pub(crate) fn copies_table(findings: Option<&Findings>, scaling: &Scaling) -> Table {
    let columns = [("operations of each copy, on one CPU, last CPUs", Align::Left)];
    let mut table = header(&scaling.option, findings, &columns);
    for row in scaling.rows.iter().filter(|row| !row.copies.is_empty()) {
        let mut cells: Vec<Cell> = vec![row.value.as_str().into()];
        cells.extend(arm_cell(findings, row.arm));
        let mut copies: Vec<String> = row.copies.iter().take(COPIES_SHOWN).map(copy).collect();
        if row.copies.len() > COPIES_SHOWN {
            copies.push(format!("and {} more", row.copies.len() - COPIES_SHOWN));
        }
        cells.push(copies.join(" · ").into());
        table.push(cells);
    }
    table
}

/// `41.2 k, 53 %, 0→1`.
fn copy(copy: &CopyRow) -> String {
    let mut text = quantity(copy.operations, "1/s").trim_end_matches("/s").trim_end().to_owned();
    if let Some(share) = copy.same_cpu_share {
        text.push_str(&format!(", {}", percent(share)));
    }
    if let Some(place) = copy.places.first() {
        let more = if copy.places.len() > 1 { "…" } else { "" };
        text.push_str(&format!(", {}→{}{more}", place.parent_cpu, place.child_cpu));
    }
    text
}

/// What the scaling columns mean.
pub(crate) const SCALING_KEY: &str = "linearity: score against the first value's times the copies, 1 is linear; spread: \
standard deviation over runs against the mean; Jain: fairness over the copies, 1 is fair. Descriptive";

/// The main effects of a workload on one metric: a row for each factor.
pub(crate) fn main_effects_table(findings: &Findings, workload: &WorkloadFindings, metric: &str) -> Table {
    let mut table = Table::new(&[
        ("factor", Align::Left),
        ("effect", Align::Right),
        ("95 % interval", Align::Left),
        ("p adj.", Align::Right),
        ("verdict", Align::Left),
    ]);
    if let Some(level) = workload.main_effects.iter().find_map(|e| e.contrast.effect).map(|e| e.level) {
        table.header[2] = format!("{:.0} % interval", level * 100.0);
    }
    let unit = workload.metrics.iter().find(|m| m.name == metric).map_or("", |m| m.unit.as_str());
    for of_factor in workload.main_effects.iter().filter(|e| e.metric == metric) {
        table.push(main_effect_row(findings, of_factor, unit));
    }
    table
}

fn main_effect_row(findings: &Findings, of_factor: &MainEffect, unit: &str) -> Vec<Cell> {
    let contrast = &of_factor.contrast;
    let text = contrast.effect.map(|e| effect(&e, unit));
    let (value, interval) = text.map_or_else(Default::default, |t| (t.value, t.interval));
    let mut said = words::verdict(&contrast.verdict).to_owned();
    if contrast.units > 0 {
        said.push_str(&format!(", {}", words::units(contrast)));
    }
    let aside = words::aside(contrast);
    if !aside.is_empty() {
        said.push_str(&format!(" ({aside})"));
    }
    if let Some(reason) = words::reason(&contrast.verdict) {
        said.push_str(&format!(": {reason}"));
    }
    if !of_factor.aliases.is_empty() {
        said.push_str(&format!("; not told from {}", of_factor.aliases.join(", ")));
    }
    let p = if contrast.effect.is_some() { p_value(contrast.p_adjusted.or(contrast.p)) } else { String::new() };
    let name = findings.factors.get(of_factor.factor as usize).map_or("?", |f| f.name.as_str());
    let verdict = Cell { text: said, colour: tables::colour(&contrast.verdict) };
    vec![name.into(), value.into(), interval.into(), p.into(), verdict]
}

/// The levels of each factor, in a sentence each.
pub(crate) fn factor_lines(findings: &Findings) -> Vec<String> {
    let level = |spec: &str| if spec.is_empty() { "the default".to_owned() } else { format!("`{spec}`") };
    let line = |factor: &schedlab_analyze::FactorInfo| {
        let levels = format!("{}: low {}, high {}", factor.name, level(&factor.low), level(&factor.high));
        match &factor.not_applied {
            Some(why) => format!("{levels}; left out, not applied: {why}"),
            None => levels,
        }
    };
    findings.factors.iter().map(line).collect()
}

/// The metrics that have main effects.
pub(crate) fn metrics_with_effects(workload: &WorkloadFindings) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for effect in &workload.main_effects {
        if !names.contains(&effect.metric.as_str()) {
            names.push(&effect.metric);
        }
    }
    names
}
