//! Studies in rounds: what is run next depends on the results so far. Each round is an ordinary run with a run
//! directory of its own, so every row can be traced to a trial, and the trial loop knows nothing of the study above it.
//!
//! The next request of a study depends only on its inputs and on the results it was given. So after an interrupt it is
//! simply asked again and given the stored rounds.

use anyhow::{Result, bail};
use schedlab_plan::{Manifest, Plan, RunEnd, TrialRecord};
use std::path::PathBuf;

/// Most rounds of a study: a study that requests more does not converge.
pub const MAX_ROUNDS: u32 = 1000;

/// Asks for one run after the other: a search, a screen of factors, a bisection.
pub trait Study {
    /// The next run; `None` at the end of the study. It depends only on the study's inputs and on the results it was
    /// given.
    fn ask(&mut self) -> Result<Option<Plan>>;
    /// Takes the result of the run that was asked for last.
    fn tell(&mut self, round: &Round) -> Result<()>;
    /// Takes the reason why the run that was asked for last cannot begin: a guest does not boot, or a setting does not
    /// exist here. By default this ends the study.
    fn not_begun(&mut self, why: anyhow::Error) -> Result<()> {
        Err(why)
    }
}

/// The result of a run that a study asked for.
#[derive(Debug)]
pub enum Measured {
    /// The run ended, or was cut off.
    Round(Box<Round>),
    /// The run cannot begin.
    NotBegun(anyhow::Error),
    /// The user interrupted before it began.
    Interrupted,
}

impl From<Round> for Measured {
    fn from(round: Round) -> Self {
        Self::Round(Box::new(round))
    }
}

/// A finished run that a study asked for.
#[derive(Debug)]
pub struct Round {
    /// Number, from 1.
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
    /// The user interrupted; the last round is not complete.
    Interrupted,
    /// The machine changed during the last round, or a requirement of its plan was not met, with the reason.
    Void(String),
}

/// Runs the rounds of a study by calling `measure` with a round's number and plan. Returns how the study ended, and the
/// number of rounds given to it.
pub fn drive<M: Into<Measured>>(
    study: &mut dyn Study,
    measure: &mut dyn FnMut(u32, &Plan) -> Result<M>,
) -> Result<(Ended, u32)> {
    let mut told = 0;
    for number in 1..=MAX_ROUNDS {
        let Some(plan) = study.ask()? else { return Ok((Ended::Finished, told)) };
        let round = match measure(number, &plan)?.into() {
            Measured::Round(round) => round,
            Measured::Interrupted => return Ok((Ended::Interrupted, told)),
            Measured::NotBegun(why) => {
                study.not_begun(why)?;
                continue;
            }
        };
        match round.manifest.end() {
            RunEnd::Interrupted => return Ok((Ended::Interrupted, told)),
            RunEnd::Void(why) => return Ok((Ended::Void(why.to_owned()), told)),
            RunEnd::Unfinished | RunEnd::Whole => study.tell(&round)?,
        }
        told += 1;
    }
    bail!("the study asked for more than {MAX_ROUNDS} rounds")
}
