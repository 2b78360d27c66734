//! Reading traces against `perf sched latency`: speed, peak memory and agreement, on one file of `perf sched record` in the
//! page cache, in interleaved pairs. Bars: ≥ 10 × perf's samples a second, ≤ 1/10 of its memory, the same table by
//! `--compat perf`. `cargo xtask bench trace -- [FILE]`; without FILE one is recorded. `PERF` names the perf to compare with:
//! one of 6.4 or newer, since older ones drop most wakings and so do less work. About 4 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, ensure};
use schedlab_benches::pairs::{self, Ratio, interleave};
use schedlab_benches::{program, table};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PAIRS: usize = 7;

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
    let by_perf = ["sched", "latency", "-i", path];
    let mut rows = Vec::new();
    for (name, arguments, bar) in
        [("trace latency", latency(&[]), 10.0), ("trace latency --compat perf", latency(&["--compat", "perf"]), 3.0)]
    {
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
    let (theirs, own) = (peak(&perf, &by_perf)?, peak(ours, &latency(&[]))?);
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / 1_048_576.0);
    let share = theirs as f64 / own as f64;
    rows.push(vec!["peak memory".into(), mib(theirs), mib(own), format!("1/{share:.0}"), table::met(share >= 10.0)]);
    let (same, different) = agreement(&perf, &by_perf, ours, &latency(&["--compat", "perf"]))?;
    let lines = format!("{same} lines equal, {different} not");
    rows.push(vec!["agreement".into(), String::new(), lines, String::new(), table::met(different == 0)]);
    let bytes = std::fs::metadata(&file)?.len();
    let title = format!("Reading {samples} samples, {}, against {}", mib(bytes), version(&perf)?);
    table::print(&title, &["row", "best of perf", "best of schedlab", "ratio, 95 % interval", "bar met"], &rows);
    if recorded {
        std::fs::remove_file(&file)?;
    }
    table::closing("trace", started.elapsed());
    Ok(())
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

/// The most memory it had at once, in bytes: VmHWM of /proc, read until it ends.
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

/// Lines of both tables that are equal and that are not. Threads of equal delays may change places.
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

fn version(perf: &str) -> Result<String> {
    let mut command = Command::new(perf);
    command.arg("--version");
    Ok(String::from_utf8_lossy(&program::output(command)?.stdout).trim().to_owned())
}
