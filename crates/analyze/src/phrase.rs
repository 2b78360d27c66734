//! Numbers and effects in words: small ratios as percentages, large ones as factors, with no more digits than the
//! interval allows.

use crate::findings::{Effect, MetricFindings, Scale};
use crate::metric_name::metric_name;
use crate::number::{effect_text, factor_within, is_factor, percent_within};
use schedlab_plan::Direction;

/// An effect in words: `full` follows "makes WORKLOAD", `itself` follows the name of what is compared ("is 2 times
/// slower"; `None` for a difference), `short` is used alone.
pub(crate) struct Phrase {
    pub(crate) full: String,
    pub(crate) itself: Option<String>,
    pub(crate) short: String,
    pub(crate) names_metric: bool,
}

/// An effect on a metric in words.
pub(crate) fn phrase(metric: &MetricFindings, effect: &Effect) -> Phrase {
    phrase_of(&metric.name, &metric.unit, metric.direction, effect)
}

/// The same for a metric given by its name, unit and direction.
pub(crate) fn phrase_of(metric: &str, unit: &str, direction: Direction, effect: &Effect) -> Phrase {
    if effect.scale == Scale::Difference {
        let short = format!("{} {}", metric_name(metric), effect_text(effect, unit));
        return Phrase { full: format!("change {short}"), itself: None, short, names_metric: true };
    }
    let rate = direction == Direction::HigherIsBetter && unit.ends_with("/s");
    let time = direction == Direction::LowerIsBetter && unit == "s";
    let large = is_factor(effect.value);
    if rate || (time && large) {
        // The reciprocal of a time is a speed; only far from 1 is that easier to read than "less time".
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

fn reciprocal(effect: &Effect) -> Effect {
    Effect { value: 1.0 / effect.value, lo: 1.0 / effect.hi, hi: 1.0 / effect.lo, ..*effect }
}

/// A ratio in words: `2.8 times faster [2.6, 3.0]` or `10 % faster [9, 11]`.
fn size(effect: &Effect, down: &str, up: &str) -> String {
    match is_factor(effect.value) {
        true if effect.value >= 1.0 => times(effect, up),
        true => times(&reciprocal(effect), down),
        false => change(effect, down, up),
    }
}

/// `2.8 times WORD [2.6, 3.0]`.
pub(crate) fn times(effect: &Effect, word: &str) -> String {
    // The lower end of a wide interval must still be distinguishable from 1, and from 0.
    let half = ((effect.hi - effect.lo) / 2.0).min(effect.lo / 2.0);
    let shown = |x: f64| factor_within(x, half);
    format!("{} times {word} [{}, {}]", shown(effect.value), shown(effect.lo), shown(effect.hi))
}

/// `10 % WORD [9, 11]`: the numbers in brackets count in the direction of the word. Around no effect both ends have
/// their word, `2 % slower [1 % faster, 5 % slower]`: the tables give the signs of the metric.
fn change(effect: &Effect, down: &str, up: &str) -> String {
    let half = (effect.hi - effect.lo) / 2.0;
    let (value, lo, hi, word, other) = if effect.value < 1.0 {
        (1.0 - effect.value, 1.0 - effect.hi, 1.0 - effect.lo, down, up)
    } else {
        (effect.value - 1.0, effect.lo - 1.0, effect.hi - 1.0, up, down)
    };
    let percent = |x: f64| percent_within(x, half);
    let end = |x: f64| percent(x).trim_end_matches(" %").to_owned();
    match lo < 0.0 {
        true => format!("{} {word} [{} {other}, {} {word}]", percent(value), percent(-lo), percent(hi)),
        false => format!("{} {word} [{}, {}]", percent(value), end(lo), end(hi)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_the_digits_and_the_unit_of_the_table() {
        let effect = Effect { scale: Scale::Difference, value: 94_569.0, lo: 90_100.0, hi: 99_400.0, level: 0.95 };
        let phrase = phrase_of("context_switches_per_s", "1/s", Direction::Neutral, &effect);
        assert!(phrase.short.ends_with("+94.6 k/s [+90.1, +99.4]"), "{}", phrase.short);
    }

    #[test]
    fn the_lower_end_of_a_wide_interval_is_told_from_1_and_from_0() {
        let of = |value, lo, hi| times(&Effect { scale: Scale::Ratio, value, lo, hi, level: 0.95 }, "higher");
        assert_eq!(of(15.3, 0.001, 5.9e27), "15.30 times higher [0.00, 5.90e27]");
        assert_eq!(of(4.653, 1.398, 15.486), "4.7 times higher [1.4, 15.5]");
        assert_eq!(of(1.63, 0.012, 21.0), "1.63 times higher [0.01, 21.00]");
        assert_eq!(of(9.0, 6.0, 13.0), "9 times higher [6, 13]");
    }
}
