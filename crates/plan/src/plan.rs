//! PLAN.toml: what the user asks for. Parsing checks everything that can be checked without a machine; unknown keys are
//! errors that name the nearest key. Workload arguments are checked by crate `bench`, knobs by crate `tune`.

mod axes;
mod canonical;
mod check;
mod grid;
mod guest;
mod search;
mod sweep;
mod written;

pub use axes::Axis;
pub use guest::{GuestLane, GuestPer, GuestPlan};
pub use search::{KnobScale, PlannedKnob, PlannedSearch, SearchStrategy};
pub use written::parse_sweep;

use crate::factorial::{self, PlannedFactor};
use crate::manifest::Factorial;
use crate::order::{CounterLevel, LoadGroup, Stamping};
use crate::require::Requirement;
use crate::setting::{Arm, Setting, SettingError};
use crate::statement::Statement;
use crate::units::UnitError;
use crate::workload_spec::{SpecError, WorkloadSpec};

/// More than the number of samples that an arm has in a round.
const SEEDS_OF_A_ROUND: u64 = 900;

/// No verdict below this many independent units: blocks, switchback trials, pairs (design, section 6).
pub const MIN_UNITS: usize = 6;

/// When a run stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// `trials = N`: that many blocks.
    Trials {
        /// Blocks per workload.
        blocks: u32,
    },
    /// `budget = "60s"`, for all workloads together.
    Budget {
        /// The whole budget.
        budget_ns: u64,
        /// Interim looks, evenly spaced.
        looks: u32,
    },
    /// `until_decided = true`.
    UntilDecided {
        /// A cap on blocks per workload.
        max_blocks: u32,
    },
}

/// A workload of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedWorkload {
    /// What to run, not yet checked by the workload.
    pub run: WorkloadSpec,
    /// An option and the values that it takes one after the other.
    pub sweep: Option<(String, Vec<String>)>,
    /// Background loads.
    pub load: Vec<WorkloadSpec>,
    /// Primary metrics; empty means the workload's own.
    pub primary: Vec<String>,
}

impl PlannedWorkload {
    /// Whether the workload or one of its loads has an option with this value, as written; the default of an option is
    /// not known here.
    pub fn has_option(&self, key: &str, value: &str) -> bool {
        let of_spec = |spec: &WorkloadSpec| spec.args.get(key).is_some_and(|written| written == value);
        let swept = |(option, values): &(String, Vec<String>)| option == key && values.iter().any(|v| v == value);
        of_spec(&self.run) || self.load.iter().any(of_spec) || self.sweep.as_ref().is_some_and(swept)
    }
}

/// A complete, consistent plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Title of the report.
    pub title: String,
    /// Smallest effect of interest, a share.
    pub sesoi: f64,
    /// Two-sided error rate of the run.
    pub alpha: f64,
    /// Seed of all coins; drawn when the run begins if the plan names none.
    pub seed: Option<u64>,
    /// When the run stops.
    pub stopping: Stopping,
    /// Length of one trial, if named.
    pub trial_ns: Option<u64>,
    /// Window of a switchback design.
    pub switchback_window_ns: Option<u64>,
    /// Stamping level.
    pub stamping: Stamping,
    /// Counters.
    pub counters: CounterLevel,
    /// Whether loads share the workload's groups.
    pub load_group: LoadGroup,
    /// At least one.
    pub workloads: Vec<PlannedWorkload>,
    /// At least two with distinct names; the first is the control. Empty while a factorial is not settled.
    pub arms: Vec<Arm>,
    /// Conditions for every trial, without which the run means nothing.
    pub require: Vec<Requirement>,
    /// Published claims about the arms, to be judged.
    pub statements: Vec<Statement>,
    /// The guests that the trials run in; `None`: they run on this machine.
    pub guest: Option<GuestPlan>,
    /// The factors whose levels the arms combine.
    pub factors: Vec<PlannedFactor>,
    /// Most arms that a factorial may have.
    pub max_arms: u32,
    /// The design of the factors, once it is known ([`Plan::settle`]).
    pub factorial: Option<Factorial>,
    /// Title of the study to which this run belongs as a round. The study judges its rounds together, so a round may
    /// have fewer blocks than a verdict needs.
    pub round_of: Option<String>,
    /// The knobs that are searched; then there are no arms, or only the control.
    pub search: Option<PlannedSearch>,
}

/// A plan that cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Not TOML, or a key of the wrong type.
    #[error("{0}")]
    Toml(String),
    /// A key that does not exist.
    #[error("{place}: unknown key `{key}`{}; there are {}", crate::nearest::hint_at(.nearest.as_deref()), .known.join(", "))]
    UnknownKey {
        /// `line 3`.
        place: String,
        /// As written.
        key: String,
        /// The nearest known key.
        nearest: Option<String>,
        /// All keys of the table.
        known: Vec<String>,
    },
    /// A size, time or share that cannot be parsed.
    #[error("{key}: {cause}")]
    Unit {
        /// The key.
        key: &'static str,
        /// What is wrong.
        cause: UnitError,
    },
    /// A workload that cannot be parsed.
    #[error(transparent)]
    Workload(#[from] SpecError),
    /// The settings of an arm or of a factor's level.
    #[error("{of}: {cause}")]
    Setting {
        /// Whose they are: ``arm `b` ``.
        of: String,
        /// What is wrong.
        cause: SettingError,
    },
    /// Keys that are valid alone but not together.
    #[error("{0}")]
    Inconsistent(String),
}

fn inconsistent<T>(text: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Inconsistent(text.into()))
}

impl Plan {
    /// From the text of a PLAN.toml.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let plan = written::read(text)?;
        plan.check()?;
        Ok(plan)
    }

    /// What the plan in this text varies, table by table; a plan that was parsed has arms instead.
    pub fn axes(text: &str) -> Result<Vec<Axis>, PlanError> {
        written::axes(text)
    }

    /// Like [`Plan::parse`], for a plan of which only the first arm counts: it has the settings that all arms share.
    /// The plan may also have no arm.
    pub fn parse_base(text: &str) -> Result<Self, PlanError> {
        let mut plan = written::read(text)?;
        let makes_arms = plan.search.is_some() || !plan.factors.is_empty();
        while plan.arms.len() < 2 && !makes_arms {
            let settings = plan.arms.first().map(|arm| arm.settings.clone()).unwrap_or_default();
            plan.arms.push(Arm { name: format!("base {}", plan.arms.len()), settings });
        }
        plan.check()?;
        Ok(plan)
    }

    /// Whether a workload or a load has an option at this value in some arm, as written.
    pub fn has_option(&self, key: &str, value: &str) -> bool {
        let option = Setting::WorkloadOption { key: key.to_owned(), value: value.to_owned() };
        let sets = |arm: &Arm| arm.settings.contains(&option);
        let knobs = self.search.iter().flat_map(|search| &search.knobs);
        let mut values = knobs.flat_map(|knob| (0..knob.values.len()).filter_map(|value| knob.arm(value).ok()));
        self.workloads.iter().any(|workload| workload.has_option(key, value))
            || self.arms.iter().chain(self.factors.iter().flat_map(|f| [&f.low, &f.high])).any(sets)
            || values.any(|arm| sets(&arm))
    }

    /// The plan as a round of a study: the same measurement, with other arms (the first is the control) and a fixed
    /// number of blocks. In the virtual lane each round has its own seeds and boots, so that a choice made in one round
    /// is judged by independent samples in the next.
    pub fn round(&self, number: u32, arms: Vec<Arm>, blocks: u32, seed: u64) -> Self {
        let mut guest = self.guest.clone();
        if let Some(guest) = guest.as_mut().filter(|guest| guest.lane == GuestLane::Virtual) {
            guest.first_seed = Some(guest.first_seed.unwrap_or(1) + SEEDS_OF_A_ROUND * u64::from(number));
            guest.boots = guest.boots.map(|boots| boots.min(blocks));
        }
        Self {
            guest,
            title: format!("{}, round {number}", self.round_of.as_ref().unwrap_or(&self.title)),
            seed: Some(seed),
            stopping: Stopping::Trials { blocks },
            arms,
            factors: Vec::new(),
            factorial: None,
            round_of: self.round_of.clone().or_else(|| Some(self.title.clone())),
            statements: Vec::new(),
            search: None,
            ..self.clone()
        }
    }

    /// The plan with the arms of its factorial, if it has one; `refused` gives for each factor the reason why it cannot
    /// be set here.
    pub fn settle(&self, refused: &[Option<String>]) -> Result<Self, PlanError> {
        let mut settled = self.clone();
        if !self.factors.is_empty() {
            let (arms, factorial) =
                factorial::arms(&self.factors, refused, self.max_arms as usize).map_err(PlanError::Inconsistent)?;
            (settled.arms, settled.factorial) = (arms, Some(factorial));
        }
        Ok(settled)
    }

    /// The plan with the arms made from its factors, none of them left out, in place of the factors; and the design.
    pub fn in_arms(&self) -> Result<(Self, Option<Factorial>), PlanError> {
        let mut settled = self.settle(&[])?;
        settled.factors.clear();
        let factorial = settled.factorial.take();
        Ok((settled, factorial))
    }
}

#[cfg(test)]
mod tests;
