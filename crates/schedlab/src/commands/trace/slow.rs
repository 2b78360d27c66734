//! `schedlab trace slow DIR`: the slowest operations of a workload, and what happened in them.

use super::files::open;
use super::most;
use super::source::answer;
use crate::output::print_findings;
use anyhow::{Context, Result, bail};
use clap::Args;
use schedlab_analyze::trace::slow;
use schedlab_plan::{SlowOperation, Stamping, TrialOutcome, TrialRecord, TrialStatus};
use schedlab_run::RunReader;
use schedlab_trial::trace_file;
use std::path::{Path, PathBuf};

/// Default number of operations to show.
const ROWS: usize = 10;

#[derive(Debug, Args)]
pub(super) struct SlowOf {
    /// A run directory with traces (`ab --trace`, `trace=on`), a directory written by `record -o DIR -- WORKLOAD` or `bench
    /// --trace DIR`, or one trace in either
    dir: PathBuf,
    /// Trial of the run [default: the one with the slowest operation]
    #[arg(long, value_name = "N")]
    trial: Option<u64>,
    /// Show at most N operations, 0 for all that were kept [default: 10]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &SlowOf) -> Result<()> {
    let (file, outcome) = traced(args)?;
    if outcome.slowest.is_empty() {
        bail!("{}: {}", args.dir.display(), why_none(&outcome));
    }
    let mut reader = open(&file, slow::wanted())?;
    let found = slow::slow(&mut reader, &outcome.slowest, most(args.top, ROWS))?;
    print_findings(&answer(args.json, args.top), "", &found, schedlab_report::trace_slow)
}

/// The trace and the outcome of its trial.
fn traced(args: &SlowOf) -> Result<(PathBuf, TrialOutcome)> {
    let dir = &args.dir;
    if dir.is_file() {
        if args.trial.is_some() {
            bail!("--trial: {} is the trace of one trial; leave it out", dir.display());
        }
        let outcome = beside(dir).with_context(|| {
            format!(
                "{} has no outcome of a workload beside it, so its slow operations are not known: give the directory that \
                 `record -o DIR -- WORKLOAD` or a run wrote; for other traces use `trace blame`",
                dir.display()
            )
        })?;
        return Ok((dir.clone(), outcome));
    }
    let (trace, outcome) = (dir.join(super::super::record::TRACE_FILE), dir.join(super::super::record::OUTCOME_FILE));
    if !dir.join("manifest.json").exists() && trace.exists() {
        if args.trial.is_some() {
            bail!("--trial: {} holds one trial; leave it out", dir.display());
        }
        let text = std::fs::read(&outcome).with_context(|| {
            format!(
                "{} cannot be read: slow operations are those of a workload (`record -- pipe`); for a command use `trace blame`",
                outcome.display()
            )
        })?;
        let outcome = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not the outcome of a workload", outcome.display()))?;
        return Ok((trace, outcome));
    }
    let run = RunReader::open(dir)?;
    let file = |trial: &TrialRecord| trace_file(&dir.join(crate::session::TRACES), trial.trial);
    let traced = |trial: &&TrialRecord| trial.status == TrialStatus::Ok && file(trial).exists();
    let Some(trial) = (match args.trial {
        Some(number) => run.trials.iter().find(|trial| trial.trial == number),
        None => {
            let slowest = |trial: &&TrialRecord| {
                trial.outcome.as_ref().and_then(|o| o.slowest.first()).map_or(0, SlowOperation::ns)
            };
            run.trials.iter().filter(|trial| !trial.warm_up).filter(traced).max_by_key(slowest)
        }
    }) else {
        match args.trial {
            Some(number) => bail!("{} has no trial {number}: it has {}", dir.display(), run.trials.len()),
            None => bail!("{} has no traced trial: record with `--trace`, or give an arm `trace=on`", dir.display()),
        }
    };
    let (file, number) = (file(trial), trial.trial);
    if !Path::new(&file).exists() {
        bail!("trial {number} has no trace: {} is not there", file.display());
    }
    let outcome = trial.outcome.clone().with_context(|| format!("trial {number} failed: it has no operations"))?;
    crate::output::say(format_args!("trial {number}: {}", file.display()));
    Ok((file, outcome))
}

/// The outcome of the traced trial: from `outcome.json` next to the trace, or, by trial number, from the run directory
/// that contains the trace. `None` for any other trace.
pub(super) fn beside(file: &Path) -> Option<TrialOutcome> {
    let dir = file.parent()?;
    let of_record = || {
        let text = std::fs::read(dir.join(super::super::record::OUTCOME_FILE)).ok()?;
        serde_json::from_slice::<TrialOutcome>(&text).ok()
    };
    let of_run = || {
        let number: u64 = file.file_stem()?.to_str()?.parse().ok()?;
        let run = RunReader::open(dir.parent().filter(|_| dir.ends_with(crate::session::TRACES))?).ok()?;
        run.trials.into_iter().find(|trial| trial.trial == number)?.outcome
    };
    of_record().or_else(of_run)
}

/// Why an outcome has no slow operations.
fn why_none(outcome: &TrialOutcome) -> String {
    match outcome.stamping.level {
        Stamping::Off => {
            "operations have no timestamps (`--latency off`), so the slowest are not known: use `--latency sampled`"
                .into()
        }
        _ if outcome.stamping.stamped == 0 => {
            format!("{} does not timestamp its operations: use `trace blame` instead", outcome.workload)
        }
        _ => "its slowest operations were not kept: it was not traced, or recorded by an older schedlab".into(),
    }
}
