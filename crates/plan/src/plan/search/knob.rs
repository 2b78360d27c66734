//! A `[[knob]]` of a plan: the setting that it sets, its values, and the scale on which they are near or far. The values
//! are listed, or are steps between two values on that scale.

use super::super::grid::written_setting;
use super::super::written::WrittenValue;
use super::super::{PlanError, inconsistent};
use crate::setting::{Arm, Setting};
use crate::units::{format_ns_exact, parse_duration_ns, parse_number};
use serde::Deserialize;

/// Steps of a range that does not give their number.
const STEPS: usize = 8;
/// Most values of a knob: more could not be searched within a budget.
const MAX_VALUES: usize = 64;
/// If the ratio of the ends is at least this, numbers are put on a logarithmic scale.
const WIDE: f64 = 8.0;

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

    fn check(&self) -> Result<(), PlanError> {
        let Self { name, values, .. } = self;
        if values.is_empty() || values.len() > MAX_VALUES {
            return inconsistent(format!("knob `{name}` has {} values; give it 1 to {MAX_VALUES}", values.len()));
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
    pub(in super::super) fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        (0..self.values.len()).filter_map(|value| self.arm(value).ok()).flat_map(|arm| arm.settings)
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.settings().map(|setting| setting.key()).collect()
    }
}

/// One knob as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct WrittenKnob {
    name: Option<String>,
    #[serde(default)]
    set: String,
    values: Option<Vec<WrittenValue>>,
    range: Option<[WrittenValue; 2]>,
    steps: Option<usize>,
    scale: Option<String>,
}

impl WrittenKnob {
    pub(in super::super) fn planned(&self) -> Result<PlannedKnob, PlanError> {
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
    if least >= most || !(2..=MAX_VALUES).contains(&steps) {
        return inconsistent(format!("knob `{name}`: a range rises, in 2 to {MAX_VALUES} steps"));
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
