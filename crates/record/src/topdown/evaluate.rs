//! From counts to shares: a pure function of a table and of what each group counted.

use super::formula;
use super::table::{Of, Table};
use std::collections::BTreeMap;

/// What one group counted, in the order of its events; scales of aliases applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Counts {
    pub(crate) values: Vec<f64>,
    /// Counted in a part of the time only.
    pub(crate) is_estimate: bool,
}

/// A node of the tree with its share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    pub(crate) path: &'static str,
    pub(crate) value: f64,
    pub(crate) of: Of,
    /// One of the counts behind it covers a part of the time only.
    pub(crate) is_estimate: bool,
}

/// The shares that can be found, a parent before its children and children in the table's order. A group that was not
/// counted (`None`) takes its nodes along, and those that are computed from them.
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
            // Nothing counted at all (an idle PMU, 0/0) says nothing.
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

/// The nodes right below one, the last first.
fn children(table: &Table, parent: &str) -> Vec<&'static str> {
    let above = |path: &str| path.rsplit_once('.').map_or(String::new(), |(above, _)| above.to_owned());
    let mut below: Vec<&'static str> = table.paths().filter(|path| above(path) == parent).collect();
    below.reverse();
    below
}
