//! The primary metrics: a row for each arm, the meaning of its change, and why there is no verdict.

use super::workload::Of;
use crate::document::{Block, Tone};
use crate::labels;
use crate::number::{effect, maybe_quantity, p_value};
use crate::table::{Align, Cell, Names, Table};
use schedlab_analyze::{Contrast, Findings, MetricFindings, Role};

pub(super) fn blocks(of: Of<'_>) -> Vec<Block<'_>> {
    let metrics = of.workload.metrics.iter().filter(|m| m.role == Role::Primary);
    metrics.flat_map(|metric| of_metric(of.findings, metric)).collect()
}

fn of_metric<'a>(findings: &Findings, metric: &MetricFindings) -> Vec<Block<'a>> {
    let mut all = vec![
        Block::Lead(format!("{} ({})", labels::metric_name(&metric.name), labels::metric_aside(metric))),
        Block::Table(table(findings, metric)),
    ];
    all.extend(labels::meaning_of_change(findings, metric).map(Block::Aside));
    all.extend(metric.note.as_deref().map(|note| Block::Text(labels::full_stop(note))));
    let reason = |c: &Contrast| {
        let reason = labels::full_stop(labels::reason(&c.verdict)?);
        Some(Block::Text(format!("{}: no verdict: {reason}", labels::arm_name(findings, c.arm))))
    };
    all.extend(metric.contrasts.iter().filter_map(reason));
    all
}

/// Median, change with interval, p, verdict, and how many more units would decide.
fn table(findings: &Findings, metric: &MetricFindings) -> Table {
    let level = metric.contrasts.iter().find_map(|c| c.effect).map_or(0.95, |e| e.level);
    let change = format!("change [{:.0} %]", level * 100.0);
    let mut table = Table::new(&[
        ("arm", Align::Left),
        ("n", Align::Right),
        ("median", Align::Right),
        (&change, Align::Right),
        ("p", Align::Right),
        ("p adj.", Align::Right),
        ("over", Align::Right),
        ("verdict", Align::Left),
        ("", Align::Left),
    ]);
    (table.names, table.wide) = (Some(Names::Column(0)), vec![1, 4, 6, 8]);
    for values in &metric.values {
        let median = maybe_quantity(values.median, &metric.unit);
        let mut row = vec![labels::arm_name(findings, values.arm).into(), values.n.to_string().into(), median.into()];
        match metric.contrasts.iter().find(|c| c.arm == values.arm) {
            Some(contrast) => row.extend(contrast_cells(contrast, &metric.unit)),
            None => {
                row.resize(7, Cell::default());
                row.extend([Cell::toned("control", Tone::None), Cell::default()]);
            }
        }
        table.push(row);
    }
    table
}

fn contrast_cells(c: &Contrast, unit: &str) -> [Cell; 6] {
    let change = c.effect.map(|e| effect(&e, unit)).map(|t| format!("{} {}", t.value, t.interval));
    let p = |p| c.effect.map(|_| p_value(p)).unwrap_or_default().into();
    [
        change.unwrap_or_default().trim().into(),
        p(c.p),
        p(c.p_adjusted.or(c.p)),
        if c.units > 0 { labels::units(c) } else { String::new() }.into(),
        Cell::toned(labels::verdict(&c.verdict), &c.verdict),
        labels::verdict_note(c).into(),
    ]
}
