//! `schedlab record`: a trace of the scheduler beside a workload, a command, or for a time; and what that costs here.

use super::bench;
use crate::cli::{Measuring, Record, RunOutput};
use crate::{exit, session};
use anyhow::{Context, Result, bail};
use schedlab_record::tracer::{Recorded, Tracer, TracerOrder};
use schedlab_run::units::{format_ns, parse_bytes, parse_duration_ns};
use schedlab_run::{Plan, RunReader, TraceOrder, TrialOrder, WorkloadSpec, words};
use schedlab_sys::interrupt::Interrupt;
use schedlab_sys::{clock, net_name, pidfd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The recording in its directory, and beside it the answer of a workload.
const TRACE_FILE: &str = "trace.slt";
const OUTCOME_FILE: &str = "outcome.json";

pub(super) fn run(args: &Record) -> Result<u8> {
    if args.self_test {
        return self_test(args);
    }
    let dir = args.out.clone().unwrap_or_else(|| session::unused(session::default_out("record")));
    let trace = trace_order(&args.events, args.keep.as_deref(), args.buffer.as_deref(), &dir)?;
    if let [word] = &args.command[..]
        && let Ok(spec) = word.parse::<WorkloadSpec>()
        && schedlab_bench::find(&spec).is_ok()
    {
        if args.duration.is_some() {
            bail!("a workload has a length of its own: say {word}{}duration=…", if word.contains(':') { "," } else { ":" });
        }
        return beside_workload(&spec, trace, &dir, args.dry_run);
    }
    let length_ns = args.duration.as_deref().map(parse_duration_ns).transpose().context("--duration")?;
    if args.command.is_empty() && length_ns.is_none() {
        bail!("say for how long (-d 5s), or beside what (-- COMMAND, or -- a workload such as pipe:pin=same)");
    }
    if !args.command.is_empty() && length_ns.is_some() {
        bail!("a command is recorded to its end: leave out -d, or put `timeout` before the command");
    }
    if args.dry_run {
        println!("{}", serde_json::to_string_pretty(&trace)?);
        return Ok(exit::DONE);
    }
    let (recorded, failed) = beside_command(args, trace, length_ns)?;
    tell(&recorded, args.json)?;
    match failed {
        Some(how) => bail!("the command ended with {how}; what it did is recorded"),
        None => Ok(exit::DONE),
    }
}

/// From the options of `record` and `bench --trace` to an order; `dir` is made when the trace begins.
pub(super) fn trace_order(events: &str, keep: Option<&str>, buffer: Option<&str>, dir: &Path) -> Result<TraceOrder> {
    Ok(TraceOrder {
        events: events.parse().map_err(anyhow::Error::msg).context("--events")?,
        out: Some(dir.join(TRACE_FILE)),
        keep_ns: keep.map(parse_duration_ns).transpose().context("--keep")?,
        buffer_kib: buffer.map(parse_bytes).transpose().context("--buffer")?.map(|bytes| bytes.div_ceil(1024)),
    })
}

fn beside_workload(spec: &WorkloadSpec, trace: TraceOrder, dir: &Path, dry_run: bool) -> Result<u8> {
    let (order, _) = bench::order(spec, "", &Measuring::default())?;
    let order = TrialOrder { trace: Some(trace), ..order };
    if dry_run {
        println!("{}", serde_json::to_string_pretty(&order)?);
        return Ok(exit::DONE);
    }
    let outcome = bench::run_once(&order, &[])?;
    bench::all_applied(&outcome)?;
    write_outcome(dir, &outcome)?;
    schedlab_report::bench_text(&outcome, super::report::terminal_width(), &mut std::io::stdout())?;
    Ok(exit::DONE)
}

/// The workload's own answer beside its trace: its phases and samples are of the same clock.
pub(super) fn write_outcome(dir: &Path, outcome: &schedlab_run::TrialOutcome) -> Result<()> {
    let file = dir.join(OUTCOME_FILE);
    let text = serde_json::to_string_pretty(outcome)? + "\n";
    std::fs::write(&file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    eprintln!("trace: {}", dir.join(TRACE_FILE).display());
    Ok(())
}

/// Records while a command runs, or for a time, or until Ctrl-C; how the command failed, if it did.
fn beside_command(args: &Record, trace: TraceOrder, length_ns: Option<u64>) -> Result<(Recorded, Option<String>)> {
    session::restore_leftovers()?;
    let interrupt = Interrupt::catch().context("signals cannot be caught")?;
    if let Some(dir) = trace.out.as_deref().and_then(Path::parent) {
        std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    }
    let tracer = Tracer::start(TracerOrder {
        trace,
        measured_cpus: Vec::new(),
        command: words::join(args.command.iter().map(String::as_str)),
        run_root: net_name::RUN_ROOT.into(),
        roots: schedlab_record::Roots::default(),
    })?;
    let failed = match length_ns {
        Some(ns) => {
            wait_for_time(ns, interrupt);
            None
        }
        None => run_command(&args.command, interrupt)?,
    };
    Ok((tracer.stop()?, failed))
}

/// How often a wait looks whether the user wants to stop.
const LOOK_NS: u64 = 50_000_000;

fn wait_for_time(ns: u64, interrupt: Interrupt) {
    let end_ns = clock::monotonic_ns().saturating_add(ns);
    while !interrupt.requested() && clock::monotonic_ns() < end_ns {
        clock::sleep_until_ns(end_ns.min(clock::monotonic_ns() + LOOK_NS));
    }
}

/// Time that a command has for its own end when we are told to stop.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ctrl-C reaches the command too, so that it ends by itself and its end is recorded.
fn run_command(command: &[String], interrupt: Interrupt) -> Result<Option<String>> {
    let mut child = std::process::Command::new(&command[0])
        .args(&command[1..])
        .spawn()
        .with_context(|| format!("{} cannot be started", command[0]))?;
    while !pidfd::wait_exit(child.id(), Duration::from_nanos(LOOK_NS))? {
        if interrupt.requested() {
            if !pidfd::wait_exit(child.id(), PATIENCE)? {
                child.kill().context("the command cannot be ended")?;
            }
            break;
        }
    }
    let status = child.wait().context("the command cannot be waited for")?;
    Ok((!status.success()).then(|| status.to_string()))
}

fn tell(recorded: &Recorded, json: bool) -> Result<()> {
    recorded.notes.iter().for_each(|note| eprintln!("schedlab: {note}"));
    let file = recorded.file.as_deref().unwrap_or(Path::new("")).display().to_string();
    if json {
        let answer = serde_json::json!({
            "file": file, "file_bytes": recorded.file_bytes, "events": recorded.events, "lost": recorded.lost,
            "on_ns": recorded.on_ns, "bytes_before_compression": recorded.whole_bytes, "notes": recorded.notes,
        });
        println!("{}", serde_json::to_string_pretty(&answer)?);
        return Ok(());
    }
    let lost = if recorded.lost == 0 { "none lost".to_owned() } else { format!("{} LOST", recorded.lost) };
    let per_event = recorded.file_bytes as f64 / recorded.events.max(1) as f64;
    let (events, length) = (schedlab_run::counted(recorded.events, "events"), format_ns(recorded.on_ns));
    println!("{file}: {events} in {length}, {lost}, {} bytes ({per_event:.1} an event)", recorded.file_bytes);
    Ok(())
}

/// The A/B/C of recording: the same-CPU ping-pong alone, with the events unread, and recorded.
fn self_test(args: &Record) -> Result<u8> {
    if !args.command.is_empty() {
        bail!("the self-test has a workload of its own, pipe:pin=same; to record a command leave out --self-test");
    }
    let dir = args.out.clone().unwrap_or_else(|| session::unused(session::default_out("record-self-test")));
    let toml = format!(
        "title = \"What recording costs\"\ntrials = {}\ntrial = \"{}\"\nlatency = \"off\"\ncounters = \"basic\"\n\
         [[workload]]\nrun = \"pipe:pin=same\"\n[[arm]]\nname = \"no trace\"\nset = \"\"\n\
         [[arm]]\nname = \"events alone, unread\"\nset = \"trace=unread:{events}\"\n\
         [[arm]]\nname = \"recorded\"\nset = \"trace=on:{events}\"\n",
        args.trials,
        args.trial,
        events = args.events
    );
    let plan = Plan::parse(&toml).context("the self-test")?;
    let output = RunOutput {
        out: Some(dir.clone()),
        resume: false,
        dry_run: args.dry_run,
        fail_on: None,
        json: args.json,
        trace: None,
    };
    let code = super::run::execute(&plan, "record-self-test", &output)?;
    if args.dry_run {
        return Ok(code);
    }
    remove_traces(&dir.join(session::TRACES))?;
    let run = RunReader::open(&dir)?;
    let cost = schedlab_analyze::recorder_cost(&run.trials, "round_trips_per_s")
        .context("too few whole blocks to say what recording costs")?;
    let file = dir.join("recorder-cost.json");
    std::fs::write(&file, serde_json::to_string_pretty(&cost)? + "\n")
        .with_context(|| format!("{} cannot be written", file.display()))?;
    if !args.json {
        print_cost(&cost);
    }
    Ok(code)
}

/// The recordings of a self-test are nobody's result.
fn remove_traces(dir: &PathBuf) -> Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", dir.display()))
        }
        _ => Ok(()),
    }
}

fn print_cost(cost: &schedlab_analyze::RecorderCost) {
    let (alone, recording) = (cost.events_alone_ns, cost.recording_ns);
    println!("\nA round trip takes {:.0} ns. The events alone add {:.0} ns [{:.0}, {:.0}],", cost.plain_ns, alone.mean, alone.low, alone.high);
    println!("their recording {:.0} ns [{:.0}, {:.0}].", recording.mean, recording.low, recording.high);
    match cost.ratio {
        Some(ratio) => println!("Recording costs {:.2} [{:.2}, {:.2}] times the events alone.", ratio.mean, ratio.low, ratio.high),
        None => println!("The events alone cannot be told from nothing here: give more --trials or a longer --trial."),
    }
    println!("{} events were recorded, {} lost; {} blocks.", cost.events, cost.lost, cost.blocks);
}
