//! The findings of a comparison: the only input of every report, and the schema of `--json`.
//!
//! Everything a reader sees is decided here and in the files that fill these types; a report only lays it out. Numbers
//! are finite: a value that is not available is `None`, with a reason next to it. Ratios are arm / control, as factors
//! (1.10 is 10 % more); intervals are two-sided at `level`.

mod designs;
mod environment;
mod facts;
mod search;
mod shape;
mod verdict;
mod workload;

pub use designs::*;
pub use environment::*;
pub use facts::*;
pub use search::*;
pub use shape::*;
pub use verdict::*;
pub use workload::*;

use schedlab_plan::manifest::Factor;
use serde::{Serialize, Serializer};
use std::fmt;

/// Everything found in one run, or in a pair of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// Title of the report.
    pub title: String,
    /// The exact command of the run; with two runs, of the first.
    pub command: Vec<String>,
    /// One run, or two that were not interleaved.
    pub source: Source,
    /// The claim in sentences, the most important first.
    pub claims: Vec<Claim>,
    /// Why this run gets no verdict; nothing if it does.
    pub void: Option<String>,
    /// Why the run ended: `planned`, `decided`, `budget`, `interrupted`, `void: …`; empty for an unfinished run.
    pub ended: String,
    /// The arms; index 0 is the control. Every `arm` index below points here.
    pub arms: Vec<ArmInfo>,
    /// The factors whose levels the arms combine; empty where they are no factorial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
    /// Per workload, in the plan's order.
    pub workloads: Vec<WorkloadFindings>,
    /// What the arms gain in one question and lose in another, where there are several of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tradeoff: Option<Tradeoff>,
    /// Scaling tables of options that were swept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scalings: Vec<Scaling>,
    /// Statistical ground rules of the run, for the methods paragraph.
    pub rules: Rules,
    /// Machine, its checks, and what changed.
    pub environment: EnvironmentFindings,
    /// Anything a reader must know that is not a verdict, most important first.
    pub problems: Vec<Problem>,
}

/// A problem that weakens a comparison, and what to do about it; one string in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The workload's spec; empty if the problem concerns the whole run.
    pub place: String,
    /// What is wrong.
    pub text: String,
    /// The fix; empty if none is known.
    pub fix: String,
}

impl Problem {
    /// A problem of the whole run.
    pub(crate) fn of_run(text: impl Into<String>, fix: &str) -> Self {
        Self { place: String::new(), text: text.into(), fix: fix.to_owned() }
    }
}

impl fmt::Display for Problem {
    /// `PLACE: TEXT. Fix: FIX.`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, text, fix } = self;
        let (between, stop) = (if place.is_empty() { "" } else { ": " }, if text.ends_with('.') { "" } else { "." });
        write!(f, "{place}{between}{text}{stop}")?;
        if fix.is_empty() { Ok(()) } else { write!(f, " Fix: {fix}.") }
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Where the rows came from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Source {
    /// One run directory whose trials are interleaved.
    OneRun,
    /// Imported results, whose order is unknown.
    Imported,
    /// Two run directories.
    TwoRuns {
        /// Title of the first, the control side.
        a: String,
        /// Title of the second.
        b: String,
        /// Why the two may not be compared at all (stamping, versions); nothing is computed then.
        refused: Option<String>,
    },
}

/// One sentence with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// `batch makes messaging:5x50 2.8 times faster [2.6, 3.0]: 6 blocks, 95 % interval`.
    pub sentence: String,
    /// The workload that it is about.
    pub workload: u32,
    /// The arm it speaks of.
    pub arm: u32,
    /// The metric it rests on.
    pub metric: String,
    /// Its verdict.
    pub verdict: Verdict,
}

/// One arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmInfo {
    /// Name in the plan.
    pub name: String,
    /// Settings as a SPEC; empty for the host's default.
    pub spec: String,
    /// Whether its settings are the control's: an A/A control, whose contrast is an A/A comparison.
    pub is_aa: bool,
}

/// The rules of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rules {
    /// Smallest effect of interest, a share.
    pub sesoi: f64,
    /// Two-sided error rate.
    pub alpha: f64,
    /// The design in words: `budgeted: 60 s per workload, 5 looks`.
    pub design: String,
    /// Stamping level in words.
    pub stamping: String,
    /// Seed of all coins.
    pub seed: u64,
    /// How the verdicts were made, for the methods paragraph.
    pub methods: Vec<String>,
}
