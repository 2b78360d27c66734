//! `schedlab profile`: CPU time by function and call chain, for the machine, a command or a workload.

use super::bench;
use super::waiting::{wait_for_command, wait_for_time};
use crate::cli::{Command, Profile};
use crate::exit::usage;
use crate::output::{print_answer, print_line, print_page, rows_are_cut, say, to_stdout};
use crate::{exit, session};
use anyhow::{Context, Result, bail};
use schedlab_analyze::profile::{self as analysis, Operations, ProfileOptions, SortBy};
use schedlab_plan::units::parse_duration_ns;
use schedlab_plan::{Setting, TrialOrder, TrialOutcome, WorkloadSpec};
use schedlab_record::Roots;
use schedlab_record::profile::{DEFAULT_HZ, ProfileOrder, ProfileScope, Sampler, instructions};
use schedlab_report::Document;
use schedlab_sys::interrupt::Interrupt;
use schedlab_sys::places;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Stdio;

/// Default length of a profile of the machine.
const DEFAULT_LENGTH_NS: u64 = 5_000_000_000;

/// What is profiled.
enum Subject {
    Machine { length_ns: u64 },
    Command(Vec<String>),
    Workload { order: Box<TrialOrder>, on_host: Vec<Setting> },
}

/// Default number of functions that are shown.
const ROWS: usize = 20;

pub(super) fn run(args: &Profile) -> Result<u8> {
    if args.json && args.folded.as_deref() == Some("-") {
        usage!("--json and --folded - both write to standard output: give --folded a file");
    }
    let subject = subject(args)?;
    let everyone = args.all_cpus || matches!(subject, Subject::Machine { .. });
    let order = ProfileOrder {
        scope: if everyone { ProfileScope::Everyone } else { ProfileScope::Children },
        frequency_hz: args.frequency,
        roots: Roots::default(),
    };
    if args.dry_run {
        return dry_run(&subject, &order);
    }
    // Created before anything is measured.
    let create = |file: &str| {
        let made = places::private_file(Path::new(file)).map(BufWriter::new);
        made.with_context(|| format!("{file} cannot be written"))
    };
    let mut folded = args.folded.as_deref().filter(|file| *file != "-").map(create).transpose()?;
    let (profile, operations, failed) = sample(&subject, order)?;
    let during_ns = operations.as_ref().map(|operations| operations.during_ns);
    if args.folded.is_some() {
        let stacks = analysis::folded(&profile, during_ns);
        match &mut folded {
            Some(file) => schedlab_report::folded_text(&stacks, file).and_then(|()| file.flush())?,
            None => to_stdout(|out| schedlab_report::folded_text(&stacks, out))?,
        }
    }
    print(args, &profile, operations)?;
    match failed {
        Some(how) => bail!("the command ended with {how}; the profile is complete"),
        None => Ok(exit::DONE),
    }
}

/// CPU time by part of the kernel for a `bench` command and its children on this host.
pub(super) fn groups(words: &[String]) -> Result<analysis::GroupFindings> {
    let subject = workload(words)?;
    let order = ProfileOrder { scope: ProfileScope::Children, frequency_hz: DEFAULT_HZ, roots: Roots::default() };
    let (profile, operations, _) = sample(&subject, order)?;
    let found = analysis::profile(&profile, &ProfileOptions { operations, ..ProfileOptions::default() });
    found.comparable_groups().cloned().map_err(anyhow::Error::msg)
}

fn subject(args: &Profile) -> Result<Subject> {
    let length_ns = args.duration.as_deref().map(parse_duration_ns).transpose().context("--duration")?;
    let is_workload = |word: &str| word.parse::<WorkloadSpec>().is_ok_and(|spec| schedlab_bench::find(&spec).is_ok());
    let subject = match &args.command[..] {
        [] => return Ok(Subject::Machine { length_ns: length_ns.unwrap_or(DEFAULT_LENGTH_NS) }),
        [bench, ..] if bench == "bench" => workload(&args.command)?,
        [word] if is_workload(word) => workload(&["bench".into(), word.clone()])?,
        command => Subject::Command(command.to_vec()),
    };
    match (&subject, length_ns) {
        (Subject::Workload { .. }, Some(_)) => {
            usage!("a workload has its own length: leave out -d and set duration=…")
        }
        (Subject::Command(_), Some(_)) => {
            usage!("a command is profiled to its end: leave out -d, or put `timeout` before the command")
        }
        _ => Ok(subject),
    }
}

/// Parses the `bench` command line that follows `profile`.
fn workload(words: &[String]) -> Result<Subject> {
    let (Command::Bench(args), matches) = super::read_words(words)? else {
        usage!("`bench` is the command that is profiled");
    };
    if args.json.is_some() || args.dry_run {
        usage!("--json and --dry-run are options of `profile`: put them before `bench`");
    }
    let mut spec: WorkloadSpec = args.workload.parse()?;
    bench::add_written(&mut spec, &bench::workload_options(&matches, "bench"), &args.command)?;
    if args.sweep.is_some() || schedlab_bench::sweep(&spec, None)?.is_some() {
        usage!("`profile` measures one run: give one value instead of a list");
    }
    let (order, _) = bench::order(&spec, &args.set, &args.measuring)?;
    Ok(Subject::Workload { order: Box::new(order), on_host: bench::host_settings(&args.set)? })
}

fn dry_run(subject: &Subject, order: &ProfileOrder) -> Result<u8> {
    let what = match subject {
        Subject::Machine { length_ns } => serde_json::json!({ "length_ns": length_ns }),
        Subject::Command(words) => serde_json::json!({ "command": words }),
        Subject::Workload { order, .. } => serde_json::json!({ "workload": order }),
    };
    let answer =
        serde_json::json!({ "sampled": order.scope.name(), "frequency_hz": order.frequency_hz, "beside": what });
    print_line(schedlab_plan::json::pretty(&answer)?)?;
    Ok(exit::DONE)
}

/// Samples until the subject has ended; also returns how a command failed, if it did.
fn sample(subject: &Subject, order: ProfileOrder) -> Result<(analysis::Profile, Option<Operations>, Option<String>)> {
    session::restore_leftovers()?;
    match subject {
        Subject::Machine { length_ns } => {
            let interrupt = Interrupt::catch_twice().context("signals cannot be caught")?;
            let sampler = Sampler::start(order)?;
            wait_for_time(*length_ns, interrupt);
            Ok((sampler.stop()?, None, None))
        }
        Subject::Command(words) => {
            let interrupt = Interrupt::catch_twice().context("signals cannot be caught")?;
            let sampler = Sampler::start(order)?;
            let failed = run_command(words, interrupt)?;
            Ok((sampler.stop()?, None, failed))
        }
        Subject::Workload { order: trial, on_host } => {
            let sampler = Sampler::start(order)?;
            let outcome = bench::run_once(trial, on_host)?;
            let profile = sampler.stop()?;
            bench::all_applied(&outcome.applied)?;
            if let Some(primary) = outcome.metrics.first() {
                say(format_args!("{}: {} {:.6e} {}", outcome.workload, primary.name, primary.value, primary.unit));
            }
            Ok((profile, operations(&outcome), None))
        }
    }
}

/// The time of the operations is from the release of the tasks to the end of the last operation, without set-up and
/// clean-up.
fn operations(outcome: &TrialOutcome) -> Option<Operations> {
    let phase = |name: &str| outcome.phases.iter().find(|phase| phase.name == name);
    let during_ns = (phase("herd_release")?.start_ns, phase("drain")?.end_ns);
    Some(Operations { count: outcome.operations, name: outcome.operation.clone(), during_ns })
}

/// The output of the command goes to standard error: only the profile is on standard output.
fn run_command(words: &[String], interrupt: Interrupt) -> Result<Option<String>> {
    let mut command = std::process::Command::new(&words[0]);
    let child = command
        .args(&words[1..])
        .stdout(Stdio::from(std::io::stderr()))
        .spawn()
        .with_context(|| format!("{} cannot be started", words[0]))?;
    wait_for_command(child, interrupt)
}

fn print(args: &Profile, profile: &analysis::Profile, operations: Option<Operations>) -> Result<()> {
    let during_ns = operations.as_ref().map(|operations| operations.during_ns);
    let options = ProfileOptions {
        operations,
        sort: if args.sort == "total" { SortBy::Total } else { SortBy::Itself },
        top: Some(args.top.unwrap_or(ROWS)).filter(|top| *top > 0),
        top_chains: (args.chains > 0).then_some(args.chains),
    };
    let mut found = analysis::profile(profile, &options);
    // Report the samples, even if this function is not among them.
    let annotated = args.annotate.as_deref().map_or(Ok(Vec::new()), |name| analysis::functions_named(profile, name));
    for function in annotated.iter().flatten() {
        let code = instructions(profile, *function, &Roots::default());
        found.annotations.push(analysis::annotate(profile, *function, during_ns, &code));
    }
    print_found(args, &found)?;
    annotated.map(drop).map_err(anyhow::Error::msg).context("--annotate")
}

fn print_found(args: &Profile, found: &analysis::ProfileFindings) -> Result<()> {
    if args.json {
        return print_answer("", found, rows_are_cut(args.top));
    }
    if args.folded.as_deref() == Some("-") {
        return Ok(());
    }
    let page =
        found.annotations.iter().map(schedlab_report::annotation).fold(schedlab_report::profile(found), Document::and);
    print_page(&page)
}
