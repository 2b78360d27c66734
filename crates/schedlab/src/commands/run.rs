//! `schedlab run PLAN.toml`: an experiment from a file.

use super::doctor::environment;
use super::report::conclude;
use super::vm::trials::Guests;
use crate::cli::{Run, RunOutput};
use crate::{exit, session};
use anyhow::{Context, Result, bail};
use schedlab_run::{Manifest, Plan, RunReader, RunWriter};
use schedlab_trial::{factors, prepare};
use schedlab_tune::Roots;
use std::path::Path;

pub(super) fn run(args: &Run) -> Result<u8> {
    let text =
        std::fs::read_to_string(&args.plan).with_context(|| format!("{} cannot be read", args.plan.display()))?;
    let plan = Plan::parse(&text).with_context(|| args.plan.display().to_string())?;
    let name = args.plan.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_else(|| "run".into());
    execute(&plan, &name, &args.output)
}

/// From a plan to a sealed run directory and its report; `ab` ends here too.
pub(super) fn execute(plan: &Plan, name: &str, output: &RunOutput) -> Result<u8> {
    let dir = output.out.clone().unwrap_or_else(|| session::default_out(name));
    if output.dry_run && plan.guest.is_some() {
        print!("{}# each trial in a guest of its own; what a guest can measure is asked of it when the run begins\n", plan.to_toml());
        return Ok(exit::DONE);
    }
    if output.dry_run {
        let plan = &plan.settle(&factors::lacking(plan, &Roots::default()))?;
        let manifest = prepare::manifest(plan, std::env::args().collect(), environment(false))?;
        print!("{}", schedlab_trial::describe(&manifest, plan, &Roots::default()));
        return Ok(exit::DONE);
    }
    // Without --out a second run does not trip over the first: out/quickstart-2, and so on.
    let dir = if output.out.is_none() && !output.resume { session::unused(dir) } else { dir };
    let (manifest, writer, trials) = if output.resume { resume(&dir, plan)? } else { begin(&dir, plan)? };
    let guests = plan.guest.as_ref().map(|_| Guests::of(plan)).transpose()?;
    let (manifest, trials) = session::run(manifest, writer, trials, guests.as_ref())?;
    conclude(&dir, &manifest, &trials, output)
}

type Begun = (Manifest, RunWriter, Vec<schedlab_run::TrialRecord>);

fn begin(dir: &Path, plan: &Plan) -> Result<Begun> {
    let plan = settled(plan)?;
    let command: Vec<String> = std::env::args().collect();
    let manifest = match plan.guest {
        Some(_) => Guests::of(&plan)?.manifest(&plan, &command)?,
        None => prepare::manifest(&plan, command, environment(true))?,
    };
    let writer = RunWriter::create(dir, &manifest)?;
    Ok((manifest, writer, Vec::new()))
}

/// The plan with the arms of its factorial: its factors are tried on the host first, and those that cannot be set here
/// are left out.
fn settled(plan: &Plan) -> Result<Plan> {
    if plan.factors.is_empty() {
        return Ok(plan.clone());
    }
    session::restore_leftovers()?;
    // Ctrl-C must not end this process between a value of ours and its original.
    schedlab_sys::interrupt::Interrupt::catch().context("signals cannot be caught")?;
    let mut host = session::Host::default();
    let refused = factors::refused(plan, &Roots::default(), &mut host);
    host.restore()?;
    let settled = plan.settle(&refused?)?;
    for factor in settled.factorial.iter().flat_map(|factorial| &factorial.factors) {
        if let Some(why) = &factor.not_applied {
            eprintln!("schedlab: factor `{}` is left out: {why}", factor.name);
        }
    }
    Ok(settled)
}

fn resume(dir: &Path, plan: &Plan) -> Result<Begun> {
    let writer = RunWriter::resume(dir)?;
    let run = RunReader::open(dir)?;
    let mut manifest = run.manifest;
    if manifest.plan_toml != plan.to_toml() {
        bail!(
            "{} was begun with another plan; give another --out, or the plan it was begun with (manifest.json)",
            dir.display()
        );
    }
    let now = environment(false);
    // A trial in a guest is a boot of its own in any case.
    if plan.guest.is_none() && now.boot_id != manifest.environment.boot_id {
        bail!(
            "{} was begun in another boot, or on another machine: a boot is a unit of its own, so begin a new run (--out) \
             and set the two side by side with `schedlab compare`",
            dir.display()
        );
    }
    manifest.ended = String::new();
    Ok((manifest, writer, run.trials))
}
