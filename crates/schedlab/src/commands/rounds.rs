//! Studies in rounds on this host: each round is a run directory inside that of the study.

use super::{destination, run};
use crate::output::{say, say_whole};
use crate::{session, trial_host};
use anyhow::{Context, Result, bail};
use schedlab_plan::{Plan, RunEnd, counted};
use schedlab_run::{Run, RunError};
use schedlab_sys::interrupt::Interrupt;
use schedlab_trial::rounds::{Ended, Measured, Round, Study, drive};
use std::path::{Path, PathBuf};

/// Inside a study's directory: its rounds, `001`, `002`, …
pub(crate) const ROUNDS: &str = "rounds";

/// The run directory of a round.
pub(super) fn place(dir: &Path, number: u32) -> PathBuf {
    dir.join(ROUNDS).join(format!("{number:03}"))
}

/// Runs a study in `dir`. With `resume` the stored rounds are replayed, and an interrupted one continues; without it a
/// directory that contains rounds is an error.
pub(super) fn study(study: &mut dyn Study, dir: &Path, resume: bool) -> Result<Ended> {
    let rounds = dir.join(ROUNDS);
    if dir.join(schedlab_run::writer::MANIFEST).exists() {
        return Err(RunError::Occupied { dir: dir.to_owned(), is_run: true }.into());
    }
    if !resume && rounds.exists() {
        bail!("{} already contains rounds of a study; continue with --resume, or give another -o DIR", dir.display());
    }
    if resume && !rounds.exists() {
        bail!("{} contains no study to resume: leave out --resume, or give its directory with -o DIR", dir.display());
    }
    std::fs::create_dir_all(&rounds)
        .with_context(|| format!("{} cannot be created; give another with -o DIR", rounds.display()))?;
    let mut measure = |number: u32, plan: &Plan| round(&place(dir, number), number, plan);
    let (ended, _) = drive(study, &mut measure)?;
    if ended == Ended::Interrupted && !session::is_guest() {
        let again = run::resumed(dir, std::env::args());
        say_whole(format_args!("schedlab: interrupted; to continue: {again}"));
    }
    Ok(ended)
}

/// A stored and complete round with this plan.
pub(super) fn stored(dir: &Path, number: u32, plan: &Plan) -> Result<Option<Round>> {
    if !dir.exists() {
        return Ok(None);
    }
    let stored = session::packed(dir).with_context(|| format!("round {number}"))?;
    if stored.sealed && stored.manifest.plan_toml != plan.to_toml() {
        bail!(
            "{} is a round of another study; give another -o DIR, or the plan, options, tree and patches it was started with; \
             or delete it and those after it",
            dir.display()
        );
    }
    let round = |stored: Run| Round { number, dir: dir.to_owned(), manifest: stored.manifest, trials: stored.trials };
    Ok(Some(stored).filter(|stored| stored.sealed).map(round))
}

/// Reads a stored round, continues an interrupted one, or begins a new one.
fn round(dir: &Path, number: u32, plan: &Plan) -> Result<Measured> {
    if let Some(round) = stored(dir, number, plan)? {
        let (RunEnd::Void(why), Some(rounds)) = (round.manifest.end(), dir.parent()) else { return Ok(round.into()) };
        destination::set_aside(rounds, &format!("{number:03}"), &format!("is void ({why}) and is run again"))?;
    }
    say(format_args!("round {number}: {}", counted(plan.arms.len(), "arms")));
    let place = trial_host::of(plan)?;
    let begun = if dir.exists() {
        run::begun(dir, plan, &*place, true)
    } else {
        session::restore_leftovers()?;
        match place.prepare(plan) {
            Ok(manifest) => run::created(dir, manifest),
            Err(why) if Interrupt::seen().is_none() && !trial_host::is_of_machine(&why) => {
                return Ok(Measured::NotBegun(why));
            }
            Err(error) => Err(error),
        }
    };
    // Guests are tried first; an interrupted one says nothing about its kernel.
    if begun.is_err() && Interrupt::seen().is_some() {
        return Ok(Measured::Interrupted);
    }
    let begun = begun?;
    let ended = session::run(dir, begun, &*place)?;
    ended.sealed?;
    Ok(Round { number, dir: dir.to_owned(), manifest: ended.manifest, trials: ended.trials }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A study that asks for nothing.
    struct Nothing;

    impl Study for Nothing {
        fn ask(&mut self) -> Result<Option<Plan>> {
            Ok(None)
        }

        fn tell(&mut self, _: &Round) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_study_goes_into_no_run_and_into_no_other_study() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |resume| study(&mut Nothing, directory.path(), resume).err().map(|e| e.to_string()).unwrap();
        assert!(refused(true).contains("contains no study to resume"));
        std::fs::write(directory.path().join("manifest.json"), "{}").unwrap();
        assert!(refused(false).contains("already contains a run"));
        assert!(!directory.path().join(ROUNDS).exists());
        std::fs::remove_file(directory.path().join("manifest.json")).unwrap();
        study(&mut Nothing, directory.path(), false).unwrap();
        assert!(refused(false).contains("already contains rounds"));
    }
}
