//! What a run's design adds to its comparisons, for terminal, Markdown and HTML alike: how a swept option scales, and the
//! main effects of a factorial.

use crate::document::Block;
use crate::number::{NONE, count, effect, maybe_quantity, p_value, percent};
use crate::pictures::Picture;
use crate::table::{Align, Cell, Table};
use crate::tables::{self, Names};
use crate::words;
use schedlab_analyze::{CopyRow, Findings, MainEffect, MetricFindings, Scaling, ScalingRow, WorkloadFindings, beside};
use schedlab_run::counted;
use schedlab_run::manifest::Factor;

/// Copies of one row that are printed one by one; more are in the JSON.
const COPIES_SHOWN: usize = 16;

/// What the columns of a scaling table mean.
const SCALING_KEY: &str = "linearity: score against the first value's times the values' ratio, 1 is linear; \
                                      spread: standard deviation over runs against the mean; Jain: fairness over the \
                                      copies, 1 is fair. Descriptive: verdicts are between arms.";

/// What stands behind each copy in [`copies`].
const COPIES_KEY: &str = "Each copy: its operations, the share of them with both partners on one CPU, the CPUs they were last seen on \
     (parent→child; … where runs differ).";

/// How an option scales; `workloads` are all of the findings.
pub(crate) fn scaling(
    scaling: &Scaling,
    arms: &Names,
    workloads: &[WorkloadFindings],
    picture: Option<Picture>,
) -> Vec<Block> {
    let first = scaling.workloads.first().and_then(|index| workloads.iter().find(|w| w.workload == *index));
    let load = first.map(|workload| beside(&workload.load)).unwrap_or_default();
    let title = format!("Scaling: {} over {}{load}", scaling.metric, scaling.option);
    let mut all = vec![Block::Heading(title), Block::Spec(scaling.spec.clone())];
    all.extend(picture.map(|picture| Block::Picture(Box::new(picture))));
    all.extend([Block::Table(scaling_table(scaling, arms)), Block::Aside(SCALING_KEY.into())]);
    let copies = copies(scaling, arms);
    if !copies.is_empty() {
        all.extend([Block::Terms(copies), Block::Aside(COPIES_KEY.into())]);
    }
    all
}

/// Score, linearity, spread over runs and fairness: a row for each value and arm. Of one arm there is no column.
fn scaling_table(scaling: &Scaling, arms: &Names) -> Table {
    let mut header = vec![(scaling.option.as_str(), Align::Left)];
    header.extend(arms.get(1).map(|_| ("arm", Align::Left)));
    header.extend([
        ("score", Align::Right),
        ("linearity", Align::Left),
        ("spread", Align::Right),
        ("runs", Align::Right),
        ("Jain", Align::Right),
    ]);
    let mut table = Table::new(&header);
    for row in &scaling.rows {
        let mut cells: Vec<Cell> = vec![row.value.as_str().into()];
        cells.extend(arm_of(row, arms).map(Cell::from));
        cells.extend([
            maybe_quantity(row.score, &scaling.unit).into(),
            linearity(row).into(),
            row.spread.map_or_else(|| NONE.to_owned(), percent).into(),
            row.n.to_string().into(),
            row.fairness.map_or_else(|| NONE.to_owned(), |jain| format!("{jain:.3}")).into(),
        ]);
        table.push(cells);
    }
    table
}

/// The arm's name, where there are several.
fn arm_of<'n>(row: &ScalingRow, arms: &'n Names) -> Option<&'n str> {
    arms.get(1).map(|_| tables::name_of(arms, row.arm))
}

/// `0.98 [0.95, 1.01]`; a single trial has no interval.
fn linearity(row: &ScalingRow) -> String {
    match row.linearity {
        None => NONE.to_owned(),
        Some(e) if e.lo == e.hi => format!("{:.2}", e.value),
        Some(e) => format!("{:.2} [{:.2}, {:.2}]", e.value, e.lo, e.hi),
    }
}

/// Of each row with copies what it is (`copies 4, free`), and its copies one by one.
fn copies(scaling: &Scaling, arms: &Names) -> Vec<(String, String)> {
    let of_row = |row: &ScalingRow| {
        let arm = arm_of(row, arms).map(|name| format!(", {name}")).unwrap_or_default();
        let mut said: Vec<String> = row.copies.iter().take(COPIES_SHOWN).map(copy).collect();
        if row.copies.len() > COPIES_SHOWN {
            said.push(format!("and {} more", row.copies.len() - COPIES_SHOWN));
        }
        (format!("{} {}{arm}", scaling.option, row.value), said.join(" · "))
    };
    scaling.rows.iter().filter(|row| !row.copies.is_empty()).map(of_row).collect()
}

/// `41 234, 53 %, 0→1`.
fn copy(copy: &CopyRow) -> String {
    let mut parts = vec![count(copy.operations.round() as u64)];
    parts.extend(copy.same_cpu_share.map(percent));
    parts.extend(copy.places.first().map(|place| {
        let others = if copy.places.len() > 1 { "…" } else { "" };
        format!("{}→{}{others}", place.parent_cpu, place.child_cpu)
    }));
    parts.join(", ")
}

/// The main effects of a factorial on each metric that has some, and its factors.
pub(crate) fn main_effects(findings: &Findings, workload: &WorkloadFindings) -> Vec<Block> {
    let of_metric = |metric: &MetricFindings| {
        let effects: Vec<&MainEffect> = workload.main_effects.iter().filter(|e| e.metric == metric.name).collect();
        if effects.is_empty() { Vec::new() } else { on_metric(findings, metric, &effects) }
    };
    let mut all: Vec<Block> = workload.metrics.iter().flat_map(of_metric).collect();
    if !all.is_empty() {
        all.extend(Block::list(factors(findings)));
    }
    all
}

fn on_metric(findings: &Findings, metric: &MetricFindings, effects: &[&MainEffect]) -> Vec<Block> {
    let level = effects.iter().find_map(|e| e.contrast.effect).map_or(0.95, |e| e.level);
    let interval = format!("high against low [{:.0} %]", level * 100.0);
    let header =
        [("factor", Align::Left), (&*interval, Align::Left), ("p adj.", Align::Right), ("verdict", Align::Left)];
    let mut table = Table::new(&header);
    for of_factor in effects {
        let contrast = &of_factor.contrast;
        let text = contrast.effect.map(|e| effect(&e, &metric.unit));
        let p = contrast.p_adjusted.or(contrast.p);
        let verdict = words::verdict(&contrast.verdict).to_owned();
        table.push(vec![
            name(findings, of_factor).into(),
            text.map_or_else(String::new, |t| format!("{} {}", t.value, t.interval)).into(),
            contrast.effect.map_or_else(String::new, |_| p_value(p)).into(),
            Cell { text: verdict, colour: tables::colour(&contrast.verdict) },
        ]);
    }
    let measured = effects.iter().find(|e| e.contrast.units > 0);
    let over = measured.map_or_else(String::new, |e| {
        let arms = counted(e.low_arms.len() + e.high_arms.len(), "arms");
        format!(", {} of {arms}", words::units(&e.contrast))
    });
    let notes = effects.iter().flat_map(|of_factor| notes(findings, of_factor)).collect();
    let title = Block::Lead(format!("Main effects on {}{over}", metric.name));
    [title, Block::Table(table)].into_iter().chain(Block::list(notes)).collect()
}

fn name<'f>(findings: &'f Findings, of_factor: &MainEffect) -> &'f str {
    findings.factors.get(of_factor.factor as usize).map_or("?", |factor| factor.name.as_str())
}

fn notes(findings: &Findings, of_factor: &MainEffect) -> Vec<String> {
    let contrast = &of_factor.contrast;
    let mut notes: Vec<String> =
        words::reason(&contrast.verdict).map(|why| format!("no verdict: {why}")).into_iter().collect();
    notes.extend(contrast.more_units.map(|more| more.in_words(&contrast.unit_name)));
    if !of_factor.aliases.is_empty() {
        notes.push(format!("these arms do not tell it from {}", of_factor.aliases.join(", ")));
    }
    notes.extend(contrast.notes.iter().cloned());
    notes.into_iter().map(|note| words::full_stop(&format!("{}: {note}", name(findings, of_factor)))).collect()
}

/// The levels of each factor, in a sentence each.
fn factors(findings: &Findings) -> Vec<String> {
    let line = |factor: &Factor| {
        let (low, high) = (words::spec(findings, &factor.low), words::spec(findings, &factor.high));
        let left_out = factor.not_applied.as_ref().map(|why| format!("; left out: {why}")).unwrap_or_default();
        words::full_stop(&format!("Factor {}: low {low}, high {high}{left_out}", factor.name))
    };
    findings.factors.iter().map(line).collect()
}
