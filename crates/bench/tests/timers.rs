//! `timer/1` and `wakeup/2` end to end: every mode and loop, verified counts, the planted stall where it belongs, and
//! what happens if a task dies.

mod ran;

use ran::{order, run, run_with, value};
use schedlab_bench::{HerdTask, Observer, Quiet, RunOrder, Stall};
use schedlab_plan::{Histogram, Stamping, TrialOutcome};
use std::path::Path;
use std::time::{Duration, Instant};

fn whole<'a>(outcome: &'a TrialOutcome, name: &str) -> Option<&'a Histogram> {
    outcome.histograms.iter().find(|named| named.name == name && named.tier.is_none()).map(|named| &named.histogram)
}

#[test]
fn a_timer_wakes_as_often_as_ordered_and_keeps_every_period() {
    for mode in ["process", "thread"] {
        for stamping in [Stamping::Sampled, Stamping::All] {
            let spec = format!("timer:threads=2,interval=500us,pin=each,loops=40,mode={mode},dma_latency=none");
            let outcome = run(&spec, stamping);
            assert_eq!((outcome.operations, outcome.tasks.len(), outcome.stamping.stamped), (80, 2, 80), "{spec}");
            let missed = value(&outcome, "missed_periods").unwrap() as u64;
            assert_eq!(whole(&outcome, "latency").unwrap().count(), 80 + missed);
            assert_eq!(whole(&outcome, "wake_latency").unwrap().count(), 80);
            assert!(outcome.native_lines[0].starts_with("T: 0 (") && outcome.native_lines.len() == 2);
            assert!(outcome.tasks.iter().all(|task| task.voluntary_switches.is_some() && task.last_cpu.is_some()));
        }
    }
}

#[test]
fn a_timer_without_stamps_reads_no_clock_and_says_so() {
    let outcome = run("timer:interval=1ms,duration=300ms,dma_latency=none", Stamping::Off);
    assert!(outcome.operations > 0 && outcome.histograms.is_empty() && value(&outcome, "missed_periods").is_none());
    assert!(outcome.notes[0].contains("unknown"), "{:?}", outcome.notes);
}

/// A stall is a lower bound on the delay: a busy machine can only increase these values.
#[test]
fn a_stall_is_in_every_period_it_covers_and_in_one_wake_up() {
    let stall = Stall { ns: 40_000_000, period_ns: 200_000_000 };
    let order = RunOrder { delay_stall: Some(stall), ..order(Stamping::All) };
    let outcome = run_with("timer:interval=1ms,duration=400ms,dma_latency=none", &order, &mut Quiet).unwrap();
    assert!(value(&outcome, "missed_periods").unwrap() >= 35.0, "two stalls of 40 periods, one of them at least");
    let late = |histogram: &Histogram| -> u64 {
        let stalled = |cell: u32| schedlab_plan::histogram::bucket_range(cell as usize).0 > 20_000_000;
        histogram.cells.iter().filter(|(cell, _)| stalled(*cell)).map(|(_, n)| n).sum()
    };
    let (all, wakes) = (late(whole(&outcome, "latency").unwrap()), late(whole(&outcome, "wake_latency").unwrap()));
    assert!(all >= 18 && wakes <= all / 3, "{all} periods and {wakes} wakeups were more than 20 ms late");
}

#[test]
fn a_closed_loop_serves_every_request_it_woke_for() {
    for mode in ["process", "thread"] {
        for stamping in [Stamping::Off, Stamping::Sampled, Stamping::All] {
            let spec = format!("wakeup:2x3,think=10us,work=1,footprint=1k,loops=20,mode={mode}");
            let outcome = run(&spec, stamping);
            assert_eq!((outcome.operations, outcome.tasks.len()), (120, 8), "{spec}");
            let given: u64 = outcome.tasks.iter().filter(|t| t.role == "messenger").map(|t| t.operations).sum();
            assert_eq!((given, outcome.tiers.iter().map(|tier| tier.operations).sum::<u64>()), (120, 120));
            match stamping {
                Stamping::Off => assert!(outcome.histograms.is_empty() && outcome.stamping.stamped == 0),
                Stamping::Sampled => assert!((1..=120).contains(&outcome.stamping.stamped)),
                Stamping::All => {
                    let counts = ["latency", "request"].map(|name| whole(&outcome, name).unwrap().count());
                    assert_eq!(counts, [120, 120]);
                }
            }
        }
    }
}

#[test]
fn a_closed_loop_ends_by_time_and_pages_are_verified() {
    for spec in [
        "wakeup:1x2,think=0,work=0,duration=300ms",
        "wakeup:2x2,work=1,footprint=1k,lock=no,duration=300ms,mode=process,pin=same",
        "wakeup:1x3,pipe=4k,duration=300ms",
        "wakeup:2x2,pipe=100,duration=300ms,mode=process",
    ] {
        let outcome = run(spec, Stamping::All);
        assert!(outcome.operations > 20, "{spec}: {}", outcome.operations);
        assert_eq!(whole(&outcome, "latency").unwrap().count(), outcome.operations);
        assert!(outcome.native_lines.last().unwrap().starts_with("average rps: "));
    }
}

#[test]
fn an_open_loop_keeps_every_request_that_arrived() {
    for (spec, arrived) in [
        ("wakeup:1x2,rate=2000,think=0,work=0,loops=30,mode=process", Some(60)),
        ("wakeup:2x2,rate=2000,think=0,work=0,loops=20", Some(80)),
        ("wakeup:1x1,rate=2000,think=0,work=0,duration=300ms", None),
        // Forty times what a worker that thinks 20 ms can serve.
        ("wakeup:1x1,rate=2000,think=20ms,work=0,duration=100ms", None),
        // Slower than the pieces in which the messenger sleeps.
        ("wakeup:1x1,rate=10,think=0,work=0,duration=150ms,mode=process", None),
    ] {
        let outcome = run(spec, Stamping::All);
        let posted: u64 = outcome.tasks.iter().filter(|t| t.role == "messenger").map(|t| t.operations).sum();
        assert_eq!(whole(&outcome, "latency").unwrap().count(), posted, "{spec}");
        assert_eq!(outcome.stamping.stamped, posted);
        assert!(arrived.is_none_or(|arrived| (posted, outcome.operations) == (arrived, arrived)), "{spec}: {posted}");
        assert!(value(&outcome, "asked_per_s").unwrap() >= 10.0);
        if spec.contains("think=20ms") {
            assert!(outcome.notes[0].starts_with("overloaded"), "{:?}", outcome.notes);
            assert!(value(&outcome, "unserved_share").unwrap() > 0.5);
            assert!(whole(&outcome, "latency").unwrap().quantile_ns(0.5).unwrap() > 10e6, "it counts waiting requests");
        }
    }
}

/// Compares the effect of the same stall on both loops; the unit test of the arrivals explains the expected values.
#[test]
fn a_stall_delays_the_requests_of_an_open_loop_and_one_of_a_closed_loop() {
    let stall = Stall { ns: 40_000_000, period_ns: 200_000_000 };
    let order = RunOrder { delay_stall: Some(stall), ..order(Stamping::All) };
    let stalled = |spec: &str| -> (u64, u64) {
        let outcome = run_with(spec, &order, &mut Quiet).unwrap();
        let latency = whole(&outcome, "latency").unwrap();
        let late = |cell: u32| schedlab_plan::histogram::bucket_range(cell as usize).0 > 20_000_000;
        (latency.cells.iter().filter(|(cell, _)| late(*cell)).map(|(_, n)| n).sum(), latency.count())
    };
    let (open, all_open) = stalled("wakeup:1x1,rate=1000,think=0,work=0,duration=400ms");
    let (closed, all_closed) = stalled("wakeup:1x1,think=1ms,work=0,duration=400ms");
    assert!(open >= 18, "{open} of {all_open} more than 20 ms late");
    assert!(closed * 2 < open, "{closed} of {all_closed} more than 20 ms late, {open} in the open loop");
}

/// Kills one task of the herd after the release.
struct Killer {
    victim: usize,
    tasks: Vec<HerdTask>,
}

impl Observer for Killer {
    fn herd_ready(&mut self, tasks: &[HerdTask]) -> Result<(), String> {
        self.tasks = tasks.to_vec();
        Ok(())
    }
    fn released(&mut self, _t0_ns: u64) {
        schedlab_sys::signal::kill(self.tasks[self.victim].tid, schedlab_sys::signal::SIGKILL).unwrap();
    }
}

#[test]
fn a_killed_task_ends_the_run_with_one_clear_error_and_no_orphan() {
    for (spec, victim) in [
        ("timer:threads=3,mode=process,duration=100s,dma_latency=none", 1),
        ("wakeup:2x2,mode=process,duration=100s", 0),
        ("wakeup:2x2,mode=process,duration=100s", 4),
        ("wakeup:1x3,mode=process,rate=500,duration=100s", 0),
        ("wakeup:1x3,mode=process,rate=500,duration=100s", 2),
        ("wakeup:1x3,mode=process,pipe=4k,duration=100s", 1),
    ] {
        let mut killer = Killer { victim, tasks: Vec::new() };
        let started = Instant::now();
        let error = run_with(spec, &order(Stamping::Off), &mut killer).unwrap_err().to_string();
        assert!(error.contains("was killed by signal 9") && !error.contains('\n'), "{spec}: {error}");
        assert!(started.elapsed() < Duration::from_secs(60), "{spec} took {:?}", started.elapsed());
        let gone = |task: &HerdTask| !Path::new(&format!("/proc/{}", task.tid)).exists();
        assert!(killer.tasks.iter().all(gone), "{spec}");
    }
}
