//! What a search over knobs found: measured by its rounds, chosen by crate `tune`, said here.

use super::{Effect, Scale, Verdict};
use crate::metric_name::metric_name;
use crate::words::{percent, phrase_of};
use schedlab_run::{Direction, counted};
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
    /// Of all coins.
    pub seed: u64,
    /// What all points begin from, as a SPEC; empty for the host as it is.
    pub control: String,
    /// What was searched.
    pub knobs: Vec<SearchedKnob>,
    /// What was to be made better; the first decides who wins.
    pub objectives: Vec<Objective>,
    /// How many points the knobs have.
    pub points: usize,
    /// Rounds that were measured, each a run directory below `rounds/`.
    pub rounds: usize,
    /// Their trials, those that warm up among them.
    pub trials: u64,
    /// What they took, s.
    pub seconds: f64,
    /// `finished`, `interrupted` or `void: …`.
    pub ended: String,
    /// Why no further points were looked for.
    pub stopped: String,
    /// A share below which nothing matters.
    pub sesoi: f64,
    /// Points measured again in fresh trials, the winner first.
    pub confirmed: Vec<SearchedPoint>,
    /// All points that the search has measured, the best in the first objective first.
    pub measured: Vec<SearchedPoint>,
    /// Which of `measured` are beaten by none of them, nor by the control, in all objectives.
    pub front: Vec<usize>,
    /// What could not be measured, and why.
    pub left_out: Vec<LeftOut>,
    /// Files that put the winner in force: where, how, and how it is undone; none unless it is better.
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
    /// Of the effects.
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
    /// What the search saw, which chose by it: of the best of many too good. Two standard errors either way, where they are known.
    pub search: Vec<Effect>,
    /// What fresh trials say.
    pub fresh: Vec<Option<Effect>>,
    /// Blocks of fresh trials.
    pub fresh_units: usize,
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
            format!("{}, {:.0} % interval", counted(winner.fresh_units, "fresh blocks"), 100.0 * effect.level);
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
        let held = if fresh.lo <= seen.value && seen.value <= fresh.hi {
            "do not contradict it"
        } else {
            "do not bear it out"
        };
        Some(format!(
            "The search had seen {} ({}), the best of {}; its fresh trials {held}: {}. Only these count.",
            short(seen),
            counted(winner.units, "blocks"),
            counted(self.measured.len(), "points"),
            short(&fresh),
        ))
    }

    /// Runners-up that the fresh trials do not tell from the winner, or show to be better.
    pub fn rivals(&self) -> Vec<String> {
        let Some(winner) = self.confirmed.first().and_then(|winner| winner.fresh.first().copied().flatten()) else {
            return Vec::new();
        };
        let of_point = |point: &SearchedPoint| {
            let fresh = point.fresh.first().copied().flatten()?;
            let overlap = fresh.lo <= winner.hi && winner.lo <= fresh.hi;
            let name = &point.name;
            if overlap {
                return Some(format!("{name} is not told from it: their intervals overlap"));
            }
            let better = match self.objectives[0].direction {
                Direction::HigherIsBetter => fresh.value > winner.value,
                _ => fresh.value < winner.value,
            };
            better.then(|| format!("{name} did better in the fresh trials; search again around it"))
        };
        self.confirmed.iter().skip(1).filter_map(of_point).collect()
    }
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

    fn findings(verdict: Verdict, winner: f64, runner_up: f64) -> SearchFindings {
        let point = |name: &str, value| SearchedPoint {
            name: name.into(),
            spec: name.into(),
            units: 4,
            search: vec![effect(1.09, 0.02)],
            fresh: vec![Some(effect(value, 0.01))],
            fresh_units: 6,
        };
        let confirmed = vec![point("slice=3ms", winner), point("slice=6ms", runner_up)];
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
            measured: confirmed.clone(),
            confirmed,
            front: vec![0],
            left_out: Vec::new(),
            keep: Vec::new(),
            verdict: Some(verdict),
        }
    }

    #[test]
    fn the_claim_is_that_of_the_fresh_trials() {
        let found = findings(Verdict::Better, 1.05, 1.05);
        assert_eq!(found.claim(), "slice=3ms makes pipe 5 % faster [4, 6]: 6 fresh blocks, 95 % interval");
        let shrinkage = found.shrinkage().unwrap();
        assert!(shrinkage.contains("had seen 9 % faster") && shrinkage.contains("do not bear it out"), "{shrinkage}");
        assert_eq!(found.rivals(), ["slice=6ms is not told from it: their intervals overlap"]);
        assert!(findings(Verdict::Better, 1.05, 1.1).rivals()[0].contains("did better"));
        assert!(findings(Verdict::Better, 1.05, 1.0).rivals().is_empty());
        let same = findings(Verdict::Equivalent, 1.001, 1.0).claim();
        assert!(same.starts_with("the default is as good on pipe"), "{same}");
    }
}
