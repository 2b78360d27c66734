//! `strategy` and `[[knob]]` of a plan: what a search searches, and how. The values of a knob are listed, or are steps
//! between two values on its scale.

use super::grid::written_setting;
use super::sweep::{Sweep, merged};
use super::written::WrittenValue;
use super::{Plan, PlanError, Stopping, inconsistent};
use crate::nearest::hint;
use crate::setting::{Arm, Setting};
use crate::units::{format_ns_exact, parse_duration_ns, parse_number};
use serde::Deserialize;

/// Steps of a range that does not give their number.
const STEPS: usize = 8;
/// Most values of a knob, and most points of all knobs: a larger grid could not be searched within a budget.
const MOST_VALUES: usize = 64;
const MOST_POINTS: usize = 1_000_000;
/// If the ratio of the ends is at least this, numbers are put on a logarithmic scale.
const WIDE: f64 = 8.0;

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

/// The distances between the values of a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnobScale {
    /// Equal ratios are equal distances.
    Log,
    /// Equal differences are equal distances.
    Linear,
    /// All values are equally far from each other.
    Words,
}

impl KnobScale {
    /// Its word in a plan.
    pub fn name(self) -> &'static str {
        ["log", "linear", "words"][self as usize]
    }

    fn parse(knob: &str, text: &str) -> Result<Self, PlanError> {
        match text {
            "log" => Ok(Self::Log),
            "linear" | "lin" => Ok(Self::Linear),
            "words" => Ok(Self::Words),
            _ => inconsistent(format!("knob `{knob}`: scale `{text}` is not `log`, `linear` or `words`")),
        }
    }
}

/// A knob and the values it may take.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedKnob {
    /// Its name in the names of arms.
    pub name: String,
    /// A setting without its value; empty if the values are whole settings.
    pub set: String,
    /// The distances between its values.
    pub scale: KnobScale,
    /// As written, at least one.
    pub values: Vec<String>,
}

impl PlannedKnob {
    /// The settings of one of its values; an invalid value is found when the plan is parsed.
    pub fn arm(&self, value: usize) -> Result<Arm, PlanError> {
        let text = &self.values[value];
        let spec = if self.set.is_empty() { text.clone() } else { written_setting(&self.set, text) };
        let name = if self.set.is_empty() && text.is_empty() { "default" } else { text };
        let of = || format!("knob `{}`, value `{text}`", self.name);
        Arm::parse(&format!("{}={name}", self.name), &spec).map_err(|cause| PlanError::Setting { of: of(), cause })
    }

    /// Its values as numbers: times in ns. Words have no number and are 0.
    pub fn numbers(&self) -> Vec<f64> {
        self.values.iter().map(|value| parse_number(value).unwrap_or(0.0)).collect()
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

/// One knob as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenKnob {
    name: Option<String>,
    #[serde(default)]
    set: String,
    values: Option<Vec<WrittenValue>>,
    range: Option<[WrittenValue; 2]>,
    steps: Option<usize>,
    scale: Option<String>,
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

impl WrittenKnob {
    fn planned(&self) -> Result<PlannedKnob, PlanError> {
        let name = match (&self.name, self.set.as_str()) {
            (Some(name), _) => name.clone(),
            (None, "") => {
                return inconsistent(
                    "a knob needs `set`, a setting without its value, or a `name` and whole settings as values",
                );
            }
            // `debugfs:sched/base_slice_ns` is named after its last part.
            (None, set) => set.rsplit(['/', ':']).next().unwrap_or(set).to_owned(),
        };
        if self.set.contains(['=', ';']) {
            return inconsistent(format!("knob `{name}`: `set` is one setting without its value"));
        }
        let scale = self.scale.as_deref().map(|text| KnobScale::parse(&name, text)).transpose()?;
        let values = match (&self.values, &self.range) {
            (Some(values), None) if self.steps.is_none() => values.iter().map(WrittenValue::text).collect(),
            (Some(_), None) => return inconsistent(format!("knob `{name}`: `steps` belong to a `range`")),
            (None, Some([from, to])) => steps(&name, &from.text(), &to.text(), self.steps.unwrap_or(STEPS), scale)?,
            _ => return inconsistent(format!("knob `{name}`: give one of `values` and `range`")),
        };
        let scale = scale.unwrap_or_else(|| scale_of(&values));
        let knob = PlannedKnob { name, set: self.set.clone(), scale, values };
        knob.check()?;
        Ok(knob)
    }
}

impl PlannedKnob {
    fn check(&self) -> Result<(), PlanError> {
        let Self { name, values, .. } = self;
        if values.is_empty() || values.len() > MOST_VALUES {
            return inconsistent(format!("knob `{name}` has {} values; give it 1 to {MOST_VALUES}", values.len()));
        }
        let arms = (0..values.len()).map(|value| self.arm(value)).collect::<Result<Vec<Arm>, _>>()?;
        for (i, arm) in arms.iter().enumerate() {
            if let Some(first) = arms[..i].iter().position(|other| other.sets_as(arm)) {
                let as_well =
                    if values[first] == values[i] { String::new() } else { format!(", as `{}`", values[first]) };
                return inconsistent(format!("knob `{name}` has the value `{}` twice{as_well}", values[i]));
            }
        }
        let numbers: Vec<Option<f64>> = values.iter().map(|value| parse_number(value)).collect();
        let fits = |number: &Option<f64>| match self.scale {
            KnobScale::Log => number.is_some_and(|number| number > 0.0),
            KnobScale::Linear => number.is_some(),
            KnobScale::Words => true,
        };
        if let Some(at) = numbers.iter().position(|number| !fits(number)) {
            let scale = self.scale.name();
            return inconsistent(format!("knob `{name}`: `{}` has no place on a {scale} scale", values[at]));
        }
        Ok(())
    }

    /// What its values set.
    fn keys(&self) -> Vec<String> {
        let arms = (0..self.values.len()).filter_map(|value| self.arm(value).ok());
        arms.flat_map(|arm| Vec::from_iter(arm.settings.iter().map(Setting::key))).collect()
    }
}

fn scale_of(values: &[String]) -> KnobScale {
    let Some(numbers) = values.iter().map(|value| parse_number(value)).collect::<Option<Vec<f64>>>() else {
        return KnobScale::Words;
    };
    let (least, most) = numbers.iter().fold((f64::MAX, f64::MIN), |(lo, hi), &x| (lo.min(x), hi.max(x)));
    if least > 0.0 && most / least >= WIDE { KnobScale::Log } else { KnobScale::Linear }
}

/// The values of a range: times with three digits, other numbers whole.
fn steps(name: &str, from: &str, to: &str, steps: usize, scale: Option<KnobScale>) -> Result<Vec<String>, PlanError> {
    let is_time = parse_duration_ns(from).is_ok() && from.parse::<f64>().is_err();
    let (Some(least), Some(most)) = (parse_number(from), parse_number(to)) else {
        return inconsistent(format!(
            "knob `{name}`: a range goes from one number or time to another, not from `{from}` to `{to}`"
        ));
    };
    if least >= most || !(2..=MOST_VALUES).contains(&steps) {
        return inconsistent(format!("knob `{name}`: a range rises, in 2 to {MOST_VALUES} steps"));
    }
    let is_log = scale.unwrap_or_else(|| scale_of(&[from.to_owned(), to.to_owned()])) == KnobScale::Log;
    if is_log && least <= 0.0 {
        return inconsistent(format!("knob `{name}`: a range on a log scale begins above 0"));
    }
    let at = |step: usize| {
        let share = step as f64 / (steps - 1) as f64;
        if is_log { least * (most / least).powf(share) } else { least + share * (most - least) }
    };
    let value = |step: usize| match (step, is_time) {
        (0, _) => from.to_owned(),
        (step, _) if step == steps - 1 => to.to_owned(),
        (step, true) => format_ns_exact(three_digits(at(step)) as u64),
        (step, false) => (at(step).round() as i64).to_string(),
    };
    let mut values: Vec<String> = (0..steps).map(value).collect();
    values.dedup();
    Ok(values)
}

fn three_digits(x: f64) -> f64 {
    let unit = 10f64.powf((x.log10().floor() - 2.0).max(0.0));
    (x / unit).round() * unit
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
        if search.points() > MOST_POINTS {
            return inconsistent(format!(
                "the knobs have {} points, more than {MOST_POINTS}: give fewer values",
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
