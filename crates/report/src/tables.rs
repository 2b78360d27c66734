//! Numbers by arm from findings, shared by tables and pictures.

use crate::number::quantity;
use crate::table::{Align, Table};
use schedlab_analyze::{MetricFindings, Role, WorkloadFindings};
use schedlab_plan::Tier;

/// Arms by index with their names.
pub(crate) type Names = [(u32, String)];

pub(crate) fn name_of(names: &Names, arm: u32) -> &str {
    names.iter().find(|(i, _)| *i == arm).map_or("?", |(_, name)| name)
}

/// Medians of the trials per arm, `None` if nothing was counted: each counter per operation, each latency quantile.
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
    let latencies =
        workload.metrics.iter().filter(|m| m.role == Role::Secondary && m.name.starts_with("latency_p")).map(latency);
    let all = counters.chain(latencies);
    all.filter(|(_, values): &(&str, Vec<Option<f64>>)| values.iter().any(Option::is_some)).collect()
}

/// A counter per operation: times with their unit, counts without.
pub(crate) fn counter_value(name: &str, value: Option<f64>) -> String {
    match value {
        Some(v) if name.ends_with("_ns") => quantity(v, "ns"),
        Some(v) if v.is_finite() => crate::number::significant(v, 3),
        _ => crate::number::NONE.to_owned(),
    }
}

/// Tiers with operations in any arm, nearest first.
pub(crate) fn tiers(workload: &WorkloadFindings) -> Vec<Tier> {
    let has = |t: &Tier| workload.arms.iter().flat_map(|a| &a.tiers).any(|s| s.tier == *t && s.share > 0.0);
    Tier::ALL.into_iter().filter(has).collect()
}

/// A table of names and their meanings, without a header.
pub(crate) fn of_terms(terms: &[(String, String)]) -> Table {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    terms.iter().for_each(|(name, text)| table.push(vec![name.as_str().into(), text.as_str().into()]));
    table
}
