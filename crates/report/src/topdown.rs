//! The top-down tree of a trial: each node with its share of the level above, indented below it. Shares of slots add up to
//! their parent. A vendor's shares of cycles below a share of slots add up among themselves only, so there the percentage
//! is of the siblings' sum.

use crate::number::percent;
use schedlab_plan::{Metric, TrialOutcome};
use std::io::{self, Write};

const PREFIX: &str = "topdown.";

/// Whether a metric is a node of the tree.
pub(crate) fn is_node(metric: &str) -> bool {
    metric.starts_with(PREFIX)
}

/// Prints the tree, if there is one.
pub(crate) fn write(outcome: &TrialOutcome, out: &mut dyn Write) -> io::Result<()> {
    let nodes: Vec<&Metric> = outcome.metrics.iter().filter(|m| is_node(&m.name)).collect();
    if nodes.is_empty() {
        return Ok(());
    }
    let name = |node: &Metric| {
        let depth = node.name.matches('.').count() - 1;
        let last = node.name.rsplit('.').next().unwrap_or_default();
        format!("{}{}", "  ".repeat(depth), crate::escape::terminal(last))
    };
    let width = nodes.iter().map(|n| name(n).chars().count()).max().unwrap_or(0).max("top-down".len());
    writeln!(out, "\n  {:<width$}  {:>12}  {:>10}", "top-down", "of the above", "of all")?;
    for node in &nodes {
        let above = of_the_above(node, &nodes).map_or_else(|| crate::number::NONE.to_owned(), percent);
        let whole = if node.unit == "share" { "slots" } else { "cycles" };
        writeln!(out, "  {:<width$}  {above:>12}  {:>10} {whole}", name(node), percent(node.value))?;
    }
    Ok(())
}

/// The share of the parent, or of the siblings' sum if parent and child are shares of different things.
fn of_the_above(node: &Metric, nodes: &[&Metric]) -> Option<f64> {
    let above = |m: &Metric| m.name.rsplit_once('.').map(|(parent, _)| parent.to_owned());
    let parent = above(node)?;
    let whole = match nodes.iter().find(|m| m.name == parent) {
        None => 1.0,
        Some(parent) if parent.unit == node.unit => parent.value,
        Some(_) => {
            let siblings = nodes.iter().filter(|m| above(m).as_deref() == Some(parent.as_str()) && m.unit == node.unit);
            siblings.map(|m| m.value).sum()
        }
    };
    Some(node.value / whole).filter(|share| share.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::{Direction, SHARE_OF_CYCLES};

    fn node(name: &str, value: f64, unit: &str) -> Metric {
        Metric { name: name.into(), value, unit: unit.into(), direction: Direction::Neutral }
    }

    #[test]
    fn the_tree_is_indented_and_every_share_says_of_what() {
        let outcome = TrialOutcome {
            metrics: vec![
                node("msgs_per_s", 5.0, "1/s"),
                node("topdown.frontend_bound", 0.186, "share"),
                node("topdown.backend_bound", 0.5, "share"),
                node("topdown.backend_bound.memory_bound", 0.4, "share"),
                node("topdown.backend_bound.memory_bound.dram_bound", 0.3, SHARE_OF_CYCLES),
            ],
            ..empty()
        };
        let mut out = Vec::new();
        write(&outcome, &mut out).unwrap();
        let expected = "
  top-down        of the above      of all
  frontend_bound        18.6 %      18.6 % slots
  backend_bound         50.0 %      50.0 % slots
    memory_bound        80.0 %      40.0 % slots
      dram_bound         100 %      30.0 % cycles
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut none = Vec::new();
        write(&empty(), &mut none).unwrap();
        assert!(none.is_empty());
    }

    fn empty() -> TrialOutcome {
        serde_json::from_value(serde_json::json!({
            "workload": "pipe/1", "operations": 1, "operation": "round trip", "metrics": [], "phases": [],
            "histograms": [], "tiers": [], "counters": [], "series": [], "tasks": [], "groups": [], "windows": [],
            "applied": [], "loads": [], "native_lines": [], "notes": [],
            "stamping": {"level": "off", "every": 0, "stamped": 0, "cost_ns": 0.0, "cost_share": 0.0},
        }))
        .unwrap()
    }

    #[test]
    fn shares_of_one_thing_are_of_the_parent_and_others_of_their_siblings() {
        let all = [
            node("topdown.backend_bound", 0.5, "share"),
            node("topdown.backend_bound.memory_bound", 0.4, "share"),
            node("topdown.backend_bound.memory_bound.l1_bound", 0.125, SHARE_OF_CYCLES),
            node("topdown.backend_bound.memory_bound.dram_bound", 0.375, SHARE_OF_CYCLES),
            node("topdown.retiring", 0.5, "share"),
            node("topdown.idle", 0.0, "share"),
            node("topdown.idle.x", 0.0, "share"),
        ];
        let nodes: Vec<&Metric> = all.iter().collect();
        let found: Vec<Option<f64>> = nodes.iter().map(|n| of_the_above(n, &nodes)).collect();
        let expected = [Some(0.5), Some(0.8), Some(0.25), Some(0.75), Some(0.5), Some(0.0), None];
        assert_eq!(found, expected, "0/0 is not a share");
    }
}
