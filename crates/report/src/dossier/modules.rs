//! Calls between modules as a picture: callers on the left, callees on the right.

use super::flow::{ADDED, KEPT, REMOVED, open};
use super::sentences::{Lang, MODULE_CALLS};
use crate::escape::xml;
use schedlab_kernel::dossier::{Dossier, ModuleCalls};
use schedlab_plan::InOrder;
use std::collections::BTreeMap;

/// The picture's file.
pub(super) const NAME: &str = "flow-modules";
/// Most modules in a column: those whose calls differ most.
const ROWS: usize = 14;
const ROW: usize = 34;
const LEFT: usize = 330;
const RIGHT: usize = 570;

/// Whether there are functions without a picture of their own, and calls between modules that differ.
pub(super) fn has_picture(dossier: &Dossier) -> bool {
    dossier.functions.len() > dossier.key_functions.len() && !differing(dossier).is_empty()
}

fn differing(dossier: &Dossier) -> Vec<&ModuleCalls> {
    dossier.module_calls.iter().filter(|calls| calls.added + calls.removed > 0).collect()
}

/// The modules of a column, those with most changed calls first, with the numbers of added and removed calls.
fn column<'a>(calls: &[&'a ModuleCalls], side: fn(&ModuleCalls) -> &str) -> Vec<(&'a str, [usize; 2])> {
    let mut sums: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for one in calls {
        let sum = sums.entry(side(one)).or_default();
        *sum = [sum[0] + one.added, sum[1] + one.removed];
    }
    let mut out: Vec<(&str, [usize; 2])> = sums.into_iter().collect();
    out.in_order_by_key(|(_, sum)| std::cmp::Reverse(sum[0] + sum[1]));
    out.truncate(ROWS);
    out
}

pub(super) fn picture(dossier: &Dossier, lang: Lang) -> String {
    let calls = differing(dossier);
    let columns = [column(&calls, |one| &one.from), column(&calls, |one| &one.to)];
    let height = ROW * columns.iter().map(Vec::len).max().unwrap_or(0) + ROW;
    let y = |side: usize, name: &str| {
        let at = columns[side].iter().position(|(other, _)| *other == name)?;
        Some((height - ROW * columns[side].len()) / 2 + ROW * at + ROW / 2)
    };
    let mut out = open(height, lang.of(MODULE_CALLS));
    for one in &calls {
        let (Some(from), Some(to)) = (y(0, &one.from), y(1, &one.to)) else { continue };
        // Both colours side by side if calls were both added and removed.
        for (count, colour, shift) in [(one.added, ADDED, 0), (one.removed, REMOVED, 5)] {
            if count > 0 {
                let (from, to, width) = (from + shift, to + shift, (count as f64).sqrt().min(6.0));
                let middle = (LEFT + RIGHT) / 2;
                out += &format!(
                    "<path d=\"M{LEFT} {from}C{middle} {from} {middle} {to} {RIGHT} {to}\" stroke=\"{colour}\" \
                     stroke-width=\"{width:.1}\" stroke-opacity=\"0.6\" fill=\"none\"/>\n"
                );
            }
        }
    }
    for (side, (x, anchor)) in [(LEFT - 6, "end"), (RIGHT + 6, "start")].into_iter().enumerate() {
        for (name, [added, removed]) in &columns[side] {
            let y = y(side, name).unwrap_or(0) + 5;
            out += &format!(
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{KEPT}\">{}<tspan dx=\"6\" \
                 fill=\"{ADDED}\">+{added}</tspan><tspan dx=\"6\" fill=\"{REMOVED}\">−{removed}</tspan></text>\n",
                xml(&shortened(name))
            );
        }
    }
    out + "</svg>"
}

/// The end of a long path, because the column is limited to the picture's margin.
fn shortened(name: &str) -> String {
    const CHARS: usize = 31;
    let count = name.chars().count();
    if count <= CHARS {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(count - CHARS + 1).collect::<String>())
    }
}
