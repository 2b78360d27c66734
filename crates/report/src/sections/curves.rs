//! The regions of a metric along a knob.

use super::workload::Of;
use crate::document::Block;
use crate::number::{NONE, effect, percent, quantity, significant};
use crate::table::{Align, Table};
use schedlab_analyze::{Curve, CurveRegion, Effect, RegionBoundary, Trend, metric_name};

const KEY: &str = "A region has one line, over the logarithm of the values (over the values if one is 0 or less), and one \
                   spread (standard deviation of a block around the line). Each further boundary is tested at 5 %. \
                   Switches that go with a region need not be its cause.";

/// All curves of a workload.
pub(super) fn blocks(of: Of<'_>) -> Vec<Block<'_>> {
    let mut all = Vec::new();
    for curve in &of.workload.curves {
        let others = if curve.others.is_empty() { String::new() } else { format!(" ({})", curve.others) };
        all.push(Block::Lead(format!("Regions of {} along {}{others}", metric_name(&curve.metric), curve.knob)));
        all.push(Block::Table(table(curve)));
        let sides = curve.boundaries.iter().zip(curve.regions.windows(2));
        all.extend(Block::list(sides.map(|(boundary, sides)| {
            Vec::from_iter([between(curve, boundary)].into_iter().chain(mechanism(boundary, sides))).join(" ")
        })));
    }
    all.extend((!of.workload.curves.is_empty()).then(|| Block::Aside(KEY.into())));
    all
}

fn table(curve: &Curve) -> Table {
    let mut table = Table::new(&[
        ("from", Align::Right),
        ("to", Align::Right),
        ("points", Align::Right),
        ("level", Align::Right),
        ("trend", Align::Left),
        ("spread", Align::Right),
        ("voluntary, involuntary switches/op", Align::Left),
    ]);
    for region in &curve.regions {
        table.push(vec![
            curve.values[region.first].as_str().into(),
            curve.values[region.last].as_str().into(),
            (region.last + 1 - region.first).to_string().into(),
            quantity(region.level, &curve.unit).into(),
            trend(region).into(),
            percent(region.spread).into(),
            region
                .switches_per_op
                .map(|mean| mean.map_or_else(|| NONE.into(), |n| significant(n, 3)))
                .join(", ")
                .into(),
        ]);
    }
    table
}

fn trend(region: &CurveRegion) -> &'static str {
    match region.trend {
        Trend::Rises => "rises",
        Trend::Falls => "falls",
        Trend::Level => "level",
    }
}

/// `Between 8ms and 9ms (95 %: 7ms to 9ms): level +32 % [28, 36], spread 1.1 × [0.8, 1.5].`
fn between(curve: &Curve, boundary: &RegionBoundary) -> String {
    let value = |point: usize| curve.values[point].as_str();
    let level = boundary.change.map_or(0.95, |change| change.level);
    let said = |name: &str, of: Option<Effect>| {
        let text = effect(&of?, "");
        Some(format!("{name} {} {}", text.value, text.interval))
    };
    let changes: Vec<String> =
        [said("level", boundary.change), said("spread", boundary.spread)].into_iter().flatten().collect();
    format!(
        "Between {} and {} ({:.0} %: {} to {}): {}.",
        value(boundary.after),
        value(boundary.after + 1),
        100.0 * level,
        value(boundary.earliest),
        value(boundary.latest + 1),
        changes.join(", "),
    )
}

/// What the switches suggest about why the regions differ; `None` if they were not counted.
fn mechanism(boundary: &RegionBoundary, sides: &[CurveRegion]) -> Option<String> {
    let [waits, losses] = [0, 1].map(|kind| {
        let change = boundary.switches_per_op[kind]?;
        let means = [sides[0].switches_per_op[kind]?, sides[1].switches_per_op[kind]?];
        let moved = i8::from(change.lo > 0.0) - i8::from(change.hi < 0.0);
        Some((moved, means.map(|mean| significant(mean, 3)).join(" to ")))
    });
    let ((waits, of_waits), (losses, of_losses)) = (waits?, losses?);
    let often = |moved: i8| if moved > 0 { "more often" } else { "less often" };
    Some(match (losses, waits) {
        (0, 0) => format!(
            "Tasks are switched out as often on both sides (involuntarily {of_losses} an operation, voluntarily {of_waits}), so \
             switches do not explain it."
        ),
        (0, moved) => format!(
            "Tasks wait {} (voluntary switches an operation {of_waits}) and lose their CPU as often ({of_losses}).",
            often(moved)
        ),
        (moved, 0) => format!(
            "Tasks lose their CPU {} (involuntary switches an operation {of_losses}) and wait as often ({of_waits}).",
            often(moved)
        ),
        (lost, waited) if lost == waited => format!(
            "Tasks lose their CPU {} (involuntary switches an operation {of_losses}) and do {} between two waits (voluntary \
             {of_waits}).",
            often(lost),
            if lost > 0 { "less" } else { "more" }
        ),
        (lost, waited) => format!(
            "Tasks lose their CPU {} (involuntary switches an operation {of_losses}) but wait {} (voluntary {of_waits}).",
            often(lost),
            often(waited)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_analyze::Scale;

    /// The sentence for means of voluntary and involuntary switches on both sides, all different by 0.01 or more.
    fn said(waits: [f64; 2], losses: [f64; 2]) -> Option<String> {
        let change = |[before, behind]: [f64; 2]| {
            let value = behind - before;
            Some(Effect { scale: Scale::Difference, value, lo: value - 0.01, hi: value + 0.01, level: 0.95 })
        };
        let region = |side: usize| CurveRegion {
            first: 3 * side,
            last: 3 * side + 2,
            level: 1.0,
            trend: Trend::Level,
            spread: 0.01,
            switches_per_op: [Some(waits[side]), Some(losses[side]).filter(|x| x.is_finite())],
        };
        let switches_per_op = [change(waits), change(losses)];
        let boundary = RegionBoundary { after: 2, earliest: 2, latest: 2, change: None, spread: None, switches_per_op };
        mechanism(&boundary, &[region(0), region(1)])
    }

    #[test]
    fn switches_say_as_much_as_they_do() {
        for (waits, losses, expected) in [
            (
                [0.3, 0.1],
                [0.25, 0.02],
                "lose their CPU less often (involuntary switches an operation 0.250 to 0.0200) and do more",
            ),
            (
                [0.1, 0.3],
                [0.02, 0.25],
                "lose their CPU more often (involuntary switches an operation 0.0200 to 0.250) and do less",
            ),
            (
                [0.3, 0.305],
                [0.25, 0.02],
                "less often (involuntary switches an operation 0.250 to 0.0200) and wait as often",
            ),
            (
                [0.3, 0.1],
                [0.25, 0.255],
                "wait less often (voluntary switches an operation 0.300 to 0.100) and lose their CPU as",
            ),
            ([0.1, 0.3], [0.25, 0.02], "but wait more often (voluntary 0.100 to 0.300)"),
            ([0.3, 0.3], [0.25, 0.25], "switches do not explain it"),
        ] {
            let text = said(waits, losses).unwrap();
            assert!(text.contains(expected), "{text}");
        }
        assert_eq!(said([0.3, 0.1], [0.25, f64::NAN]), None, "not counted");
    }
}
