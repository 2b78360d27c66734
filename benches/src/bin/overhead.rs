//! What observation costs: each stamping level and the counters against the same loop without them, in mirrored
//! blocks. The bare loop is the smallest ping-pong that can be written (two pipes, read, write), timed from outside.
//! Bars: off = nothing within noise, sampled ≤ 1 %. About 8 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result};
use schedlab_benches::pairs::{self, Pair, Ratio, interleave};
use schedlab_benches::{program, table};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Instant;

const PAIRS: usize = 60;
const LOOPS: u64 = 100_000;

fn main() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some("echo") {
        return echo();
    }
    let started = Instant::now();
    let pairs = std::env::args().nth(1).map_or(Ok(PAIRS), |n| n.parse()).context("the number of pairs")?;
    let filter = std::env::args().nth(2).unwrap_or_default();
    let mut rows = Vec::new();
    let bare = "pipe, off against a bare loop";
    if bare.contains(&filter) {
        let off = || rate("pipe:pin=free,mode=process", "round_trips_per_s", "off", "basic");
        let logs = interleave(pairs, 1, bare_ping_pong, || off().map(|r| 1e9 / r))?;
        push(&mut rows, bare, &logs, 1.0, |r| r.lo <= 1.0 && r.hi < 1.02);
    }
    for (workload, metric) in [
        ("pipe:pin=free,mode=process", "round_trips_per_s"),
        ("messaging:groups=1,transport=pipe", "msgs_per_s"),
        ("messaging:groups=1,transport=unix", "msgs_per_s"),
    ] {
        for (level, counters) in [("sampled", "basic"), ("all", "basic"), ("off", "full")] {
            let name = format!(
                "{}, latency {level}, counters {counters}",
                workload.split([':', ',']).take(1).collect::<String>()
                    + if workload.contains("unix") { " unix" } else { "" }
            );
            if !name.contains(&filter) {
                continue;
            }
            // Tasks that communicate over pipes vary most between runs.
            let pairs = if workload.contains("transport=pipe") { 2 * pairs } else { pairs };
            let logs = interleave(
                pairs,
                2,
                || rate(workload, metric, "off", "basic"),
                || rate(workload, metric, level, counters),
            )?;
            let bar: fn(&Ratio) -> bool = match level {
                "all" => |_| true,
                _ => |r| r.ratio <= 1.01,
            };
            push(&mut rows, &name, &logs, -1.0, bar);
        }
    }
    let header = ["row (pinned to one CPU)", "added time per operation", "95 % interval", "pairs", "bar met"];
    table::print("Cost of observation", &header, &rows);
    table::closing("overhead", started.elapsed());
    Ok(())
}

/// `sign` converts a ratio of rates to one of times.
fn push(rows: &mut Vec<Vec<String>>, name: &str, pairs: &[Pair], sign: f64, bar: impl Fn(&Ratio) -> bool) {
    let logs: Vec<f64> = pairs::logs(pairs).iter().map(|l| l * sign).collect();
    let Some(ratio) = Ratio::from_logs(&logs) else { return };
    eprintln!("{name}: {:+.2} %", 100.0 * (ratio.ratio - 1.0));
    let percent = |r: f64| format!("{:+.2} %", 100.0 * (r - 1.0));
    rows.push(vec![
        name.into(),
        percent(ratio.ratio),
        format!("{} … {}", percent(ratio.lo), percent(ratio.hi)),
        ratio.pairs.to_string(),
        if name.contains("all") { "information".into() } else { table::met(bar(&ratio)) },
    ]);
}

fn rate(workload: &str, metric: &str, latency: &str, counters: &str) -> Result<f64> {
    let spec = format!("{workload},duration=250ms");
    let outcome = program::trial(Some("0"), &[&spec, "--latency", latency, "--counters", counters])?;
    program::metric(&outcome, metric)
}

/// ns per round trip of 8 bytes through two pipes between this process and a copy of it, both on CPU 0.
fn bare_ping_pong() -> Result<f64> {
    let program = std::env::current_exe()?;
    let mut child = Command::new("taskset")
        .args(["-c", "0"])
        .arg(program)
        .arg("echo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let ns: u64 = {
        let mut stdout = child.stdout.take().context("stdout")?;
        drop(child.stdin.take());
        let mut text = String::new();
        stdout.read_to_string(&mut text)?;
        text.trim().parse().context("the bare loop printed no figure")?
    };
    child.wait()?;
    Ok(ns as f64 / LOOPS as f64)
}

/// The bare loop itself, in a process pinned from outside: it starts its partner and plays `LOOPS` rounds.
fn echo() -> Result<()> {
    let mut token = [0u8; 8];
    if std::env::args().nth(2).as_deref() == Some("partner") {
        // Without the lock and the buffer of std's own, which are not part of the bare loop.
        let mut input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        let mut output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        while input.read_exact(&mut token).is_ok() {
            output.write_all(&token)?;
        }
        return Ok(());
    }
    let mut partner = Command::new(std::env::current_exe()?)
        .args(["echo", "partner"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = partner.stdin.take().context("stdin")?;
    let mut from = partner.stdout.take().context("stdout")?;
    let mut round = || -> Result<()> {
        to.write_all(&token)?;
        from.read_exact(&mut token)?;
        Ok(())
    };
    (0..1000).try_for_each(|_| round())?;
    let started = Instant::now();
    (0..LOOPS).try_for_each(|_| round())?;
    println!("{}", started.elapsed().as_nanos());
    drop(to);
    partner.wait()?;
    Ok(())
}
