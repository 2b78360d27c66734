//! A profile, or the difference between two, by part of the kernel.

use crate::document::{Block, Document};
use crate::number::{percent, quantity};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::profile::{GroupFindings, GroupShare};

/// Groups with smaller shares are combined in a sentence.
const WORTH_NAMING: f64 = 0.05;

/// The groups as a page of their own.
pub fn groups(found: &GroupFindings) -> Document {
    let mut page = Document::default();
    let text = sentence(found).map(Block::Text);
    page.add("By part of the kernel", text.into_iter().chain(Block::table(table(found))).collect());
    page
}

/// The share of each group in the difference; `None` for a single profile.
pub(crate) fn sentence(found: &GroupFindings) -> Option<String> {
    let against = found.against?;
    let GroupFindings { unit, this, .. } = found;
    let per = if found.operation.is_empty() { "operation" } else { &found.operation };
    let amount = |x: f64| if unit == "ns" { quantity(x, unit) } else { format!("{x:.1}") };
    let more = *this - against;
    let sign = if more < 0.0 { '-' } else { '+' };
    let of_unit = if unit == "ns" { String::new() } else { format!(" {unit}") };
    let (this, against, more) = (amount(*this), amount(against), amount(more.abs()));
    let all = format!("Per {per} it takes {this}{of_unit} instead of {against} ({sign}{more})");
    let shares: Option<Vec<(&str, f64)>> = found.groups.iter().map(|g| Some((g.group.as_str(), g.share?))).collect();
    let Some(shares) = shares else {
        return Some(format!("{all}; what groups of functions gain and lose cancels, so no share is given."));
    };
    let (named, rest): (Vec<_>, Vec<_>) = shares.into_iter().partition(|(_, share)| share.abs() >= WORTH_NAMING);
    let mut parts: Vec<String> =
        named.into_iter().map(|(name, share)| format!("{} in {}", percent(share), in_words(name))).collect();
    if !rest.is_empty() {
        let rest: f64 = rest.iter().map(|(_, share)| share).sum();
        parts.push(format!("{} elsewhere", percent(rest)));
    }
    Some(format!("{all}: of this difference {}.", parts.join(", ")))
}

fn in_words(group: &str) -> String {
    match group {
        "scheduler" | "file system" | "network" => format!("the {group}"),
        "other" => "functions of no known part".into(),
        group => group.into(),
    }
}

/// The table by group; without shares if the groups cancel each other.
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

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_analyze::profile::Weight;

    fn of(rows: &[Weight<'_>]) -> GroupFindings {
        GroupFindings::of("instructions", "message", rows.iter().copied())
    }

    #[test]
    fn a_difference_is_told_by_its_parts_and_one_that_cancels_is_not_shared_out() {
        let before = of(&[(Some("schedule"), 100.0), (Some("vfs_read"), 50.0), (Some("drm_ioctl"), 10.0), (None, 5.0)]);
        let after = of(&[(Some("schedule"), 190.0), (Some("vfs_read"), 30.0), (Some("drm_ioctl"), 39.0), (None, 6.0)]);
        let seen = sentence(&after.against(&before)).unwrap();
        let expected = "Per message it takes 265.0 instructions instead of 165.0 (+100.0): of this difference 90.0 % in the scheduler, \
                        29.0 % in functions of no known part, -20.0 % in the file system, 1.0 % elsewhere.";
        assert_eq!(seen, expected);
        let swapped =
            of(&[(Some("schedule"), 50.0), (Some("vfs_read"), 100.0), (Some("drm_ioctl"), 10.0), (None, 5.0)]);
        let seen = sentence(&swapped.against(&before)).unwrap();
        assert!(seen.ends_with("gain and lose cancels, so no share is given."), "{seen}");
        let times = |ns: f64| GroupFindings::of("ns", "run", [(Some("schedule"), ns)]);
        let seen = sentence(&times(4.25e6).against(&times(5e6))).unwrap();
        assert!(seen.starts_with("Per run it takes 4.250 ms instead of 5.000 ms (-750.0 µs)"), "{seen}");
        assert_eq!((sentence(&before), table(&before).rows.len()), (None, 4));
    }
}
