//! `schedlab bench WORKLOAD`: one trial, with a summary like that of the original tool.

use super::record;
use super::reservation::{Reservation, must_be_free};
use crate::cli::{Bench, Cli, Measuring};
use crate::exit::{self, usage};
use crate::output::{print_answer, print_line, say, terminal_width, to_stdout, write_answer};
use crate::session;
use anyhow::{Context, Result, bail};
use clap::{Arg, ArgMatches, Command, CommandFactory};
use schedlab_analyze::Scaling;
use schedlab_bench::Sweep;
use schedlab_plan::lane::{Provenance, kernel_of};
use schedlab_plan::plan::{PlannedWorkload, parse_sweep};
use schedlab_plan::{Applied, Arm, Setting, TraceOrder, TrialOrder, TrialOutcome, WorkloadSpec};
use schedlab_sys::interrupt::Interrupt;
use schedlab_trial::{HostRunner, Runner};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

/// The schema of a trial's output.
pub(super) const OUTCOME: &str = "schedlab/outcome/1";

/// A trial that hangs is ended by its workload's own timeout, or by the user.
const TRIAL_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// Adds every workload's options as long options of `bench` and `ab`: `--groups 10` means `messaging:groups=10`. The
/// help shows those of the workloads in `shown`.
pub(super) fn with_workload_options(command: Command, shown: &[&str]) -> Command {
    let with = |command: Command, name| command.mut_subcommand(name, |subcommand| with_options(subcommand, shown));
    ["bench", "ab"].into_iter().fold(command, with)
}

/// The workloads named on a command line, except for background loads.
pub(super) fn named(arguments: &[String]) -> Vec<&'static str> {
    let own = || arguments.iter().take_while(|word| *word != "--");
    let words =
        own().zip(std::iter::once("").chain(own().map(String::as_str))).filter(|(_, before)| *before != "--load");
    let base =
        |word: &str| word.trim_start_matches("--workload=").split([':', '/']).next().unwrap_or_default().to_owned();
    let words: Vec<String> = words.map(|(word, _)| base(word)).collect();
    schedlab_bench::WORKLOADS
        .iter()
        .map(|info| info.name)
        .filter(|name| words.iter().any(|word| word == name))
        .collect()
}

fn with_options(mut subcommand: Command, shown: &[&str]) -> Command {
    for (name, mut meanings) in offered(&subcommand) {
        let is_shown = |meaning: &Meaning| meaning.owners.iter().any(|owner| shown.contains(owner));
        let hidden = !meanings.iter().any(is_shown);
        meanings.retain(|meaning| hidden || is_shown(meaning));
        let one_form = meanings.iter().all(|meaning| meaning.form == meanings[0].form);
        let said = |meaning: &Meaning| {
            let form = if one_form { String::new() } else { format!("{}: ", meaning.form) };
            format!("{form}{} [{}]", meaning.doc, meaning.owners.join(", "))
        };
        let help = meanings.iter().map(said).collect::<Vec<_>>().join("; ");
        let form = if one_form { meanings[0].form } else { "VALUE" };
        let option = Arg::new(name).long(name).value_name(form).help(help);
        // The original tools spell their options with `_`. The command line is built once, and clap needs names that
        // live forever.
        let references = || -> &'static str { name.replace('-', "_").leak() };
        let option = if name.contains('-') { option.alias(references()) } else { option };
        subcommand =
            subcommand.arg(option.help_heading("Workload options").num_args(1).hide(hidden).hide_short_help(true));
    }
    subcommand
}

/// The workload options whose names are not options of the subcommand; the others can only be given in the spec.
fn offered(subcommand: &Command) -> Options {
    let taken: Vec<&str> =
        subcommand.get_arguments().flat_map(|a| [a.get_id().as_str(), a.get_long().unwrap_or("")]).collect();
    all_options().into_iter().filter(|(name, _)| !taken.contains(name)).collect()
}

/// The meaning of an option for the workloads that share its form and its help text.
struct Meaning {
    form: &'static str,
    doc: &'static str,
    owners: Vec<&'static str>,
}

/// By name; an option may have different meanings for different workloads.
type Options = BTreeMap<&'static str, Vec<Meaning>>;

/// Options that can only be given in the spec: `--load` is the background load of every workload, `burn:load=50%`
/// burn's own.
const ONLY_IN_SPEC: &[&str] = &["load"];

/// The options whose value is on or off.
pub(super) fn switches() -> Vec<&'static str> {
    let is_switch = |meanings: &[Meaning]| meanings.iter().all(|meaning| meaning.form == "no|yes");
    all_options().into_iter().filter(|(_, meanings)| is_switch(meanings)).map(|(name, _)| name).collect()
}

fn all_options() -> Options {
    let mut options = Options::new();
    for info in schedlab_bench::WORKLOADS {
        for option in info.options.iter().filter(|o| !ONLY_IN_SPEC.contains(&o.name)) {
            let meanings = options.entry(option.name).or_default();
            match meanings.iter_mut().find(|known| (known.form, known.doc) == (option.form, option.doc)) {
                Some(known) => known.owners.push(info.name),
                None => meanings.push(Meaning { form: option.form, doc: option.doc, owners: vec![info.name] }),
            }
        }
    }
    options
}

/// The workload options given as long options of the subcommand `name`.
pub(super) fn workload_options(matches: &ArgMatches, name: &str) -> Vec<(String, String)> {
    let (Some(matches), cli) = (matches.subcommand_matches(name), Cli::command()) else { return Vec::new() };
    let names = cli.find_subcommand(name).map(offered).unwrap_or_default().into_keys();
    names.filter_map(|name| Some((name.to_owned(), matches.get_one::<String>(name)?.clone()))).collect()
}

/// Adds to a workload the options given elsewhere on the command line.
pub(super) fn add_written(spec: &mut WorkloadSpec, options: &[(String, String)], command: &[String]) -> Result<()> {
    let info = schedlab_bench::find(spec)?;
    let has = |key: &str| info.options.iter().any(|option| option.name == key);
    if !command.is_empty() {
        if !has("command") {
            usage!("{} runs no command; only exec takes one after `--`", info.name);
        }
        spec.add("command", schedlab_plan::shell_words::join(command.iter().map(String::as_str)))?;
    }
    for (key, value) in options {
        spec.add(key, value.clone())?;
    }
    Ok(())
}

fn spec(args: &Bench, written: &[(String, String)]) -> Result<WorkloadSpec> {
    let mut spec: WorkloadSpec = args.workload.parse()?;
    add_written(&mut spec, written, &args.command)?;
    Ok(spec)
}

/// The workload in the form of a plan.
pub(super) fn planned(args: &Bench, written: &[(String, String)]) -> Result<PlannedWorkload> {
    let run = spec(args, written)?.with_options(&Arm::parse("bench", &args.set)?.settings);
    let sweep = args.sweep.as_deref().map(parse_sweep).transpose()?;
    Ok(PlannedWorkload { run, sweep, load: loads(&args.measuring)?, primary: Vec::new() })
}

fn loads(measuring: &Measuring) -> Result<Vec<WorkloadSpec>> {
    Ok(measuring.load.iter().map(|load| load.parse()).collect::<Result<_, _>>()?)
}

/// Checks for a run on another machine: refuses what is wrong everywhere, but does not check which CPUs exist.
pub(super) fn check_anywhere(args: &Bench, written: &[(String, String)]) -> Result<()> {
    let mut spec = spec(args, written)?;
    spec.args.remove("cpus");
    let settings = Arm::parse("bench", &args.set)?.settings;
    let sweep = args.sweep.as_deref().map(parse_sweep).transpose()?;
    if schedlab_bench::sweep(&spec, sweep.as_ref())?.is_none() {
        schedlab_bench::parse(&spec.with_options(&settings))?;
    }
    Ok(())
}

pub(super) fn run(args: &Bench, written: &[(String, String)]) -> Result<u8> {
    let spec = spec(args, written)?;
    must_be_writable(args.json.as_deref())?;
    let sweep = args.sweep.as_deref().map(parse_sweep).transpose()?;
    if let Some(sweep) = schedlab_bench::sweep(&spec, sweep.as_ref())? {
        return run_sweep(args, &sweep);
    }
    let (mut order, as_reference) = order(&spec, &args.set, &args.measuring)?;
    order.calls = called(args)?;
    order.trace = trace_of(args)?.or(order.trace);
    if args.dry_run {
        print_line(schedlab_plan::json::pretty(&order)?)?;
        return Ok(exit::DONE);
    }
    let claim = args.tracing.trace.as_deref().map(|dir| Reservation::of(dir, "--trace")).transpose()?;
    let mut outcome = run_claimed(&order, &host_settings(&args.set)?, claim)?;
    outcome.notes.extend(of_guest(&std::fs::read_to_string("/proc/cmdline").unwrap_or_default()));
    if write_json(args, OUTCOME, &outcome)? {
        print(&outcome, as_reference)?;
    }
    all_applied(&outcome.applied)?;
    Ok(exit::DONE)
}

/// For a result from one of our guests, what produced it and what its times mean, from its command line.
fn of_guest(command_line: &str) -> Vec<String> {
    let Some(made_by) = Provenance::of_command_line(command_line) else { return Vec::new() };
    let kernel = kernel_of(command_line).unwrap_or("unknown");
    let guest = format!("Made in a guest: {made_by}; kernel image with CRC-32 {kernel}.");
    [guest].into_iter().chain(made_by.caveat()).collect()
}

/// Checks this before anything is measured.
fn must_be_writable(file: Option<&str>) -> Result<()> {
    let Some(file) = file.filter(|file| *file != "-") else { return Ok(()) };
    let path = Path::new(file);
    // Opening a pipe and closing it again would end its reader.
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    let is_new = !path.exists();
    OpenOptions::new().append(true).create(true).open(path).with_context(|| format!("{file} cannot be written"))?;
    // If the run ends before there is an outcome, no file is left behind.
    if is_new { std::fs::remove_file(path).with_context(|| format!("{file} cannot be written")) } else { Ok(()) }
}

/// The output of `bench --sweep`.
#[derive(Debug, Serialize)]
struct BenchSweep<'a> {
    /// The table of them all.
    scaling: &'a Scaling,
    /// Each trial, in the sweep's order.
    trials: Vec<&'a TrialOutcome>,
}

/// Runs one trial for each value, and prints the table of all.
fn run_sweep(args: &Bench, sweep: &Sweep) -> Result<u8> {
    let set = Arm::parse("bench", &args.set)?.settings;
    if args.tracing.trace.is_some() {
        usage!("--trace records one trial, and a sweep is several: leave out one of them");
    }
    if let Some(conflict) = sweep.conflict_with(&set) {
        usage!("{conflict}");
    }
    let orders =
        sweep.specs.iter().map(|spec| Ok(order(spec, &args.set, &args.measuring)?.0)).collect::<Result<Vec<_>>>()?;
    if args.dry_run {
        print_line(schedlab_plan::json::pretty(&orders)?)?;
        return Ok(exit::DONE);
    }
    let mut trials = Vec::new();
    for (value, order) in sweep.values().into_iter().zip(&orders) {
        say(format_args!("{}={value}", sweep.option));
        let outcome = run_once(order, &host_settings(&args.set)?)?;
        all_applied(&outcome.applied)?;
        trials.push((value, outcome));
    }
    let scaling = schedlab_analyze::scaling_of_trials(&sweep.option, sweep.parallel, &trials)
        .context("the workload has no metric, so there is nothing to scale")?;
    let outcomes: Vec<&TrialOutcome> = trials.iter().map(|(_, outcome)| outcome).collect();
    let answer = BenchSweep { scaling: &scaling, trials: outcomes };
    if write_json(args, "schedlab/bench-sweep/1", &answer)? {
        to_stdout(|out| schedlab_report::scaling_text(&scaling, terminal_width(), out))?;
    }
    Ok(exit::DONE)
}

/// Writes the result as JSON if requested; returns whether standard output is free for text.
fn write_json<T: Serialize>(args: &Bench, schema: &str, answer: &T) -> Result<bool> {
    match args.json.as_deref() {
        Some("-") => print_answer(schema, answer, args.top)?,
        Some(file) => write_answer(Path::new(file), schema, answer)?,
        None => {}
    }
    Ok(args.json.as_deref() != Some("-"))
}

pub(super) fn all_applied(applied: &[Applied]) -> Result<()> {
    if let Some(missing) = applied.iter().find(|a| a.not_applied.is_some()) {
        bail!("{}: {}", missing.setting, missing.not_applied.as_deref().unwrap_or_default());
    }
    Ok(())
}

/// Imitates the original tool: only its lines are printed on standard output, so that its parsers read ours too; notes
/// go to standard error.
fn print(outcome: &TrialOutcome, as_reference: bool) -> Result<()> {
    if !as_reference {
        return to_stdout(|out| schedlab_report::bench_text(outcome, terminal_width(), out));
    }
    to_stdout(|out| outcome.native_lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    outcome.notes.iter().for_each(|note| say(format_args!("schedlab: {note}")));
    Ok(())
}

/// The functions of `--calls`; one without a symbol is refused, because nothing would be counted.
fn called(args: &Bench) -> Result<Vec<String>> {
    let functions: Vec<&str> = args.calls.iter().map(String::as_str).collect();
    match schedlab_record::calls::absent(&schedlab_record::Roots::default(), &functions) {
        Some(why) => bail!("--calls: {why}"),
        None => Ok(args.calls.clone()),
    }
}

/// The trial to run, and whether its output imitates the original tool.
pub(super) fn order(spec: &WorkloadSpec, set: &str, measuring: &Measuring) -> Result<(TrialOrder, bool)> {
    let settings = Arm::parse("bench", set)?.settings;
    let workload = schedlab_bench::parse(&spec.with_options(&settings))?;
    schedlab_tune::check(&schedlab_tune::Roots::default(), &settings)?;
    let load = loads(measuring)?;
    schedlab_bench::load::Load::check(&load)?;
    let order = TrialOrder {
        workload: workload.spec(),
        net_namespace: settings.iter().any(Setting::is_net_sysctl),
        settings: settings.iter().filter(|s| s.is_per_task() || s.is_net_sysctl()).cloned().collect(),
        stamping: measuring.latency,
        counters: measuring.counters,
        calls: Vec::new(),
        load,
        load_group: measuring.load_group,
        cgroup_procs: Vec::new(),
        workload_cgroups: Vec::new(),
        trace: unread_trace(&settings)?,
        trace_instance: None,
        switchback: None,
        seed: 1,
    };
    Ok((order, workload.prints_as_its_reference()))
}

/// The setting `trace=…`. A recording gets its directory from `--trace`.
fn unread_trace(settings: &[Setting]) -> Result<Option<TraceOrder>> {
    let Some(Setting::Trace(trace)) = settings.iter().find(|s| s.is_trace()) else { return Ok(None) };
    let order = trace.order(std::path::PathBuf::new);
    if order.as_ref().is_some_and(|order| order.out.is_some()) {
        usage!("trace={trace} of a single trial needs a directory for its file: --trace DIR --events EVENTS");
    }
    Ok(order)
}

fn trace_of(args: &Bench) -> Result<Option<TraceOrder>> {
    let tracing = &args.tracing;
    let Some(dir) = &tracing.trace else { return Ok(None) };
    must_be_free(dir, "--trace")?;
    record::trace_order(&tracing.events, tracing.keep.as_deref(), tracing.source, dir).map(Some)
}

pub(super) fn host_settings(spec: &str) -> Result<Vec<Setting>> {
    let settings = Arm::parse("bench", spec)?.settings;
    Ok(settings.into_iter().filter(Setting::is_host_wide).collect())
}

/// Runs one trial. Its recording, if there is one, goes to the place in `claim`, and its outcome is written next to it.
pub(super) fn run_claimed(order: &TrialOrder, on_host: &[Setting], claim: Option<Reservation>) -> Result<TrialOutcome> {
    let ran = run_once(order, on_host);
    let Some(mut claim) = claim else { return ran };
    claim.keep_if_recorded();
    let outcome = ran?;
    if outcome.applied.iter().all(|a| a.not_applied.is_none()) {
        record::write_outcome(claim.file(), &outcome)?;
    }
    Ok(outcome)
}

/// Runs one trial under host-wide settings and restores them; an error if one of them cannot be applied.
pub(super) fn run_once(order: &TrialOrder, on_host: &[Setting]) -> Result<TrialOutcome> {
    session::restore_leftovers()?;
    let mut runner = HostRunner::of_this_host()?;
    if !on_host.is_empty() || order.trace.is_some() || !schedlab_bench::parse(&order.workload)?.cgroups().is_empty() {
        // Ctrl-C ends the trial, and this process once the host is restored. A second one does the same; only a third
        // does not wait.
        runner = runner.ended_by(Interrupt::catch_twice().context("signals cannot be caught")?);
    }
    let applied = runner.apply(on_host)?;
    let ran = all_applied(&applied).and_then(|()| runner.under(applied, order.clone(), TRIAL_LIMIT));
    runner.restore()?;
    ran?.map_err(anyhow::Error::msg)
}
