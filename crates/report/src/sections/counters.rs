//! What the scheduler did: counters per operation, latencies, placement.

use super::workload::Of;
use crate::document::Block;
use crate::number::percent;
use crate::table::{Align, Cell, Drawn, Names, Table};
use crate::{labels, tables};
use schedlab_analyze::WorkloadFindings;

pub(super) fn blocks(of: Of<'_>) -> Vec<Block<'_>> {
    let arms = labels::fact_arms(of.findings, of.workload);
    let what = if of.workload.operation.is_empty() { "operation" } else { &of.workload.operation };
    let title = format!("What the scheduler did, per {what}");
    let counters = Block::titled(&title, per_operation(of.workload, &arms));
    counters.chain(Block::table(tiers(of.workload, &arms))).collect()
}

/// A row for each counter and a column for each arm, with bars on a scale per row.
fn per_operation(workload: &WorkloadFindings, arms: &tables::Names) -> Table {
    let mut header = vec![("median of a trial", Align::Left)];
    header.extend(arms.iter().map(|(_, name)| (name.as_str(), Align::Right)));
    let mut table = Table { names: Some(Names::Header), ..Table::new(&header) };
    for (name, values) in tables::per_operation(workload, arms) {
        let largest = values.iter().flatten().filter(|v| v.is_finite()).fold(0.0f64, |m, v| m.max(*v));
        let cell = |(value, (arm, _)): (&Option<f64>, &(u32, String))| {
            // A single bar compares nothing.
            let compared = value.filter(|v| v.is_finite() && largest > 0.0 && values.len() > 1);
            let drawn = compared.map(|v| Drawn::Bar(*arm, v.max(0.0) / largest));
            Cell { drawn, ..Cell::from(tables::counter_value(name, *value)) }
        };
        table.push([Cell::from(name)].into_iter().chain(values.iter().zip(arms).map(cell)).collect());
    }
    table
}

/// Shares of the tiers per arm; empty if none is known, or only one.
fn tiers(workload: &WorkloadFindings, arms: &tables::Names) -> Table {
    let tiers = tables::tiers(workload);
    let mut header = vec![("placement", Align::Left)];
    header.extend(tiers.iter().map(|t| (labels::tier(*t), Align::Right)));
    let mut table = Table { names: Some(Names::Column(0)), ..Table::new(&header) };
    for (arm, name) in arms.iter().filter(|_| tiers.len() > 1) {
        let Some(facts) = workload.arms.iter().find(|a| a.arm == *arm && !a.tiers.is_empty()) else { continue };
        let share = |t| facts.tiers.iter().find(|s| s.tier == t).map_or(0.0, |s| s.share);
        let shares = tiers.iter().map(|t| Cell::from(percent(share(*t))));
        table.push([Cell::from(name.as_str())].into_iter().chain(shares).collect());
    }
    table
}

/// Counters without a number and the reason, each reason once, as sentences.
pub(super) fn not_counted(workload: &WorkloadFindings) -> Vec<String> {
    let counters = workload.arms.iter().flat_map(|a| &a.per_operation).filter(|c| c.median.is_none());
    let reasons = labels::grouped(counters.filter_map(|c| Some((c.not_counted.as_deref()?, c.name.as_str()))));
    reasons.into_iter().map(|(why, names)| format!("Not counted: {}: {why}.", names.join(", "))).collect()
}
