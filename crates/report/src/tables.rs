//! The tables that terminal, Markdown and page share: findings to rows, no wider than they need to be.

use crate::number::{effect, maybe_quantity, p_value, percent, quantity};
use crate::table::{Align, Cell, Table};
use crate::words;
use schedlab_analyze::{Contrast, MetricFindings, Role, Verdict, Withheld, WorkloadFindings};
use schedlab_run::Tier;
use std::collections::BTreeSet;

/// Arms by index with the names a table has room for.
pub(crate) type Names = [(u32, String)];

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

pub(crate) fn name_of(names: &Names, arm: u32) -> &str {
    names.iter().find(|(i, _)| *i == arm).map_or("?", |(_, name)| name)
}

/// One metric, a row for each arm: median, change with interval, adjusted p, verdict in a word.
pub(crate) fn metric_table(metric: &MetricFindings, names: &Names) -> Table {
    let level = metric.contrasts.iter().find_map(|c| c.effect).map_or(0.95, |e| e.level);
    let change = format!("change [{:.0} %]", level * 100.0);
    let mut table = Table::new(&[
        ("arm", Align::Left),
        ("median", Align::Right),
        (&change, Align::Right),
        ("p adj.", Align::Right),
        ("verdict", Align::Left),
    ]);
    for values in &metric.values {
        let contrast = metric.contrasts.iter().find(|c| c.arm == values.arm);
        let median = maybe_quantity(values.median, &metric.unit);
        let mut row: Vec<Cell> = vec![name_of(names, values.arm).into(), median.into()];
        match contrast {
            Some(contrast) => row.extend(contrast_cells(contrast, &metric.unit)),
            None => row.extend(["".into(), "".into(), "control".into()]),
        }
        table.push(row);
    }
    table
}

fn contrast_cells(contrast: &Contrast, unit: &str) -> [Cell; 3] {
    let change = contrast.effect.map(|e| effect(&e, unit)).map(|t| format!("{} {}", t.value, t.interval));
    let p = contrast.effect.map(|_| p_value(contrast.p_adjusted.or(contrast.p)));
    let verdict = Cell { text: words::verdict(&contrast.verdict).to_owned(), colour: colour(&contrast.verdict) };
    [change.unwrap_or_default().trim().into(), p.unwrap_or_default().into(), verdict]
}

fn exploratory(workload: &WorkloadFindings) -> impl Iterator<Item = &MetricFindings> {
    workload.metrics.iter().filter(|m| m.role == Role::Secondary)
}

/// Whether an exploratory metric belongs in the table of a short report: it differs somewhere, or is described without a
/// right to a verdict, as between two runs.
fn is_told(metric: &MetricFindings) -> bool {
    metric.contrasts.iter().any(|c| match c.verdict {
        Verdict::Better | Verdict::Worse | Verdict::Higher | Verdict::Lower => true,
        // Said in a sentence, with the reason: a change beside others would be taken for one.
        Verdict::NoVerdict { why: Withheld::NotPerOperation, .. } => false,
        Verdict::NoVerdict { .. } => c.effect.is_some(),
        Verdict::Equivalent | Verdict::Inconclusive => false,
    })
}

/// What stands above [`others_tables`].
pub(crate) const OTHERS: &str = "Exploratory metrics, change against the control (* differs after the correction for looking \
                                 at all of them, = equivalent, no sign: open, or described only):";

/// The exploratory metrics that differ: a table for each control (two runs have several).
pub(crate) fn others_tables(workload: &WorkloadFindings, names: &Names) -> Vec<Table> {
    let contrasts = || exploratory(workload).flat_map(|m| &m.contrasts).filter(|c| c.effect.is_some());
    let controls: BTreeSet<u32> = contrasts().map(|c| c.control).collect();
    let tables = controls.into_iter().map(|control| {
        let arms: BTreeSet<u32> = contrasts().filter(|c| c.control == control).map(|c| c.arm).collect();
        let arms: Vec<(u32, String)> = arms.into_iter().map(|arm| (arm, name_of(names, arm).to_owned())).collect();
        others_table(workload, (control, name_of(names, control)), &arms)
    });
    tables.filter(|table| !table.rows.is_empty()).collect()
}

/// Exploratory metrics over some of the arms: the control's median and each arm's change.
fn others_table(workload: &WorkloadFindings, (control, control_name): (u32, &str), arms: &Names) -> Table {
    let mut header = vec![("metric", Align::Left), (control_name, Align::Right)];
    header.extend(arms.iter().map(|(_, name)| (name.as_str(), Align::Right)));
    let mut table = Table::new(&header);
    for metric in exploratory(workload).filter(|m| is_told(m)) {
        let median = metric.values.iter().find(|v| v.arm == control).and_then(|v| v.median);
        let mut row: Vec<Cell> = vec![metric.name.as_str().into(), maybe_quantity(median, &metric.unit).into()];
        for (arm, _) in arms {
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

/// The exploratory metrics that are not in the table, by name: equivalent everywhere, or open; and why others are not judged.
pub(crate) fn others_untold(workload: &WorkloadFindings) -> Vec<String> {
    let measured = |m: &&MetricFindings| m.contrasts.iter().any(|c| c.effect.is_some());
    let not_judged = |m: &MetricFindings| {
        let withheld = m.contrasts.iter().find(|c| {
            matches!(c.verdict, Verdict::NoVerdict { why: Withheld::NotPerOperation, .. }) && c.effect.is_some()
        });
        withheld.and_then(|c| Some(format!("{}: {}.", m.name, words::reason(&c.verdict)?)))
    };
    let untold = exploratory(workload).filter(measured).filter(|m| !is_told(m) && not_judged(m).is_none());
    let same = |m: &&MetricFindings| {
        m.contrasts.iter().filter(|c| c.effect.is_some()).all(|c| c.verdict == Verdict::Equivalent)
    };
    let (same, open): (Vec<&MetricFindings>, Vec<&MetricFindings>) = untold.partition(same);
    let said = |what: &str, metrics: &[&MetricFindings]| {
        let names: Vec<&str> = metrics.iter().map(|m| m.name.as_str()).collect();
        (!names.is_empty())
            .then(|| format!("{what} ({}): {}.", names.len(), words::joined_quantiles(&names).join(", ")))
    };
    [said("Equivalent in every arm", &same), said("Open, neither different nor equivalent", &open)]
        .into_iter()
        .flatten()
        .chain(exploratory(workload).filter_map(not_judged))
        .collect()
}

/// Medians of the trials per arm, `None` where nothing was counted: each counter per operation, each latency quantile.
pub(crate) fn per_operation<'w>(workload: &'w WorkloadFindings, arms: &Names) -> Vec<(&'w str, Vec<Option<f64>>)> {
    let mut names: Vec<&str> = Vec::new();
    for counter in workload.arms.iter().flat_map(|a| &a.per_operation) {
        if !names.contains(&counter.name.as_str()) {
            names.push(&counter.name);
        }
    }
    let counted = |name: &str, arm: u32| {
        let facts = workload.arms.iter().find(|f| f.arm == arm)?;
        facts.per_operation.iter().find(|p| p.name == name)?.median
    };
    let counters = names.into_iter().map(|n| (n, arms.iter().map(|(arm, _)| counted(n, *arm)).collect()));
    let latency = |metric: &'w MetricFindings| {
        let median = |arm: u32| metric.values.iter().find(|v| v.arm == arm)?.median;
        (metric.name.as_str(), arms.iter().map(|(arm, _)| median(*arm)).collect())
    };
    let latencies = exploratory(workload).filter(|m| m.name.starts_with("latency_p")).map(latency);
    let all = counters.chain(latencies);
    all.filter(|(_, values): &(&str, Vec<Option<f64>>)| values.iter().any(Option::is_some)).collect()
}

/// [`per_operation`] as a table: a row for each, a column for each arm.
pub(crate) fn per_operation_table(workload: &WorkloadFindings, arms: &Names) -> Table {
    let mut header = vec![("per operation", Align::Left)];
    header.extend(arms.iter().map(|(_, name)| (name.as_str(), Align::Right)));
    let mut table = Table::new(&header);
    for (name, values) in per_operation(workload, arms) {
        let cells = values.into_iter().map(|v| Cell::from(counter_value(name, v)));
        table.push([Cell::from(name)].into_iter().chain(cells).collect());
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

/// Counters without a number and why, each reason once, as sentences.
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
    reasons.into_iter().map(|(why, names)| format!("Not counted: {}: {why}.", names.join(", "))).collect()
}

/// Tiers with operations in any arm, nearest first.
pub(crate) fn tiers(workload: &WorkloadFindings) -> Vec<Tier> {
    let has = |t: &Tier| workload.arms.iter().flat_map(|a| &a.tiers).any(|s| s.tier == *t && s.share > 0.0);
    Tier::ALL.into_iter().filter(has).collect()
}

/// Shares of the tiers per arm; empty where none is known, and where there is one alone.
pub(crate) fn tiers_table(workload: &WorkloadFindings, arms: &Names) -> Table {
    let tiers = tiers(workload);
    let mut header = vec![("placement", Align::Left)];
    header.extend(tiers.iter().map(|t| (words::tier(*t), Align::Right)));
    let mut table = Table::new(&header);
    for (arm, name) in arms.iter().filter(|_| tiers.len() > 1) {
        let Some(facts) = workload.arms.iter().find(|a| a.arm == *arm && !a.tiers.is_empty()) else { continue };
        let mut row: Vec<Cell> = vec![name.as_str().into()];
        row.extend(tiers.iter().map(|t| {
            let share = facts.tiers.iter().find(|s| s.tier == *t).map_or(0.0, |s| s.share);
            Cell::from(percent(share))
        }));
        table.push(row);
    }
    table
}

/// Names and what they stand for, without a header.
pub(crate) fn of_terms(terms: &[(String, String)]) -> Table {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    terms.iter().for_each(|(name, text)| table.push(vec![name.as_str().into(), text.as_str().into()]));
    table
}
