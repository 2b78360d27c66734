//! The trial loop against fakes: order, storage, repeats, dropped arms, budgets, interrupts, resuming.

mod fake;

use fake::{Lab, manifest};
use schedlab_run::manifest::Design;
use schedlab_run::{Mark, TrialStatus};

#[test]
fn a_fixed_design_runs_mirrored_blocks_after_one_warm_up_block() {
    let mut lab = Lab::new(manifest(Design::Fixed { blocks: 6 }, &["", "nice=5"]));
    let (manifest, trials) = lab.run();
    assert_eq!(manifest.ended, "planned");
    assert_eq!(trials.iter().filter(|t| t.warm_up).count(), 4);
    assert_eq!(trials.iter().filter(|t| !t.warm_up).count(), 24);
    for block in 0..6 {
        let arms: Vec<_> = trials.iter().filter(|t| !t.warm_up && t.block == block).map(|t| t.arm.unwrap()).collect();
        assert!(arms == [0, 1, 1, 0] || arms == [1, 0, 0, 1], "{arms:?}");
    }
    assert_eq!(lab.stored, trials, "every trial was stored as it stands");
}

#[test]
fn a_failed_trial_is_a_row_and_its_block_is_repeated() {
    let mut lab = Lab::new(manifest(Design::Fixed { blocks: 6 }, &["", "nice=5"]));
    lab.fail_trial = Some(9);
    let (_, trials) = lab.run();
    let failed: Vec<_> = trials.iter().filter(|t| matches!(t.status, TrialStatus::Failed(_))).collect();
    assert_eq!(failed.len(), 1);
    assert!(trials.iter().any(|t| t.repeats_block == Some(failed[0].block)), "the block was repeated");
    assert_eq!(trials.iter().filter(|t| !t.warm_up).count(), 28);
}

#[test]
fn contaminated_blocks_are_repeated_within_a_fifth_of_the_plan() {
    let mut lab = Lab::new(manifest(Design::Fixed { blocks: 10 }, &["", "nice=5"]));
    lab.steal_every = Some(4);
    let (_, trials) = lab.run();
    let repeats: std::collections::BTreeSet<_> = trials.iter().filter_map(|t| t.repeats_block).collect();
    assert_eq!(repeats.len(), 2, "20 % of ten blocks");
    assert!(trials.iter().any(|t| t.marks.iter().any(|m| matches!(m, Mark::Steal { .. }))));
}

#[test]
fn an_arm_that_is_not_applied_is_a_row_and_then_left_out() {
    let mut lab = Lab::new(manifest(Design::Fixed { blocks: 6 }, &["", "slice=1ms", "nice=5"]));
    lab.refuse = Some("slice");
    let (manifest, trials) = lab.run();
    assert_eq!(manifest.ended, "planned", "a refused setting does not fail the run");
    let slice_rows: Vec<_> = trials.iter().filter(|t| t.arm == Some(1)).collect();
    assert_eq!(slice_rows.len(), 1);
    assert!(matches!(&slice_rows[0].status, TrialStatus::NotApplied(why) if why.contains("slice")));
    assert_eq!(trials.iter().filter(|t| !t.warm_up).count(), 24);
}

#[test]
fn a_control_left_alone_ends_the_workload() {
    let mut lab = Lab::new(manifest(Design::Fixed { blocks: 6 }, &["", "slice=1ms"]));
    lab.refuse = Some("slice");
    let (manifest, trials) = lab.run();
    assert!(manifest.ended.starts_with("nothing left to compare"), "{}", manifest.ended);
    assert!(trials.iter().all(|t| t.warm_up), "no block is spent on a control alone");
}

#[test]
fn a_budget_is_kept_and_its_looks_are_recorded() {
    let budget_ns = 10_000_000_000;
    let mut lab = Lab::new(manifest(Design::Budgeted { budget_ns, looks: 5 }, &["", "nice=5"]));
    lab.noise = 0.5;
    let (manifest, trials) = lab.run();
    assert_eq!(manifest.ended, "budget");
    assert!(trials.iter().map(|t| t.wall_ns).sum::<u64>() <= budget_ns);
    assert!(!manifest.looks.is_empty() && manifest.looks.len() <= 5, "{:?}", manifest.looks);
    assert_eq!(manifest.looks.last().unwrap().fraction, 1.0, "the last look has all the information there will be");
    assert!(manifest.looks.iter().all(|l| l.blocks >= 6));
}

#[test]
fn a_large_effect_ends_a_budget_early() {
    let mut lab = Lab::new(manifest(Design::Budgeted { budget_ns: 40_000_000_000, looks: 5 }, &["", "nice=5"]));
    lab.effect = 1.5;
    let (manifest, trials) = lab.run();
    assert_eq!(manifest.ended, "decided");
    assert!(trials.iter().map(|t| t.wall_ns).sum::<u64>() < 30_000_000_000);
}

#[test]
fn until_decided_stops_when_the_confidence_sequence_does() {
    let mut lab = Lab::new(manifest(Design::OpenEnded { max_blocks: 100 }, &["", "nice=5"]));
    lab.effect = 1.2;
    let (manifest, trials) = lab.run();
    assert_eq!(manifest.ended, "decided");
    let blocks = trials.iter().filter(|t| !t.warm_up).map(|t| t.block).max().unwrap() + 1;
    assert!((6..60).contains(&blocks), "{blocks}");
}

#[test]
fn an_interrupt_keeps_what_is_measured_and_a_resume_completes_the_same_design() {
    let plan = manifest(Design::Fixed { blocks: 6 }, &["", "nice=5"]);
    let (_, whole) = Lab::new(plan.clone()).run();
    let mut first = Lab::new(plan.clone());
    first.interrupt_after = Some(10);
    let (stopped, rows) = first.run();
    assert_eq!((stopped.ended.as_str(), rows.len()), ("interrupted", 10));
    let mut second = Lab::new(plan);
    second.rows = rows;
    let (resumed, rows) = second.run();
    assert_eq!(resumed.ended, "planned");
    let order = |rows: &[schedlab_run::TrialRecord]| -> Vec<_> {
        rows.iter().map(|t| (t.trial, t.arm, t.block, t.position, t.warm_up)).collect()
    };
    assert_eq!(order(&rows), order(&whole), "the coins do not depend on the interruption");
}

/// Three values of an option, two arms.
fn swept(design: Design) -> schedlab_run::Manifest {
    let mut plan = manifest(design, &["", "nice=5"]);
    let spec = |copies: u32| format!("pipe/1:copies={copies},duration=100ms,pin=same").parse().unwrap();
    plan.workloads = [1, 2, 4].map(spec).into();
    plan.workload_ids = vec!["pipe/1".into(); 3];
    plan.primary = vec![vec!["round_trips_per_s".into()]; 3];
    plan.load = vec![Vec::new(); 3];
    let values = ["1", "2", "4"].map(str::to_owned).into();
    plan.sweeps = vec![schedlab_run::manifest::Sweep { option: "copies".into(), values, workloads: vec![0, 1, 2] }];
    plan
}

#[test]
fn the_blocks_of_a_sweep_take_turns_also_after_an_interrupt() {
    let plan = swept(Design::Fixed { blocks: 6 });
    let (ended, whole) = Lab::new(plan.clone()).run();
    assert_eq!((ended.ended.as_str(), whole.len()), ("planned", 3 * 7 * 4));
    let mut begun = [0i64; 3];
    let mut firsts = std::collections::BTreeSet::new();
    for row in whole.iter().filter(|t| !t.warm_up && t.position == 0) {
        if begun.iter().all(|&n| n == begun[0]) {
            firsts.insert(row.workload);
        }
        begun[row.workload as usize] += 1;
        assert!(begun.iter().max().unwrap() - begun.iter().min().unwrap() <= 1, "{begun:?}");
    }
    assert_eq!((begun, firsts.len()), ([6, 6, 6], 3), "no value is always first");
    let mut first = Lab::new(plan.clone());
    first.interrupt_after = Some(31);
    let (_, rows) = first.run();
    let mut second = Lab::new(plan);
    second.rows = rows;
    let (_, rows) = second.run();
    let order = |rows: &[schedlab_run::TrialRecord]| -> Vec<_> {
        rows.iter().map(|t| (t.workload, t.arm, t.block, t.position)).collect()
    };
    assert_eq!(order(&rows), order(&whole));
}

#[test]
fn each_value_of_a_sweep_has_its_own_budget() {
    let budget_ns = 5_000_000_000;
    let mut lab = Lab::new(swept(Design::Budgeted { budget_ns, looks: 5 }));
    lab.noise = 0.5;
    let (manifest, trials) = lab.run();
    assert_eq!(manifest.ended, "budget");
    for workload in 0..3 {
        let spent: u64 = trials.iter().filter(|t| t.workload == workload).map(|t| t.wall_ns).sum();
        assert!(spent <= budget_ns && spent > budget_ns / 2, "workload {workload}: {spent}");
    }
}

#[test]
fn a_foreign_write_voids_the_run_at_once() {
    let mut lab = Lab::new(manifest(Design::Fixed { blocks: 6 }, &["", "nice=5"]));
    lab.foreign_at = Some(7);
    let (manifest, trials) = lab.run();
    assert!(manifest.ended.starts_with("void: "), "{}", manifest.ended);
    assert_eq!(trials.len(), 8);
}

#[test]
fn host_settings_return_to_the_original_at_the_end() {
    let mut lab = Lab::new(manifest(Design::Fixed { blocks: 6 }, &["", "sysctl:kernel.x=1"]));
    lab.run();
    assert_eq!(lab.host_settings, Some(Vec::new()));
}

#[test]
fn a_switchback_trial_carries_both_arms_and_a_coin_per_pair() {
    let mut plan = manifest(Design::Fixed { blocks: 6 }, &["", "nice=5"]);
    plan.switchback_window_ns = Some(10_000_000);
    let mut lab = Lab::new(plan);
    let (_, trials) = lab.run();
    assert_eq!(trials.iter().filter(|t| !t.warm_up).count(), 6);
    assert!(trials.iter().all(|t| t.arm.is_none()));
    let order = lab.last_order.unwrap().switchback.unwrap();
    assert_eq!(order.b_first.len(), 5, "100 ms hold five pairs of 10 ms windows");
    assert_eq!(order.b.len(), 1);
}
