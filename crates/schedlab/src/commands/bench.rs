//! `schedlab bench WORKLOAD`: one trial, with a native-looking summary.

use super::report::terminal_width;
use crate::cli::Bench;
use crate::{exit, session};
use anyhow::{Context, Result, bail};
use clap::{Arg, ArgMatches, Command};
use schedlab_run::{Arm, Setting, TrialOrder, TrialOutcome, WorkloadSpec};
use schedlab_trial::{ExecRunner, HostSettings, Runner};
use std::collections::BTreeMap;
use std::time::Duration;

/// Adds every workload's options as long options of `bench`: `--groups 10` says the same as `messaging:groups=10`.
pub(super) fn with_workload_options(command: Command) -> Command {
    command.mut_subcommand("bench", |mut bench| {
        for (name, (form, doc, owners)) in all_options() {
            let help = format!("{doc} [{}]", owners.join(", "));
            bench = bench.arg(
                Arg::new(name).long(name).value_name(form).help(help).help_heading("Workload options").num_args(1),
            );
        }
        bench
    })
}

/// Options that are only said in the spec: `--load` is the background load of every workload, `burn:load=50%` burn's own.
const ONLY_IN_SPEC: &[&str] = &["load"];

/// Option → (form, doc, workloads that have it).
fn all_options() -> BTreeMap<&'static str, (&'static str, &'static str, Vec<&'static str>)> {
    let mut options = BTreeMap::new();
    for info in schedlab_bench::WORKLOADS {
        for option in info.options.iter().filter(|o| !ONLY_IN_SPEC.contains(&o.name)) {
            let entry = options.entry(option.name).or_insert((option.form, option.doc, Vec::new()));
            entry.2.push(info.name);
        }
    }
    options
}

/// The workload options written as long options.
pub(super) fn workload_options(matches: &ArgMatches) -> Vec<(String, String)> {
    let written = |name: &&str| matches.get_one::<String>(name).map(|value| (name.to_string(), value.clone()));
    all_options().keys().filter_map(written).collect()
}

pub(super) fn run(args: &Bench, written: Vec<(String, String)>) -> Result<u8> {
    let order = order(args, written)?;
    if args.dry_run {
        println!("{}", serde_json::to_string_pretty(&order)?);
        return Ok(exit::DONE);
    }
    let outcome = run_once(&order, &host_settings(&args.set)?)?;
    match args.json.as_deref() {
        Some("-") => println!("{}", serde_json::to_string_pretty(&outcome)?),
        Some(file) => {
            let text = serde_json::to_string_pretty(&outcome)?;
            std::fs::write(file, text + "\n").with_context(|| format!("{file} cannot be written"))?;
            schedlab_report::bench_text(&outcome, terminal_width(), &mut std::io::stdout())?;
        }
        None => schedlab_report::bench_text(&outcome, terminal_width(), &mut std::io::stdout())?,
    }
    if let Some(missing) = outcome.applied.iter().find(|a| a.not_applied.is_some()) {
        bail!("{}: {}", missing.setting, missing.not_applied.as_deref().unwrap_or_default());
    }
    Ok(exit::DONE)
}

fn order(args: &Bench, written: Vec<(String, String)>) -> Result<TrialOrder> {
    let mut spec: WorkloadSpec = args.workload.parse()?;
    for (key, value) in written {
        if spec.args.insert(key.clone(), value).is_some() {
            bail!("`{key}` is given in `{}` and as --{key}: say it once", args.workload);
        }
    }
    let workload = schedlab_bench::parse(&spec)?;
    let settings = Arm::parse("bench", &args.set)?.settings;
    schedlab_tune::check(&schedlab_tune::Roots::default(), &settings)?;
    let load = args.measuring.load.iter().map(|l| l.parse()).collect::<Result<Vec<WorkloadSpec>, _>>()?;
    schedlab_bench::load::Load::check(&load)?;
    Ok(TrialOrder {
        workload: workload.spec(),
        net_namespace: settings.iter().any(Setting::is_net_sysctl),
        settings: settings.into_iter().filter(|s| s.is_per_task() || s.is_net_sysctl()).collect(),
        stamping: schedlab_trial::prepare::stamping(&args.measuring.latency)?,
        counters: schedlab_trial::prepare::counters(&args.measuring.counters)?,
        load,
        load_group: schedlab_trial::prepare::load_group(&args.measuring.load_group)?,
        cgroup_procs: Vec::new(),
        switchback: None,
        seed: 1,
    })
}

fn host_settings(spec: &str) -> Result<Vec<Setting>> {
    let settings = Arm::parse("bench", spec)?.settings;
    Ok(settings.into_iter().filter(|s| !s.is_per_task() && !s.is_net_sysctl()).collect())
}

/// Runs one trial under host-wide settings and restores them.
pub(super) fn run_once(order: &TrialOrder, on_host: &[Setting]) -> Result<TrialOutcome> {
    session::restore_leftovers()?;
    if !on_host.is_empty() {
        // Ctrl-C must not end this process before the host is as it was; a second one does.
        schedlab_sys::interrupt::Interrupt::catch().context("signals cannot be caught")?;
    }
    let mut host = session::Host::default();
    let mut applied = host.apply(on_host)?;
    let mut order = order.clone();
    order.cgroup_procs = host.cgroup_procs();
    let result = ExecRunner::of_this_binary().run(&order, Duration::from_secs(24 * 3600));
    host.restore()?;
    let mut outcome = result.map_err(anyhow::Error::msg)?;
    applied.append(&mut outcome.applied);
    outcome.applied = applied;
    Ok(outcome)
}
