//! The findings of a search over knobs: measured by its rounds, selected by crate `tune`, and put into sentences here.

use super::{Effect, Scale, Verdict};
use crate::metric_name::metric_name;
use crate::number::percent_within;
use crate::phrase::phrase_of;
use schedlab_plan::{Direction, counted};
use serde::Serialize;

/// Version of this schema, in [`SearchFindings::schema`].
pub const SEARCH_SCHEMA: &str = "schedlab/search/1";

/// Everything found by a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchFindings {
    /// [`SEARCH_SCHEMA`].
    pub schema: &'static str,
    /// Title of the plan.
    pub title: String,
    /// The workload's spec.
    pub workload: String,
    /// `surrogate`, `halving` or `grid`.
    pub strategy: String,
    /// Seed of all coins.
    pub seed: u64,
    /// Settings of all points, as a SPEC; empty for the default settings.
    pub control: String,
    /// What was searched.
    pub knobs: Vec<SearchedKnob>,
    /// The objectives; the first decides the winner.
    pub objectives: Vec<Objective>,
    /// How many points the knobs have.
    pub points: usize,
    /// Rounds that were measured, each a run directory below `rounds/`.
    pub rounds: usize,
    /// Their trials, including warm-up.
    pub trials: u64,
    /// What they took, s.
    pub seconds: f64,
    /// `finished`, `interrupted` or `void: …`.
    pub ended: String,
    /// Why the search ended.
    pub stopped: String,
    /// A share below which nothing matters.
    pub sesoi: f64,
    /// Nominal coverage of all intervals.
    pub level: f64,
    /// Points measured again in fresh trials, the winner first.
    pub confirmed: Vec<SearchedPoint>,
    /// All points that the search measured, best in the first objective first.
    pub measured: Vec<SearchedPoint>,
    /// Which of `measured` are on the Pareto front: not beaten in all objectives by another one or by the control.
    pub front: Vec<usize>,
    /// What could not be measured, and why.
    pub left_out: Vec<LeftOut>,
    /// What distorts or widens the results on this machine, a sentence each.
    pub warnings: Vec<String>,
    /// Files that apply the winner: which, how, and how to undo it; empty unless it is better.
    pub keep: Vec<String>,
    /// The winner against the control in the first objective, by its fresh trials alone.
    pub verdict: Option<Verdict>,
}

/// A knob of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchedKnob {
    /// In the points' names.
    pub name: String,
    /// `log`, `linear` or `words`.
    pub scale: String,
    /// As in the plan.
    pub values: Vec<String>,
}

/// What a search makes better.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Objective {
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// Scale of the effects.
    pub scale: Scale,
    /// The control's level in the last round.
    pub control: f64,
}

/// A point and what it does, by objective.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchedPoint {
    /// `slice=3ms policy=batch`.
    pub name: String,
    /// Its settings as a SPEC.
    pub spec: String,
    /// Blocks of the search behind it.
    pub units: usize,
    /// The search's own estimate, by which it chose: too good, since it is the best of many.
    pub search: Vec<Seen>,
    /// What fresh trials say.
    pub fresh: Vec<Option<Effect>>,
    /// The point against the winner in the first objective, of pairs in the same fresh blocks; `None` of the winner
    /// itself.
    pub over_winner: Option<Effect>,
    /// Blocks of fresh trials.
    pub fresh_units: usize,
}

/// An effect as the search saw it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// The scale of the numbers.
    pub scale: Scale,
    /// Point estimate.
    pub value: f64,
    /// Lower end; `None` with a single block, which has no error estimate.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// Nominal coverage of the ends.
    pub level: f64,
}

impl Seen {
    /// The effect with its interval; `None` if it has none.
    pub fn effect(&self) -> Option<Effect> {
        let (lo, hi) = self.lo.zip(self.hi)?;
        Some(Effect { scale: self.scale, value: self.value, lo, hi, level: self.level })
    }

    /// The estimate alone, with an interval of no width.
    pub fn point(&self) -> Effect {
        Effect { scale: self.scale, value: self.value, lo: self.value, hi: self.value, level: self.level }
    }

    /// Whether other trials contradict it: the difference exceeds the errors of both. `None` if its own error is not
    /// known.
    fn is_contradicted(&self, fresh: &Effect) -> Option<bool> {
        let on = |x: f64| if self.scale == Scale::Ratio { x.ln() } else { x };
        let half = |effect: &Effect| 0.5 * (on(effect.hi) - on(effect.lo));
        Some((on(fresh.value) - on(self.value)).abs() > half(&self.effect()?).hypot(half(fresh)))
    }
}

/// What could not be measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// The points.
    pub points: Vec<String>,
    /// Why.
    pub why: String,
}

impl SearchFindings {
    /// The finding as a sentence.
    pub fn claim(&self) -> String {
        let (Some(winner), Some(objective)) = (self.confirmed.first(), self.objectives.first()) else {
            return format!("No point was measured again on {}: {}", self.workload, self.stopped);
        };
        let Some(effect) = winner.fresh.first().copied().flatten() else {
            return format!("{} was chosen on {}, and its fresh trials have no number", winner.name, self.workload);
        };
        let phrase = phrase_of(&objective.metric, &objective.unit, objective.direction, &effect);
        let evidence =
            format!("{}, {} % interval", counted(winner.fresh_units, "fresh blocks"), percentage(effect.level));
        let (name, workload) = (&winner.name, &self.workload);
        match self.verdict {
            Some(Verdict::Better) => format!("{name} makes {workload} {}: {evidence}", phrase.full),
            Some(Verdict::Worse) => {
                format!("nothing found is better than the default: {name} makes {workload} {}: {evidence}", phrase.full)
            }
            Some(Verdict::Equivalent) => format!(
                "the default is as good on {workload}: the best point found, {name}, is within {} of it ({}; {evidence})",
                percent_within(self.sesoi, self.sesoi),
                phrase.short
            ),
            _ => format!(
                "whether {name} is better than the default on {workload} is not decided: {}, {evidence}",
                phrase.short
            ),
        }
    }

    /// How the search's own estimate, which was the highest of many, compares with the fresh trials.
    pub fn shrinkage(&self) -> Option<String> {
        let (winner, objective) = (self.confirmed.first()?, self.objectives.first()?);
        let (seen, fresh) = (winner.search.first()?, winner.fresh.first().copied().flatten()?);
        let short = |effect: &Effect| phrase_of(&objective.metric, &objective.unit, objective.direction, effect).short;
        let held = match seen.is_contradicted(&fresh) {
            Some(true) => "do not bear it out",
            Some(false) => "do not contradict it",
            None => "are the first that have an error",
        };
        let before = match seen.effect() {
            Some(effect) => short(&effect),
            // Without an interval, brackets would claim one.
            None => short(&seen.point()).split(" [").next().unwrap_or_default().to_owned(),
        };
        Some(format!(
            "The search had seen {before} ({}), the best of {}; its fresh trials {held}: {}. Only these count.",
            counted(winner.units, "blocks"),
            counted(self.measured.len(), "points"),
            short(&fresh),
        ))
    }

    /// Runners-up that the fresh trials cannot distinguish from the winner, or show to be better, judged by pairs
    /// within each block.
    pub fn rivals(&self) -> Vec<String> {
        let Some(objective) = self.objectives.first() else { return Vec::new() };
        let of_point = |point: &SearchedPoint| {
            let (over, name) = (point.over_winner?, &point.name);
            let none = if over.scale == Scale::Ratio { 1.0 } else { 0.0 };
            let short = phrase_of(&objective.metric, &objective.unit, objective.direction, &over).short;
            if over.lo <= none && none <= over.hi {
                return Some(format!("{name} cannot be told apart from it: {short} in the same blocks"));
            }
            let better = (over.value > none) == (objective.direction == Direction::HigherIsBetter);
            better.then(|| format!("{name} did better, {short} in the same blocks; search again around it"))
        };
        self.confirmed.iter().skip(1).filter_map(of_point).collect()
    }
}

/// 95, 99.9: as many digits as it has.
fn percentage(level: f64) -> f64 {
    (1e5 * level).round() / 1e3
}

impl Objective {
    /// Its name for a person.
    pub fn name(&self) -> String {
        metric_name(&self.metric)
    }
}

#[cfg(test)]
mod tests;
