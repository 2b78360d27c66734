//! The regions of a metric along a knob.

use super::workload::Of;
use crate::document::Block;
use crate::number::{NONE, effect, percent, quantity, significant};
use crate::table::{Align, Table};
use schedlab_analyze::{Curve, CurveRegion, Effect, RegionBoundary, Trend, metric_name};

const KEY: &str = "A region has one line and one spread (standard deviation of a block around the line). Each further \
                   boundary is tested at 5 %. Switches that go with a region need not be its cause.";

/// All curves of a workload.
pub(super) fn blocks(of: Of<'_>) -> Vec<Block<'_>> {
    let mut all = Vec::new();
    for curve in &of.workload.curves {
        let others = if curve.others.is_empty() { String::new() } else { format!(" ({})", curve.others) };
        all.push(Block::Lead(format!("Regions of {} along {}{others}", metric_name(&curve.metric), curve.knob)));
        all.push(Block::Table(table(curve)));
        all.extend(Block::list(curve.boundaries.iter().map(|boundary| between(curve, boundary))));
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
