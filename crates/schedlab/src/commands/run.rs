//! `schedlab run PLAN.toml`: an experiment from a file.

use super::report::conclude;
use super::search;
use crate::cli::{Run, RunOutput};
use crate::exit::{self, usage};
use crate::input;
use crate::output::{say_whole, to_stdout};
use crate::session::{self, Begun};
use crate::trial_host::{self, TrialHost};
use anyhow::{Context, Result, bail};
use schedlab_plan::{Arm, Manifest, Plan, PlanError, RunEnd, Setting, TraceSetting, shell_words};
use schedlab_run::{RunError, RunReader, RunWriter};
use schedlab_trial::keep_what_stopping_needs;
use std::path::Path;

pub(super) fn run(args: &Run) -> Result<u8> {
    let text = input::text(&args.plan)?;
    let parsed = || -> Result<Plan, PlanError> {
        let plan = Plan::parse(&text)?;
        // Checked first, because otherwise the first of many arms would be refused for it.
        match schedlab_tune::one_knob_on_two_axes(&Plan::axes(&text)?) {
            Some(why) => Err(PlanError::Inconsistent(why)),
            None => Ok(plan),
        }
    };
    let plan = parsed().with_context(|| args.plan.display().to_string())?;
    execute(&plan, &session::name_of(&args.plan), &args.output)
}

/// From a plan to a sealed run directory and its report; also used by `ab`.
pub(super) fn execute(plan: &Plan, name: &str, output: &RunOutput) -> Result<u8> {
    if output.dry_run && output.answer.json {
        usage!("--json cannot be combined with --dry-run, which prints a plan in TOML: leave out one of them");
    }
    each_knob_once(&plan.arms)?;
    // Without --out a second run gets another directory: out/quickstart-2, and so on.
    let dir = session::directory(output.out.as_deref(), name, output.resume);
    if plan.search.is_some() {
        return search::run(plan, &dir, output);
    }
    let plan = &traced(plan, output.trace.as_deref())?;
    let place = trial_host::of(plan)?;
    if output.dry_run {
        let description = place.describe(plan)?;
        to_stdout(|out| write!(out, "{description}"))?;
        return Ok(exit::DONE);
    }
    let ended = session::run(&dir, begun(&dir, plan, &*place, output.resume)?, &*place)?;
    let concluded = conclude(&dir, &ended.manifest, &ended.trials, output);
    if matches!(ended.manifest.end(), RunEnd::Interrupted) && !session::is_guest() {
        say_whole(format_args!("schedlab: interrupted; to continue: {}", resumed(&dir, std::env::args())));
    }
    ended.sealed?;
    concluded
}

/// Refuses an arm that sets one knob by two names, before anything is created.
pub(super) fn each_knob_once(arms: &[Arm]) -> Result<(), PlanError> {
    schedlab_tune::one_knob_twice_in_an_arm(arms).map_or(Ok(()), |why| Err(PlanError::Inconsistent(why)))
}

/// The command line that continues the run in `dir`.
pub(crate) fn resumed(dir: &Path, command: impl Iterator<Item = String>) -> String {
    let command: Vec<String> = command.collect();
    let (begin, rest) = command.split_at(command.len().min(2));
    let out = dir.display().to_string();
    // Insert before `--`, if there is one; options that were given already are not repeated.
    let options = &rest[..rest.iter().position(|word| word == "--").unwrap_or(rest.len())];
    let has_out = options.iter().any(|word| word.starts_with("-o") || word.starts_with("--out"));
    let new = (!options.iter().any(|word| word == "--resume")).then_some("--resume");
    let out = if has_out { Vec::new() } else { vec!["-o", &out] };
    let words = begin.iter().map(String::as_str).chain(new).chain(out).chain(rest.iter().map(String::as_str));
    shell_words::join(words)
}

/// With `--trace` every arm is traced, so that the overhead is the same in all.
fn traced(plan: &Plan, events: Option<&str>) -> Result<Plan> {
    let mut plan = plan.clone();
    let Some(events) = events else { return Ok(plan) };
    if plan.guest.is_some() {
        usage!("--trace records this host, and the plan's trials run in guests: leave it out");
    }
    if plan.arms.is_empty() {
        usage!("--trace cannot be added to a factorial; make the trace a factor: low = \"\", high = \"trace=on\"");
    }
    let events = events.parse().map_err(anyhow::Error::msg).context("--trace")?;
    for arm in plan.arms.iter_mut().filter(|arm| !arm.settings.iter().any(Setting::is_trace)) {
        arm.settings.push(Setting::Trace(TraceSetting::On(events)));
    }
    Ok(plan)
}

/// Begins the run of a plan in `dir`, or continues an interrupted one there.
pub(super) fn begun(dir: &Path, plan: &Plan, place: &dyn TrialHost, go_on: bool) -> Result<Begun> {
    // Settings that a killed run left must not be taken for the machine's own.
    session::restore_leftovers()?;
    if go_on {
        return resume(dir, plan, place);
    }
    created(dir, place.prepare(plan)?)
}

/// Creates the run directory of a prepared run.
pub(super) fn created(dir: &Path, manifest: Manifest) -> Result<Begun> {
    Ok(Begun { writer: new_directory(dir, &manifest)?, manifest, trials: Vec::new() })
}

/// A run directory without trials.
pub(super) fn new_directory(dir: &Path, manifest: &Manifest) -> Result<RunWriter> {
    RunWriter::create(dir, manifest).map_err(|error| match error {
        RunError::Io { .. } => {
            anyhow::Error::from(error).context("the run directory cannot be created; give another with -o DIR")
        }
        other => other.into(),
    })
}

fn resume(dir: &Path, plan: &Plan, place: &dyn TrialHost) -> Result<Begun> {
    // Checked before anything is moved, because the writer sets unreadable files aside.
    let begun = RunReader::open_with(dir, &mut |_, _| None)?;
    let warnings = if begun.sealed { Vec::new() } else { same_experiment(dir, &begun.manifest, plan, place)? };
    let writer = RunWriter::resume(dir)?;
    let run = RunReader::open_with(dir, &mut |manifest, mut record| {
        keep_what_stopping_needs(manifest, &mut record);
        Some(record)
    })?;
    let mut manifest = run.manifest;
    manifest.warnings.extend(warnings);
    manifest.ended = String::new();
    Ok(Begun { manifest, writer, trials: run.trials })
}

/// Refuses to continue with another plan, on another machine, or with another program: the blocks before and after
/// would be two experiments under one verdict. Returns what else has changed.
fn same_experiment(dir: &Path, manifest: &Manifest, plan: &Plan, place: &dyn TrialHost) -> Result<Vec<String>> {
    if manifest.plan_toml != plan.to_toml() {
        bail!(
            "{} was started with another plan; give another --out, or the plan it was started with (manifest.json)",
            dir.display()
        );
    }
    let now = place.again(dir, manifest, plan)?;
    let changes = schedlab_analyze::changes(&manifest.environment, &now);
    // Every session has its own groups; the workload and its load share them, as before.
    let (of_session, changed): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| ["cgroup", "autogroup"].contains(&change.what.as_str()));
    if let Some(change) = changed.first() {
        let all: Vec<&str> = changed.iter().map(|change| change.what.as_str()).collect();
        bail!(
            "{} was started under other conditions: {} was `{}` and is `{}`{}; restore what changed, or start a new run (--out)",
            dir.display(),
            change.what,
            change.before,
            change.after,
            if all.len() > 1 { format!(" (changed: {})", all.join(", ")) } else { String::new() }
        );
    }
    let warning = |change: schedlab_analyze::Change| {
        format!("resumed with a different {}: now `{}`, at first `{}`", change.what, change.after, change.before)
    };
    Ok(of_session.into_iter().map(warning).collect())
}
