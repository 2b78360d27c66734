//! Details that a straight line along a setting hides: a hump may have no overall rise, and a rise may include a dip. A
//! span is level if each of its values is at its mean; it rises if no step from one value to the next falls by an
//! effect of interest.

use super::Logs;
use crate::findings::Standing;
use schedlab_plan::InOrder;
use schedlab_plan::statement::{Assertion, Matched, Point};
use schedlab_plan::units::parse_number;
use schedlab_stats::{Estimate, t_estimate};

/// A value against the mean of the span, or against the value before, in each curve that contains it; with a label for
/// it.
pub(super) type Piece = (String, Vec<Matched>);

/// The pieces that decide a claim about a trend; none for other claims.
pub(super) fn pieces<'n>(claim: Assertion, sets: &[Matched], name: impl Fn(u32) -> &'n str) -> Vec<Piece> {
    let sorted = |set: &Matched| {
        let mut points = set.arms.clone();
        points.in_order_by(|a, b| a.at.partial_cmp(&b.at).unwrap_or(std::cmp::Ordering::Equal));
        points
    };
    let word = |point: &Point| {
        let is_it = |word: &&str| word.split_once('=').is_some_and(|(_, value)| parse_number(value) == point.at);
        name(point.arm).split_whitespace().find(is_it).unwrap_or_default().to_owned()
    };
    let mut found: Vec<Piece> = Vec::new();
    for set in sets.iter().filter(|_| claim.is_trend()) {
        let points = sorted(set);
        let of_set: Vec<(String, Matched)> = match claim {
            Assertion::Level => points
                .iter()
                .map(|p| {
                    (format!("{} against the mean of all", word(p)), Matched { arms: vec![*p], than: points.clone() })
                })
                .collect(),
            _ => points
                .windows(2)
                .map(|p| {
                    (format!("{} against {}", word(&p[1]), word(&p[0])), Matched { arms: vec![p[1]], than: vec![p[0]] })
                })
                .collect(),
        };
        for (label, one) in of_set {
            match found.iter_mut().find(|(known, _)| *known == label) {
                Some((_, curves)) => curves.push(one),
                None => found.push((label, vec![one])),
            }
        }
    }
    found
}

/// The strongest evidence against the claim, if there is any: a piece that contradicts it, or, for a level, a piece
/// that leaves it open.
pub(super) fn against(
    claim: Assertion,
    logs: &Logs,
    pieces: &[Piece],
    level: f64,
    of_interest: f64,
) -> Option<(Standing, Estimate, String)> {
    // A piece can contradict on one side only, like the line itself, so both together keep the level.
    let of_many = 1.0 - (1.0 - level) / pieces.len().max(1) as f64;
    let all_at = |level: f64| {
        let one = move |(label, curves): &Piece| {
            Some((t_estimate(&logs.by_unit(curves, |set, unit| logs.difference(set, unit)), level)?, label.clone()))
        };
        pieces.iter().filter_map(one)
    };
    let beyond = |e: &Estimate| match claim {
        Assertion::Level => e.interval.lo.max(-e.interval.hi),
        Assertion::Rising => -e.interval.hi,
        _ => e.interval.lo,
    };
    let reach = |e: &Estimate| e.interval.hi.max(-e.interval.lo);
    let most = |pieces: Vec<(Estimate, String)>, by: &dyn Fn(&Estimate) -> f64| {
        pieces.into_iter().filter(|(e, _)| by(e) >= of_interest).max_by(|a, b| by(&a.0).total_cmp(&by(&b.0)))
    };
    let contradicted = most(all_at(of_many).collect(), &beyond).map(|(e, at)| (Standing::DoesNotHold, e, at));
    let is_open = || most(all_at(level).collect(), &reach).map(|(e, at)| (Standing::NotDecided, e, at));
    contradicted.or_else(|| if claim == Assertion::Level { is_open() } else { None })
}
