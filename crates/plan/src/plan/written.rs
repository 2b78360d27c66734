//! A plan as a user writes it: optional keys, defaults, and errors that name the line and the nearest key.

mod workload;

pub use workload::parse_sweep;

use super::axes::{Axis, of_tables};
use super::grid::{self, WrittenAxis};
use super::guest::GuestPlan;
use super::search::{self, WrittenKnob};
use super::{Plan, PlanError, PlannedWorkload, Stopping, inconsistent};
use crate::factorial::PlannedFactor;
use crate::nearest::nearest;
use crate::order::{CounterLevel, LoadGroup, Stamping};
use crate::require::WrittenRequirement;
use crate::setting::Arm;
use crate::statement::WrittenStatement;
use crate::units::{parse_duration_ns, parse_share};
use serde::Deserialize;
use workload::WrittenWorkload;

/// Default smallest effect of interest.
const DEFAULT_SESOI: f64 = 0.01;
/// Default of `max_arms`.
const DEFAULT_MAX_ARMS: u32 = 16;
/// Default length of a switchback window.
const DEFAULT_WINDOW_NS: u64 = 50_000_000;

/// The file as written; all keys with a default are optional.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPlan {
    title: Option<String>,
    round_of: Option<String>,
    sesoi: Option<String>,
    alpha: Option<f64>,
    seed: Option<u64>,
    trials: Option<u32>,
    budget: Option<String>,
    looks: Option<u32>,
    until_decided: Option<bool>,
    max_blocks: Option<u32>,
    trial: Option<String>,
    design: Option<String>,
    latency: Option<Stamping>,
    counters: Option<CounterLevel>,
    load_group: Option<LoadGroup>,
    #[serde(default)]
    workload: Vec<WrittenWorkload>,
    #[serde(default)]
    arm: Vec<WrittenArm>,
    #[serde(default)]
    require: Vec<WrittenRequirement>,
    #[serde(default)]
    statement: Vec<WrittenStatement>,
    #[serde(default)]
    factor: Vec<WrittenFactor>,
    max_arms: Option<u32>,
    guest: Option<GuestPlan>,
    #[serde(default)]
    grid: Vec<WrittenAxis>,
    strategy: Option<String>,
    points: Option<usize>,
    objective: Option<Vec<String>>,
    #[serde(default)]
    knob: Vec<WrittenKnob>,
}

/// A value of an option or a knob: a bare number needs no quotes.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a value is a number, or text in quotes: 8, \"3ms\"")]
pub(super) enum WrittenValue {
    Text(String),
    Whole(i64),
    Real(f64),
}

impl WrittenValue {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Whole(number) => number.to_string(),
            Self::Real(number) => number.to_string(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenArm {
    name: String,
    #[serde(default)]
    set: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFactor {
    name: String,
    #[serde(default)]
    low: String,
    high: String,
}

/// The plan in a file's text, each key checked by itself.
pub(super) fn read(text: &str) -> Result<Plan, PlanError> {
    written(text)?.into_plan()
}

/// What its tables vary.
pub(super) fn axes(text: &str) -> Result<Vec<Axis>, PlanError> {
    let written = written(text)?;
    let factors: Vec<PlannedFactor> = written.factor.iter().map(WrittenFactor::planned).collect::<Result<_, _>>()?;
    of_tables(&written.knob, &written.grid, &factors)
}

fn written(text: &str) -> Result<WrittenPlan, PlanError> {
    toml::from_str(text).map_err(|error| describe(text, &error))
}

impl WrittenPlan {
    fn into_plan(self) -> Result<Plan, PlanError> {
        let duration = |key: &'static str, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => match parse_duration_ns(text) {
                Ok(0) => inconsistent(format!("{key} is zero; it must last some time")),
                Ok(ns) => Ok(Some(ns)),
                Err(cause) => Err(PlanError::Unit { key, cause }),
            },
        };
        let sesoi = match &self.sesoi {
            None => DEFAULT_SESOI,
            Some(text) => parse_share(text).map_err(|cause| PlanError::Unit { key: "sesoi", cause })?,
        };
        if self.max_arms.is_some() && self.factor.is_empty() {
            return inconsistent("max_arms caps the arms of a factorial; this plan has no `[[factor]]`");
        }
        let stopping = self.stopping(duration("budget", &self.budget)?)?;
        let strategy = self.strategy.as_deref();
        let sweep = search::sweep(strategy, &self.knob)?;
        let search = if sweep.is_some() { None } else { search::search(strategy, &self.knob)? };
        if self.points.is_some() && sweep.is_none() {
            return inconsistent("`points` is the number of points of `strategy = \"latin-hypercube\"`");
        }
        let mut workloads: Vec<PlannedWorkload> =
            self.workload.iter().map(WrittenWorkload::planned).collect::<Result<_, _>>()?;
        self.give_objectives(search.is_some(), &mut workloads)?;
        let arms = self.arm.iter().map(|a| {
            Arm::parse(&a.name, &a.set).map_err(|cause| PlanError::Setting { of: format!("arm `{}`", a.name), cause })
        });
        let mut arms = arms.collect::<Result<Vec<_>, _>>()?;
        let default = || Arm { name: "default".into(), settings: Vec::new() };
        // Points without a control have nothing to be compared with.
        if arms.is_empty() && !self.grid.is_empty() {
            arms.push(default());
        }
        arms.extend(grid::arms(&self.grid)?);
        if let Some((sweep, knobs)) = sweep {
            if arms.len() > 1 || !self.factor.is_empty() {
                return inconsistent("a sweep makes its arms from its knobs; give one `[[arm]]` at most, the control");
            }
            let control = arms.pop().unwrap_or_else(default);
            arms = sweep.arms(&knobs, self.points, &control)?;
            arms.insert(0, control);
        }
        let mut plan = Plan {
            sesoi,
            alpha: self.alpha.unwrap_or(0.05),
            seed: self.seed,
            stopping,
            trial_ns: duration("trial", &self.trial)?,
            switchback_window_ns: switchback_window(self.design.as_deref())?,
            stamping: self.latency.unwrap_or_default(),
            counters: self.counters.unwrap_or_default(),
            load_group: self.load_group.unwrap_or_default(),
            workloads,
            arms,
            require: Vec::new(),
            statements: Vec::new(),
            guest: self.guest.clone(),
            factors: self.factor.iter().map(WrittenFactor::planned).collect::<Result<_, _>>()?,
            max_arms: self.max_arms.unwrap_or(DEFAULT_MAX_ARMS),
            factorial: None,
            round_of: self.round_of.clone(),
            search,
            title: self.title.unwrap_or_else(|| "Untitled".into()),
        };
        let require = self.require.iter().map(|written| written.requirement(&plan).map_err(PlanError::Inconsistent));
        plan.require = require.collect::<Result<_, _>>()?;
        let statements = self.statement.iter().map(|written| written.statement(&plan).map_err(PlanError::Inconsistent));
        plan.statements = statements.collect::<Result<_, _>>()?;
        Ok(plan)
    }

    /// The objective of a search is the primary metric of its workload.
    fn give_objectives(&self, is_search: bool, workloads: &mut [PlannedWorkload]) -> Result<(), PlanError> {
        match (&self.objective, workloads) {
            (None, _) => Ok(()),
            (Some(_), _) if !is_search && !self.knob.is_empty() => inconsistent(
                "`objective` is what a search makes better, and this strategy measures all points: `primary` of the workload says what it is judged by",
            ),
            (Some(_), _) if !is_search => inconsistent(
                "`objective` is what a search makes better; this plan has no `[[knob]]`: `primary` of a workload says what it is judged by",
            ),
            (Some(_), [workload, ..]) if !workload.primary.is_empty() => {
                inconsistent("`objective` and the workload's `primary` say the same; give one of them")
            }
            (Some(objectives), workloads) => {
                each_once("objective", objectives)?;
                workloads.iter_mut().for_each(|workload| workload.primary.clone_from(objectives));
                Ok(())
            }
        }
    }

    fn stopping(&self, budget_ns: Option<u64>) -> Result<Stopping, PlanError> {
        let until_decided = self.until_decided.unwrap_or(false);
        if self.max_blocks.is_some() && !until_decided {
            return inconsistent("max_blocks caps `until_decided = true`; this plan does not say that");
        }
        if self.looks.is_some() && budget_ns.is_none() {
            return inconsistent("looks belong to a `budget`; this plan has none");
        }
        match (self.trials, budget_ns, until_decided) {
            (Some(blocks), None, false) => Ok(Stopping::Trials { blocks }),
            (None, None, true) => Ok(Stopping::UntilDecided { max_blocks: self.max_blocks.unwrap_or(200) }),
            (None, Some(budget_ns), false) => Ok(Stopping::Budget { budget_ns, looks: self.looks.unwrap_or(5) }),
            (None, None, false) => Ok(Stopping::Budget { budget_ns: 60_000_000_000, looks: 5 }),
            _ => inconsistent("give one of `trials`, `budget` and `until_decided`, not several"),
        }
    }
}

impl WrittenFactor {
    fn planned(&self) -> Result<PlannedFactor, PlanError> {
        let level = |text: &str| {
            Arm::parse(&self.name, text)
                .map_err(|cause| PlanError::Setting { of: format!("factor `{}`", self.name), cause })
        };
        Ok(PlannedFactor { name: self.name.clone(), low: level(&self.low)?, high: level(&self.high)? })
    }
}

fn each_once(key: &str, names: &[String]) -> Result<(), PlanError> {
    match names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
        Some((_, name)) => inconsistent(format!("`{key}` names `{name}` twice")),
        None => Ok(()),
    }
}

fn switchback_window(design: Option<&str>) -> Result<Option<u64>, PlanError> {
    match design {
        None | Some("blocks") => Ok(None),
        Some("switchback") => Ok(Some(DEFAULT_WINDOW_NS)),
        Some(text) => match text.strip_prefix("switchback=") {
            Some(window) => {
                parse_duration_ns(window).map(Some).map_err(|cause| PlanError::Unit { key: "design", cause })
            }
            None => inconsistent(format!("design `{text}` is neither `blocks` nor `switchback=50ms`")),
        },
    }
}

/// serde's message names the unknown key and the known ones; this adds the line and the nearest key.
fn describe(text: &str, error: &toml::de::Error) -> PlanError {
    if text.trim_start().starts_with('{') {
        let what = "it is JSON, and a plan is TOML: if it is a pack, `schedlab repeat FILE` runs its plan";
        return PlanError::Toml(what.to_owned());
    }
    let line = error.span().map_or(1, |span| text.bytes().take(span.start).filter(|&b| b == b'\n').count() + 1);
    let place = format!("line {line}");
    let message = error.message();
    let mut ticked = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown field") {
        let key = ticked.next().unwrap_or_default().to_owned();
        let known: Vec<String> = ticked.map(str::to_owned).collect();
        let nearest = nearest(&key, known.iter().map(String::as_str)).map(str::to_owned);
        return PlanError::UnknownKey { place, key, nearest, known };
    }
    PlanError::Toml(format!("{place}: {}", message.lines().next().unwrap_or(message)))
}
