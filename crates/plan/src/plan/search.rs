//! `strategy` and `[[knob]]` of a plan: what a search searches, and how.

mod knob;

pub(super) use knob::WrittenKnob;
pub use knob::{KnobScale, PlannedKnob};

use super::sweep::{Sweep, merged};
use super::{Plan, PlanError, Stopping, inconsistent};
use crate::nearest::hint;
use crate::setting::Arm;

/// Most points of all knobs: a larger grid could not be searched within a budget.
const MAX_POINTS: usize = 1_000_000;

/// How the next points are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchStrategy {
    /// Many points in few blocks, the better half of them in twice as many, and so on.
    Halving,
    /// The points where a surface fitted to all results promises most.
    Surrogate,
    /// Every point.
    Grid,
}

impl SearchStrategy {
    /// All of them, with their words.
    const ALL: [(&str, Self); 3] = [("halving", Self::Halving), ("surrogate", Self::Surrogate), ("grid", Self::Grid)];

    /// Its word in a plan.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    fn parse(text: &str) -> Result<Self, PlanError> {
        let words = || Self::ALL.iter().map(|(word, _)| *word);
        match Self::ALL.iter().find(|(word, _)| *word == text) {
            Some((_, strategy)) => Ok(*strategy),
            None => {
                let words = || words().chain(Sweep::ALL.iter().map(|(word, _)| *word));
                let hint = hint(text, words());
                inconsistent(format!(
                    "there is no strategy `{text}`{hint}; there are {}",
                    Vec::from_iter(words()).join(", ")
                ))
            }
        }
    }
}

/// What a plan searches.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSearch {
    /// How.
    pub strategy: SearchStrategy,
    /// At least one.
    pub knobs: Vec<PlannedKnob>,
}

impl PlannedSearch {
    /// The arm of a point, which is given as the index of a value for each knob; `control` has the settings of all
    /// arms.
    pub fn arm(&self, point: &[usize], control: &Arm) -> Result<Arm, PlanError> {
        let arms: Vec<Arm> =
            self.knobs.iter().zip(point).map(|(knob, &value)| knob.arm(value)).collect::<Result<_, _>>()?;
        merged(control, &arms)
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.knobs.iter().map(|knob| knob.values.len()).fold(1, usize::saturating_mul)
    }

    /// The knobs as TOML.
    pub(super) fn to_toml(&self, written: impl Fn(&str) -> String) -> String {
        let knob = |knob: &PlannedKnob| {
            let set = if knob.set.is_empty() { String::new() } else { format!("set = {}\n", written(&knob.set)) };
            let values: Vec<String> = knob.values.iter().map(|value| written(value)).collect();
            let (name, scale) = (written(&knob.name), written(knob.scale.name()));
            format!("\n[[knob]]\nname = {name}\n{set}scale = {scale}\nvalues = [{}]\n", values.join(", "))
        };
        self.knobs.iter().map(knob).collect()
    }
}

/// The knobs of a plan that is a sweep, with its strategy.
pub(super) fn sweep(
    strategy: Option<&str>,
    knobs: &[WrittenKnob],
) -> Result<Option<(Sweep, Vec<PlannedKnob>)>, PlanError> {
    let Some(sweep) = strategy.and_then(Sweep::of).filter(|_| !knobs.is_empty()) else { return Ok(None) };
    let knobs: Vec<PlannedKnob> = knobs.iter().map(WrittenKnob::planned).collect::<Result<_, _>>()?;
    all_different(&knobs)?;
    Ok(Some((sweep, knobs)))
}

/// The search of a plan, if it has a strategy or knobs.
pub(super) fn search(strategy: Option<&str>, knobs: &[WrittenKnob]) -> Result<Option<PlannedSearch>, PlanError> {
    match (strategy, knobs) {
        (None, []) => Ok(None),
        (Some(strategy), []) => inconsistent(format!(
            "strategy = \"{strategy}\" has nothing to search: add `[[knob]]` with `set = \"slice\"` and `range = [\"0.1ms\", \"30ms\"]`"
        )),
        (strategy, knobs) => {
            let strategy = SearchStrategy::parse(strategy.unwrap_or("surrogate"))?;
            let knobs = knobs.iter().map(WrittenKnob::planned).collect::<Result<_, _>>()?;
            Ok(Some(PlannedSearch { strategy, knobs }))
        }
    }
}

fn all_different(knobs: &[PlannedKnob]) -> Result<(), PlanError> {
    for (i, knob) in knobs.iter().enumerate() {
        let keys = knob.keys();
        for other in &knobs[..i] {
            if other.name == knob.name {
                return inconsistent(format!("two knobs are named `{}`; give each a name of its own", knob.name));
            }
            // The later one would win, but the arm's name would list both.
            if let Some(key) = other.keys().iter().find(|key| keys.contains(key)) {
                return inconsistent(format!(
                    "knobs `{}` and `{}` both set {key}; set it by one of them, with all its values",
                    other.name, knob.name
                ));
            }
        }
    }
    Ok(())
}

impl Plan {
    /// What is impossible for any search.
    pub(super) fn check_search(&self, search: &PlannedSearch) -> Result<(), PlanError> {
        all_different(&search.knobs)?;
        if search.points() > MAX_POINTS {
            return inconsistent(format!(
                "the knobs have {} points, more than {MAX_POINTS}: give fewer values",
                search.points()
            ));
        }
        if search.points() < 2 {
            return inconsistent("a search needs two points or more: give a knob more values");
        }
        if self.arms.len() > 1 || !self.factors.is_empty() {
            return inconsistent(
                "a search makes its arms from its knobs; give one `[[arm]]` at most, the control that all of them begin from",
            );
        }
        if self.workloads.len() > 1 || self.workloads.iter().any(|workload| workload.sweep.is_some()) {
            return inconsistent("a search has one workload without a sweep: what is best for one is not for another");
        }
        if !matches!(self.stopping, Stopping::Budget { .. }) {
            return inconsistent(
                "a search lasts as long as its budget; give `budget = \"5min\"` instead of `trials` or `until_decided`",
            );
        }
        if self.switchback_window_ns.is_some() {
            return inconsistent("a switchback alternates two arms; a search has more: use blocks");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
