//! The recorder: how fast pages of the kernel become blocks of a recording and how small, whether any of a hundred million
//! events is lost, and what recording costs beside the events alone and beside `perf record` of the same events.
//! Bars: 3 M events/s on one core, 6 bytes an event before compression and 3.5 after, none lost; on the same-CPU ping-pong at
//! most 1.15 × the cost of the events alone, on hackbench's job at most 5 % or the events alone beside it, on both half of perf's.
//! Needs root, tracefs and two CPUs; perf of PATH, or `SCHEDLAB_PERF`. About 15 minutes.
//! `cargo xtask bench recording -- cost 12` is the ping-pong's cost in 12 blocks, `-- hackbench 12` the other's.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cost;

use anyhow::{Context, Result};
use cost::{HACKBENCH, PING_PONG};
use schedlab_benches::{ftrace_pages, program, table};
use schedlab_trace::recording::BlockWriter;
use schedlab_trace::{Cpu, PageDecoder};
use std::path::{Path, PathBuf};
use std::time::Instant;

const BLOCKS: usize = 30;
/// For the run that must not lose events: 100 M events at half a million per second, the rate of a slow virtual
/// machine.
const LONG: &str = "duration=300s";

fn main() -> Result<()> {
    let started = Instant::now();
    let filter = std::env::args().nth(1).unwrap_or_default();
    let blocks: usize = std::env::args().nth(2).map_or(Ok(BLOCKS), |n| n.parse()).context("the number of blocks")?;
    let lab = Lab::new()?;
    if "encode".contains(&filter) {
        encode()?;
    }
    if "lossless".contains(&filter) {
        lossless(&lab)?;
    }
    if "cost".contains(&filter) {
        cost::cost(&PING_PONG, &lab, blocks)?;
    }
    if "hackbench".contains(&filter) {
        cost::cost(&HACKBENCH, &lab, blocks)?;
    }
    table::closing("recording", started.elapsed());
    Ok(())
}

/// A temporary directory of the benchmark, removed on drop.
struct Lab(PathBuf);

impl Lab {
    fn new() -> Result<Self> {
        let dir = std::env::temp_dir().join(format!("schedlab-recording-{}", std::process::id()));
        std::fs::create_dir_all(&dir).with_context(|| format!("{} cannot be made", dir.display()))?;
        Ok(Self(dir))
    }

    fn path(&self, name: &str) -> Result<String> {
        let path: &Path = &self.0.join(name);
        Ok(path.to_str().context("the temporary directory's path is not text")?.to_owned())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Encodes pages in memory into blocks that are discarded: the best of five runs over 50,000 pages, 200 MB.
fn encode() -> Result<()> {
    let mut rows = Vec::new();
    for threads in [2, 40, 400] {
        let pages = ftrace_pages::ping_pong(50_000, threads);
        let best = (0..5).map(|_| Encoded::of(&pages)).collect::<Result<Vec<_>>>()?;
        let best =
            best.into_iter().max_by(|a, b| a.million_a_second.total_cmp(&b.million_a_second)).context("no run")?;
        let ok = best.million_a_second >= 3.0 && best.whole <= 6.0 && best.stored <= 3.5;
        rows.push(vec![
            threads.to_string(),
            format!("{:.1}", best.million_a_second),
            format!("{:.2}", best.whole),
            format!("{:.2}", best.stored),
            table::met(ok),
        ]);
    }
    let header = ["threads", "M events/s on one core", "bytes an event", "after lz4", "≥ 3 M/s, ≤ 6, ≤ 3.5"];
    table::print("From pages of the kernel to blocks of a recording", &header, &rows);
    Ok(())
}

struct Encoded {
    million_a_second: f64,
    /// Bytes per event before and after compression.
    whole: f64,
    stored: f64,
}

impl Encoded {
    fn of(pages: &[Vec<u8>]) -> Result<Self> {
        let formats = ftrace_pages::formats();
        let formats: Vec<(&str, &str)> = formats.iter().map(|(system, text)| (*system, text.as_str())).collect();
        let mut decoder = PageDecoder::new(ftrace_pages::HEADER_PAGE, &formats, false).map_err(anyhow::Error::msg)?;
        let mut writer = BlockWriter::new(Cpu(0));
        let (mut events, mut whole, mut stored) = (0, 0, 0);
        let began = Instant::now();
        for page in pages {
            if !writer.has_room_for(decoder.most_events())
                && let Some(block) = writer.finish(decoder.names(), decoder.states())
            {
                (events, whole, stored) =
                    (events + block.events, whole + block.whole_bytes, stored + block.stored_bytes());
            }
            decoder.decode_into(page, &mut writer)?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let per_event = |bytes: u64| bytes as f64 / events as f64;
        Ok(Self { million_a_second: events as f64 / seconds / 1e6, whole: per_event(whole), stored: per_event(stored) })
    }
}

/// A long recording of the busiest events.
fn lossless(lab: &Lab) -> Result<()> {
    let dir = lab.path("long")?;
    let spec = format!("{},{LONG}", PING_PONG.workload);
    let outcome = record(&["-o", &dir, "--events", "min", "--json", "--top", "0", "--", &spec])?;
    let count = |name: &str| counter(&outcome, name);
    let (events, lost, on_ns) = (count("trace_events")?, count("trace_lost")?, count("trace_on_ns")?);
    let per_event = |name: &str| Ok::<f64, anyhow::Error>(count(name)? as f64 / events as f64);
    let (whole, stored) = (per_event("trace_bytes_before_compression")?, per_event("trace_file_bytes")?);
    let row = vec![
        format!("{:.1} M", events as f64 / 1e6),
        format!("{:.2} M", events as f64 / on_ns as f64 * 1e3),
        lost.to_string(),
        format!("{whole:.2}"),
        format!("{stored:.2}"),
        format!("{:.0}", per_event("trace_reader_cpu_ns")?),
        table::met(lost == 0 && whole <= 6.0 && stored <= 3.5),
    ];
    let header = [
        "events",
        "a second",
        "lost",
        "bytes an event",
        "in the file",
        "ns of the reader's CPU an event",
        "none lost, ≤ 6, ≤ 3.5",
    ];
    table::print(&format!("{spec}, recorded"), &header, &[row]);
    Ok(())
}

fn record(arguments: &[&str]) -> Result<serde_json::Value> {
    let program = program::schedlab()?;
    let program = program.to_str().context("the binary's path is not text")?;
    let all: Vec<&str> = ["record"].iter().chain(arguments).copied().collect();
    let output = program::output(program::on_cpus(None, program, &all))?;
    serde_json::from_slice(&output.stdout).context("the recording's JSON")
}

fn counter(outcome: &serde_json::Value, name: &str) -> Result<u64> {
    let counters = outcome["counters"].as_array().context("no counters")?;
    let found = counters.iter().find(|c| c["name"] == name).and_then(|c| c["count"]["exact"].as_u64());
    found.with_context(|| format!("the trial has no counter {name}"))
}
