//! What a search over knobs found: measured by its rounds, chosen by crate `tune`, said here.

use super::{Effect, Scale, Verdict};
use crate::metric_name::metric_name;
use crate::words::{percent, phrase_of};
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
    /// With its interval; `None` where it has none.
    pub fn effect(&self) -> Option<Effect> {
        let (lo, hi) = self.lo.zip(self.hi)?;
        Some(Effect { scale: self.scale, value: self.value, lo, hi, level: self.level })
    }

    /// The estimate alone, in an interval without a width.
    pub fn point(&self) -> Effect {
        Effect { scale: self.scale, value: self.value, lo: self.value, hi: self.value, level: self.level }
    }

    /// Whether other trials say something else: by more than the errors of both. `None` where its own is not known.
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
    /// The finding in a sentence.
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
                percent(self.sesoi, self.sesoi),
                phrase.short
            ),
            _ => format!(
                "whether {name} is better than the default on {workload} is not decided: {}, {evidence}",
                phrase.short
            ),
        }
    }

    /// What became of the search's own estimate, which was the highest of many.
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
            // Brackets without a width would be a claim.
            None => short(&seen.point()).split(" [").next().unwrap_or_default().to_owned(),
        };
        Some(format!(
            "The search had seen {before} ({}), the best of {}; its fresh trials {held}: {}. Only these count.",
            counted(winner.units, "blocks"),
            counted(self.measured.len(), "points"),
            short(&fresh),
        ))
    }

    /// Runners-up that the fresh trials cannot distinguish from the winner, or show to be better: by their pairs in
    /// each block.
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
mod tests {
    use super::*;

    fn effect(value: f64, half: f64) -> Effect {
        Effect { scale: Scale::Ratio, value, lo: value - half, hi: value + half, level: 0.95 }
    }

    fn findings(verdict: Verdict, winner: f64, over_winner: Effect) -> SearchFindings {
        let point = |name: &str, value, over_winner| SearchedPoint {
            name: name.into(),
            spec: name.into(),
            units: 4,
            search: vec![seen(1.09, Some(0.02))],
            fresh: vec![Some(effect(value, 0.01))],
            over_winner,
            fresh_units: 6,
        };
        let confirmed = vec![point("slice=3ms", winner, None), point("slice=6ms", 1.05, Some(over_winner))];
        SearchFindings {
            schema: SEARCH_SCHEMA,
            title: "t".into(),
            workload: "pipe".into(),
            strategy: "surrogate".into(),
            seed: 1,
            control: String::new(),
            knobs: Vec::new(),
            objectives: vec![Objective {
                metric: "ops_per_s".into(),
                unit: "1/s".into(),
                direction: Direction::HigherIsBetter,
                scale: Scale::Ratio,
                control: 1.0,
            }],
            points: 9,
            rounds: 3,
            trials: 100,
            seconds: 20.0,
            ended: "finished".into(),
            stopped: "the budget is spent".into(),
            sesoi: 0.01,
            level: 0.95,
            measured: confirmed.clone(),
            confirmed,
            front: vec![0],
            left_out: Vec::new(),
            warnings: Vec::new(),
            keep: Vec::new(),
            verdict: Some(verdict),
        }
    }

    fn seen(value: f64, half: Option<f64>) -> Seen {
        let (lo, hi) = (half.map(|half| value - half), half.map(|half| value + half));
        Seen { scale: Scale::Ratio, value, lo, hi, level: 0.95 }
    }

    /// The search's estimate has an error, too: what one block saw, or a few noisy ones, is not contradicted by less.
    #[test]
    fn what_the_search_saw_is_weighed_with_its_own_error() {
        let shrinkage = |of: Seen| {
            let mut found = findings(Verdict::Better, 1.05, effect(1.0, 0.01));
            found.confirmed[0].search = vec![of];
            found.shrinkage().unwrap()
        };
        assert!(shrinkage(seen(1.09, Some(0.02))).contains("do not bear it out"));
        assert!(shrinkage(seen(1.09, Some(0.05))).contains("do not contradict it"));
        let alone = shrinkage(seen(1.09, None));
        assert!(alone.contains("9 % faster (4 blocks)") && alone.contains("the first that have an error"), "{alone}");
    }

    /// Two intervals still overlap long after pairs have separated the points.
    #[test]
    fn a_runner_up_is_told_from_the_winner_by_pairs() {
        let rivals = |over| findings(Verdict::Better, 1.05, over).rivals();
        assert_eq!(rivals(effect(0.99, 0.005)), [""; 0], "1 % slower in the same blocks, though the intervals overlap");
        let same = rivals(effect(0.99, 0.02));
        assert_eq!(same, ["slice=6ms cannot be told apart from it: 1 % slower [-1, 3] in the same blocks"]);
        assert!(rivals(effect(1.03, 0.01))[0].contains("did better, 3 % faster [2, 4] in the same"));
    }

    #[test]
    fn the_claim_is_that_of_the_fresh_trials() {
        let found = findings(Verdict::Better, 1.05, effect(1.0, 0.01));
        assert_eq!(found.claim(), "slice=3ms makes pipe 5 % faster [4, 6]: 6 fresh blocks, 95 % interval");
        let shrinkage = found.shrinkage().unwrap();
        assert!(shrinkage.contains("had seen 9 % faster") && shrinkage.contains("do not bear it out"), "{shrinkage}");
        let same = findings(Verdict::Equivalent, 1.001, effect(1.0, 0.01)).claim();
        assert!(same.starts_with("the default is as good on pipe"), "{same}");
    }
}
