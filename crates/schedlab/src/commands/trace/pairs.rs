//! Analyses that combine a trace with the outcome of the trial during which it was recorded.

use super::super::{destination, record};
use super::files::open;
use super::source::answer;
use super::{most, traces};
use crate::output::{print_findings, write_file};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use schedlab_analyze::trace::{Copies, CopiesOfArms, CopiesOrder, copies};
use schedlab_plan::TrialOutcome;
use std::path::{Path, PathBuf};

/// Default number of time slices.
const SLICES: u32 = 64;

/// Which copies.
#[derive(Debug, Args)]
pub(super) struct Pairs {
    /// A directory written by `record -o DIR` or `bench --trace DIR`, or a run directory with traces
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Number of time slices of the steady phase, for each of which the partners' CPUs are shown
    #[arg(long, value_name = "N", default_value_t = SLICES, value_parser = clap::value_parser!(u32).range(1..=4096))]
    slices: u32,
    /// Show N trials of each arm copy by copy, 0 for all [default: 1; in JSON as many as fit in 20 kB]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Also draw an SVG: each partner's CPU over time, for the first trial of each arm
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_copies(args: &Pairs) -> Result<()> {
    destination::check("--svg", args.svg.as_deref(), &[&args.dir], false)?;
    if args.dir.is_file() {
        let file = args.dir.display();
        bail!(
            "{file} is a file, and the scores of copies lie beside a trace: give the directory that \
             `record -o DIR -- pipe:copies=4` or a run wrote"
        );
    }
    let alone = args.dir.join(record::OUTCOME_FILE);
    let arms = if alone.exists() {
        let bytes = std::fs::read(&alone).with_context(|| format!("{} cannot be read", alone.display()))?;
        let outcome: TrialOutcome = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is not an outcome of a trial", alone.display()))?;
        let found = of_trial(&outcome, &args.dir.join(record::TRACE_FILE), args.slices as usize)?;
        vec![(outcome.workload.to_string(), vec![found])]
    } else {
        let of_arm = |arm: traces::Traced| {
            let trials = arm.files.iter().map(|(trial, file)| {
                let outcome = trial.outcome.as_ref().ok_or_else(|| anyhow!("trial {} has no outcome", trial.trial))?;
                of_trial(outcome, file, args.slices as usize)
            });
            Ok((arm.name, trials.collect::<Result<Vec<_>>>()?))
        };
        traces::by_arm(&args.dir)?.into_iter().map(of_arm).collect::<Result<Vec<_>>>()?
    };
    let found = CopiesOfArms::new(arms);
    if let Some(file) = &args.svg {
        let svg = schedlab_report::trace_copies_svg(&found, &traces::place(&args.dir));
        write_file(file, |out| out.write_all(svg.as_bytes()))?;
    }
    let shown = most(args.top, 1).unwrap_or(usize::MAX);
    print_findings(&answer(args.json, args.top), "", &found, |found| schedlab_report::trace_copies(found, shown))
}

fn of_trial(outcome: &TrialOutcome, file: &Path, slices: usize) -> Result<Copies> {
    let order =
        CopiesOrder::of(outcome, slices).map_err(anyhow::Error::msg).with_context(|| file.display().to_string())?;
    Ok(copies(&mut open(file, copies::wanted())?, &order)?)
}
