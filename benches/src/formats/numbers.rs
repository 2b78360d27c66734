//! The released binary's answer about a trace: its numbers, or the sentence with which it refuses; and the cost of the
//! run.

use super::lines::Text;
use super::reference::{self, Waits};
use anyhow::{Context, Result};
use schedlab_sys::process::{self, ExitStatus};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The numbers of a trace that two readers must agree on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Events by name, without their system.
    pub events: BTreeMap<String, u64>,
    /// After wakeups.
    pub wakeup: Waits,
    /// After preemptions.
    pub preempt: Waits,
}

impl Numbers {
    /// The numbers of the reference.
    pub fn of(text: &Text) -> Self {
        let found = reference::waits(&text.events, text.in_turn);
        Self { events: text.names.clone(), wakeup: found.wakeup, preempt: found.preempt }
    }

    /// `sched_switch` events.
    pub fn switches(&self) -> u64 {
        self.events.get("sched_switch").copied().unwrap_or(0)
    }

    /// All events.
    pub fn all(&self) -> u64 {
        self.events.values().sum()
    }

    /// The longest wait of both kinds, ns.
    pub fn longest_ns(&self) -> u64 {
        self.wakeup.max_ns.max(self.preempt.max_ns)
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The answers of both commands together.
    pub numbers: Numbers,
    /// Everything that is reported missing or wrong: problems, gaps, losses, unreadable parts.
    pub wrong: Vec<String>,
    /// Events that are reported as not recorded.
    pub lacking: Vec<String>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    /// Exit status or signal; `None` if it was killed because it took too long.
    pub status: Option<ExitStatus>,
    /// How long it took.
    pub took: Duration,
    /// Largest resident set, bytes.
    pub rss_bytes: u64,
    /// Standard output.
    pub out: Vec<u8>,
    /// Standard error.
    pub err: String,
}

/// The inner `Err` is the sentence of a refusal.
pub type Answer = std::result::Result<Answered, String>;

/// Runs `trace latency` and `trace check`; either both refuse or neither.
pub fn ask(schedlab: &Path, trace: &Path, scratch: &Path) -> Result<Answer> {
    let latency = run(schedlab, "latency", trace, scratch, Duration::from_secs(120))?;
    let check = run(schedlab, "check", trace, scratch, Duration::from_secs(120))?;
    answer(&latency, &check)
}

/// Combines the answers of two runs.
pub fn answer(latency: &Ran, check: &Ran) -> Result<Answer> {
    for ran in [latency, check] {
        if ran.status != Some(ExitStatus::Exited(0)) {
            let last = ran.err.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no word").to_owned();
            return Ok(Err(last));
        }
    }
    let json = |ran: &Ran| serde_json::from_slice::<Value>(&ran.out).context("the answer is not JSON");
    let (latency, check) = (json(latency)?, json(check)?);
    let lacking = sentences(&latency["lacking"]).chain(sentences(&check["lacking"])).collect();
    Ok(Ok(Answered { numbers: numbers(&latency, &check)?, wrong: wrong(&latency, &check), lacking }))
}

fn numbers(latency: &Value, check: &Value) -> Result<Numbers> {
    let waits = |kind: &str| {
        let of = &latency["total"][kind];
        let sum_ns = of["histogram"]["sum_ns"].as_u64().unwrap_or(0);
        let count = of["count"].as_u64().with_context(|| format!("no count of {kind}"))?;
        Ok::<Waits, anyhow::Error>(Waits { count, sum_ns, max_ns: of["max_ns"].as_u64().unwrap_or(0) })
    };
    let mut events = BTreeMap::new();
    for pair in check["trace"]["events_by_name"].as_array().context("no events_by_name")? {
        let name = pair[0].as_str().context("an event without a name")?;
        let name = name.rsplit(':').next().unwrap_or(name);
        // perf lists the events that it was asked to record, even if none came.
        if let Some(count) = pair[1].as_u64().filter(|count| *count > 0) {
            *events.entry(name.to_owned()).or_default() += count;
        }
    }
    Ok(Numbers { events, wakeup: waits("wakeup")?, preempt: waits("preempt")? })
}

fn sentences(of: &Value) -> impl Iterator<Item = String> {
    of.as_array().into_iter().flatten().filter_map(|sentence| sentence.as_str().map(str::to_owned))
}

fn wrong(latency: &Value, check: &Value) -> Vec<String> {
    let problems = [latency, check].into_iter().flat_map(|of| sentences(&of["trace"]["problems"]));
    let mut wrong: Vec<String> = problems.collect();
    for count in ["reported_lost", "unread"] {
        wrong.extend(check[count].as_u64().filter(|n| *n > 0).map(|n| format!("{count}: {n}")));
    }
    let gaps = latency["trace"]["gaps"].as_u64().into_iter().chain(check["trace"]["gaps"].as_u64()).max();
    wrong.extend(gaps.filter(|gaps| *gaps > 0).map(|gaps| format!("gaps: {gaps}")));
    wrong.dedup();
    wrong
}

/// Runs one analysis with `--json`, with a time limit.
pub fn run(schedlab: &Path, analysis: &str, trace: &Path, scratch: &Path, limit: Duration) -> Result<Ran> {
    let (out, err) = (scratch.with_extension("out"), scratch.with_extension("err"));
    let started = Instant::now();
    let mut child = Command::new(schedlab)
        .args(["trace", analysis, "--json"])
        .arg(trace)
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .spawn()
        .with_context(|| format!("{} cannot be started", schedlab.display()))?;
    let mut killed = false;
    let reaped = loop {
        if let Some(reaped) = process::try_wait_for(child.id())? {
            break reaped;
        }
        if started.elapsed() > limit && !killed {
            child.kill()?;
            killed = true;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    Ok(Ran {
        status: (!killed).then_some(reaped.status),
        took: started.elapsed(),
        rss_bytes: reaped.rusage.max_rss_bytes,
        out: std::fs::read(&out)?,
        err: String::from_utf8_lossy(&std::fs::read(&err)?).into_owned(),
    })
}

impl Ran {
    /// Describes a panic, a crash or a hang; `None` for an answer or a refusal within the limits of time and memory.
    pub fn failure(&self, limit_bytes: u64) -> Option<String> {
        match self.status {
            None => return Some(format!("hang: killed after {:.1} s", self.took.as_secs_f64())),
            Some(ExitStatus::Signaled(signal)) => return Some(format!("signal {signal}")),
            Some(ExitStatus::Exited(code)) if code == 101 || self.err.contains("panicked at") => {
                return Some(format!("panic: {}", self.err.lines().next().unwrap_or_default()));
            }
            Some(_) => {}
        }
        (self.rss_bytes > limit_bytes).then(|| format!("{} MiB", self.rss_bytes >> 20))
    }
}
