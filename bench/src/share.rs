//! `burn/1` against fio's cpuio (wall clock) and `stress-ng --cpu-load` (CPU clock): the share of one CPU that the burning
//! process gets, alone and beside a burner that wants all of it.
//!
//! Seen from outside and the same way for both sides: the process below the program that uses most CPU time, its CPU
//! clock (clock_getcpuclockid) at both ends of a window in the middle of its life. So neither what a program says of
//! itself nor what its other processes use comes in, nor its start and end.

use crate::pairs::{Ratio, interleave_by};
use crate::{processes, program};
use anyhow::{Context, Result, bail};
use schedlab_sys::clock::{cpu_ns_of, monotonic_ns, sleep_until_ns};
use std::process::{Child, Command, Stdio};

/// Both sides want half of a CPU in pieces of 10 ms: 60 rounds of 20 ms in a window.
const WINDOW_NS: u64 = 1_200_000_000;
/// From the start to the search: fio takes some 0.2 s to begin.
const SETTLE_NS: u64 = 450_000_000;
/// How long the processes are watched for the one that burns: four rounds.
const SEARCH_NS: u64 = 80_000_000;

/// One twin.
struct Twin {
    name: &'static str,
    package: &'static str,
    /// Runs for 2 s, longer than settling, search and window.
    line: &'static str,
    ours: &'static str,
}

const TWINS: [Twin; 2] = [
    Twin {
        name: "fio cpuio, burn by wall clock",
        package: "fio",
        line: "fio --name=burn --ioengine=cpuio --cpuload=50 --cpuchunks=10000 --time_based --runtime=2",
        ours: "burn:1x50%,chunk=10ms,clock=wall,duration=2s",
    },
    Twin {
        name: "stress-ng --cpu-load, burn by CPU clock",
        package: "stress-ng",
        // The method without a library call; the default goes through all of them, some of them longer than a slice.
        line: "stress-ng --quiet --cpu 1 --cpu-load 50 --cpu-load-slice 10 --cpu-method loop --timeout 2",
        ours: "burn:1x50%,chunk=10ms,clock=cpu,duration=2s",
    },
];

/// Pairs of a row without and with a burner beside it, whose turns on the CPU are chance.
pub const PAIRS: [usize; 2] = [8, 24];

/// Table rows below [`crate::pairs::HEADER`], of names that hold `filter`; and a sentence for each twin that is missing.
pub fn rows(filter: &str, pairs: Option<usize>) -> Result<(Vec<Vec<String>>, Vec<String>)> {
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for twin in &TWINS {
        let cases = [(false, "alone"), (true, "beside a burner")].map(|(b, how)| (b, format!("{}, {how}", twin.name)));
        for (beside, name) in cases.into_iter().filter(|(_, name)| name.contains(filter)) {
            if let Some(missing) = program::missing(twin.package, twin.package) {
                left_out.push(format!("{name}: {missing}"));
                continue;
            }
            let pairs = pairs.unwrap_or(PAIRS[usize::from(beside)]);
            rows.push(row(twin, &name, beside, pairs)?);
        }
    }
    Ok((rows, left_out))
}

fn row(twin: &Twin, name: &str, beside: bool, pairs: usize) -> Result<Vec<String>> {
    let _burner = beside.then(Burner::start).transpose()?;
    let ours = || share(program::bench(Some("0"), &[twin.ours, "--latency", "off", "--counters", "basic"])?);
    let theirs = || {
        let words: Vec<&str> = twin.line.split_whitespace().collect();
        share(program::on_cpus(Some("0"), words[0], &words[1..]))
    };
    let found = interleave_by(pairs, 0x5EED, theirs, ours)?;
    let logs: Vec<f64> = found.iter().map(|(twin, ours)| (ours / twin).ln()).collect();
    let ratio = Ratio::from_logs(&logs).context("no pairs")?;
    let typical = schedlab_stats::median(&found.iter().map(|(twin, _)| *twin).collect::<Vec<_>>());
    Ok(ratio.row(name, "one CPU", format!("{:.1} % of the CPU, 50 % asked", 100.0 * typical)))
}

/// The share of a CPU that the burner of this command gets.
fn share(mut command: Command) -> Result<f64> {
    let shown = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().with_context(|| format!("{shown} cannot be started"))?;
    let share = share_below(child.id());
    // Both sides end by themselves.
    let status = child.wait()?;
    if !status.success() {
        bail!("{shown}: {status}");
    }
    share.with_context(|| format!("{shown} has no process that burns"))
}

fn share_below(program: u32) -> Result<f64> {
    sleep_until_ns(monotonic_ns() + SETTLE_NS);
    let burner = processes::busiest(program, SEARCH_NS).context("it is gone")?;
    let (begin_ns, begin_cpu_ns) = (monotonic_ns(), cpu_ns_of(burner)?);
    sleep_until_ns(begin_ns + WINDOW_NS);
    let (end_ns, end_cpu_ns) = (monotonic_ns(), cpu_ns_of(burner)?);
    Ok((end_cpu_ns - begin_cpu_ns) as f64 / (end_ns - begin_ns) as f64)
}

/// Wants all of the CPU that the two sides want half of, for as long as it lives.
struct Burner(Child);

impl Burner {
    fn start() -> Result<Self> {
        let mut command = program::bench(Some("0"), &["burn:1,duration=1h", "--counters", "basic"])?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn().context("the burner beside cannot be started")?))
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        // Its trial and its task end with it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
