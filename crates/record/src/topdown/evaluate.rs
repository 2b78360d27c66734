//! From counts to shares: a pure function of a table and the counts of each group.

use super::formula;
use super::table::{Of, Table};
use std::collections::BTreeMap;

/// The counts of one group, in the order of its events, with the scales of aliases applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Counts {
    pub(crate) values: Vec<f64>,
    /// Counted only part of the time.
    pub(crate) is_estimate: bool,
}

/// A node of the tree with its share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    pub(crate) path: &'static str,
    pub(crate) value: f64,
    pub(crate) of: Of,
    /// One of the counts behind it covers only part of the time.
    pub(crate) is_estimate: bool,
}

/// The shares that can be computed, parents before children and children in the table's order. If a group was not
/// counted (`None`), its nodes are missing, and so are those computed from them.
pub(crate) fn evaluate(table: &Table, slots: f64, counted: &[Option<Counts>]) -> Vec<Share> {
    let mut known: BTreeMap<&str, Share> = BTreeMap::new();
    for (group, counts) in table.groups.iter().zip(counted) {
        let Some(counts) = counts else { continue };
        for node in group.nodes {
            let is_estimate = std::cell::Cell::new(counts.is_estimate);
            let look_up = |name: &str| {
                if name == "SLOTS" {
                    return Ok(slots);
                }
                if let Some(at) = group.events.iter().position(|e| e.name == name) {
                    return counts.values.get(at).copied().ok_or_else(|| format!("no count of {name}"));
                }
                let share = known.get(name).ok_or_else(|| format!("no share {name}"))?;
                is_estimate.set(is_estimate.get() || share.is_estimate);
                Ok(share.value)
            };
            // If nothing was counted at all (an idle PMU, 0/0), there is no share.
            if let Ok(value) = formula::evaluate(node.formula, &look_up)
                && value.is_finite()
            {
                let share = Share { path: node.path, value, of: node.of, is_estimate: is_estimate.get() };
                known.insert(node.path, share);
            }
        }
    }
    let mut shares = Vec::new();
    let mut open = children(table, "");
    while let Some(path) = open.pop() {
        if let Some(share) = known.get(path) {
            shares.push(*share);
            open.append(&mut children(table, path));
        }
    }
    shares
}

/// The direct children of a node, the last first.
fn children(table: &Table, parent: &str) -> Vec<&'static str> {
    let above = |path: &str| path.rsplit_once('.').map_or(String::new(), |(above, _)| above.to_owned());
    let mut below: Vec<&'static str> = table.paths().filter(|path| above(path) == parent).collect();
    below.reverse();
    below
}
