//! The main effects of a factorial.

use super::workload::Of;
use crate::document::Block;
use crate::labels;
use crate::number::{effect, p_value};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::{Findings, MainEffect, MetricFindings};
use schedlab_plan::counted;
use schedlab_plan::manifest::Factor;

/// The effects on each metric that has any, and the factors.
pub(super) fn blocks(of: Of<'_>) -> Vec<Block<'_>> {
    let Of { findings, workload, .. } = of;
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

fn on_metric<'a>(findings: &Findings, metric: &MetricFindings, effects: &[&MainEffect]) -> Vec<Block<'a>> {
    let level = effects.iter().find_map(|e| e.contrast.effect).map_or(0.95, |e| e.level);
    let interval = format!("high against low [{:.0} %]", level * 100.0);
    let header =
        [("factor", Align::Left), (&*interval, Align::Left), ("p adj.", Align::Right), ("verdict", Align::Left)];
    let mut table = Table::new(&header);
    for of_factor in effects {
        let contrast = &of_factor.contrast;
        let text = contrast.effect.map(|e| effect(&e, &metric.unit));
        let p = contrast.p_adjusted.or(contrast.p);
        table.push(vec![
            name(findings, of_factor).into(),
            text.map_or_else(String::new, |t| format!("{} {}", t.value, t.interval)).into(),
            contrast.effect.map_or_else(String::new, |_| p_value(p)).into(),
            Cell::toned(labels::verdict(&contrast.verdict), &contrast.verdict),
        ]);
    }
    let measured = effects.iter().find(|e| e.contrast.units > 0);
    let over = measured.map_or_else(String::new, |e| {
        let arms = counted(e.low_arms.len() + e.high_arms.len(), "arms");
        format!(", {} of {arms}", labels::units(&e.contrast))
    });
    let notes = effects.iter().flat_map(|of_factor| notes(findings, of_factor));
    let title = Block::Lead(format!("Main effects on {}{over}", labels::metric_name(&metric.name)));
    [title, Block::Table(table)].into_iter().chain(Block::list(notes)).collect()
}

fn name<'f>(findings: &'f Findings, of_factor: &MainEffect) -> &'f str {
    findings.factors.get(of_factor.factor as usize).map_or("?", |factor| factor.name.as_str())
}

fn notes(findings: &Findings, of_factor: &MainEffect) -> Vec<String> {
    let contrast = &of_factor.contrast;
    let mut notes: Vec<String> =
        labels::reason(&contrast.verdict).map(|why| format!("no verdict: {why}")).into_iter().collect();
    notes.extend(contrast.more_units.map(|more| more.in_words(&contrast.unit_name)));
    if !of_factor.aliases.is_empty() {
        notes.push(format!("these arms cannot separate it from {}", of_factor.aliases.join(", ")));
    }
    notes.extend(contrast.notes.iter().cloned());
    notes.into_iter().map(|note| labels::full_stop(&format!("{}: {note}", name(findings, of_factor)))).collect()
}

/// The levels of each factor, one sentence each.
fn factors(findings: &Findings) -> Vec<String> {
    let line = |factor: &Factor| {
        let (low, high) = (labels::spec(findings, &factor.low), labels::spec(findings, &factor.high));
        let left_out = factor.not_applied.as_ref().map(|why| format!("; left out: {why}")).unwrap_or_default();
        labels::full_stop(&format!("Factor {}: low {low}, high {high}{left_out}", factor.name))
    };
    findings.factors.iter().map(line).collect()
}
