//! Numbers and effects in words: small ratios as percentages, large ones as factors, no more digits than the interval
//! carries.

use crate::findings::{Effect, MetricFindings, Scale};
use crate::metric_name::metric_name;
use schedlab_plan::Direction;

/// Ratios beyond this (or below its reciprocal) read better as factors.
pub(crate) const FACTOR_FROM: f64 = 1.5;

/// An effect in words: `full` follows "makes WORKLOAD", `itself` the name of what is compared ("is 2 times slower"; none of a
/// difference), `short` is used alone.
pub(crate) struct Phrase {
    pub(crate) full: String,
    pub(crate) itself: Option<String>,
    pub(crate) short: String,
    pub(crate) names_metric: bool,
}

/// What an effect on a metric is in words.
pub(crate) fn phrase(metric: &MetricFindings, effect: &Effect) -> Phrase {
    phrase_of(&metric.name, &metric.unit, metric.direction, effect)
}

/// The same of a metric by its name, unit and direction.
pub(crate) fn phrase_of(metric: &str, unit: &str, direction: Direction, effect: &Effect) -> Phrase {
    if effect.scale == Scale::Difference {
        let (value, lo, hi) = (signed(effect.value), signed(effect.lo), signed(effect.hi));
        let short = format!("{} {value} {unit} [{lo}, {hi}]", metric_name(metric));
        return Phrase { full: format!("change {short}"), itself: None, short, names_metric: true };
    }
    let rate = direction == Direction::HigherIsBetter && unit.ends_with("/s");
    let time = direction == Direction::LowerIsBetter && unit == "s";
    let large = is_large(effect.value);
    if rate || (time && large) {
        // A time's reciprocal is a speed; only far from 1 does it read better than "less time".
        let effect = if rate { *effect } else { reciprocal(effect) };
        let text = size(&effect, "slower", "faster");
        return Phrase { full: text.clone(), itself: Some(format!("is {text}")), short: text, names_metric: false };
    }
    if time {
        let text = size(effect, "less time", "more time");
        let (full, itself) = (format!("take {text}"), Some(format!("takes {text}")));
        return Phrase { full, itself, short: text, names_metric: false };
    }
    let text = format!("{} {}", metric_name(metric), size(effect, "lower", "higher"));
    Phrase { full: format!("have {text}"), itself: Some(format!("has {text}")), short: text, names_metric: true }
}

fn is_large(ratio: f64) -> bool {
    ratio >= FACTOR_FROM || ratio <= 1.0 / FACTOR_FROM
}

fn reciprocal(effect: &Effect) -> Effect {
    Effect { value: 1.0 / effect.value, lo: 1.0 / effect.hi, hi: 1.0 / effect.lo, ..*effect }
}

/// A ratio in words: `2.8 times faster [2.6, 3.0]` or `10 % faster [9, 11]`.
fn size(effect: &Effect, down: &str, up: &str) -> String {
    match is_large(effect.value) {
        true if effect.value >= 1.0 => times(effect, up),
        true => times(&reciprocal(effect), down),
        false => change(effect, down, up),
    }
}

/// `2.8 times WORD [2.6, 3.0]`.
pub(crate) fn times(effect: &Effect, word: &str) -> String {
    // The lower end of a wide interval must still be distinguishable from 1, and from 0.
    let half = ((effect.hi - effect.lo) / 2.0).min(effect.lo / 2.0);
    let shown = |x: f64| factor(x, half);
    format!("{} times {word} [{}, {}]", shown(effect.value), shown(effect.lo), shown(effect.hi))
}

/// `10 % WORD [9, 11]`: the bracket counts in the direction of the word, a negative end is the other one.
fn change(effect: &Effect, down: &str, up: &str) -> String {
    let half = (effect.hi - effect.lo) / 2.0;
    let (value, lo, hi, word) = if effect.value < 1.0 {
        (1.0 - effect.value, 1.0 - effect.hi, 1.0 - effect.lo, down)
    } else {
        (effect.value - 1.0, effect.lo - 1.0, effect.hi - 1.0, up)
    };
    let end = |x: f64| percent(x, half).trim_end_matches(" %").to_owned();
    format!("{} {word} [{}, {}]", percent(value, half), end(lo), end(hi))
}

/// A share as a percentage with no more digits than its uncertainty carries.
pub(crate) fn percent(share: f64, half_width: f64) -> String {
    let digits = match half_width.abs() * 100.0 {
        w if w >= 3.0 => 0,
        w if w >= 0.3 => 1,
        _ => 2,
    };
    let text = format!("{:.digits$}", share * 100.0);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    let text = if text == "-0" { "0".to_owned() } else { text };
    format!("{text} %")
}

/// A factor with no more digits than an interval of this half-width carries.
pub(crate) fn factor(x: f64, half_width: f64) -> String {
    let digits = match half_width.abs() {
        w if w >= 1.0 => 0,
        w if w >= 0.05 => 1,
        _ => 2,
    };
    if x.abs() < 1e7 { format!("{x:.digits$}") } else { number(x) }
}

/// A number with three significant digits.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let magnitude = x.abs().log10().floor();
    if !(-4.0..7.0).contains(&magnitude) {
        return format!("{x:.2e}");
    }
    let digits = (2.0 - magnitude).max(0.0) as usize;
    format!("{x:.digits$}")
}

fn signed(x: f64) -> String {
    let text = number(x);
    if x > 0.0 { format!("+{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_end_of_a_wide_interval_is_told_from_1_and_from_0() {
        let of = |value, lo, hi| times(&Effect { scale: Scale::Ratio, value, lo, hi, level: 0.95 }, "higher");
        assert_eq!(of(15.3, 0.001, 5.9e27), "15.30 times higher [0.00, 5.90e27]");
        assert_eq!(of(4.653, 1.398, 15.486), "4.7 times higher [1.4, 15.5]");
        assert_eq!(of(1.63, 0.012, 21.0), "1.63 times higher [0.01, 21.00]");
        assert_eq!(of(9.0, 6.0, 13.0), "9 times higher [6, 13]");
    }
}
