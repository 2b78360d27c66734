//! Runs of any size, with as many metrics, distributions and checks as a real one: for tests of sizes, not of numbers.

use super::{Coin, arms, check, environment, manifest, outcome};
use schedlab_plan::*;

/// Exploratory metrics of a real `pipe` trial, in addition to the made-up ones; `messaging` has the first nine.
const METRICS: [&str; 20] = [
    "index",
    "involuntary_switches_per_op",
    "migrations_per_op",
    "run_delay_ns_per_op",
    "latency_p50_ns",
    "latency_p90_ns",
    "latency_p99_ns",
    "tier_share_same_cpu",
    "page_faults_per_op",
    "leg_parent_write_to_child_read_p50_ns",
    "leg_parent_write_to_child_read_p90_ns",
    "leg_parent_write_to_child_read_p99_ns",
    "leg_child_read_to_child_write_p50_ns",
    "leg_child_read_to_child_write_p90_ns",
    "leg_child_read_to_child_write_p99_ns",
    "leg_child_write_to_parent_read_p50_ns",
    "leg_child_write_to_parent_read_p90_ns",
    "leg_child_write_to_parent_read_p99_ns",
    "leg_parent_read_to_parent_write_p50_ns",
    "leg_parent_read_to_parent_write_p90_ns",
];

/// Legs of a round trip, each with a distribution.
const LEGS: [&str; 4] = [
    "leg_parent_write_to_child_read",
    "leg_child_read_to_child_write",
    "leg_child_write_to_parent_read",
    "leg_parent_read_to_parent_write",
];

/// A finished run of `workloads` × `blocks` blocks, each with `arms` arms twice, mirrored; `rich` with many metrics,
/// otherwise only with the primary one.
pub(crate) fn run(workloads: usize, arm_count: usize, blocks: u32, rich: bool) -> (Manifest, Vec<TrialRecord>) {
    let mut manifest = manifest();
    manifest.arms = arms().into_iter().cycle().take(arm_count).collect();
    for (i, arm) in manifest.arms.iter_mut().enumerate().skip(1) {
        *arm = Arm::parse(&format!("arm {i}"), &format!("nice={i}")).expect("a nice value is a setting");
    }
    manifest.workloads.truncate(workloads);
    manifest.workload_ids.truncate(workloads);
    manifest.primary.truncate(workloads);
    manifest.load.truncate(workloads);
    manifest.design = schedlab_plan::manifest::Design::Fixed { blocks };
    manifest.environment = long_environment();
    manifest.environment_end = Some(manifest.environment.clone());
    let mut coin = Coin(11);
    let mut rows = Vec::new();
    for workload in 0..workloads {
        let mut models: Vec<TrialOutcome> = (0..arm_count).map(|_| model(&mut coin, workload)).collect();
        if !rich {
            for model in &mut models {
                model.metrics.truncate(1);
                model.histograms.clear();
            }
        }
        for block in 0..blocks {
            let order = (0..arm_count).chain((0..arm_count).rev()).enumerate();
            for (position, arm) in order {
                let trial = rows.len() as u64;
                let mut outcome = models[arm].clone();
                for metric in &mut outcome.metrics {
                    metric.value *= (0.02 * coin.normal()).exp();
                }
                rows.push(record(trial, workload, arm, (block, position as u32), outcome));
            }
        }
    }
    (manifest, rows)
}

/// As many checks as doctor makes, and as long.
fn long_environment() -> Environment {
    let mut all = environment();
    let states = [CheckState::Good, CheckState::Info, CheckState::Warning, CheckState::Unavailable];
    all.checks.extend((0..32).map(|i| {
        check(
            &format!("check_{i}"),
            &format!("a property of the machine, number {i}"),
            states[if i < 28 { i % 2 } else { i % 4 }],
            "a value of some length",
            "what it does to results: other tasks compete with what is measured and widen every interval",
            if i % 4 == 2 { "what to do about it" } else { "" },
        )
    }));
    all
}

fn model(coin: &mut Coin, workload: usize) -> TrialOutcome {
    let mut outcome = outcome(coin, workload, 0);
    let unit = |name: &str| if name.ends_with("_ns") { "ns" } else { "1/op" };
    let names = if workload == 1 { &METRICS[..] } else { &METRICS[..9] };
    outcome.metrics.extend(names.iter().map(|name| Metric {
        name: (*name).into(),
        value: 5_000.0 * (0.5 * coin.normal()).exp(),
        unit: unit(name).into(),
        direction: Direction::LowerIsBetter,
    }));
    let latency = outcome.histograms[0].clone();
    let legs = if workload == 1 { &LEGS[..] } else { &[] };
    outcome.histograms.extend(legs.iter().map(|name| NamedHistogram { name: (*name).into(), ..latency.clone() }));
    outcome
}

fn record(
    trial: u64,
    workload: usize,
    arm: usize,
    (block, position): (u32, u32),
    outcome: TrialOutcome,
) -> TrialRecord {
    TrialRecord {
        trial,
        workload: workload as u32,
        arm: Some(arm as u32),
        block,
        position,
        repeats_block: None,
        warm_up: false,
        status: TrialStatus::Ok,
        marks: if trial.is_multiple_of(37) { vec![Mark::Steal { share: 0.021 }] } else { Vec::new() },
        started_unix_ns: 1_795_259_075_000_000_000 + trial * 420_000_000,
        wall_ns: 400_000_000,
        boot_id: environment().boot_id,
        outcome: Some(outcome),
    }
}
