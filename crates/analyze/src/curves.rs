//! Curves of a plan's arms: arms that differ only in the number given to one setting, in the order of the numbers, and
//! the regions of the primary metric along them. Any plan may contain some; a `[[grid]]` makes many.
//!
//! The position of a value is the logarithm of its number if all numbers are above 0, otherwise the number itself. A
//! region is one line over that scale, so values that are unevenly spaced, as a study may place them around a step,
//! cause no boundary by themselves.

use crate::contrasts::{mean, values_by_block, values_by_unit};
use crate::estimate::effect;
use crate::findings::{Curve, CurveRegion, Effect, RegionBoundary, Role, Scale, Trend};
use crate::metric::MetricKey;
use crate::workload::Workload;
use schedlab_plan::InOrder;
use schedlab_plan::units::{format_ns, parse_number};
use schedlab_stats::regions::MIN_POINTS;
use schedlab_stats::{Cutting, Interval, Regions, dispersion_ratio, regions, t_estimate, welch};
use std::collections::BTreeMap;

/// Metrics that show, for each region, which tasks were switched out: every workload has these metrics.
const SWITCHES: [&str; 2] = ["voluntary_switches_per_op", "involuntary_switches_per_op"];

/// A value of a setting: the number, the value as shown, and its arm.
type Point = (f64, String, u32);

/// Arms along one setting: its name, the other settings, and the arms in the order of rising values.
struct Series {
    knob: String,
    others: String,
    points: Vec<Point>,
}

/// The curves of one workload that have enough points for two regions.
pub(crate) fn curves(part: &Workload<'_>) -> Vec<Curve> {
    let Some(key) = part.keys.iter().find(|key| key.role == Role::Primary) else { return Vec::new() };
    series(part).into_iter().filter_map(|series| curve(part, key, series)).collect()
}

fn series(part: &Workload<'_>) -> Vec<Series> {
    let mut found: BTreeMap<(String, String), Vec<Point>> = BTreeMap::new();
    for (arm, info) in part.manifest.arms.iter().enumerate() {
        let settings: Vec<String> = info.settings.iter().map(ToString::to_string).collect();
        for (index, setting) in settings.iter().enumerate() {
            let Some((knob, value)) = setting.split_once('=') else { continue };
            let Some(at) = parse_number(value) else { continue };
            let value = if knob.ends_with("_ns") { format_ns(at as u64) } else { value.to_owned() };
            let others =
                settings.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, text)| text.as_str());
            let others = others.collect::<Vec<_>>().join(";");
            found.entry((others, knob.to_owned())).or_default().push((at, value, arm as u32));
        }
    }
    let enough = |points: &Vec<Point>| points.len() >= 2 * MIN_POINTS;
    let all = found.into_iter().filter(|(_, points)| enough(points)).map(|((others, knob), mut points)| {
        points.in_order_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|a, b| a.0 == b.0);
        Series { knob, others, points }
    });
    all.collect()
}

fn curve(part: &Workload<'_>, key: &MetricKey, series: Series) -> Option<Curve> {
    let of_arm = |arm: u32| values_by_unit(&part.selection, key, arm).ok();
    let raw: Vec<BTreeMap<u32, Vec<f64>>> =
        series.points.iter().map(|(.., arm)| of_arm(*arm)).collect::<Option<_>>()?;
    let positive = raw.iter().flat_map(BTreeMap::values).flatten().all(|value| *value > 0.0);
    let values = free_of_blocks(positive.then_some(raw)?)?;
    // A knob of times or sizes acts by ratios. If one value is 0, as for a knob that can be off, there is no ratio.
    let by_ratio = series.points[0].0 > 0.0;
    let x: Vec<f64> = series.points.iter().map(|(at, ..)| if by_ratio { at.ln() } else { *at }).collect();
    let level = 1.0 - part.manifest.alpha;
    let cutting = Cutting { alpha: part.manifest.alpha, level, seed: part.manifest.seed, ..Cutting::default() };
    let found = regions(&x, &values, &cutting)?;
    let arms: Vec<u32> = series.points.iter().map(|(.., arm)| *arm).collect();
    let regions = found.regions.iter().map(|region| {
        let own = &arms[region.first..=region.last];
        CurveRegion {
            first: region.first,
            last: region.last,
            level: region.level.exp(),
            trend: trend(region, level),
            spread: region.sd,
            switches_per_op: SWITCHES.map(|name| mean_of(part, name, own)),
        }
    });
    let regions = regions.collect();
    Some(Curve {
        knob: series.knob,
        others: series.others,
        metric: key.name.clone(),
        unit: key.unit.clone(),
        regions,
        boundaries: boundaries(part, &arms, (&found, &x, &values), level),
        values: series.points.iter().map(|(_, text, _)| text.clone()).collect(),
        arms,
    })
}

/// Logarithms: one mean per block, minus the block's deviation from the overall mean. A block contains all points, so
/// drift shifts them together. (If blocks share boots, one mean per boot.)
fn free_of_blocks(raw: Vec<BTreeMap<u32, Vec<f64>>>) -> Option<Vec<Vec<f64>>> {
    let in_all = |block: &&u32| raw.iter().all(|of_arm| of_arm.contains_key(block));
    let blocks: Vec<u32> = raw.first()?.keys().filter(in_all).copied().collect();
    let log_mean = |of_arm: &BTreeMap<u32, Vec<f64>>, block: &u32| {
        mean(&of_arm[block].iter().map(|value| value.ln()).collect::<Vec<_>>())
    };
    let logs: Vec<Vec<f64>> =
        raw.iter().map(|of_arm| blocks.iter().map(|block| log_mean(of_arm, block)).collect()).collect::<Option<_>>()?;
    let of_block = |index: usize| mean(&logs.iter().map(|of_arm| of_arm[index]).collect::<Vec<_>>());
    let shared: Vec<f64> = (0..blocks.len()).map(of_block).collect::<Option<_>>()?;
    let whole = mean(&shared)?;
    let free = |of_arm: &Vec<f64>| of_arm.iter().zip(&shared).map(|(value, block)| value - block + whole).collect();
    Some(logs.iter().map(free).collect())
}

fn trend(region: &schedlab_stats::Region, level: f64) -> Trend {
    let half = region.slope_half_width(level);
    match region.slope {
        slope if slope - half > 0.0 => Trend::Rises,
        slope if slope + half < 0.0 => Trend::Falls,
        _ => Trend::Level,
    }
}

fn boundaries(
    part: &Workload<'_>,
    arms: &[u32],
    (found, x, values): (&Regions, &[f64], &[Vec<f64>]),
    level: f64,
) -> Vec<RegionBoundary> {
    let residuals = |region: &schedlab_stats::Region| -> Vec<f64> {
        let points = region.first..=region.last;
        points.flat_map(|i| values[i].iter().map(move |y| y - region.at(x[i]))).collect()
    };
    let sides = found.regions.windows(2);
    let of = |(boundary, sides): (&schedlab_stats::Boundary, &[schedlab_stats::Region])| {
        let plain = |region: &schedlab_stats::Region| values[region.first..=region.last].concat();
        let ratio = |value: f64, interval: Interval| effect(Scale::Ratio, value, interval);
        let change = welch(&plain(&sides[0]), &plain(&sides[1]), level);
        let spread = dispersion_ratio(&residuals(&sides[0]), &residuals(&sides[1]), level);
        RegionBoundary {
            after: boundary.after,
            earliest: boundary.interval.0,
            latest: boundary.interval.1,
            change: change.and_then(|e| ratio(e.mean, e.interval)),
            spread: spread.and_then(|e| ratio(e.mean, e.interval)),
            switches_per_op: SWITCHES.map(|name| {
                let of = |region: &schedlab_stats::Region| &arms[region.first..=region.last];
                change_of(part, name, of(&sides[0]), of(&sides[1]), level)
            }),
        }
    };
    found.boundaries.iter().zip(sides).map(of).collect()
}

/// Mean of a metric over the used trials of these arms.
fn mean_of(part: &Workload<'_>, name: &str, arms: &[u32]) -> Option<f64> {
    let key = part.keys.iter().find(|key| key.name == name)?;
    let values = arms.iter().filter_map(|arm| values_by_block(&part.selection, key, *arm).ok());
    mean(&values.flat_map(BTreeMap::into_values).flatten().collect::<Vec<f64>>())
}

/// The change of a metric's mean from the first arms to the second, by units.
fn change_of(part: &Workload<'_>, name: &str, before: &[u32], behind: &[u32], level: f64) -> Option<Effect> {
    let key = part.keys.iter().find(|key| key.name == name)?;
    let of_arm = |arm: &u32| values_by_unit(&part.selection, key, *arm).ok();
    let side = |arms: &[u32]| arms.iter().map(of_arm).collect::<Option<Vec<_>>>();
    let (before, behind) = (side(before)?, side(behind)?);
    let mean_in = |side: &[BTreeMap<u32, Vec<f64>>], unit: &u32| {
        let of_arms: Option<Vec<f64>> = side.iter().map(|of_arm| mean(of_arm.get(unit)?)).collect();
        mean(&of_arms?)
    };
    let change = |unit: &u32| Some(mean_in(&behind, unit)? - mean_in(&before, unit)?);
    let changes: Vec<f64> = before.first()?.keys().filter_map(change).collect();
    let found = t_estimate(&changes, level)?;
    effect(Scale::Difference, found.mean, found.interval)
}
