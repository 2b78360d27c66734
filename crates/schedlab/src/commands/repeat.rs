//! `schedlab repeat FILE`: runs a pack's plan here, and checks whether the pack's results are found again.

mod kernels;

use super::run::begun;
use super::vm::architecture;
use crate::cli::Repeat;
use crate::exit::{self, usage};
use crate::output::{print_answer, print_findings, print_line, print_page, say};
use crate::{input, session, trial_host};
use anyhow::{Context, Result, anyhow, bail};
use kernels::Kernels;
use schedlab_analyze::{Answer, Repetition, repetition};
use schedlab_plan::pack::MAX_PACK_BYTES;
use schedlab_plan::plan::{GuestLane, Stopping};
use schedlab_plan::{Manifest, Pack, Plan, RunEnd, TrialRecord};
use schedlab_run::{Run, RunError};
use schedlab_sys::interrupt::Interrupt;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Offset of the seeds of a repetition in the virtual lane from those of the pack.
const OTHER_SEEDS: u64 = 500_000;

pub(super) fn run(args: &Repeat) -> Result<u8> {
    let pack = read(&args.file)?;
    let kernels = Kernels::of(&pack, args)?;
    let asks = super::pack::asks(&pack, |kernel| !kernels.has(kernel))?;
    if args.dry_run {
        return describe(&pack, asks, &kernels, args);
    }
    if !asks.is_empty() && !args.trust {
        bail!(
            "{}: this pack {} with your privileges; look at it with --dry-run, then give --trust",
            args.file.display(),
            asks.join(", ")
        );
    }
    let found = match repeated(&pack, &kernels, args)? {
        Ok(found) => found,
        Err(why) => Repetition::not_here(&pack, &why),
    };
    print_findings(&args.answer, "schedlab/repeat/1", &found, schedlab_report::repetition)?;
    Ok(match found.answer {
        _ if found.is_void => exit::VOID,
        Answer::Contradicted if args.fail_on.is_some() => exit::WORSE,
        Answer::CannotTell if args.fail_on.is_some() => exit::INCONCLUSIVE,
        _ => exit::DONE,
    })
}

fn read(file: &Path) -> Result<Pack> {
    if file.is_dir() {
        bail!("{} is a directory; of a run directory `schedlab pack` makes the file to repeat", file.display());
    }
    let bytes = input::at_most(file, MAX_PACK_BYTES as u64)?;
    Pack::parse(&bytes).map_err(|why| anyhow!("{}: {why}", file.display()))
}

/// The answer of `repeat --dry-run`.
#[derive(Debug, Serialize)]
struct RepeatForecast<'a> {
    /// The pack.
    pack: &'a Pack,
    /// What it asks to be trusted with (`--trust`).
    asks: Vec<String>,
    /// What is done for each of its kernels.
    kernels: Vec<String>,
    /// Where its plan would run.
    directory: String,
    /// Why it cannot be repeated here, as far as that is known before its kernels are here.
    not_here: Option<String>,
    /// What its arms need here, the order of the first blocks, and how long they take; empty while its kernels are not
    /// here.
    forecast: Vec<String>,
}

/// Dry run: prints the steps without doing them.
fn describe(pack: &Pack, asks: Vec<String>, kernels: &Kernels<'_>, args: &Repeat) -> Result<u8> {
    let described = |names: Vec<(String, String)>| -> Result<String> {
        let plan = plan(pack, &names, args)?;
        trial_host::of(&plan)?.describe(&plan)
    };
    let described = match (other_architecture(pack), kernels.here()) {
        (Some(why), _) | (None, Some(Err(why))) => Err(why),
        (None, Some(Ok(names))) => described(names).map_err(|error| format!("{error:#}")),
        (None, None) => Ok(String::new()),
    };
    // The plan itself is in the pack.
    let forecast = described.iter().flat_map(|text| text.lines());
    let forecast = forecast.filter_map(|line| line.strip_prefix("# ")).map(str::to_owned).collect();
    let directory = directory(args).display().to_string();
    let found = RepeatForecast { pack, asks, kernels: kernels.steps(), directory, not_here: described.err(), forecast };
    if args.answer.json {
        return print_answer("schedlab/repeat-forecast/1", &found, args.answer.top).map(|()| exit::DONE);
    }
    print_page(&super::pack::page(pack, pack.to_bytes().map_or(0, |bytes| bytes.len()), &found.asks))?;
    found.kernels.iter().try_for_each(print_line)?;
    match &found.not_here {
        Some(why) => print_line(format_args!("It cannot be repeated here: {why}"))?,
        None => print_line(format_args!("Its plan would run into {}", found.directory))?,
    }
    found.forecast.iter().try_for_each(print_line)?;
    Ok(exit::DONE)
}

/// The run directory.
fn directory(args: &Repeat) -> PathBuf {
    let name = args.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = format!("repeat-{}", name.split('.').next().unwrap_or_default());
    session::directory(args.out.as_deref(), &name, args.resume)
}

/// Another instruction set means another machine, be it this one or that of the plan's guests.
fn other_architecture(pack: &Pack) -> Option<String> {
    let there = pack.machine.machine.as_str();
    let guest = pack.plan().ok()?.guest;
    let here = guest.map_or(std::env::consts::ARCH.to_owned(), |guest| architecture(guest.aarch64).to_string());
    let what = if pack.kernels.is_empty() { "this machine is" } else { "the guests of its plan are here" };
    (there != here).then(|| format!("it was measured on {there}, and {what} {here}: repeat it on a machine of {there}"))
}

/// The result of the run, or the reason why there is none, as part of a sentence. Errors are about the user's
/// directories and signals.
fn repeated(pack: &Pack, kernels: &Kernels<'_>, args: &Repeat) -> Result<Result<Repetition, String>> {
    if let Some(why) = other_architecture(pack) {
        return Ok(Err(why));
    }
    let prepared = match kernels.prepare()? {
        Ok(names) => names,
        Err(why) => return Ok(Err(why)),
    };
    let plan = plan(pack, &prepared, args)?;
    let dir = directory(args);
    if let Some(run) = args.resume.then(|| finished(&dir, &plan)).transpose()?.flatten() {
        return Ok(Ok(answered(pack, &dir, &run.manifest, &run.trials)));
    }
    let begun = trial_host::of(&plan).and_then(|place| Ok((begun(&dir, &plan, &*place, args.resume)?, place)));
    let (begun, place) = match begun {
        Err(error) if is_of_directory(&error) || args.resume || Interrupt::seen().is_some() => return Err(error),
        Err(error) => return Ok(Err(format!("{error:#}"))),
        Ok(begun) => begun,
    };
    let ended = session::run(&dir, begun, &*place)?;
    ended.sealed?;
    if matches!(ended.manifest.end(), RunEnd::Interrupted) {
        bail!("interrupted; continue with the same command and --resume -o {}", dir.display());
    }
    Ok(Ok(answered(pack, &dir, &ended.manifest, &ended.trials)))
}

/// The result of a complete run.
fn answered(pack: &Pack, dir: &Path, manifest: &Manifest, trials: &[TrialRecord]) -> Repetition {
    say(format_args!("schedlab: the run: {}", super::report::full_report_command(dir)));
    repetition(pack, manifest, &schedlab_analyze::compare(manifest, trials))
}

/// The run in the directory, if it is complete; an error if there is no run, or one of another plan.
fn finished(dir: &Path, plan: &Plan) -> Result<Option<Run>> {
    if !dir.exists() {
        bail!(
            "{} does not exist, so there is nothing to resume: leave out --resume, or give the run with -o DIR",
            dir.display()
        );
    }
    let run = session::packed(dir)?;
    if run.manifest.plan_toml != plan.to_toml() {
        bail!(
            "{} is not a run of this pack under these options (--trials, --kernel): give those it was started with, or leave out --resume",
            dir.display()
        );
    }
    Ok(Some(run).filter(|run| run.sealed && !matches!(run.manifest.end(), RunEnd::Interrupted)))
}

fn is_of_directory(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<RunError>())
}

/// The pack's plan, with this machine's names for its kernels.
fn plan(pack: &Pack, names: &[(String, String)], args: &Repeat) -> Result<Plan> {
    let mut plan = pack.plan()?;
    kernels::rename(&mut plan, names);
    if let Some(blocks) = args.trials {
        if (blocks as usize) < schedlab_plan::MIN_UNITS {
            usage!("--trials {blocks}: an answer needs {} blocks at least", schedlab_plan::MIN_UNITS);
        }
        plan.stopping = Stopping::Trials { blocks };
    }
    if let Some(guest) = plan.guest.as_mut().filter(|guest| guest.lane == GuestLane::Virtual) {
        // With the pack's seeds it would be the same run, to the bit, and not a second estimate.
        let first = guest.first_seed.unwrap_or(1);
        guest.first_seed = Some(if first < OTHER_SEEDS { first + OTHER_SEEDS } else { first - OTHER_SEEDS + 1 });
    }
    // Validated like a plan written by hand.
    Plan::parse(&plan.to_toml()).context("the pack's plan with what is asked for here")
}
