//! The result of a bisection, as a page and as JSON.

use crate::arm_effects::ArmEffects;
use crate::findings::{Effect, Scale};
use crate::why::WhyFindings;
use schedlab_plan::counted;
use schedlab_stats::{BisectAnswer, Bisection, Estimate};
use serde::Serialize;
use std::collections::BTreeMap;

/// The JSON of `schedlab bisect --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BisectFindings {
    /// The metric that was followed.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// What came out.
    pub answer: BisectOutcome,
    /// In a sentence.
    pub sentence: String,
    /// The error rate requested: the probability that the named member is wrong.
    pub error: f64,
    /// The bad end against the good one, from their own comparisons, which ran until the two differed: biased upwards.
    pub ends: Option<Effect>,
    /// The change at its most probable position, from the comparisons after those of the ends; absent if none of them
    /// straddles it.
    pub change: Option<Effect>,
    /// The history, from the good end.
    pub members: Vec<BisectMember>,
    /// Independent units that were compared.
    pub units: usize,
    /// What a unit is, plural.
    pub unit_name: String,
    /// Trials, warm-up included.
    pub trials: usize,
    /// Runs.
    pub rounds: u32,
    /// The result of `why` on the two members around the change, from fresh trials; `None` if it was not run.
    pub why: Option<WhyFindings>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BisectOutcome {
    /// The change came after one member and with another at the latest.
    Change {
        /// Index of the last good member.
        last_good: usize,
        /// Index of the first bad member; more than one above where those between could not be tried.
        first_bad: usize,
        /// Posterior probability.
        probability: f64,
    },
    /// The trials were spent; it is in this stretch.
    Undecided {
        /// Index of the last member before it.
        last_good: usize,
        /// Index of its last member.
        first_bad: usize,
        /// Posterior probability.
        probability: f64,
    },
    /// The good end is the worse one.
    Reversed,
    /// The ends do not differ.
    Nothing,
    /// It was interrupted.
    Unfinished,
}

/// A member of the history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BisectMember {
    /// Its index.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// The probability that the change came with it; for a member that could not be run, see the next one that could.
    pub probability: f64,
    /// Why it could not be tried.
    pub skipped: Option<String>,
}

/// What the caller knows in addition to the state machine.
#[derive(Debug, Clone, Default)]
pub struct Bisected {
    /// Names of the members.
    pub names: Vec<String>,
    /// Why members could not be tried.
    pub skipped: BTreeMap<usize, String>,
    /// The metric's name and unit.
    pub metric: (String, String),
    /// Whether contrasts are relative differences ([`relative`]) instead of log-ratios.
    pub is_relative: bool,
    /// Whether lower values are better: effects are shown in the metric's own direction.
    pub lower_is_better: bool,
    /// What a unit is.
    pub unit_name: String,
    /// Trials that were run.
    pub trials: usize,
    /// Rounds that were run.
    pub rounds: u32,
    /// The error rate.
    pub error: f64,
}

/// The gains of a comparison's units on the one scale of a whole bisection. Its comparisons may be estimated as
/// log-ratios, or as differences if a trial without a completed operation has no logarithm. The difference relative to
/// the mean of the two sides is the same whichever side is the control; for a log-ratio x it is 2 tanh(x/2).
pub fn relative(effects: &ArmEffects) -> Vec<f64> {
    let middle = 0.5 * (effects.control_mean + effects.arm_mean);
    let one = |gain: f64| match effects.scale {
        Scale::Ratio => 2.0 * (gain / 2.0).tanh(),
        Scale::Difference if middle > 0.0 => gain / middle,
        Scale::Difference => 0.0,
    };
    effects.gains().map(one).collect()
}

/// Assembles the findings; if the answer is `None`, the bisection was interrupted.
pub fn bisect_findings(bisection: &Bisection, answer: Option<&BisectAnswer>, of: &Bisected) -> BisectFindings {
    let mut members: Vec<BisectMember> = of
        .names
        .iter()
        .enumerate()
        .map(|(index, name)| BisectMember {
            index,
            name: name.clone(),
            probability: 0.0,
            skipped: of.skipped.get(&index).cloned(),
        })
        .collect();
    for stretch in bisection.stretches() {
        members[stretch.first].probability = stretch.probability;
    }
    let answer = match answer {
        None => BisectOutcome::Unfinished,
        Some(&BisectAnswer::Change { after, first, probability }) => {
            BisectOutcome::Change { last_good: after, first_bad: first, probability }
        }
        Some(&BisectAnswer::Undecided { after, first, probability }) => {
            BisectOutcome::Undecided { last_good: after, first_bad: first, probability }
        }
        Some(BisectAnswer::Reversed) => BisectOutcome::Reversed,
        Some(BisectAnswer::Nothing) => BisectOutcome::Nothing,
    };
    let ends = bisection.ends();
    let change = bisection.change();
    let effect = |estimate: Option<Estimate>| estimate.map(|estimate| of.effect(&estimate));
    BisectFindings {
        metric: of.metric.0.clone(),
        unit: of.metric.1.clone(),
        sentence: of.sentence(&answer),
        answer,
        error: of.error,
        ends: effect(ends),
        change: effect(change),
        members,
        units: bisection.units(),
        unit_name: of.unit_name.clone(),
        trials: of.trials,
        rounds: of.rounds,
        why: None,
    }
}

impl Bisected {
    /// The effect on the metric, computed from a gain.
    fn effect(&self, gain: &Estimate) -> Effect {
        let sign = if self.lower_is_better { -1.0 } else { 1.0 };
        // ±2 means that one side did everything and the other nothing.
        let ratio_of = |x: f64| (2.0 + x.clamp(-1.999, 1.999)) / (2.0 - x.clamp(-1.999, 1.999));
        let shown = |x: f64| if self.is_relative { ratio_of(sign * x) } else { (sign * x).exp() };
        let (a, b) = (shown(gain.interval.lo), shown(gain.interval.hi));
        let scale = Scale::Ratio;
        Effect { scale, value: shown(gain.mean), lo: a.min(b), hi: a.max(b), level: gain.interval.level }
    }

    fn sentence(&self, answer: &BisectOutcome) -> String {
        let name = |index: usize| format!("`{}`", self.names.get(index).map_or("?", String::as_str));
        let percent = |probability: f64| format!("{:.1} %", (100.0 * probability).min(99.9));
        let range = |good: usize, bad: usize| match bad - good {
            1 => format!("it came with {}", name(bad)),
            several => format!(
                "it came with one of {}, after {} and with {} at the latest",
                counted(several, "members"),
                name(good),
                name(bad)
            ),
        };
        match *answer {
            BisectOutcome::Change { last_good, first_bad, probability } => {
                format!("{}: probability {}", range(last_good, first_bad), percent(probability))
            }
            BisectOutcome::Undecided { last_good, first_bad, probability } => format!(
                "the trials are spent, and so far {}: probability {} (more: --resume with a larger --max-trials)",
                range(last_good, first_bad),
                percent(probability)
            ),
            BisectOutcome::Reversed => format!(
                "the bad end is the better one: {} is better than {}, so nothing became worse between them; check which end is \
                 which, or follow another metric (--metric)",
                name(self.names.len() - 1),
                name(0)
            ),
            BisectOutcome::Nothing => format!(
                "between {} and {} nothing was found in {} with warm-up: there is nothing to bisect here, or it takes more \
                 (--max-trials)",
                name(0),
                name(self.names.len() - 1),
                counted(self.trials, "trials")
            ),
            BisectOutcome::Unfinished => "it is not finished: `--resume` continues it".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::Direction;

    fn effects(scale: Scale, effects: &[f64], control_mean: f64, arm_mean: f64) -> ArmEffects {
        ArmEffects {
            arm: 1,
            metric: "rate_per_s".into(),
            unit: "1/s".into(),
            direction: Direction::HigherIsBetter,
            scale,
            unit_name: "blocks",
            effects: (0..).zip(effects.iter().copied()).collect(),
            control_mean,
            arm_mean,
            lacking: None,
        }
    }

    #[test]
    fn two_scales_become_one_that_has_no_favourite_side() {
        let ratio = relative(&effects(Scale::Ratio, &[0.5_f64.ln(), 2.0_f64.ln()], 1.0, 1.0));
        assert!((ratio[0] + 2.0 / 3.0).abs() < 1e-12 && ratio[0] == -ratio[1], "{ratio:?}");
        assert_eq!(relative(&effects(Scale::Difference, &[-50.0], 100.0, 50.0)), [-50.0 / 75.0]);
        assert_eq!(relative(&effects(Scale::Difference, &[0.0], 0.0, 0.0)), [0.0]);
        let of = Bisected { is_relative: true, ..Bisected::default() };
        let shown = of.effect(&schedlab_stats::t_estimate(&[-2.0 / 3.0, -2.0 / 3.0], 0.95).unwrap());
        assert!((shown.value - 0.5).abs() < 1e-12, "half again: {shown:?}");
    }
}
