//! `schedlab record`: traces the scheduler during a workload or a command, or for a given time; and measures the
//! overhead of that.

use super::bench;
use super::reservation::{Reservation, must_be_free};
use super::waiting::{wait_for_command, wait_for_time};
use crate::cli::{Measuring, OutputOptions, Record, RunOutput};
use crate::exit::{self, Usage, usage};
use crate::output::{print_answer, print_fitted, print_line, say, terminal_width, to_stdout};
use crate::session;
use anyhow::{Context, Result, bail};
use schedlab_analyze::trace::check;
use schedlab_plan::units::{parse_bytes, parse_duration_ns};
use schedlab_plan::{Plan, TraceOrder, TraceSource, TrialOrder, WorkloadSpec, shell_words};
use schedlab_record::tracer::{Recorded, Tracer, TracerOrder};
use schedlab_report::{Recording, recording_text};
use schedlab_run::RunReader;
use schedlab_sys::interrupt::Interrupt;
use schedlab_sys::{net_name, places};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;

/// The file of the recording in its directory; a workload's outcome is next to it.
pub(super) const TRACE_FILE: &str = "trace.slt";
pub(super) const OUTCOME_FILE: &str = "outcome.json";

pub(super) fn run(args: &Record) -> Result<u8> {
    if args.self_test {
        return self_test(args);
    }
    let dir = session::directory(args.out.as_deref(), "record", false);
    let mut trace = trace_order(&args.events, args.keep.as_deref(), args.source, &dir)?;
    if args.out.is_some() {
        // Checked before anything is started. A default directory is chosen later, because another process may take it
        // meanwhile.
        must_be_free(&dir, "--out")?;
    }
    trace.buffer_kib = buffer_kib(args)?;
    if let [word] = &args.command[..]
        && let Ok(spec) = word.parse::<WorkloadSpec>()
        && schedlab_bench::find(&spec).is_ok()
    {
        if args.duration.is_some() {
            usage!(
                "a workload has a length of its own: say {word}{}duration=…",
                if word.contains(':') { "," } else { ":" }
            );
        }
        return beside_workload(&spec, trace, args);
    }
    let length_ns = args.duration.as_deref().map(parse_duration_ns).transpose().context("--duration")?;
    if args.command.is_empty() && length_ns.is_none() {
        usage!("give a duration (-d 5s), a command (-- COMMAND) or a workload (-- pipe:pin=same)");
    }
    if !args.command.is_empty() && length_ns.is_some() {
        usage!("a command is recorded to its end: leave out -d, or put `timeout` before the command");
    }
    if length_ns == Some(0) {
        usage!("-d 0: the recording would be empty; give a length, such as -d 5s");
    }
    if args.dry_run {
        print_line(schedlab_plan::json::pretty(&trace)?)?;
        return Ok(exit::DONE);
    }
    let (recorded, failed) = beside_command(args, trace, length_ns)?;
    tell(recorded, &args.answer)?;
    match failed {
        Some(how) => bail!("the command ended with {how}; the recording is complete"),
        None => Ok(exit::DONE),
    }
}

/// The directory of the recording: the given one, or the first free one.
fn claim(args: &Record) -> Result<Reservation> {
    match &args.out {
        Some(dir) => Reservation::of(dir, "--out"),
        None => Reservation::first_free(&session::default_out("record")),
    }
}

/// Converts the options of `record` and `bench --trace` to an order; `dir` is created when the trace begins.
pub(super) fn trace_order(events: &str, keep: Option<&str>, source: TraceSource, dir: &Path) -> Result<TraceOrder> {
    let keep_ns = keep.map(parse_duration_ns).transpose().context("--keep")?;
    if keep_ns == Some(0) {
        usage!(
            "--keep 0 keeps nothing: give the length of the last part (--keep 500ms), or leave it out for all of it"
        );
    }
    Ok(TraceOrder {
        events: events.parse().map_err(Usage).context("--events")?,
        source,
        out: Some(dir.join(TRACE_FILE)),
        keep_ns,
        buffer_kib: None,
    })
}

fn buffer_kib(args: &Record) -> Result<Option<u64>> {
    let bytes = args.buffer.as_deref().map(parse_bytes).transpose().context("--buffer")?;
    Ok(bytes.map(|bytes| bytes.div_ceil(1024)))
}

fn beside_workload(spec: &WorkloadSpec, mut trace: TraceOrder, args: &Record) -> Result<u8> {
    let (order, _) = bench::order(spec, "", &Measuring::default())?;
    let claim = if args.dry_run { None } else { Some(claim(args)?) };
    trace.out = claim.as_ref().map(|claim| claim.file().to_owned()).or(trace.out);
    let order = TrialOrder { trace: Some(trace), ..order };
    if args.dry_run {
        print_line(schedlab_plan::json::pretty(&order)?)?;
        return Ok(exit::DONE);
    }
    let outcome = bench::run_claimed(&order, &[], claim)?;
    bench::all_applied(&outcome.applied)?;
    if args.answer.json {
        print_answer(bench::OUTCOME, &outcome, args.answer.top)?;
    } else {
        to_stdout(|out| schedlab_report::bench_text(&outcome, terminal_width(), out))?;
    }
    Ok(exit::DONE)
}

/// Writes the workload's outcome next to its trace: its phases and samples use the same clock.
pub(super) fn write_outcome(trace: &Path, outcome: &schedlab_plan::TrialOutcome) -> Result<()> {
    let file = trace.with_file_name(OUTCOME_FILE);
    let text = schedlab_plan::json::pretty(outcome)? + "\n";
    places::write_whole(&file, 0o600, text.as_bytes())
        .with_context(|| format!("{} cannot be written", file.display()))?;
    say(format_args!("trace: {}", trace.display()));
    say(format_args!("{}", claim_of(trace)?));
    Ok(())
}

/// Whether events are missing from a recording, in the words of `trace check`, which reads the file for that: the
/// recorder's own count is not enough, because the kernel may have omitted switches.
fn claim_of(file: &Path) -> Result<String> {
    let mut reader = super::trace::open(file, check::wanted())?;
    Ok(schedlab_report::trace_check_claim(&check(&mut reader)?))
}

/// Records while a command runs, or for a given time, or until Ctrl-C; returns how the command failed, if it did.
fn beside_command(args: &Record, trace: TraceOrder, length_ns: Option<u64>) -> Result<(Recorded, Option<String>)> {
    session::restore_leftovers()?;
    let interrupt = Interrupt::catch_twice().context("signals cannot be caught")?;
    let mut claim = claim(args)?;
    let (tracer, command) = begin(args, TraceOrder { out: Some(claim.file().to_owned()), ..trace })?;
    claim.keep();
    let failed = match command {
        Some(child) => wait_for_command(child, interrupt)?,
        None => {
            wait_for_time(length_ns.unwrap_or(0), interrupt);
            None
        }
    };
    Ok((tracer.stop()?, failed))
}

/// Starts the trace, and then the command, if there is one.
fn begin(args: &Record, trace: TraceOrder) -> Result<(Tracer, Option<Child>)> {
    let tracer = Tracer::start(TracerOrder {
        trace,
        measured_cpus: Vec::new(),
        command: shell_words::join(args.command.iter().map(String::as_str)),
        run_root: net_name::RUN_ROOT.into(),
        roots: schedlab_record::Roots::default(),
    })?;
    let Some((program, arguments)) = args.command.split_first() else { return Ok((tracer, None)) };
    let child = std::process::Command::new(program).args(arguments).spawn();
    Ok((tracer, Some(child.with_context(|| format!("{program} cannot be started"))?)))
}

fn tell(recorded: Recorded, asked: &OutputOptions) -> Result<()> {
    recorded.notes.iter().for_each(|note| say(format_args!("schedlab: {note}")));
    let file = recorded.file.unwrap_or_default();
    let answer = Recording {
        check: claim_of(&file)?,
        file: file.display().to_string(),
        source: recorded.source,
        file_bytes: recorded.file_bytes,
        events: recorded.events,
        lost: recorded.lost,
        on_ns: recorded.on_ns,
        reader_cpu_ns: recorded.reader_cpu_ns,
        bytes_before_compression: recorded.whole_bytes,
        notes: recorded.notes,
    };
    if asked.json {
        return print_answer("schedlab/recording/1", &answer, asked.top);
    }
    print_fitted(|out| recording_text(&answer, out))
}

/// The self-test of recording, in three arms: a same-CPU ping-pong without tracing, with events enabled but not read,
/// and recorded.
fn self_test(args: &Record) -> Result<u8> {
    if !args.command.is_empty() {
        usage!("--self-test always runs pipe:pin=same; to record a command leave it out");
    }
    let dir = session::directory(args.out.as_deref(), "record-self-test", false);
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
        full: false,
        dry_run: args.dry_run,
        fail_on: None,
        answer: args.answer.clone(),
        trace: None,
    };
    let code = super::run::execute(&plan, "record-self-test", &output)?;
    if args.dry_run {
        return Ok(code);
    }
    remove_traces(&dir.join(session::TRACES))?;
    let run = RunReader::open(&dir)?;
    let cost = schedlab_analyze::recorder_cost(&run.trials, "round_trips_per_s")
        .context("too few complete blocks to estimate what recording costs")?;
    let file = dir.join("recorder-cost.json");
    places::write_whole(&file, 0o666, (schedlab_plan::json::pretty(&cost)? + "\n").as_bytes())
        .with_context(|| format!("{} cannot be written", file.display()))?;
    if !args.answer.json {
        to_stdout(|out| schedlab_report::recorder_cost_text(&cost, out))?;
    }
    Ok(code)
}

/// Discards the recordings of a self-test.
fn remove_traces(dir: &PathBuf) -> Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", dir.display()))
        }
        _ => Ok(()),
    }
}
