//! Endurance of `transact`: every transport, both classes, 1000 iterations, 50 times in a row. A clean end is exit code 0
//! without a word, every transaction answered and timed in both classes, and no process left. Fails on any other. About
//! 2 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, bail};
use schedlab_benches::processes::Mark;
use schedlab_benches::{program, table};
use schedlab_plan::TrialOutcome;
use schedlab_sys::rights;
use std::process::{Output, Stdio};
use std::time::Instant;

const TRANSPORTS: [&str; 6] = ["binder", "unix", "pipe", "futex", "seccomp-notify", "seccomp-notify-sync"];
const ITERATIONS: u64 = 1000;
const TIMES: usize = 50;

fn main() -> Result<()> {
    let started = Instant::now();
    let filter = std::env::args().nth(1).unwrap_or_default();
    let times: usize = std::env::args().nth(2).map_or(Ok(TIMES), |n| n.parse()).context("how many times")?;
    rights::try_fifo().context("one of the two classes is SCHED_FIFO 99: it needs CAP_SYS_NICE or `ulimit -r 99`")?;
    let (mut rows, mut absent, mut dirty) = (Vec::new(), Vec::new(), Vec::new());
    for transport in TRANSPORTS.into_iter().filter(|t| t.contains(&filter)) {
        if let Some(why) = not_here(transport)? {
            absent.push(format!("{transport}: not here, so its row is left out: {why}"));
            continue;
        }
        let row = row(transport, times, &mut dirty)?;
        rows.push(row);
    }
    let header =
        ["transport", "clean ends", "transactions, SCHED_OTHER + SCHED_FIFO 99", "seconds a run: median, longest"];
    table::print("transact: clean ends in a row", &header, &rows);
    absent.iter().for_each(|line| println!("\n{line}"));
    table::closing("endurance", started.elapsed());
    match dirty.len() {
        0 => Ok(()),
        many => bail!("{many} runs did not end cleanly:\n{}", dirty.join("\n")),
    }
}

/// Why the kernel lacks this transport; other errors are errors of the run.
fn not_here(transport: &str) -> Result<Option<String>> {
    let output = run(transport, 1, &Mark::new())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    // A missing device, or a system call that an older kernel does not have.
    let absent = said.contains("guest lane") || said.contains("(Linux ");
    Ok((!output.status.success() && absent).then_some(said))
}

fn run(transport: &str, iterations: u64, mark: &Mark) -> Result<Output> {
    let spec = format!("transact:loops={iterations},transport={transport}");
    let mut command = program::bench(None, &[&spec, "--json", "-", "--top", "0"])?;
    mark.put_on(command.stdin(Stdio::null()));
    command.output().context("schedlab cannot be started")
}

fn row(transport: &str, times: usize, dirty: &mut Vec<String>) -> Result<Vec<String>> {
    let (mut seconds, mut clean, mut transactions) = (Vec::new(), 0, [0; 2]);
    for number in 1..=times {
        let (mark, begun) = (Mark::new(), Instant::now());
        let output = run(transport, ITERATIONS, &mark)?;
        seconds.push(begun.elapsed().as_secs_f64());
        match end(&output, &mark) {
            Ok(classes) => {
                clean += 1;
                transactions[0] += classes[0];
                transactions[1] += classes[1];
            }
            Err(error) => dirty.push(format!("{transport}, run {number}: {error:#}")),
        }
    }
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    eprintln!("{transport}: {clean} of {times} clean");
    Ok(vec![
        transport.to_owned(),
        format!("{clean} of {times}"),
        format!("{} + {}", transactions[0], transactions[1]),
        format!("{:.3}, {longest:.3}", schedlab_stats::median(&seconds)),
    ])
}

/// The number of timed transactions of both classes, for a run that ended cleanly.
fn end(output: &Output, mark: &Mark) -> Result<[u64; 2]> {
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !said.is_empty() {
        bail!("{}: {}", output.status, said.trim());
    }
    let outcome: TrialOutcome = serde_json::from_slice(&output.stdout).context("what it printed is not an outcome")?;
    let timed = |class: &str| {
        let whole = outcome.histograms.iter().find(|named| named.name == class && named.tier.is_none());
        whole.map_or(0, |named| named.histogram.count())
    };
    let classes = [timed("other"), timed("fifo")];
    if classes != [ITERATIONS; 2] || outcome.operations != 2 * ITERATIONS {
        bail!("{} + {} transactions were timed, {} answered", classes[0], classes[1], outcome.operations);
    }
    let left = mark.alive();
    if !left.is_empty() {
        bail!("{} processes were left", left.len());
    }
    Ok(classes)
}
