//! Fidelity: our workload against its twin, in interleaved pairs, both pinned to one CPU. The bar: the whole 95 %
//! interval of ours / twin lies in 0.97–1.03. Free placement is information: there the scheduler decides, not the
//! program. About 15 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, bail};
use schedlab_benches::pairs::{Ratio, interleave};
use schedlab_benches::{cyclictest, program, table};
use std::time::Instant;

const PAIRS: usize = 40;

/// Where both sides run.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    OneCpu,
    Apart,
    Free,
}

struct Row {
    name: String,
    place: Place,
    ours: Vec<String>,
    metric: &'static str,
    twin: Vec<String>,
    seconds: fn(&str) -> Option<f64>,
}

fn main() -> Result<()> {
    let started = Instant::now();
    let filter = std::env::args().nth(1).unwrap_or_default();
    let pairs = std::env::args().nth(2).map_or(Ok(PAIRS), |n| n.parse()).context("the number of pairs")?;
    let mut rows = Vec::new();
    for row in hackbench_rows().into_iter().chain(pipe_rows()).filter(|r| r.name.contains(&filter)) {
        if !program::exists(&row.twin[0]) {
            bail!("{} is not installed: apt install rt-tests linux-perf", row.twin[0]);
        }
        let (ratio, tiers) = measure(&row, pairs)?;
        let bar = if row.place == Place::Free { "information".into() } else { table::met(ratio.within(0.97, 1.03)) };
        let place = ["one CPU", "apart", "free"][row.place as usize];
        eprintln!("{} ({place}): {:.4} [{:.4}, {:.4}]", row.name, ratio.ratio, ratio.lo, ratio.hi);
        rows.push(vec![
            row.name.clone(),
            place.into(),
            format!("{:.3}", ratio.ratio),
            format!("{:.3}–{:.3}", ratio.lo, ratio.hi),
            ratio.pairs.to_string(),
            bar,
            tiers,
        ]);
    }
    rows.extend(cyclictest::rows(&filter, pairs)?);
    let header = ["row", "placement", "ours / twin (time)", "95 % interval", "pairs", "within 0.97–1.03", "our tiers"];
    table::print("Fidelity to the twins", &header, &rows);
    table::closing("fidelity", started.elapsed());
    Ok(())
}

fn hackbench_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for place in [Place::OneCpu, Place::Free] {
        for (transport, socket_flag) in [("pipe", "-p"), ("unix", "")] {
            for (mode, mode_flag) in [("process", "-P"), ("thread", "-T")] {
                for (groups, loops) in [(1, 1200), (4, 300)] {
                    // The four-group rows repeat under free placement nothing the one-group rows do not show.
                    if place == Place::Free && groups == 4 {
                        continue;
                    }
                    let spec = format!("messaging:groups={groups},loops={loops},transport={transport},mode={mode}");
                    let twin = format!("hackbench -g {groups} -l {loops} -s 100 {mode_flag} {socket_flag}");
                    rows.push(Row {
                        name: format!("hackbench {transport} {mode} {groups} groups"),
                        place,
                        ours: vec![spec],
                        metric: "time_s",
                        twin: words(&twin),
                        seconds: |text| number_after(text, "Time:"),
                    });
                }
            }
        }
    }
    rows
}

fn pipe_rows() -> Vec<Row> {
    let row = |place, loops: u64, ours: &str, twin: &str| Row {
        name: format!("perf bench sched pipe{}", if twin.contains("-T") { " threads" } else { "" }),
        place,
        ours: vec![format!("pipe:bytes=4,loops={loops},{ours}")],
        metric: "time_s",
        twin: words(&format!("perf bench sched pipe -l {loops} {twin}")),
        seconds: |text| number_after(text, "Total time:"),
    };
    vec![
        row(Place::OneCpu, 40_000, "mode=process,pin=free", ""),
        row(Place::OneCpu, 40_000, "mode=thread,pin=free", "-T"),
        row(Place::Apart, 20_000, "mode=process,pin=apart", ""),
        row(Place::Free, 10_000, "mode=process,pin=free", ""),
    ]
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn number_after(text: &str, label: &str) -> Option<f64> {
    text.split(label).nth(1)?.split_whitespace().next()?.parse().ok()
}

fn measure(row: &Row, pairs: usize) -> Result<(Ratio, String)> {
    let cpus = (row.place == Place::OneCpu).then_some("0");
    let mut tiers = String::new();
    let ours = || -> Result<f64> {
        let arguments: Vec<&str> =
            row.ours.iter().map(String::as_str).chain(["--latency", "off", "--counters", "basic"]).collect();
        let outcome = program::trial(cpus, &arguments)?;
        tiers = tier_shares(&outcome);
        program::metric(&outcome, row.metric)
    };
    let logs = interleave(pairs, 0x5EED, || twin(row, cpus), ours)?;
    Ok((Ratio::from_logs(&logs).context("no pairs")?, tiers))
}

/// The twin's own figure. `perf bench` cannot pin its two sides apart, so its child is moved from outside; until then
/// they share a CPU, a few milliseconds of a run of more than a second.
fn twin(row: &Row, cpus: Option<&str>) -> Result<f64> {
    let arguments: Vec<&str> = row.twin[1..].iter().map(String::as_str).collect();
    let text = if row.place == Place::Apart {
        let mut command = program::on_cpus(Some("0"), &row.twin[0], &arguments);
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn()?;
        move_child_apart(child.id())?;
        let output = child.wait_with_output()?;
        String::from_utf8_lossy(&output.stdout).into_owned()
    } else {
        program::text(program::on_cpus(cpus, &row.twin[0], &arguments))?
    };
    (row.seconds)(&text).with_context(|| format!("{:?} printed no figure: {text}", row.twin))
}

fn move_child_apart(parent: u32) -> Result<()> {
    let children = format!("/proc/{parent}/task/{parent}/children");
    for _ in 0..2000 {
        let text = std::fs::read_to_string(&children).unwrap_or_default();
        if let Some(child) = text.split_whitespace().next() {
            program::text(program::on_cpus(None, "taskset", &["-p", "-c", "1", child]))?;
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    bail!("the twin forked no child within 0.2 s")
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
