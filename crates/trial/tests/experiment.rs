//! The trial loop with fakes: order, storage, repeats, dropped arms, budgets, interrupts, resuming; and the dry run.

mod fake;

use fake::{Lab, manifest};
use schedlab_plan::manifest::Design;
use schedlab_plan::{Mark, Plan, TrialRecord, TrialStatus};
use schedlab_tune::Roots;

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
    assert_eq!(lab.stored.len(), trials.len(), "every trial was stored");
    assert!(lab.stored.iter().all(|row| row.outcome.as_ref().is_some_and(|outcome| outcome.workload == "pipe/1")));
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
    assert_eq!(trials.len(), 1, "its row alone");
    assert!(matches!(&trials[0].status, TrialStatus::NotApplied(why) if why.contains("slice")));
    assert!(trials[0].arm == Some(1) && lab.last_order.is_none(), "not even a pilot is spent on a control alone");
    assert_eq!(lab.host_settings, Some(Vec::new()));
    assert_eq!(lab.stored, trials);

    lab.rows = trials;
    let (manifest, trials) = lab.run();
    assert!(manifest.ended.starts_with("nothing left to compare") && trials == lab.rows, "also when it is resumed");
}

#[test]
fn a_trial_that_the_users_ctrl_c_ended_is_no_failure_of_its_arm() {
    for trial in [1, 9] {
        let mut lab = Lab::new(manifest(Design::Fixed { blocks: 6 }, &["", "nice=5"]));
        (lab.fail_trial, lab.interrupt_after) = (Some(trial), Some(trial + 1));
        let (stopped, rows) = lab.run();
        assert_eq!((stopped.ended.as_str(), rows.len() as u64), ("interrupted", trial));
        assert!(lab.stored.iter().all(|row| row.status == TrialStatus::Ok));
        (lab.fail_trial, lab.interrupt_after, lab.rows) = (None, None, rows);
        let (done, rows) = lab.run();
        assert_eq!((done.ended.as_str(), rows.iter().filter(|t| !t.warm_up).count()), ("planned", 24));
        assert!(rows.iter().all(|row| row.repeats_block.is_none()));
    }
}

#[test]
fn what_the_loop_keeps_of_a_trial_does_not_grow_with_what_the_trial_answers() {
    let kept = |rows_beside| {
        let mut lab = Lab::new(manifest(Design::Fixed { blocks: 6 }, &["", "nice=5"]));
        lab.rows_beside = rows_beside;
        let (manifest, trials) = lab.run();
        let measured = trials.iter().filter(|t| !t.warm_up);
        let bytes: Vec<usize> = measured.map(|t| serde_json::to_vec(t).unwrap().len()).collect();
        let whole = lab.stored.iter().all(|t| t.outcome.as_ref().unwrap().tasks.len() == rows_beside as usize);
        assert!(whole, "what is stored is whole");
        // The stopping rules see the same as with the complete rows.
        let [of_kept, of_stored] =
            [&trials, &lab.stored].map(|all| schedlab_analyze::primary_contrasts(&manifest, all, 0));
        assert_eq!(of_kept, of_stored);
        bytes
    };
    let (few, many) = (kept(0), kept(1000));
    assert_eq!(few, many);
    assert!(many.iter().all(|&bytes| bytes < 1200), "{many:?}");
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
    // Interrupts within the warm-up, at its end, and within a block.
    for after in [3, 4, 10] {
        let mut first = Lab::new(plan.clone());
        first.interrupt_after = Some(after);
        let (stopped, rows) = first.run();
        assert_eq!((stopped.ended.as_str(), rows.len() as u64), ("interrupted", after));
        let mut second = Lab::new(plan.clone());
        second.rows = rows;
        let (resumed, rows) = second.run();
        assert_eq!(resumed.ended, "planned");
        let order = |rows: &[schedlab_plan::TrialRecord]| -> Vec<_> {
            rows.iter().map(|t| (t.trial, t.arm, t.block, t.position, t.warm_up)).collect()
        };
        assert_eq!(order(&rows), order(&whole), "the coins do not depend on the interruption after {after}");
    }
}

/// Otherwise a whole night could lie between the two sides of a comparison within one block.
#[test]
fn a_block_that_was_interrupted_for_long_is_repeated_and_says_so() {
    for (pause_ns, repeated) in [(5_000_000_000, 0), (3_600_500_000_000, 1)] {
        let mut first = Lab::new(manifest(Design::Fixed { blocks: 6 }, &["", "nice=5"]));
        first.interrupt_after = Some(10);
        let (manifest, rows) = first.run();
        let last = rows.last().unwrap();
        assert!(rows.iter().filter(|row| row.block == last.block).count() % 4 != 0, "in the middle of a block");
        let mut second = Lab::new(manifest);
        second.begins_ns = last.started_unix_ns + last.wall_ns + pause_ns;
        second.rows = rows;
        let (_, rows) = second.run();
        let marks: Vec<&Mark> = rows.iter().flat_map(|row| &row.marks).collect();
        assert_eq!(rows.iter().filter(|row| row.repeats_block.is_some()).count(), 4 * repeated);
        assert_eq!(marks, vec![&Mark::Pause { evidence: "3600s".into() }; repeated]);
    }
}

#[test]
fn trials_that_could_not_be_read_again_are_run_again_wherever_they_were() {
    let mut plan = manifest(Design::Fixed { blocks: 6 }, &["", "nice=5"]);
    plan.workloads.push("pipe/1:duration=100ms,pin=apart".parse().unwrap());
    plan.workload_ids.push("pipe/1".into());
    plan.primary.push(plan.primary[0].clone());
    plan.load.push(Vec::new());
    let (_, whole) = Lab::new(plan.clone()).run();
    // Lost: one row of a middle block, a whole block, and one row of a workload that was done; the run ended in the
    // second workload.
    let torn = |t: &TrialRecord| t.workload == 0 && !t.warm_up && (t.block == 2 && t.position == 1 || t.block == 4);
    let mut second = Lab::new(plan);
    second.rows = whole[..whole.len() - 6].iter().filter(|t| !torn(t)).cloned().collect();
    let (resumed, rows) = second.run();
    assert_eq!(resumed.ended, "planned");
    let places = |rows: &[TrialRecord]| -> std::collections::BTreeSet<_> {
        rows.iter().map(|t| (t.workload, t.block, t.position, t.warm_up, t.arm)).collect()
    };
    assert_eq!((places(&rows), rows.len()), (places(&whole), whole.len()), "each trial of the design, once");
    let findings = schedlab_analyze::compare(&resumed, &rows);
    assert!(findings.workloads.iter().all(|w| w.metrics[0].contrasts[0].units == 6));
}

#[test]
fn a_workload_that_was_done_when_the_interrupt_came_stays_done() {
    // Killed between the last look at the first workload and the first trial of the second.
    for (effect, reason) in [(1.5, "decided"), (1.0, "budget")] {
        let budget_ns = 10_000_000_000;
        let mut plan = manifest(Design::Budgeted { budget_ns, looks: 5 }, &["", "nice=5"]);
        plan.sesoi = 0.000_1;
        let mut first = Lab::new(plan.clone());
        first.effect = effect;
        first.noise = 0.3;
        let (ended, rows) = first.run();
        assert_eq!(ended.ended, reason);
        plan.workloads.push("pipe/1:duration=100ms,pin=apart".parse().unwrap());
        plan.workload_ids.push("pipe/1".into());
        plan.primary.push(plan.primary[0].clone());
        plan.load.push(Vec::new());
        plan.looks = ended.looks.clone();
        let mut second = Lab::new(plan);
        (second.effect, second.noise, second.rows) = (effect, 0.3, rows.clone());
        let (resumed, all) = second.run();
        let of_first = |t: &&TrialRecord| t.workload == 0;
        assert_eq!(all.iter().filter(of_first).count(), rows.len(), "{reason}: not a trial more");
        let looks: Vec<_> = resumed.looks.iter().filter(|look| look.workload == 0).collect();
        assert_eq!(looks, ended.looks.iter().collect::<Vec<_>>(), "{reason}: nor a look");
        assert!(all.iter().any(|t| t.workload == 1));
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

const PLAN: &str = "trials = 6\n[[workload]]\nrun = \"pipe:cgroups=apart\"\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"policy=batch;nice=-5;sysctl:kernel.sched_rt_runtime_us=1\"\n";

/// The /proc that a user without rights sees, on a machine without cgroups.
fn an_ordinary_user() -> (tempfile::TempDir, Roots) {
    let tree = tempfile::tempdir().unwrap();
    let own = tree.path().join("proc/self");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("status"), "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n").unwrap();
    std::fs::write(own.join("limits"), "Max nice priority         0                    0\n").unwrap();
    std::fs::create_dir_all(tree.path().join("proc/sys/kernel")).unwrap();
    std::fs::write(tree.path().join("proc/sys/kernel/sched_rt_runtime_us"), "950000\n").unwrap();
    let roots = Roots { proc: tree.path().join("proc"), cgroup: tree.path().join("cgroup"), ..Roots::default() };
    (tree, roots)
}

#[test]
fn every_right_an_arm_needs_is_named_and_whether_we_have_it() {
    let (_tree, roots) = an_ordinary_user();
    let plan = Plan::parse(PLAN).unwrap();
    let mut manifest = manifest(Design::Fixed { blocks: 6 }, &[""]);
    manifest.arms = plan.arms.clone();
    manifest.workloads = plan.workloads.iter().map(|w| w.run.clone()).collect();
    let text = schedlab_trial::describe(&manifest, &plan, &roots);
    for line in [
        "# arm `a`: the host as it is, needs nothing",
        "# arm `b`: policy=batch: needs nothing",
        "# arm `b`: nice=-5: needs CAP_SYS_NICE, or RLIMIT_NICE of at least 25 (MISSING)",
        "# arm `b`: sysctl:kernel.sched_rt_runtime_us=1: needs root, to write ",
        "# pipe:cgroups=apart: needs root, or a delegated cgroup: ",
    ] {
        let whole = text.replace("\n#   ", " ");
        assert!(whole.lines().any(|l| l.starts_with(line)), "`{line}` is not in:\n{text}");
    }
    assert_eq!(Plan::parse(&text).unwrap(), plan, "what is printed is a plan that can be run");
}

/// The fake's manifest, with two requirements in its plan.
fn corking() -> schedlab_plan::Manifest {
    let mut manifest = manifest(Design::Fixed { blocks: 6 }, &["nice=5", ""]);
    let (a, b) = (manifest.arms[0].name.clone(), manifest.arms[1].name.clone());
    manifest.plan_toml = format!(
        "trials = 6\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"{a}\"\nset = \"nice=5\"\n[[arm]]\nname = \"{b}\"\n\
         [[require]]\narm = \"{b}\"\ncounter = \"TcpExt.TCPAutoCorking\"\nabove = 0\n\
         [[require]]\narm = \"{a}\"\ncounter = \"TcpExt.TCPAutoCorking\"\nequals = 0\n"
    );
    manifest
}

#[test]
fn a_plan_whose_requirements_are_met_runs_to_its_end() {
    let mut lab = Lab::new(corking());
    lab.corks = [9, 0];
    assert_eq!(lab.run().0.ended, "planned");
}

#[test]
fn a_requirement_that_is_not_met_voids_the_run_at_its_first_trial() {
    for (corks, arm, expected) in [([0, 0], 1, "was 0, and the plan requires more than 0"), ([9, 9], 0, "exactly 0")] {
        let mut lab = Lab::new(corking());
        lab.corks = corks;
        let (manifest, trials) = lab.run();
        assert!(manifest.ended.starts_with("void: trial "), "{}", manifest.ended);
        assert!(manifest.ended.contains(expected), "{}", manifest.ended);
        assert_eq!(trials.last().unwrap().arm, Some(arm), "it ends with the arm that is not what it should be");
        assert!(trials.len() <= 2 && trials.iter().all(|t| t.warm_up));
        let findings = schedlab_analyze::compare(&manifest, &trials);
        assert!(findings.void.as_deref().unwrap().contains(expected), "{:?}", findings.void);
    }
}
