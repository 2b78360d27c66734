//! `schedlab bench WORKLOAD`: one trial, with a native-looking summary.

use super::report::terminal_width;
use crate::cli::{Bench, Cli};
use crate::output::{print_line, say, to_stdout};
use crate::{exit, session};
use anyhow::{Context, Result, bail};
use clap::{Arg, ArgMatches, Command, CommandFactory};
use schedlab_bench::Sweep;
use schedlab_run::plan::parse_sweep;
use schedlab_run::{Applied, Arm, Setting, TrialOrder, TrialOutcome, WorkloadSpec};
use schedlab_trial::{ExecRunner, HostSettings, run_in_cgroups};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

/// Adds every workload's options as long options of `bench` and `ab`: `--groups 10` says the same as
/// `messaging:groups=10`.
pub(super) fn with_workload_options(command: Command) -> Command {
    ["bench", "ab"].into_iter().fold(command, |command, name| command.mut_subcommand(name, with_options))
}

fn with_options(mut subcommand: Command) -> Command {
    for (name, (form, doc, owners)) in offered(&subcommand) {
        let help = format!("{doc} [{}]", owners.join(", "));
        let option = Arg::new(name).long(name).value_name(form).help(help);
        subcommand = subcommand.arg(option.help_heading("Workload options").num_args(1));
    }
    subcommand
}

/// The workload options that are no option of the subcommand itself; those are said in the spec.
fn offered(subcommand: &Command) -> Options {
    let taken: Vec<&str> =
        subcommand.get_arguments().flat_map(|a| [a.get_id().as_str(), a.get_long().unwrap_or("")]).collect();
    all_options().into_iter().filter(|(name, _)| !taken.contains(name)).collect()
}

/// Option → (form, doc, workloads that have it).
type Options = BTreeMap<&'static str, (&'static str, &'static str, Vec<&'static str>)>;

/// Options that are only said in the spec: `--load` is the background load of every workload, `burn:load=50%` burn's own.
const ONLY_IN_SPEC: &[&str] = &["load"];

/// The options that are on or off.
pub(super) fn switches() -> Vec<&'static str> {
    all_options().into_iter().filter(|(_, (form, ..))| *form == "no|yes").map(|(name, _)| name).collect()
}

fn all_options() -> Options {
    let mut options = BTreeMap::new();
    for info in schedlab_bench::WORKLOADS {
        for option in info.options.iter().filter(|o| !ONLY_IN_SPEC.contains(&o.name)) {
            let entry = options.entry(option.name).or_insert((option.form, option.doc, Vec::new()));
            entry.2.push(info.name);
        }
    }
    options
}

/// The workload options written as long options of the subcommand `name`.
pub(super) fn workload_options(matches: &ArgMatches, name: &str) -> Vec<(String, String)> {
    let (Some(matches), cli) = (matches.subcommand_matches(name), Cli::command()) else { return Vec::new() };
    let names = cli.find_subcommand(name).map(offered).unwrap_or_default().into_keys();
    names.filter_map(|name| Some((name.to_owned(), matches.get_one::<String>(name)?.clone()))).collect()
}

/// Adds to a workload what was said of it elsewhere on the command line.
pub(super) fn add_written(spec: &mut WorkloadSpec, options: &[(String, String)], command: &[String]) -> Result<()> {
    let info = schedlab_bench::find(spec)?;
    let has = |key: &str| info.options.iter().any(|option| option.name == key);
    if !command.is_empty() {
        if !has("command") {
            bail!("{} runs no command; what stands after `--` belongs to exec", info.name);
        }
        spec.add("command", schedlab_run::words::join(command.iter().map(String::as_str)))?;
    }
    for (key, value) in options {
        spec.add(key, value.clone())?;
    }
    Ok(())
}

pub(super) fn run(args: &Bench, written: &[(String, String)]) -> Result<u8> {
    let mut spec: WorkloadSpec = args.workload.parse()?;
    add_written(&mut spec, written, &args.command)?;
    must_be_writable(args.json.as_deref())?;
    let sweep = args.sweep.as_deref().map(parse_sweep).transpose()?;
    if let Some(sweep) = schedlab_bench::sweep(&spec, sweep.as_ref())? {
        return run_sweep(args, &sweep);
    }
    let (order, as_twin) = order(args, &spec)?;
    if args.dry_run {
        print_line(serde_json::to_string_pretty(&order)?)?;
        return Ok(exit::DONE);
    }
    let outcome = run_once(&order, &host_settings(&args.set)?)?;
    if write_json(args, serde_json::to_string_pretty(&outcome))? {
        print(&outcome, as_twin)?;
    }
    all_applied(&outcome.applied)?;
    Ok(exit::DONE)
}

/// Before anything is measured for it.
fn must_be_writable(file: Option<&str>) -> Result<()> {
    let Some(file) = file.filter(|file| *file != "-") else { return Ok(()) };
    let path = Path::new(file);
    // Opening a pipe and closing it again would end its reader.
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    let is_new = !path.exists();
    OpenOptions::new().append(true).create(true).open(path).with_context(|| format!("{file} cannot be written"))?;
    // An end before the outcome leaves none behind.
    if is_new { std::fs::remove_file(path).with_context(|| format!("{file} cannot be written")) } else { Ok(()) }
}

/// One trial for each value, and the table of them all.
fn run_sweep(args: &Bench, sweep: &Sweep) -> Result<u8> {
    let set = Arm::parse("bench", &args.set)?.settings;
    if let Some(conflict) = sweep.conflict_with(&set) {
        bail!("{conflict}");
    }
    let orders = sweep.specs.iter().map(|spec| Ok(order(args, spec)?.0)).collect::<Result<Vec<_>>>()?;
    if args.dry_run {
        print_line(serde_json::to_string_pretty(&orders)?)?;
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
    let answer = serde_json::json!({ "scaling": scaling, "trials": outcomes });
    if write_json(args, serde_json::to_string_pretty(&answer))? {
        to_stdout(|out| schedlab_report::scaling_text(&scaling, terminal_width(), out))?;
    }
    Ok(exit::DONE)
}

/// The answer as JSON where that was asked for; whether standard output is left for the text.
fn write_json(args: &Bench, answer: serde_json::Result<String>) -> Result<bool> {
    match args.json.as_deref() {
        Some("-") => print_line(answer?)?,
        Some(file) => std::fs::write(file, answer? + "\n").with_context(|| format!("{file} cannot be written"))?,
        None => {}
    }
    Ok(args.json.as_deref() != Some("-"))
}

fn all_applied(applied: &[Applied]) -> Result<()> {
    if let Some(missing) = applied.iter().find(|a| a.not_applied.is_some()) {
        bail!("{}: {}", missing.setting, missing.not_applied.as_deref().unwrap_or_default());
    }
    Ok(())
}

/// As its twin: its lines alone on standard output, so that what reads the twin reads ours; notes are talk.
fn print(outcome: &TrialOutcome, as_twin: bool) -> Result<()> {
    if !as_twin {
        return to_stdout(|out| schedlab_report::bench_text(outcome, terminal_width(), out));
    }
    to_stdout(|out| outcome.native_lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    outcome.notes.iter().for_each(|note| say(format_args!("schedlab: {note}")));
    Ok(())
}

/// The trial to run, and whether its output imitates the twin's.
fn order(args: &Bench, spec: &WorkloadSpec) -> Result<(TrialOrder, bool)> {
    let settings = Arm::parse("bench", &args.set)?.settings;
    let workload = schedlab_bench::parse(&spec.with_options(&settings))?;
    schedlab_tune::check(&schedlab_tune::Roots::default(), &settings)?;
    let load = args.measuring.load.iter().map(|l| l.parse()).collect::<Result<Vec<WorkloadSpec>, _>>()?;
    schedlab_bench::load::Load::check(&load)?;
    let order = TrialOrder {
        workload: workload.spec(),
        net_namespace: settings.iter().any(Setting::is_net_sysctl),
        settings: settings.into_iter().filter(|s| s.is_per_task() || s.is_net_sysctl()).collect(),
        stamping: schedlab_trial::prepare::stamping(&args.measuring.latency)?,
        counters: schedlab_trial::prepare::counters(&args.measuring.counters)?,
        load,
        load_group: schedlab_trial::prepare::load_group(&args.measuring.load_group)?,
        cgroup_procs: Vec::new(),
        workload_cgroups: Vec::new(),
        switchback: None,
        seed: 1,
    };
    Ok((order, workload.prints_as_its_twin()))
}

fn host_settings(spec: &str) -> Result<Vec<Setting>> {
    let settings = Arm::parse("bench", spec)?.settings;
    Ok(settings.into_iter().filter(Setting::is_host_wide).collect())
}

/// Runs one trial under host-wide settings and restores them; none where one of them is not in force.
pub(super) fn run_once(order: &TrialOrder, on_host: &[Setting]) -> Result<TrialOutcome> {
    session::restore_leftovers()?;
    if !on_host.is_empty() || !schedlab_bench::parse(&order.workload)?.cgroups().is_empty() {
        // Ctrl-C must not end this process before the host is as it was; a second one does.
        schedlab_sys::interrupt::Interrupt::catch().context("signals cannot be caught")?;
    }
    let mut host = session::Host::default();
    let mut applied = host.apply(on_host)?;
    if let Err(missing) = all_applied(&applied) {
        host.restore()?;
        return Err(missing);
    }
    let mut order = order.clone();
    order.cgroup_procs = host.cgroup_procs();
    let timeout = Duration::from_secs(24 * 3600);
    let result = run_in_cgroups(&mut host, &mut ExecRunner::of_this_binary(), &mut order, timeout)?;
    host.restore()?;
    let mut outcome = result.map_err(anyhow::Error::msg)?;
    applied.append(&mut outcome.applied);
    outcome.applied = applied;
    Ok(outcome)
}
