//! Studies in rounds: what is run next depends on what was seen. Each round is an ordinary run with a run directory of its
//! own, so every row leads back to a trial, and the trial loop knows nothing of the study above it.
//!
//! A study keeps no state of its own on disk. What it asks for depends only on its inputs and on what it was told, so it
//! goes on after an interrupt by being asked again and told the rounds that are stored.

use anyhow::{Result, bail};
use schedlab_run::{Manifest, Plan, RunEnd, TrialRecord};
use std::path::PathBuf;

/// Most rounds of a study: one that asks for more does not converge.
pub const MOST_ROUNDS: u32 = 1000;

/// Asks for one run after another: a search, a screening of factors, a bisection.
pub trait Study {
    /// The next run; `None` at the study's end. It depends only on the study's inputs and on what it was told.
    fn ask(&mut self) -> Result<Option<Plan>>;
    /// What came of the run that was asked for last.
    fn tell(&mut self, round: &Round) -> Result<()>;
}

/// A run that a study asked for, at its end.
#[derive(Debug)]
pub struct Round {
    /// Counted from 1.
    pub number: u32,
    /// Its run directory.
    pub dir: PathBuf,
    /// Complete.
    pub manifest: Manifest,
    /// All rows, packed or not.
    pub trials: Vec<TrialRecord>,
}

/// Why no further round is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The study has what it needs.
    Finished,
    /// The user asked; the last round is not complete.
    Interrupted,
    /// The machine changed under the last round, or a requirement of its plan was not met: why.
    Void(String),
}

/// Runs the rounds of a study by `measure`, which is given a round's number and plan; how it ended, and the number of
/// rounds that were told.
pub fn drive(study: &mut dyn Study, measure: &mut dyn FnMut(u32, &Plan) -> Result<Round>) -> Result<(Ended, u32)> {
    for number in 1..=MOST_ROUNDS {
        let Some(plan) = study.ask()? else { return Ok((Ended::Finished, number - 1)) };
        let round = measure(number, &plan)?;
        match round.manifest.end() {
            RunEnd::Interrupted => return Ok((Ended::Interrupted, number - 1)),
            RunEnd::Void(why) => return Ok((Ended::Void(why.to_owned()), number - 1)),
            RunEnd::Unfinished | RunEnd::Whole => study.tell(&round)?,
        }
    }
    bail!("the study asked for more than {MOST_ROUNDS} rounds")
}
