//! `schedlab run PLAN.toml`: an experiment from a file.

use super::report::conclude;
use crate::cli::{Run, RunOutput};
use crate::output::{say, to_stdout};
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
    if output.dry_run {
        let plan = &plan.settle(&factors::lacking(plan, &Roots::default()))?;
        let manifest = prepare::manifest(plan, std::env::args().collect(), environment(false))?;
        let description = schedlab_trial::describe(&manifest, plan, &Roots::default());
        to_stdout(|out| write!(out, "{description}"))?;
        return Ok(exit::DONE);
    }
    // Without --out a second run does not trip over the first: out/quickstart-2, and so on.
    let dir = if output.out.is_none() && !output.resume { session::unused(dir) } else { dir };
    let (manifest, writer, trials) = if output.resume { resume(&dir, plan)? } else { begin(&dir, plan)? };
    let ended = session::run(manifest, writer, trials)?;
    let concluded = conclude(&dir, &ended.manifest, &ended.trials, output);
    ended.sealed?;
    concluded
}

type Begun = (Manifest, RunWriter, Vec<schedlab_run::TrialRecord>);

fn begin(dir: &Path, plan: &Plan) -> Result<Begun> {
    let plan = settled(plan)?;
    let manifest = prepare::manifest(&plan, std::env::args().collect(), environment(true))?;
    session::host_is_free_for(&manifest)?;
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
            say(format_args!("schedlab: factor `{}` is left out: {why}", factor.name));
        }
    }
    Ok(settled)
}

fn resume(dir: &Path, plan: &Plan) -> Result<Begun> {
    // Before anything is moved: the writer sets aside what it cannot read.
    let begun = RunReader::open(dir)?;
    let mut warnings = Vec::new();
    if !begun.sealed {
        // What a killed run left in force is no change of the machine.
        session::restore_leftovers()?;
        warnings = same_experiment(dir, &begun.manifest, plan)?;
    }
    let writer = RunWriter::resume(dir)?;
    let run = RunReader::open(dir)?;
    let mut manifest = run.manifest;
    manifest.warnings.extend(warnings);
    manifest.ended = String::new();
    Ok((manifest, writer, run.trials))
}

/// Refuses to go on with another plan, on another machine, or with another program: blocks before and after would be two
/// experiments under one verdict. Answers what else has changed.
fn same_experiment(dir: &Path, manifest: &Manifest, plan: &Plan) -> Result<Vec<String>> {
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
    let changes = schedlab_analyze::changes(&manifest.environment, &now);
    // Every session has groups of its own; the workload and its load share them, as before.
    let (of_session, changed): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| ["cgroup", "autogroup"].contains(&change.what.as_str()));
    if let Some(change) = changed.first() {
        let all: Vec<&str> = changed.iter().map(|change| change.what.as_str()).collect();
        bail!(
            "{} was begun under other conditions: {} was `{}` and is `{}`{}; put back what changed, or begin a new run (--out)",
            dir.display(),
            change.what,
            change.before,
            change.after,
            if all.len() > 1 { format!(" (changed: {})", all.join(", ")) } else { String::new() }
        );
    }
    let warning = |change: schedlab_analyze::Change| {
        format!("resumed with another {}: `{}`, at first `{}`", change.what, change.after, change.before)
    };
    Ok(of_session.into_iter().map(warning).collect())
}

/// The machine as it is now; with the round-trip probes only where a run begins.
fn environment(probe: bool) -> schedlab_run::Environment {
    let probes = if probe { super::doctor::probes() } else { schedlab_host::Probes::default() };
    schedlab_host::environment(&schedlab_host::Roots::default(), probes)
}
