//! `burn/1` against fio's cpuio (wall clock) and `stress-ng --cpu-load` (CPU clock): the share of one CPU that the
//! burning process gets, alone and next to a burner that wants all of it.
//!
//! Measured from outside, in the same way for both sides: the process below the program that uses most CPU time, and
//! its CPU clock (clock_getcpuclockid) at both ends of a window in the middle of its life. So the result does not
//! depend on what a program reports, on its other processes, or on its start and end.

use crate::pairs::{Ratio, interleave_by};
use crate::{processes, program};
use anyhow::{Context, Result, bail};
use schedlab_sys::clock::{cpu_ns_of, monotonic_ns, sleep_until_ns};
use schedlab_sys::signal;
use std::process::{Child, Command, Stdio};

/// Both sides want half of a CPU in slices of 10 ms: a window has 60 rounds of 20 ms.
const WINDOW_NS: u64 = 1_200_000_000;
/// From the start to the search; by then the trial process has calibrated and forked.
const SETTLE_NS: u64 = 300_000_000;
/// How long the processes are watched for the one that burns, twice: four rounds each time.
const SEARCH_NS: u64 = 80_000_000;
/// By then there should be one: fio takes 0.2 s to begin, and several times that beside a burner.
const PATIENCE_NS: u64 = 10_000_000_000;

/// One reference.
struct Reference {
    name: &'static str,
    package: &'static str,
    /// Burns for longer than it is allowed to run.
    line: &'static str,
    ours: &'static str,
}

const REFERENCES: [Reference; 2] = [
    Reference {
        name: "fio cpuio, burn by wall clock",
        package: "fio",
        line: "fio --name=burn --ioengine=cpuio --cpuload=50 --cpuchunks=10000 --time_based --runtime=60",
        ours: "burn:1x50%,chunk=10ms,clock=wall,duration=60s",
    },
    Reference {
        name: "stress-ng --cpu-load, burn by CPU clock",
        package: "stress-ng",
        // The method without library calls; the default goes through all methods, some of which take longer than a
        // slice.
        line: "stress-ng --quiet --cpu 1 --cpu-load 50 --cpu-load-slice 10 --cpu-method loop --timeout 60",
        ours: "burn:1x50%,chunk=10ms,clock=cpu,duration=60s",
    },
];

/// Pairs of a row without a burner, and with one, whose turns on the CPU are random.
pub const PAIRS: [usize; 2] = [8, 20];

/// Table rows below [`crate::pairs::HEADER`], for names that contain `filter`; and a sentence for each reference that
/// is missing.
pub fn rows(filter: &str, pairs: Option<usize>) -> Result<(Vec<Vec<String>>, Vec<String>)> {
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for reference in &REFERENCES {
        let cases =
            [(false, "alone"), (true, "beside a burner")].map(|(b, how)| (b, format!("{}, {how}", reference.name)));
        for (beside, name) in cases.into_iter().filter(|(_, name)| name.contains(filter)) {
            if let Some(missing) = program::missing(reference.package, reference.package) {
                left_out.push(format!("{name}: {missing}"));
                continue;
            }
            let pairs = pairs.unwrap_or(PAIRS[usize::from(beside)]);
            rows.push(row(reference, &name, beside, pairs)?);
        }
    }
    Ok((rows, left_out))
}

fn row(reference: &Reference, name: &str, beside: bool, pairs: usize) -> Result<Vec<String>> {
    let _burner = beside.then(burner_beside).transpose()?;
    let ours = || share(program::bench(Some("0"), &[reference.ours, "--latency", "off", "--counters", "basic"])?);
    let theirs = || {
        let words: Vec<&str> = reference.line.split_whitespace().collect();
        share(program::on_cpus(Some("0"), words[0], &words[1..]))
    };
    let found = interleave_by(pairs, 0x5EED, theirs, ours)?;
    let logs: Vec<f64> = found.iter().map(|(reference, ours)| (ours / reference).ln()).collect();
    let ratio = Ratio::from_logs(&logs).context("no pairs")?;
    let typical = schedlab_stats::median(&found.iter().map(|(reference, _)| *reference).collect::<Vec<_>>());
    Ok(ratio.row(name, "one CPU", format!("{:.1} % of the CPU, 50 % asked", 100.0 * typical)))
}

/// The share of a CPU that the burner of this command gets.
fn share(command: Command) -> Result<f64> {
    let mut command = in_own_session(&command);
    let shown = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut program = Ended(command.spawn().with_context(|| format!("{shown} cannot be started"))?);
    let share = share_below(program.0.id());
    program.end()?;
    share.with_context(|| format!("{shown}: looking at its burner"))
}

/// Each of fio's jobs begins a session, and with autogroup on, each session has its own share of the CPU. So both sides
/// begin a session, and so does the burner beside them.
fn in_own_session(command: &Command) -> Command {
    let mut own = Command::new("setsid");
    own.arg(command.get_program()).args(command.get_args());
    own
}

/// A program that is told to end; its burner ends with it.
struct Ended(Child);

impl Ended {
    /// SIGTERM, which fio and stress-ng pass on; our processes end with their parents.
    fn end(&mut self) -> Result<()> {
        signal::kill(self.0.id(), signal::SIGTERM)?;
        let give_up = monotonic_ns() + PATIENCE_NS;
        while self.0.try_wait()?.is_none() {
            if monotonic_ns() > give_up {
                bail!("it does not end");
            }
            sleep_until_ns(monotonic_ns() + 5_000_000);
        }
        Ok(())
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        // After a process has been waited for, its id may belong to another one.
        if matches!(self.0.try_wait(), Ok(None)) {
            processes::kill_family(self.0.id());
            let _ = self.0.wait();
        }
    }
}

fn share_below(program: u32) -> Result<f64> {
    let burner = burner_below(program)?;
    let (begin_ns, begin_cpu_ns) = (monotonic_ns(), cpu_ns_of(burner)?);
    sleep_until_ns(begin_ns + WINDOW_NS);
    let (end_ns, end_cpu_ns) = (monotonic_ns(), cpu_ns_of(burner)?);
    Ok((end_cpu_ns - begin_cpu_ns) as f64 / (end_ns - begin_ns) as f64)
}

/// The process that twice in a row uses most CPU time, at least a tenth of a CPU.
fn burner_below(program: u32) -> Result<u32> {
    let begin_ns = monotonic_ns();
    sleep_until_ns(begin_ns + SETTLE_NS);
    let mut last = None;
    while monotonic_ns() < begin_ns + PATIENCE_NS {
        let found = processes::busiest_below(program, SEARCH_NS).filter(|&(_, used_ns)| used_ns > SEARCH_NS / 10);
        match found {
            Some((pid, _)) if last == Some(pid) => return Ok(pid),
            other => last = other.map(|(pid, _)| pid),
        }
    }
    bail!("nobody burns")
}

/// A burner that wants the whole CPU, of which the two sides want half, for as long as it lives.
fn burner_beside() -> Result<Ended> {
    let mut command = in_own_session(&program::bench(Some("0"), &["burn:1,duration=1h", "--counters", "basic"])?);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(Ended(command.spawn().context("the burner beside cannot be started")?))
}
