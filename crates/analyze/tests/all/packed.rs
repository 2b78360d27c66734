//! A comparison of packed trials gives the same result as one of complete trials.

use crate::lab::{lab, metric, rate};
use schedlab_analyze::{Packer, compare};
use schedlab_plan::histogram::{BUCKETS, bucket_of};
use schedlab_plan::*;

fn histogram(name: &str, tier: Option<Tier>, from: u64) -> NamedHistogram {
    let values: Vec<u64> = (0..3000).map(|n| from + n * 37).collect();
    let mut cells = vec![0; BUCKETS];
    values.iter().for_each(|&value| cells[bucket_of(value)] += 1);
    let histogram = Histogram::from_dense(&cells, values.iter().sum(), values[0], values[values.len() - 1]);
    NamedHistogram { name: name.into(), tier, histogram }
}

fn counter(name: &str, scope: &str, count: Count) -> Counter {
    Counter { name: name.into(), scope: scope.into(), source: "perf".into(), count }
}

/// Everything that a comparison reads, some of it only in some trials.
fn fill(trial: u64, arm: u64, outcome: &mut TrialOutcome) {
    let count = |n: u64| Count::Exact(n * (10 + trial % 5) * (1 + arm));
    outcome.operations = 1000 + trial;
    outcome.metrics.push(metric("switches_per_op", (1 + trial % 7) as f64, "1/op", Direction::Neutral));
    outcome.metrics.extend(trial.is_multiple_of(3).then(|| metric("odd", trial as f64, "s", Direction::LowerIsBetter)));
    outcome.histograms = vec![
        histogram("latency", None, 1000 * (1 + arm)),
        histogram("latency", Some(Tier::SameCpu), 900),
        histogram("latency", Some(Tier::Llc), 2000 + 100 * trial),
    ];
    outcome.tiers = vec![TierCount { tier: Tier::SameCpu, operations: 10 + trial }];
    outcome.tiers.push(TierCount { tier: Tier::Llc, operations: 10 });
    outcome.counters = vec![
        counter("migrations", "workload", count(3)),
        counter("cycles", "workload", Count::NotCounted("no PMU".into())),
        counter("scaled", "workload", Count::Scaled { value: trial, running_ns: 1, enabled_ns: 2 }),
        counter("context_switches", "host", count(9)),
        counter("softirq.TIMER", "cpu0", count(2)),
    ];
    outcome.counters.extend((arm == 1).then(|| counter("TcpExt.TCPAutoCorking", "netns", count(70))));
    outcome.tasks = (0..4)
        .map(|tid| TaskRecord {
            tid,
            role: if tid == 3 { "burner" } else { "sender" }.into(),
            voluntary_switches: Some(trial + u64::from(tid)),
            run_ns: (!trial.is_multiple_of(4)).then_some(5),
            ..TaskRecord::default()
        })
        .collect();
    outcome.groups = vec![TaskGroup { autogroup: "/autogroup-1".into(), cgroup: "/".into(), tasks: 2 }];
    outcome.native_lines = vec!["Time: 1".into()];
    outcome.notes = if trial.is_multiple_of(5) { vec!["overloaded".into()] } else { Vec::new() };
    let effective = if trial < 9 { "3 ms" } else { "2.8 ms" };
    outcome.applied =
        vec![Applied { setting: "slice=3ms".parse().unwrap(), effective: effective.into(), not_applied: None }];
    outcome.loads = vec![LoadReport { spec: "burn".into(), asked_cpu_ns: 10, achieved_cpu_ns: 9, alive: trial != 4 }];
    outcome.stamping.stamped = 5;
    outcome.stamping.cost_share = 0.01 * trial as f64;
    outcome.series = vec![SeriesPoint { t_ns: 1, name: "x".into(), scope: "host".into(), delta: 1.0 }];
}

fn packed(manifest: &Manifest, trials: &[TrialRecord]) -> Vec<TrialRecord> {
    let mut packer = Packer::default();
    trials.iter().map(|trial| packer.pack(manifest, trial.clone())).collect()
}

#[test]
fn packed_trials_say_what_whole_ones_say() {
    let mut lab = lab(&[("A", ""), ("B", "slice=3ms")], &["pipe", "pipe:copies=2"]);
    for workload in 0..2 {
        for n in 0..12 {
            let around = 100.0 + f64::from(n);
            lab.block(workload, |arm, noise| rate((around + noise) * (1.0 + 0.1 * f64::from(arm))));
        }
    }
    let (manifest, mut trials) = lab.run();
    for trial in &mut trials {
        let (number, arm) = (trial.trial, u64::from(trial.arm.unwrap_or(0)));
        fill(number, arm, trial.outcome.as_mut().unwrap());
    }
    trials[5].marks.push(Mark::Steal { share: 0.2 });
    let whole = compare(&manifest, &trials);
    assert!(whole.workloads[0].arms[1].distributions.len() == 1 && whole.workloads[0].arms[1].per_operation.len() > 4);
    assert_eq!(compare(&manifest, &packed(&manifest, &trials)), whole);
}

#[test]
fn the_copies_of_a_sweep_are_told_of_as_before() {
    let mut lab = lab(&[("A", ""), ("B", "slice=3ms")], &["pipe:copies=1", "pipe:copies=2"]);
    let values = vec!["1".into(), "2".into()];
    lab.manifest.sweeps =
        vec![schedlab_plan::manifest::Sweep { option: "copies".into(), parallel: true, values, workloads: vec![0, 1] }];
    for workload in [0, 1].repeat(8) {
        lab.block_of(workload, |_, noise| {
            let task = |role: &str, last_cpu| TaskRecord {
                role: role.into(),
                operations: 5,
                last_cpu: Some(last_cpu),
                same_cpu_share: Some(0.5),
                ..TaskRecord::default()
            };
            TrialOutcome {
                tasks: vec![task("parent", 0), task("child", 1)],
                ..crate::lab::outcome(rate(100.0 + noise))
            }
        });
    }
    let (manifest, trials) = lab.run();
    let whole = compare(&manifest, &trials);
    assert!(whole.scalings[0].rows.iter().all(|row| !row.copies.is_empty()), "{:?}", whole.scalings);
    assert_eq!(compare(&manifest, &packed(&manifest, &trials)), whole);
}

/// A limit that allows a campaign of a hundred thousand trials.
#[test]
fn a_packed_trial_takes_a_kilobyte() {
    assert!(size_of::<TrialRecord>() <= 720, "{}", size_of::<TrialRecord>());
}
