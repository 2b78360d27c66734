//! Fidelity: our workload against its reference tool, in interleaved pairs, both pinned to one CPU. The bar: the whole 95 %
//! interval of ours / reference lies in 0.97–1.03. Free placement is information: there the scheduler decides, not the
//! program. About 25 minutes.
//!
//! Each row also gives the ratio at equal switches: which of many tasks runs next is chance, so the number of switches
//! of two equal programs differs from run to run by tens of percent and the time with it (2.5 µs each).
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, bail};
use schedlab_benches::pairs::{self, Pair, Ratio, interleave};
use schedlab_benches::{bulk, cyclictest, program, requests, share, table};
use schedlab_sys::affinity;
use std::time::Instant;

/// Runs take seconds each; a run gives two figures.
const CYCLICTEST_PAIRS: usize = 40;

/// Where both sides are pinned.
#[derive(Clone, Copy, PartialEq)]
enum Pinning {
    OneCpu,
    Apart,
    Free,
    /// One CPU, one message per pair of tasks.
    TasksEnd,
}

struct Row {
    name: String,
    pinning: Pinning,
    ours: Vec<String>,
    metric: &'static str,
    reference: Vec<String>,
    seconds: fn(&str) -> Option<f64>,
    /// Enough for an interval of ± 2 % with this row's noise; chosen once, before the recorded run.
    pairs: usize,
}

fn main() -> Result<()> {
    let started = Instant::now();
    let filter = std::env::args().nth(1).unwrap_or_default();
    let fixed: Option<usize> = std::env::args().nth(2).map(|n| n.parse()).transpose().context("the number of pairs")?;
    let mut rows = Vec::new();
    for row in hackbench_rows().into_iter().chain(pipe_rows()).filter(|r| r.name.contains(&filter)) {
        if !program::exists(&row.reference[0]) {
            bail!("{} is not installed: apt install rt-tests linux-perf", row.reference[0]);
        }
        let (pairs, tiers) = measure(&row, fixed.unwrap_or(row.pairs))?;
        rows.push(line(&row, &pairs, tiers)?);
    }
    let header = [
        "row",
        "placement",
        "ours / reference (time)",
        "95 % interval",
        "pairs",
        "within 0.97–1.03",
        "at equal switches",
        "switches, ours : reference",
        "time against switches, ours : reference",
        "our tiers",
    ];
    table::print("Fidelity to the references", &header, &rows);
    let rows = cyclictest::rows(&filter, fixed.unwrap_or(CYCLICTEST_PAIRS))?;
    table::print("Fidelity of timer to cyclictest", &pairs::HEADER, &rows);
    for (title, (rows, left_out)) in [
        ("Fidelity of burn: share of the CPU", share::rows(&filter, fixed)?),
        ("Fidelity of stream: bytes a CPU second", bulk::rows(&filter, fixed)?),
        ("Fidelity of wakeup: time of a request", requests::rows(&filter, fixed)?),
    ] {
        table::print(title, &pairs::HEADER, &rows);
        left_out.iter().for_each(|line| println!("\n{line}"));
    }
    table::closing("fidelity", started.elapsed());
    Ok(())
}

fn line(row: &Row, pairs: &[Pair], tiers: String) -> Result<Vec<String>> {
    let ratio = Ratio::from_logs(&pairs::logs(pairs)).context("no pairs")?;
    let judged = matches!(row.pinning, Pinning::OneCpu | Pinning::Apart);
    let bar = if judged { table::met(ratio.within(0.97, 1.03)) } else { "information".into() };
    let pinning = ["one CPU", "apart", "free", "one CPU"][row.pinning as usize];
    let interval = |r: &Ratio| format!("{:.3}–{:.3}", r.lo, r.hi);
    let adjusted = pairs::at_equal_switches(pairs);
    let mean = |side: fn(&Pair) -> u64| pairs.iter().map(side).sum::<u64>() / pairs.len() as u64;
    eprintln!("{} ({pinning}): {:.4} [{:.4}, {:.4}]", row.name, ratio.ratio, ratio.lo, ratio.hi);
    Ok(vec![
        row.name.clone(),
        pinning.into(),
        format!("{:.3}", ratio.ratio),
        interval(&ratio),
        ratio.pairs.to_string(),
        bar,
        adjusted.map_or("–".into(), |r| format!("{:.3}, {}", r.ratio, interval(&r))),
        format!("{} : {}", mean(|p| p.b.switches), mean(|p| p.a.switches)),
        format!("{} : {}", fitted(pairs, |p| p.b), fitted(pairs, |p| p.a)),
        tiers,
    ])
}

/// `0.311 s + 2.81 µs`: the time of a run without switches, and the time per switch. If all runs have the same number
/// of switches, no line can be fitted.
fn fitted(pairs: &[Pair], side: fn(&Pair) -> pairs::Side) -> String {
    let sides: Vec<pairs::Side> = pairs.iter().map(side).collect();
    let (least, most) = sides.iter().fold((u64::MAX, 0), |(lo, hi), s| (lo.min(s.switches), hi.max(s.switches)));
    match pairs::against_switches(&sides).filter(|_| most as f64 > 1.2 * least as f64) {
        Some(line) => format!("{:.3} s + {:.2} µs", line.base, 1e6 * line.slope),
        None => "–".into(),
    }
}

fn hackbench_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for transport in ["pipe", "unix"] {
        for mode in ["process", "thread"] {
            // A message over a unix socket takes three times as long as over a pipe.
            let (loops, four_groups_pairs) = if transport == "pipe" { (1200, 64) } else { (600, 48) };
            rows.push(hackbench(Pinning::OneCpu, transport, mode, (1, loops), 100));
            rows.push(hackbench(Pinning::OneCpu, transport, mode, (4, 3 * loops / 4), four_groups_pairs));
            rows.push(hackbench(Pinning::Free, transport, mode, (1, loops), 12));
        }
    }
    // The part of `Time:` that is not messages: the exit of 160 tasks. Too short for a bar; it explains the other rows.
    for mode in ["process", "thread"] {
        rows.push(hackbench(Pinning::TasksEnd, "pipe", mode, (4, 1), 40));
    }
    rows
}

fn hackbench(pinning: Pinning, transport: &str, mode: &str, (groups, loops): (u32, u32), pairs: usize) -> Row {
    let mode_flag = if mode == "process" { "-P" } else { "-T" };
    let socket_flag = if transport == "pipe" { "-p" } else { "" };
    let reference = format!("hackbench -g {groups} -l {loops} -s 100 {mode_flag} {socket_flag}");
    Row {
        name: format!("hackbench {transport} {mode}, {groups} groups, {loops} loops"),
        pinning,
        ours: vec![format!("messaging:groups={groups},loops={loops},transport={transport},mode={mode}")],
        metric: "time_s",
        reference: words(&reference),
        seconds: |text| number_after(text, "Time:"),
        pairs,
    }
}

fn pipe_rows() -> Vec<Row> {
    let row = |pinning, loops: u64, ours: &str, reference: &str| Row {
        name: format!("perf bench sched pipe{}", if reference.contains("-T") { " threads" } else { "" }),
        pinning,
        ours: vec![format!("pipe:bytes=4,loops={loops},{ours}")],
        metric: "time_s",
        reference: words(&format!("perf bench sched pipe -l {loops} {reference}")),
        seconds: |text| number_after(text, "Total time:"),
        pairs: if pinning == Pinning::OneCpu { 40 } else { 24 },
    };
    vec![
        row(Pinning::OneCpu, 40_000, "mode=process,pin=free", ""),
        row(Pinning::OneCpu, 40_000, "mode=thread,pin=free", "-T"),
        row(Pinning::Apart, 20_000, "mode=process,pin=apart", ""),
        row(Pinning::Free, 10_000, "mode=process,pin=free", ""),
    ]
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn number_after(text: &str, label: &str) -> Option<f64> {
    text.split(label).nth(1)?.split_whitespace().next()?.parse().ok()
}

fn measure(row: &Row, pairs: usize) -> Result<(Vec<Pair>, String)> {
    let cpus = matches!(row.pinning, Pinning::OneCpu | Pinning::TasksEnd).then_some("0");
    let mut tiers = String::new();
    let ours = || -> Result<f64> {
        let arguments: Vec<&str> =
            row.ours.iter().map(String::as_str).chain(["--latency", "off", "--counters", "basic"]).collect();
        let outcome = program::trial(cpus, &arguments)?;
        tiers = tier_shares(&outcome);
        program::metric(&outcome, row.metric)
    };
    let pairs = interleave(pairs, 0x5EED, || reference(row, cpus), ours)?;
    Ok((pairs, tiers))
}

/// The reference's own figure. `perf bench` cannot pin its two sides to different CPUs, so its child is moved from
/// outside, some 0.1 ms after its fork. Until then they share a CPU and are faster, for some 30 of 20 000 rounds.
fn reference(row: &Row, cpus: Option<&str>) -> Result<f64> {
    let arguments: Vec<&str> = row.reference[1..].iter().map(String::as_str).collect();
    let text = if row.pinning == Pinning::Apart {
        let before = affinity::allowed_cpus(0)?;
        let mut command = program::on_cpus(Some("0"), &row.reference[0], &arguments);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        // Watch from the CPU to which the child will be moved, so that watching does not disturb the reference's
        // parent.
        affinity::set_affinity(0, &[1])?;
        let child = command.spawn()?;
        let moved = move_child_apart(child.id());
        affinity::set_affinity(0, &before)?;
        let output = child.wait_with_output()?;
        moved?;
        String::from_utf8_lossy(&output.stdout).into_owned()
    } else {
        program::text(program::on_cpus(cpus, &row.reference[0], &arguments))?
    };
    (row.seconds)(&text).with_context(|| format!("{:?} printed no figure: {text}", row.reference))
}

fn move_child_apart(parent: u32) -> Result<()> {
    let children = format!("/proc/{parent}/task/{parent}/children");
    let give_up = Instant::now() + std::time::Duration::from_millis(500);
    while Instant::now() < give_up {
        let text = std::fs::read_to_string(&children).unwrap_or_default();
        if let Some(child) = text.split_whitespace().next() {
            return Ok(affinity::set_affinity(child.parse()?, &[1])?);
        }
    }
    bail!("the reference forked no child within 0.5 s")
}

fn tier_shares(outcome: &serde_json::Value) -> String {
    let tiers = outcome["tiers"].as_array().cloned().unwrap_or_default();
    let count = |t: &serde_json::Value| t["operations"].as_u64().unwrap_or(0);
    let total: u64 = tiers.iter().map(count).sum();
    let share = |t: &serde_json::Value| {
        format!("{} {:.0} %", t["tier"].as_str().unwrap_or("?"), 100.0 * count(t) as f64 / total.max(1) as f64)
    };
    tiers.iter().filter(|t| count(t) > 0).map(share).collect::<Vec<_>>().join(", ")
}
