//! Axes: a scale from values to px, ticks at round numbers (1, 2, 5), labels with one unit for the whole axis.

use super::measure::text_width;
use super::svg::{Anchor, Svg};
use crate::number::{is_factor, significant, unit_for};
use schedlab_plan::InOrder;

/// Maps values to px, linearly or logarithmically. Values beyond its ends are drawn at the ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    from: f64,
    to: f64,
    log: bool,
}

/// Larger than any measurement; beyond it, differences overflow.
const LARGEST: f64 = 1e150;

impl Scale {
    /// A linear scale over finite values, with a margin of 4 %.
    pub(crate) fn linear(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (lo, hi) = extremes(values)?;
        let pad = if hi > lo { 0.04 * (hi - lo) } else { (0.05 * lo.abs()).max(1e-9) };
        Some(Self { lo: lo - pad, hi: hi + pad, from, to, log: false })
    }

    /// A logarithmic scale over positive values, with a margin of 4 % of its length.
    pub(crate) fn log(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (lo, hi) = extremes(values.filter(|v| *v > 1e-150))?;
        let pad = (0.04 * (hi / lo).ln()).max(0.002).exp();
        Some(Self { lo: lo / pad, hi: hi * pad, from, to, log: true })
    }

    /// Logarithmic if the values span more than `from_ratio`, otherwise linear.
    pub(crate) fn fitting(values: &[f64], from_ratio: f64, from: f64, to: f64) -> Option<Self> {
        let (lo, hi) = extremes(values.iter().copied())?;
        if lo > 1e-150 && hi / lo > from_ratio {
            return Self::log(values.iter().copied(), from, to);
        }
        Self::linear(values.iter().copied(), from, to)
    }

    /// A linear scale from the value `lo` at px `from` to `hi` at `to`.
    pub(crate) fn exactly(lo: f64, hi: f64, from: f64, to: f64) -> Self {
        Self { lo, hi, from, to, log: false }
    }

    /// The px of a value, clamped to the scale; NaN stays NaN and draws nothing.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.lo, self.hi);
        let share = match self.log {
            true => (value / self.lo).ln() / (self.hi / self.lo).ln(),
            false => (value - self.lo) / (self.hi - self.lo),
        };
        self.from + share * (self.to - self.from)
    }

    /// The ends as values (divided by `by`) and in px, and whether the scale is logarithmic, for the page's script.
    pub(crate) fn numbers(&self, by: f64) -> String {
        let value = |x: f64| significant(x / by, 9);
        format!("{} {} {:.1} {:.1} {}", value(self.lo), value(self.hi), self.from, self.to, u8::from(self.log))
    }

    /// Whether a value is on the scale.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.lo..=self.hi).contains(&value)
    }

    /// About `wanted` ticks.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.log { log_ticks(self.lo, self.hi, wanted) } else { linear_ticks(self.lo, self.hi, wanted) }
    }
}

fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|v| v.is_finite())
        .map(|v| v.clamp(-LARGEST, LARGEST))
        .fold(None, |found, v| found.map_or(Some((v, v)), |(lo, hi): (f64, f64)| Some((lo.min(v), hi.max(v)))))
}

/// Multiples of 1, 2 or 5 times a power of ten within `lo ..= hi`: about `wanted` of them, at most half as many more.
pub(crate) fn linear_ticks(lo: f64, hi: f64, wanted: usize) -> Vec<f64> {
    let raw = (hi - lo) / (1.5 * wanted.max(1) as f64);
    if !(raw.is_finite() && raw > 0.0) {
        return Vec::new();
    }
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw * 0.999).unwrap_or(10.0 * power);
    let first = (lo / step).ceil();
    // A step far below the values' own precision would never advance.
    if !first.is_finite() || first.abs() > 1e12 {
        return Vec::new();
    }
    (0..).map(|i| (first + f64::from(i)) * step).take_while(|t| *t <= hi).take(50).collect()
}

/// 1, 2 and 5 of each decade, or only decades if there are many; linear ticks within less than a decade.
pub(crate) fn log_ticks(lo: f64, hi: f64, wanted: usize) -> Vec<f64> {
    let decades = (hi / lo).log10();
    if !decades.is_finite() || decades <= 0.0 {
        return Vec::new();
    }
    if decades < 0.7 {
        return linear_ticks(lo, hi, wanted);
    }
    let steps: &[f64] = if decades * 3.0 <= wanted as f64 * 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = (decades / wanted.max(1) as f64).ceil().max(1.0) as i32;
    let (first, last) = (lo.log10().floor() as i32, hi.log10().ceil() as i32);
    let exponents = (first..=last).filter(|e| e.rem_euclid(every) == 0);
    let ticks = exponents.flat_map(|e| steps.iter().map(move |s| s * 10f64.powi(e)));
    ticks.filter(|t| (lo..=hi).contains(t)).take(50).collect()
}

/// Ticks and labels of a ratio axis, each in the form in which the ratio is printed: a percentage near one, otherwise a
/// factor.
pub(crate) fn ratio_ticks(lo: f64, hi: f64, room: f64) -> Vec<(f64, String)> {
    let wanted = (room / 80.0).clamp(2.0, 8.0) as usize;
    if hi / lo < 1.9 {
        let percents = linear_ticks((lo - 1.0) * 100.0, (hi - 1.0) * 100.0, wanted);
        let label = |p: f64| {
            if p.abs() < 1e-9 { "0 %".to_owned() } else { format!("{}{} %", if p > 0.0 { "+" } else { "" }, short(p)) }
        };
        return percents.into_iter().map(|p| (1.0 + p / 100.0, label(p))).collect();
    }
    const DENSE: [f64; 16] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0];
    let ticks: Vec<f64> = match hi / lo < 12.0 {
        true => DENSE.iter().flat_map(|t| [*t, t * 10.0]).filter(|t| (lo..=hi).contains(t)).collect(),
        false => log_ticks(lo, hi, wanted),
    };
    // One is always a tick; a tick whose label would touch a neighbour's is left out.
    let gap = (hi / lo).ln() / wanted as f64 * 0.62;
    let mut kept: Vec<f64> = vec![1.0];
    for tick in ticks {
        if kept.iter().all(|k| (tick / k).ln().abs() >= gap) {
            kept.push(tick);
        }
    }
    kept.in_order_by(f64::total_cmp);
    // One form for the whole axis, because an axis with both percentages and factors is misread.
    let factors = kept.iter().any(|t| is_factor(*t));
    let label = |t: f64| match t {
        t if factors => format!("{} ×", short(t)),
        1.0 => "0 %".to_owned(),
        t => format!("{:+.0} %", (t - 1.0) * 100.0),
    };
    kept.into_iter().filter(|t| (lo..=hi).contains(t)).map(|t| (t, label(t))).collect()
}

/// A tick's number without trailing zeros.
pub(crate) fn short(x: f64) -> String {
    bare(&significant(x, 3))
}

/// A printed number without trailing zeros.
pub(crate) fn bare(text: &str) -> String {
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    }
}

/// Labels of ticks in a metric's unit: the numbers, and their common unit.
pub(crate) fn labels(ticks: &[f64], unit: &str) -> (Vec<String>, String) {
    let size = ticks.iter().fold(0.0f64, |m, t| m.max(t.abs()));
    let (scale, shown) = unit_for(size, unit);
    let digits = apart(ticks, size).unwrap_or(3).max(2);
    let label = |t: &f64| bare(&significant(t / scale, digits));
    (ticks.iter().map(label).collect(), shown)
}

/// Labels in which each tick has its own unit (`2 µs … 5 ms`), for axes over many decades.
pub(crate) fn own_labels(ticks: &[f64], unit: &str) -> Vec<String> {
    let label = |t: &f64| {
        let (scale, shown) = unit_for(t.abs(), unit);
        let digits = apart(ticks, t.abs()).unwrap_or(3).max(3);
        format!("{} {shown}", bare(&significant(t / scale, digits))).trim_end().to_owned()
    };
    ticks.iter().map(label).collect()
}

/// Significant digits that distinguish a value of this size from its neighbouring ticks.
fn apart(ticks: &[f64], size: f64) -> Option<usize> {
    let step = ticks.windows(2).map(|w| (w[1] - w[0]).abs()).fold(f64::INFINITY, f64::min);
    let digits = size.log10().floor() - step.log10().floor() + 1.0;
    (digits.is_finite() && step > 0.0).then(|| digits.clamp(1.0, 9.0) as usize)
}

/// Ticks with their labels; the last one has the unit.
pub(crate) fn with_unit(ticks: Vec<f64>, unit: &str) -> Vec<(f64, String)> {
    let (mut labels, unit) = labels(&ticks, unit);
    if let Some(last) = labels.last_mut() {
        *last = format!("{last} {unit}").trim_end().to_owned();
    }
    ticks.into_iter().zip(labels).collect()
}

/// A horizontal axis at `y` below a plot that begins at `top`: grid lines and labels.
pub(crate) fn bottom(svg: &mut Svg, scale: &Scale, ticks: &[(f64, String)], top: f64, y: f64) {
    svg.lines("grid", ticks.iter().map(|(value, _)| scale.at(*value)).map(|x| ((x, top), (x, y))));
    let mut end = f64::NEG_INFINITY;
    let mut labels = Vec::new();
    for (value, label) in ticks {
        let half = text_width(label, 11.0) / 2.0;
        // A label at an edge stays inside the picture; a label that would touch its neighbour is left out.
        let middle = scale.at(*value).clamp(half, (svg.width - half).max(half));
        if middle - half > end + 6.0 {
            labels.push(((middle, y + 15.0), label.as_str()));
            end = middle + half;
        }
    }
    svg.labels("tick", Anchor::Middle, labels);
}

/// A vertical axis: grid lines from `left` to `right`, labels left of them.
pub(crate) fn side(svg: &mut Svg, scale: &Scale, ticks: &[(f64, String)], left: f64, right: f64) {
    svg.lines("grid", ticks.iter().map(|(value, _)| scale.at(*value)).map(|y| ((left, y), (right, y))));
    let labels = ticks.iter().map(|(value, label)| ((left - 6.0, scale.at(*value) + 4.0), label.as_str()));
    svg.labels("tick", Anchor::End, labels);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_numbers_people_say() {
        assert_eq!(linear_ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(log_ticks(900.0, 110_000.0, 4), [1_000.0, 10_000.0, 100_000.0]);
        assert_eq!(log_ticks(9.0, 60.0, 5), [10.0, 20.0, 50.0]);
        assert!(linear_ticks(f64::NAN, 1.0, 5).is_empty());
        assert!(linear_ticks(1e18, 1e18 + 1.0, 5).len() <= 50);
    }

    #[test]
    fn ratio_axes_hold_one_and_speak_percent_near_it() {
        let near = ratio_ticks(0.97, 1.04, 400.0);
        assert!(near.iter().any(|(t, l)| *t == 1.0 && l == "0 %"), "{near:?}");
        assert!(near.iter().any(|(_, l)| l == "+2 %"), "{near:?}");
        let far = ratio_ticks(0.3, 1.2, 400.0);
        let labels = |ticks: &[(f64, String)]| ticks.iter().map(|(_, l)| l.clone()).collect::<Vec<_>>().join(" | ");
        assert_eq!(labels(&far), "0.3 × | 0.4 × | 0.5 × | 0.6 × | 0.8 × | 1 × | 1.2 ×");
        assert_eq!(labels(&ratio_ticks(0.04, 30.0, 400.0)), "0.1 × | 1 × | 10 ×");
    }

    #[test]
    fn a_scale_clamps_and_survives_one_value() {
        let scale = Scale::linear([5.0].into_iter(), 0.0, 100.0).unwrap();
        assert_eq!(scale.at(5.0), 50.0);
        assert_eq!(scale.at(-1e9), 0.0);
        assert!(Scale::linear([f64::NAN].into_iter(), 0.0, 1.0).is_none());
        let huge = Scale::linear([-1e308, 1e308].into_iter(), 0.0, 100.0).unwrap();
        assert!(huge.at(1e308).is_finite() && huge.ticks(5).iter().all(|t| t.is_finite()));
    }

    #[test]
    fn labels_share_a_unit_and_differ() {
        let (labels, unit) = labels(&[1.00e-1, 1.05e-1, 1.10e-1], "s");
        assert_eq!((labels.join(" ").as_str(), unit.as_str()), ("100 105 110", "ms"));
        assert_eq!(own_labels(&[1.135, 1.14, 1.145], "1/op"), ["1.135 /op", "1.14 /op", "1.145 /op"]);
        assert_eq!(own_labels(&[1e-6, 1e-3], "s"), ["1 µs", "1 ms"]);
    }
}
