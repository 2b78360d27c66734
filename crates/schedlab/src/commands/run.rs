//! `schedlab run PLAN.toml`: an experiment from a file.

use super::report::conclude;
use crate::cli::{Run, RunOutput};
use crate::{exit, session};
use anyhow::{Context, Result, bail};
use schedlab_run::{Manifest, Plan, RunReader, RunWriter};
use schedlab_trial::{HostSettings, prepare};
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
    if output.dry_run {
        let plan = &plan.settle(&[])?;
        let manifest = prepare::manifest(plan, std::env::args().collect(), environment(false))?;
        print!("{}", prepare::describe(&manifest, plan));
        return Ok(exit::DONE);
    }
    // Without --out a second run does not trip over the first: out/quickstart-2, and so on.
    let dir = if output.out.is_none() && !output.resume { session::unused(dir) } else { dir };
    let (manifest, writer, trials) = if output.resume { resume(&dir, plan)? } else { begin(&dir, plan)? };
    let (manifest, trials) = session::run(manifest, writer, trials)?;
    conclude(&dir, &manifest, &trials, output)
}

type Begun = (Manifest, RunWriter, Vec<schedlab_run::TrialRecord>);

fn begin(dir: &Path, plan: &Plan) -> Result<Begun> {
    let plan = plan.settle(&refused(plan)?)?;
    let manifest = prepare::manifest(&plan, std::env::args().collect(), environment(true))?;
    let writer = RunWriter::create(dir, &manifest)?;
    Ok((manifest, writer, Vec::new()))
}

/// For each factor of a factorial, why it cannot be set here: both levels are tried on the host and taken back. What is
/// the tasks' own or the workload's is known only when a trial runs.
fn refused(plan: &Plan) -> Result<Vec<Option<String>>> {
    if plan.factors.is_empty() {
        return Ok(Vec::new());
    }
    session::restore_leftovers()?;
    let of_host = |s: &&schedlab_run::Setting| !s.is_per_task() && !s.is_net_sysctl() && !s.is_workload_option();
    let mut refused = Vec::new();
    for factor in &plan.factors {
        let settings: Vec<_> =
            factor.low.settings.iter().chain(&factor.high.settings).filter(of_host).cloned().collect();
        let mut host = session::Host::default();
        let tried = if settings.is_empty() { Vec::new() } else { host.cover(&settings)? };
        host.restore()?;
        let why = tried.into_iter().find_map(|a| a.not_applied.map(|why| format!("{}: {why}", a.setting)));
        if let Some(why) = &why {
            eprintln!("factor {} is left out, not applied: {why}", factor.name);
        }
        refused.push(why);
    }
    Ok(refused)
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
    if now.boot_id != manifest.environment.boot_id {
        bail!(
            "{} was begun in another boot, or on another machine: a boot is a unit of its own, so begin a new run (--out) \
             and set the two side by side with `schedlab compare`",
            dir.display()
        );
    }
    manifest.ended = String::new();
    Ok((manifest, writer, run.trials))
}

/// The machine as it is now; with the round-trip probes only where a run begins.
fn environment(probe: bool) -> schedlab_run::Environment {
    let probes = if probe { super::doctor::probes() } else { schedlab_host::Probes::default() };
    schedlab_host::environment(&schedlab_host::Roots::default(), probes)
}
