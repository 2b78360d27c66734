//! `schedlab run PLAN.toml`: an experiment from a file.

use super::doctor::environment;
use super::report::conclude;
use super::search;
use super::vm::trials::Guests;
use crate::cli::{Run, RunOutput};
use crate::exit::{self, usage};
use crate::output::{say, say_whole, to_stdout};
use crate::{input, session};
use anyhow::{Context, Result, anyhow, bail};
use schedlab_run::{Manifest, Plan, RunEnd, RunError, RunReader, RunWriter, Setting, TraceSetting, words};
use schedlab_trial::{factors, keep_what_stopping_needs, prepare};
use schedlab_tune::Roots;
use std::path::Path;

pub(super) fn run(args: &Run) -> Result<u8> {
    let plan = Plan::parse(&input::text(&args.plan)?).with_context(|| args.plan.display().to_string())?;
    let name = args.plan.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_else(|| "run".into());
    execute(&plan, &name, &args.output)
}

/// From a plan to a sealed run directory and its report; `ab` ends here too.
pub(super) fn execute(plan: &Plan, name: &str, output: &RunOutput) -> Result<u8> {
    if output.dry_run && output.answer.json {
        usage!("--json is of an answer, and --dry-run prints a plan, in TOML: leave out one of them");
    }
    if plan.search.is_some() {
        let dir = output.out.clone().unwrap_or_else(|| session::default_out(name));
        let dir = if output.out.is_none() && !output.resume { session::unused(dir) } else { dir };
        return search::run(plan, &dir, output);
    }
    let plan = &traced(plan, output.trace.as_deref())?;
    let dir = output.out.clone().unwrap_or_else(|| session::default_out(name));
    if plan.guest.is_some() {
        prepare::check_anywhere(plan)?;
    }
    if output.dry_run {
        return describe(plan);
    }
    // Without --out a second run does not trip over the first: out/quickstart-2, and so on.
    let dir = if output.out.is_none() && !output.resume { session::unused(dir) } else { dir };
    let ended = measure(&dir, plan, output.resume)?;
    let concluded = conclude(&dir, &ended.manifest, &ended.trials, output);
    if matches!(ended.manifest.end(), RunEnd::Interrupted) && !session::is_guest() {
        say_whole(format_args!("schedlab: interrupted; to go on: {}", resumed(&dir, std::env::args())));
    }
    ended.sealed?;
    concluded
}

/// Runs a plan, or goes on with the run that was cut in `dir`.
pub(super) fn measure(dir: &Path, plan: &Plan, go_on: bool) -> Result<session::Ended> {
    let guests = plan.guest.as_ref().map(|guest| Guests::new(guest, plan)).transpose()?;
    let begun = if go_on { resume } else { begin };
    let (manifest, writer, trials) = begun(dir, plan, guests.as_ref())?;
    session::run(dir, manifest, writer, trials, guests.as_ref())
}

/// The command line that goes on with the run in `dir`.
pub(super) fn resumed(dir: &Path, command: impl Iterator<Item = String>) -> String {
    let command: Vec<String> = command.collect();
    let (begin, rest) = command.split_at(command.len().min(2));
    let out = dir.display().to_string();
    // Before what may stand after `--`; options that were said already are not said twice.
    let options = &rest[..rest.iter().position(|word| word == "--").unwrap_or(rest.len())];
    let has_out = options.iter().any(|word| word.starts_with("-o") || word.starts_with("--out"));
    let new = (!options.iter().any(|word| word == "--resume")).then_some("--resume");
    let out = if has_out { Vec::new() } else { vec!["-o", &out] };
    let words = begin.iter().map(String::as_str).chain(new).chain(out).chain(rest.iter().map(String::as_str));
    words::join(words)
}

/// `--dry-run`. What only the guest's machine can tell is asked of it when the run begins.
fn describe(plan: &Plan) -> Result<u8> {
    let description = if let Some(guest) = &plan.guest {
        let lines = Guests::new(guest, plan)?.dry_run(plan)?;
        let kinds = lines.len();
        let lines: String = lines.iter().map(|line| format!("# {line}\n")).collect();
        let forecast = schedlab_trial::describe_guests(plan, guest, kinds);
        format!("{}# trials run in guests that are booted for them; of sample 1:\n{lines}{forecast}", plan.to_toml())
    } else {
        let plan = &plan.settle(&factors::lacking(plan, &Roots::default())).map_err(|why| anyhow!("{why}"))?;
        let manifest = prepare::manifest(plan, std::env::args().collect(), environment(false))?;
        schedlab_trial::describe(&manifest, plan, &Roots::default())
    };
    to_stdout(|out| write!(out, "{description}"))?;
    Ok(exit::DONE)
}

/// With `--trace` every arm is traced: what tracing costs is then in all of them.
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

pub(super) type Begun = (Manifest, RunWriter, Vec<schedlab_run::TrialRecord>);

pub(super) fn begin(dir: &Path, plan: &Plan, guests: Option<&Guests>) -> Result<Begun> {
    let plan = settled(plan)?;
    let command: Vec<String> = std::env::args().collect();
    let manifest = match guests {
        Some(guests) => {
            let (mut manifest, described) = guests.manifest(&plan, &command)?;
            manifest.warnings.extend(described);
            manifest
        }
        None => {
            // What a killed run left in force is not the machine.
            session::restore_leftovers()?;
            let manifest = prepare::manifest(&plan, command, environment(true))?;
            session::host_is_free_for(&manifest)?;
            manifest
        }
    };
    let writer = RunWriter::create(dir, &manifest).map_err(|error| match error {
        RunError::Io { .. } => {
            anyhow::Error::from(error).context("the run directory cannot be made; name another place by -o DIR")
        }
        other => other.into(),
    })?;
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
    // What cannot be set here is no fault of the words.
    let settled = plan.settle(&refused?).map_err(|why| anyhow!("{why}"))?;
    for factor in settled.factorial.iter().flat_map(|factorial| &factorial.factors) {
        if let Some(why) = &factor.not_applied {
            say(format_args!("schedlab: factor `{}` is left out: {why}", factor.name));
        }
    }
    Ok(settled)
}

pub(super) fn resume(dir: &Path, plan: &Plan, guests: Option<&Guests>) -> Result<Begun> {
    // Before anything is moved: the writer sets aside what it cannot read.
    let begun = RunReader::open_with(dir, &mut |_, _| None)?;
    let mut warnings = Vec::new();
    if !begun.sealed {
        // What a killed run left in force is no change of the machine.
        session::restore_leftovers()?;
        warnings = same_experiment(dir, &begun.manifest, plan, guests)?;
    }
    let writer = RunWriter::resume(dir)?;
    let run = RunReader::open_with(dir, &mut |manifest, mut record| {
        keep_what_stopping_needs(manifest, &mut record);
        Some(record)
    })?;
    let mut manifest = run.manifest;
    manifest.warnings.extend(warnings);
    manifest.ended = String::new();
    Ok((manifest, writer, run.trials))
}

/// Refuses to go on with another plan, on another machine, or with another program: blocks before and after would be two
/// experiments under one verdict. Answers what else has changed.
fn same_experiment(dir: &Path, manifest: &Manifest, plan: &Plan, guests: Option<&Guests>) -> Result<Vec<String>> {
    if manifest.plan_toml != plan.to_toml() {
        bail!(
            "{} was begun with another plan; give another --out, or the plan it was begun with (manifest.json)",
            dir.display()
        );
    }
    let now = match guests {
        Some(guests) => {
            let (now, described) = guests.manifest(plan, &[])?;
            if let Some(other) = described.iter().find(|sentence| !manifest.warnings.contains(sentence)) {
                bail!(
                    "{} was begun with other guests; now {other}; put back the kernel of then, or begin a new run (--out)",
                    dir.display()
                );
            }
            now.environment
        }
        None => environment(false),
    };
    // A trial or block in a guest has a boot of its own in any case.
    if guests.is_none() && now.boot_id != manifest.environment.boot_id {
        bail!(
            "{} was begun in another boot, or on another machine: a boot is a unit of its own, so begin a new run (--out) \
             and set the two side by side with `schedlab compare`",
            dir.display()
        );
    }
    let mut changes = schedlab_analyze::changes(&manifest.environment, &now);
    changes.retain(|change| guests.is_none() || change.what != "boot id");
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
