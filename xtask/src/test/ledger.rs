//! Records what was run, how long it took and how it ended. Stages report while they run, several at a time. The
//! summary repeats the failures, because they have scrolled away by then.

use anyhow::Result;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The result of a stage, or of a part of one.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) passed: usize,
    pub(super) failed: Vec<String>,
    pub(super) skipped: Vec<String>,
}

impl Outcome {
    pub(super) fn passed(count: usize) -> Self {
        Self { passed: count, ..Self::default() }
    }

    pub(super) fn skipped(reason: impl Into<String>) -> Self {
        Self { skipped: vec![reason.into()], ..Self::default() }
    }

    /// Adds a result, passed or failed.
    pub(super) fn add_result(&mut self, result: Result<()>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(error) => self.failed.push(format!("{error:#}")),
        }
    }

    pub(super) fn add(&mut self, other: Outcome) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }
}

struct Stage {
    name: &'static str,
    took: Duration,
    outcome: Outcome,
}

/// All stages so far.
pub(super) struct Ledger {
    started: Instant,
    stages: Mutex<Vec<Stage>>,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), stages: Mutex::default() }
    }

    /// Runs a stage; an error counts as one failure, and the next stage is run all the same.
    pub(super) fn stage(&self, name: &'static str, run: impl FnOnce() -> Result<Outcome>) {
        println!("== {name}");
        let started = Instant::now();
        let outcome =
            run().unwrap_or_else(|error| Outcome { failed: vec![format!("{error:#}")], ..Outcome::default() });
        let took = started.elapsed();
        let mut text = String::new();
        for problem in &outcome.failed {
            text.push_str(&format!("  FAILED  {problem}\n"));
        }
        for reason in &outcome.skipped {
            text.push_str(&format!("  skipped {reason}\n"));
        }
        // In one write, because other stages print too.
        println!("{text}== {name}: {:.1} s\n", took.as_secs_f64());
        self.stages.lock().expect("no stage panics here").push(Stage { name, took, outcome });
    }

    /// Prints the summary; returns whether nothing failed.
    pub(super) fn close(&self) -> bool {
        println!("{}", self.summary());
        self.stages.lock().expect("no stage panics here").iter().all(|s| s.outcome.failed.is_empty())
    }

    fn summary(&self) -> String {
        let stages = self.stages.lock().expect("no stage panics here");
        let mut text = String::from("stage                 seconds  passed  failed  skipped\n");
        let mut row = |name: &str, took: Duration, passed: usize, failed: usize, skipped: usize| {
            let seconds = took.as_secs_f64();
            text.push_str(&format!("{name:<20} {seconds:>8.1} {passed:>7} {failed:>7} {skipped:>8}\n"));
        };
        for Stage { name, took, outcome } in stages.iter() {
            row(name, *took, outcome.passed, outcome.failed.len(), outcome.skipped.len());
        }
        let count = |of: fn(&Outcome) -> usize| stages.iter().map(|s| of(&s.outcome)).sum::<usize>();
        let (passed, failed, skipped) = (count(|o| o.passed), count(|o| o.failed.len()), count(|o| o.skipped.len()));
        row("all, side by side", self.started.elapsed(), passed, failed, skipped);
        for stage in stages.iter() {
            for problem in &stage.outcome.failed {
                text.push_str(&format!("FAILED  {}: {problem}\n", stage.name));
            }
        }
        if let Some(seconds) = cpu_seconds_of_children() {
            text.push_str(&format!("{seconds:.0} s of CPU time\n"));
        }
        text.push_str(&format!("{passed} passed, {failed} failed, {skipped} skipped"));
        text
    }
}

/// CPU time of all child processes that have ended: what could be saved if no CPU was idle. Source: proc(5), `cutime`
/// and `cstime` of `/proc/PID/stat`, in 1/100 s on every architecture we know.
fn cpu_seconds_of_children() -> Option<f64> {
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in parentheses, may contain anything. Field 3, the state, is the first after it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(13..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(ticks as f64 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_failure_and_the_next_stage_still_runs() {
        let ledger = Ledger::new();
        ledger.stage("first", || anyhow::bail!("no compiler"));
        ledger.stage("second", || Ok(Outcome { passed: 3, failed: vec![], skipped: vec!["no PMU".into()] }));
        let summary = ledger.summary();
        assert_eq!(summary.lines().last(), Some("3 passed, 1 failed, 1 skipped"));
        assert!(summary.contains("FAILED  first: no compiler\n"), "{summary}");
        assert!(!ledger.close());
    }

    #[test]
    fn the_time_of_a_child_counts_once_it_has_ended() {
        let before = cpu_seconds_of_children().unwrap();
        // Burns about a tenth of a second.
        let burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", burn]).status().unwrap().success());
        assert!(cpu_seconds_of_children().unwrap() > before);
    }

    #[test]
    fn skips_alone_are_no_failure() {
        let ledger = Ledger::new();
        ledger.stage("only", || Ok(Outcome::skipped("no qemu-aarch64")));
        assert!(ledger.close());
        assert_eq!(ledger.summary().lines().last(), Some("0 passed, 0 failed, 1 skipped"));
    }
}
