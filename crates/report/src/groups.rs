//! A profile, or the difference between two, by part of the kernel.

use crate::document::{Block, Document};
use crate::number::percent;
use crate::table::{Align, Cell, Table};
use schedlab_analyze::profile::{GroupFindings, GroupShare};

/// Shares below this are told together in a sentence.
const WORTH_NAMING: f64 = 0.05;

/// A page of its own.
pub fn groups(found: &GroupFindings) -> Document {
    let mut page = Document::default();
    let text = sentence(found).map(Block::Text);
    page.add("By part of the kernel", text.into_iter().chain(Block::table(table(found))).collect());
    page
}

/// What each group has of the difference; none of one profile alone.
pub(crate) fn sentence(found: &GroupFindings) -> Option<String> {
    let against = found.against?;
    let GroupFindings { unit, this, .. } = found;
    let per = if found.operation.is_empty() { "operation" } else { &found.operation };
    let all = format!("Per {per} it takes {this:.1} {unit} instead of {against:.1} ({:+.1})", this - against);
    let shares: Option<Vec<(&str, f64)>> = found.groups.iter().map(|g| Some((g.group.as_str(), g.share?))).collect();
    let Some(shares) = shares else {
        return Some(format!("{all}; what groups of functions gain and lose cancels, so no share is given."));
    };
    let (named, rest): (Vec<_>, Vec<_>) = shares.into_iter().partition(|(_, share)| share.abs() >= WORTH_NAMING);
    let mut parts: Vec<String> =
        named.into_iter().map(|(name, share)| format!("{} in {name}", percent(share))).collect();
    if !rest.is_empty() {
        let rest: f64 = rest.iter().map(|(_, share)| share).sum();
        parts.push(format!("{} elsewhere", percent(rest)));
    }
    Some(format!("{all}: of this difference {}.", parts.join(", ")))
}

/// By group; without a share where they cancel each other.
pub(crate) fn table(found: &GroupFindings) -> Table {
    let is_pair = found.against.is_some();
    let mut header = vec![("group", Align::Left)];
    let sides: &[&str] = if is_pair { &["against", "this", "difference"] } else { &["per op"] };
    header.extend(sides.iter().map(|side| (*side, Align::Right)));
    header.push(("share", Align::Right));
    let mut table = Table::new(&header);
    for group in &found.groups {
        let mut cells: Vec<Cell> = vec![group.group.as_str().into()];
        cells.extend(group.against.map(|before| format!("{before:.2}").into()));
        cells.push(format!("{:.2}", group.this).into());
        cells.extend(group.against.map(|_| format!("{:+.2}", GroupShare::difference(group)).into()));
        cells.push(group.share.map_or_else(String::new, percent).into());
        table.push(cells);
    }
    table
}
