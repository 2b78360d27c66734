//! Reading traces against `perf sched latency`: speed, peak memory and agreement, on one file of `perf sched record` in the
//! page cache, in interleaved pairs. Bars: `trace latency` ≥ 10 × perf's samples a second at ≤ 1/10 of its memory, blame and all
//! analyses together (explain) ≥ 3 ×, the same table by `--compat perf`; cost linear from 1 to 100 million samples, the last
//! in a file of 10 GB that takes ≤ 512 MiB. `cargo xtask bench trace -- [FILE]`; without FILE one is recorded. `PERF` names the
//! perf to compare with: one of 6.4 or newer, since older ones drop most wakings and so do less work. The sizes are made of
//! FILE in the directory for temporary files (`TMPDIR`), one at a time, as far as there is room. About 6 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, ensure};
use schedlab_benches::pairs::{self, Ratio, interleave};
use schedlab_benches::{perf_file, program, table};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PAIRS: usize = 7;

/// Millions of samples over which the cost must be linear.
const SIZES: [u64; 3] = [1, 10, 100];

/// Maximum memory for a file of 10 GB.
const MAX_BYTES: u64 = 512 << 20;

/// How much more a sample may cost in a file ten times as long.
const LINEAR: f64 = 1.25;

fn main() -> Result<()> {
    let started = Instant::now();
    let perf = std::env::var("PERF").unwrap_or_else(|_| "perf".into());
    let ours = program::schedlab()?;
    let ours = ours.to_str().context("the binary's path is not text")?;
    let (file, recorded) = match std::env::args().nth(1) {
        Some(file) => (PathBuf::from(file), false),
        None => (record(&perf, ours)?, true),
    };
    let path = file.to_str().context("the file's path is not text")?;
    let samples = samples(ours, path)?;
    let latency = |compat: &[&'static str]| [&["trace", "latency", path][..], compat].concat();
    let of = |analysis: &'static str| vec!["trace", analysis, path];
    let by_perf = ["sched", "latency", "-i", path];
    let mut rows = Vec::new();
    for (name, arguments, bar) in [
        ("trace latency", latency(&[]), 10.0),
        ("trace latency --compat perf", latency(&["--compat", "perf"]), 3.0),
        ("trace blame", of("blame"), 3.0),
        ("trace chains", of("chains"), 3.0),
        ("trace explain (all analyses)", of("explain"), 3.0),
    ] {
        let logs = interleave(PAIRS, 1, || seconds(&perf, &by_perf), || seconds(ours, &arguments))?;
        let speed = |seconds: f64| format!("{:.1} M/s", samples as f64 / seconds / 1e6);
        let best = |of: fn(&pairs::Pair) -> f64| logs.iter().map(of).fold(f64::INFINITY, f64::min);
        let ratios: Vec<f64> = pairs::logs(&logs).iter().map(|log| -log).collect();
        let ratio = Ratio::from_logs(&ratios).context("no ratio")?;
        rows.push(vec![
            name.into(),
            speed(best(|p| p.a.value)),
            speed(best(|p| p.b.value)),
            format!("{:.1} ({:.1} … {:.1})", ratio.ratio, ratio.lo, ratio.hi),
            table::met(ratio.lo >= bar),
        ]);
    }
    let theirs = peak(&perf, &by_perf)?;
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / 1_048_576.0);
    for (name, arguments) in [
        ("peak memory, latency", latency(&[])),
        ("peak memory, blame", of("blame")),
        ("peak memory, explain", of("explain")),
    ] {
        let own = peak(ours, &arguments)?;
        let share = theirs as f64 / own as f64;
        rows.push(vec![name.into(), mib(theirs), mib(own), format!("1/{share:.0}"), table::met(share >= 10.0)]);
    }
    let version = version(&perf)?;
    let (lines, met) = if knows_sched_waking(&version) {
        let (same, different) = agreement(&perf, &by_perf, ours, &latency(&["--compat", "perf"]))?;
        (format!("{same} lines equal, {different} not"), table::met(different == 0))
    } else {
        ("not compared: it leaves sched_waking out; put the perf of 6.4 or newer first in $PATH".into(), "–".into())
    };
    rows.push(vec!["agreement".into(), String::new(), lines, String::new(), met]);
    let bytes = std::fs::metadata(&file)?.len();
    let title = format!("Reading {samples} samples, {}, against {}", mib(bytes), version);
    table::print(&title, &["row", "best of perf", "best of schedlab", "ratio, 95 % interval", "bar met"], &rows);
    let rows = scaling(ours, &file, bytes as f64 / samples as f64)?;
    table::print(
        "Cost by length",
        &["samples", "file", "latency, s", "ns a sample", "peak", "explain's peak", "bar met"],
        &rows,
    );
    if recorded {
        std::fs::remove_file(&file)?;
    }
    table::closing("trace", started.elapsed());
    Ok(())
}

/// The same samples in shorter and longer files: seconds and peak memory.
fn scaling(ours: &str, file: &Path, bytes_each: f64) -> Result<Vec<Vec<String>>> {
    let scratch = std::env::temp_dir().join(format!("schedlab-bench-trace-{}.resized", std::process::id()));
    let path = scratch.to_str().context("the temporary directory's path is not text")?;
    let (mut rows, mut before) = (Vec::new(), f64::INFINITY);
    for millions in SIZES {
        let samples = millions * 1_000_000;
        let (needed, free) = ((samples as f64 * bytes_each * 1.1) as u64, free_bytes(&std::env::temp_dir())?);
        let mut row = vec![format!("{millions} M")];
        if free < needed {
            row.push(format!("left out: {:.1} GB free, {:.1} needed", free as f64 / 1e9, needed as f64 / 1e9));
            rows.push(row);
            continue;
        }
        let measured = perf_file::resize(file, &scratch, samples).and_then(|bytes| {
            let times = (0..3).map(|_| seconds(ours, &["trace", "latency", path])).collect::<Result<Vec<f64>>>()?;
            let peaks = (peak(ours, &["trace", "latency", path])?, peak(ours, &["trace", "explain", path])?);
            Ok((bytes, times.into_iter().fold(f64::INFINITY, f64::min), peaks))
        });
        // Removed in any case, because it may be 10 GB.
        std::fs::remove_file(&scratch)?;
        let (bytes, best, peaks) = measured?;
        let each_ns = best * 1e9 / samples as f64;
        let met = each_ns <= before * LINEAR && peaks.0.max(peaks.1) <= MAX_BYTES;
        before = each_ns;
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / 1_048_576.0);
        row.extend([format!("{:.2} GB", bytes as f64 / 1e9), format!("{best:.3}"), format!("{each_ns:.1}")]);
        row.extend([mib(peaks.0), mib(peaks.1), table::met(met)]);
        rows.push(row);
    }
    Ok(rows)
}

fn free_bytes(dir: &Path) -> Result<u64> {
    let mut command = Command::new("df");
    command.args(["--output=avail", "-B1"]).arg(dir);
    let text = String::from_utf8_lossy(&program::output(command)?.stdout).into_owned();
    text.lines().last().and_then(|line| line.trim().parse().ok()).context("df tells no number")
}

/// Ten million samples of our own pipe workload.
fn record(perf: &str, ours: &str) -> Result<PathBuf> {
    let file = std::env::temp_dir().join(format!("schedlab-bench-trace-{}.data", std::process::id()));
    let path = file.to_str().context("the temporary directory's path is not text")?;
    let workload = [ours, "bench", "pipe:pin=same,duration=10s", "--latency", "off", "--counters", "basic"];
    let mut command = Command::new(perf);
    command.args(["sched", "record", "-m", "8192", "-o", path, "--"]).args(workload);
    program::output(command)?;
    Ok(file)
}

fn samples(ours: &str, path: &str) -> Result<u64> {
    let mut command = Command::new(ours);
    command.args(["trace", "check", path, "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&program::output(command)?.stdout)?;
    let events = found["trace"]["events_by_name"].as_array().context("no events in the JSON")?;
    let samples = events.iter().filter_map(|event| event[1].as_u64()).sum();
    ensure!(samples > 0, "{path} has no samples");
    Ok(samples)
}

fn seconds(program: &str, arguments: &[&str]) -> Result<f64> {
    let started = Instant::now();
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "{program} {arguments:?}: {status}");
    Ok(started.elapsed().as_secs_f64())
}

/// Peak memory in bytes: VmHWM of /proc, read until the process ends.
fn peak(program: &str, arguments: &[&str]) -> Result<u64> {
    let mut child = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut most = 0;
    while child.try_wait()?.is_none() {
        most = most.max(high_water_mark(&status).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(most)
}

fn high_water_mark(status: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?;
    Some(kib.trim().parse::<u64>().ok()? * 1024)
}

/// Number of lines that are equal in both tables, and of lines that are not. Threads with equal delays may be swapped.
fn agreement(perf: &str, by_perf: &[&str], ours: &str, arguments: &[&str]) -> Result<(usize, usize)> {
    let lines = |program: &str, arguments: &[&str]| -> Result<Vec<String>> {
        let output = Command::new(program).args(arguments).stderr(Stdio::null()).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut rows: Vec<String> = text.lines().filter(|l| l.contains('|')).map(str::to_owned).collect();
        rows.sort_unstable();
        Ok(rows)
    };
    let (theirs, own) = (lines(perf, by_perf)?, lines(ours, arguments)?);
    let missing: Vec<&String> = theirs.iter().filter(|line| own.binary_search(line).is_err()).collect();
    let extra = own.iter().filter(|line| theirs.binary_search(line).is_err()).count();
    missing.iter().take(5).for_each(|line| eprintln!("only perf: {line}"));
    Ok((theirs.len() - missing.len(), missing.len().max(extra)))
}

/// Whether `perf sched latency` counts from sched_waking, which it records since 5.9 ("perf sched: Fix sched latency analysis
/// incorrect", 2023).
fn knows_sched_waking(version: &str) -> bool {
    let numbers = version.rsplit(' ').next().unwrap_or_default();
    let mut numbers = numbers.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(4))
}

fn version(perf: &str) -> Result<String> {
    let mut command = Command::new(perf);
    command.arg("--version");
    Ok(String::from_utf8_lossy(&program::output(command)?.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::knows_sched_waking;

    #[test]
    fn agreement_is_asked_of_a_perf_that_counts_wakings() {
        let of = |version: &str| knows_sched_waking(version);
        assert!(of("perf version 6.12.95") && of("perf version 6.4") && of("perf version 7.0.rc1"));
        assert!(!of("perf version 6.1.192") && !of("perf version 5.10.251") && !of("perf"));
    }
}
