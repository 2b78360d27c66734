//! The tables that terminal and Markdown share: findings to rows, no wider than they need to be.

use crate::number::{effect, maybe_quantity, p_value, percent, quantity};
use crate::table::{Align, Cell, Table};
use crate::words;
use schedlab_analyze::{Contrast, Findings, MetricFindings, Role, Verdict, WorkloadFindings};
use schedlab_run::counted;
use std::collections::BTreeSet;

/// ANSI code of a verdict.
pub(crate) fn colour(v: &Verdict) -> Option<&'static str> {
    match v {
        Verdict::Better => Some("32"),
        Verdict::Worse => Some("31"),
        Verdict::Higher | Verdict::Lower => Some("36"),
        Verdict::Equivalent => Some("34"),
        Verdict::Inconclusive => Some("33"),
        Verdict::NoVerdict { .. } => Some("2"),
    }
}

/// One metric, a row for each arm: median, change, interval, adjusted p, verdict.
pub(crate) fn metric_table(findings: &Findings, metric: &MetricFindings) -> Table {
    let level = metric.contrasts.iter().find_map(|c| c.effect).map_or(0.95, |e| e.level);
    let interval = format!("{:.0} % interval", level * 100.0);
    let mut table = Table::new(&[
        ("arm", Align::Left),
        ("median", Align::Right),
        ("change", Align::Right),
        (&interval, Align::Left),
        ("p adj.", Align::Right),
        ("verdict", Align::Left),
    ]);
    for values in &metric.values {
        let contrast = metric.contrasts.iter().find(|c| c.arm == values.arm);
        let name = words::arm_name(findings, values.arm);
        let median = maybe_quantity(values.median, &metric.unit);
        let mut row: Vec<Cell> = vec![name.into(), median.into()];
        match contrast {
            Some(contrast) => row.extend(contrast_cells(contrast, &metric.unit)),
            None => row.extend([
                "".into(),
                "".into(),
                "".into(),
                format!("control, {}", counted(values.n, "trials")).into(),
            ]),
        }
        table.push(row);
    }
    table
}

fn contrast_cells(contrast: &Contrast, unit: &str) -> [Cell; 4] {
    let text = contrast.effect.map(|e| effect(&e, unit));
    let (value, interval) = text.map_or_else(Default::default, |t| (t.value, t.interval));
    let p = contrast.p_adjusted.or(contrast.p);
    let mut said = words::verdict(&contrast.verdict).to_owned();
    let aside = words::aside(contrast);
    if contrast.units > 0 {
        said.push_str(&format!(", {}", words::units(contrast)));
    }
    if !aside.is_empty() {
        said.push_str(&format!(" ({aside})"));
    }
    if let Some(reason) = words::reason(&contrast.verdict) {
        said.push_str(&format!(": {reason}"));
    }
    let verdict = Cell { text: said, colour: colour(&contrast.verdict) };
    [value.into(), interval.into(), if contrast.effect.is_some() { p_value(p) } else { String::new() }.into(), verdict]
}

/// What the sign after a change in [`others_table`] means.
pub(crate) const OTHERS_KEY: &str = "* differs after the correction, = equivalent, nothing: open";

/// The exploratory metrics as tables within `limit` columns: a table for each control (two runs have several).
pub(crate) fn others_tables(findings: &Findings, workload: &WorkloadFindings, limit: usize) -> Vec<Table> {
    let secondary = || workload.metrics.iter().filter(|m| m.role == Role::Secondary);
    let contrasts = || secondary().flat_map(|m| &m.contrasts).filter(|c| c.effect.is_some());
    let controls: BTreeSet<u32> = contrasts().map(|c| c.control).collect();
    let tables = controls.into_iter().flat_map(|control| {
        let arms: BTreeSet<u32> = contrasts().filter(|c| c.control == control).map(|c| c.arm).collect();
        let arms: Vec<u32> = arms.into_iter().collect();
        in_groups(&arms, limit, |group| others_table(findings, workload, control, group))
    });
    tables.collect()
}

/// Every exploratory metric over some of the arms: the control's median and each arm's change.
fn others_table(findings: &Findings, workload: &WorkloadFindings, control: u32, arms: &[u32]) -> Table {
    let names: Vec<&str> = arms.iter().map(|a| words::arm_name(findings, *a)).collect();
    let mut header = vec![("metric", Align::Left), (words::arm_name(findings, control), Align::Right)];
    header.extend(names.iter().map(|n| (*n, Align::Right)));
    let mut table = Table::new(&header);
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Secondary) {
        let median = metric.values.iter().find(|v| v.arm == control).and_then(|v| v.median);
        let mut row: Vec<Cell> = vec![metric.name.as_str().into(), maybe_quantity(median, &metric.unit).into()];
        for arm in arms {
            let contrast = metric.contrasts.iter().find(|c| c.arm == *arm);
            row.push(contrast.map_or_else(Cell::default, |c| change_cell(c, &metric.unit)));
        }
        if row.iter().skip(1).any(|c| !c.text.is_empty() && c.text != crate::number::NONE) {
            table.push(row);
        }
    }
    table
}

fn change_cell(contrast: &Contrast, unit: &str) -> Cell {
    let Some(e) = contrast.effect else { return Cell::default() };
    let sign = match contrast.verdict {
        Verdict::Better | Verdict::Worse | Verdict::Higher | Verdict::Lower => " *",
        Verdict::Equivalent => " =",
        _ => "  ",
    };
    Cell { text: format!("{}{sign}", effect(&e, unit).value), colour: colour(&contrast.verdict) }
}

/// Counters per operation: a row for each counter, a column for each arm.
pub(crate) fn per_operation_table(findings: &Findings, workload: &WorkloadFindings, arms: &[u32]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for counter in workload.arms.iter().flat_map(|a| &a.per_operation) {
        if !names.contains(&counter.name.as_str()) {
            names.push(&counter.name);
        }
    }
    let mut header = vec![("per operation", Align::Left)];
    header.extend(arms.iter().map(|a| (words::arm_name(findings, *a), Align::Right)));
    let mut table = Table::new(&header);
    for name in names {
        let value = |arm: &u32| {
            let facts = workload.arms.iter().find(|f| f.arm == *arm)?;
            facts.per_operation.iter().find(|p| p.name == name)?.median
        };
        let values: Vec<Option<f64>> = arms.iter().map(value).collect();
        if values.iter().any(Option::is_some) {
            let mut row: Vec<Cell> = vec![name.into()];
            row.extend(values.into_iter().map(|v| Cell::from(counter_value(name, v))));
            table.push(row);
        }
    }
    table
}

/// A counter per operation: times with their unit, counts bare.
pub(crate) fn counter_value(name: &str, value: Option<f64>) -> String {
    match value {
        Some(v) if name.ends_with("_ns") => quantity(v, "ns"),
        Some(v) if v.is_finite() => crate::number::significant(v, 3),
        _ => crate::number::NONE.to_owned(),
    }
}

/// Counters without a number and why, each reason once.
pub(crate) fn not_counted(workload: &WorkloadFindings) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for counter in workload.arms.iter().flat_map(|a| &a.per_operation) {
        let Some(why) = counter.not_counted.as_ref().filter(|_| counter.median.is_none()) else { continue };
        match reasons.iter_mut().find(|(text, _)| text == why) {
            Some((_, names)) if names.contains(&counter.name) => {}
            Some((_, names)) => names.push(counter.name.clone()),
            None => reasons.push((why.clone(), vec![counter.name.clone()])),
        }
    }
    reasons.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect()
}

/// Shares of the tiers per arm; empty where none is known.
pub(crate) fn tiers_table(findings: &Findings, workload: &WorkloadFindings) -> Table {
    let tiers: Vec<_> = schedlab_run::Tier::ALL
        .into_iter()
        .filter(|t| workload.arms.iter().any(|a| a.tiers.iter().any(|s| s.tier == *t)))
        .collect();
    let mut header = vec![("placement", Align::Left)];
    header.extend(tiers.iter().map(|t| (words::tier(*t), Align::Right)));
    let mut table = Table::new(&header);
    for facts in workload.arms.iter().filter(|a| !a.tiers.is_empty()) {
        let mut row: Vec<Cell> = vec![words::arm_name(findings, facts.arm).into()];
        row.extend(tiers.iter().map(|t| {
            let share = facts.tiers.iter().find(|s| s.tier == *t).map_or(0.0, |s| s.share);
            Cell::from(percent(share))
        }));
        table.push(row);
    }
    table
}

/// Arms in groups so that `build` of each fits the width; a group has at least one arm.
pub(crate) fn in_groups(arms: &[u32], limit: usize, build: impl Fn(&[u32]) -> Table) -> Vec<Table> {
    let fits = |group: &[u32]| {
        let lines = build(group).lines(usize::MAX / 2, false);
        lines.iter().all(|l| crate::table::width(l) <= limit)
    };
    let mut tables = Vec::new();
    let mut rest = arms;
    while !rest.is_empty() {
        let take = (1..=rest.len()).rev().find(|n| fits(&rest[..*n])).unwrap_or(1);
        tables.push(build(&rest[..take]));
        rest = &rest[take..];
    }
    tables.retain(|t| !t.rows.is_empty());
    tables
}

/// Remarks on a workload that are not numbers, complete sentences.
pub(crate) fn remarks(findings: &Findings, workload: &WorkloadFindings) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let several = workload.metrics.iter().filter(|m| m.role == Role::Primary).count() > 1;
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        if let Some(note) = &metric.note {
            all.push(format!("{}: {note}.", metric.name));
        }
        for contrast in &metric.contrasts {
            let arm = words::arm_name(findings, contrast.arm);
            let on = if several { format!("{arm}, {}", metric.name) } else { arm.to_owned() };
            all.extend(contrast.notes.iter().map(|n| format!("{on}: {n}")));
        }
    }
    all.extend(workload.confounded.iter().map(|c| c.sentence.clone()));
    all.extend(workload.certificates.iter().map(|c| format!("Noise certificate: {}.", c.sentence)));
    all.extend(
        workload
            .modes
            .iter()
            .filter(|m| m.k > 1)
            .map(|m| format!("{}: {}", words::arm_name(findings, m.arm), m.sentence)),
    );
    all.extend(workload.tier_splits.iter().map(|s| tier_split(findings, s)));
    all.extend(workload.variance.iter().map(variance));
    all.push(workload.warm_up.sentence.clone());
    all.push(workload.contamination.sentence.clone());
    for facts in &workload.arms {
        let arm = words::arm_name(findings, facts.arm);
        for (what, reasons) in [("failed", &facts.failed), ("not applied", &facts.not_applied), ("note", &facts.notes)]
        {
            all.extend(reasons.iter().map(|r| format!("{arm}: {what}, {} ×: {}", r.count, r.text)));
        }
        all.extend(facts.loads.iter().map(|l| load(arm, l)));
    }
    all.retain(|s| !s.is_empty());
    all
}

/// What a load got, in a sentence.
pub(crate) fn load(arm: &str, l: &schedlab_analyze::LoadAchieved) -> String {
    let died = if l.died > 0 { format!("; trials in which it died early: {}", l.died) } else { String::new() };
    let share = l.achieved_share.map(|share| format!(", {} of what it asked for", percent(share))).unwrap_or_default();
    let used = crate::number::quantity(l.cpu_s, "s");
    format!("{arm}: the load {} used {used} of CPU time in a trial{share}{died}.", l.spec)
}

/// Change of placement + change within tiers, in a sentence.
pub(crate) fn tier_split(findings: &Findings, s: &schedlab_analyze::TierSplit) -> String {
    let ns = |x: f64| {
        let text = crate::number::ns(x);
        if x > 0.0 { format!("+{text}") } else { text }
    };
    let (arm, total) = (words::arm_name(findings, s.arm), ns(s.total_ns));
    let (between, within) = (ns(s.between_shares_ns), ns(s.within_ns));
    format!("{arm}: mean {} {total} = {between} by placement and {within} within tiers. {}", s.histogram, s.note)
}

/// Where the variance comes from, in a sentence.
pub(crate) fn variance(v: &schedlab_analyze::VarianceSplit) -> String {
    let mut text = format!(
        "Noise of {}: a trial varies by {}; {} of its variance is between blocks, {} between trials of a block",
        v.metric,
        percent(v.trial_sd),
        percent(v.block_share),
        percent(v.trial_share)
    );
    for (share, what) in [(v.tier_explained, "placement"), (v.steal_explained, "steal")] {
        if let Some(share) = share {
            text.push_str(&format!("; {what} goes with {} of it", percent(share)));
        }
    }
    text.push('.');
    text
}
