//! Comparison of two run directories: what can be judged, what is confounded, what is refused.

use crate::lab::{Lab, lab, planted, rate};
use schedlab_analyze::*;
use schedlab_plan::{Manifest, Mark, Stamping, TrialRecord};

type Run = (Manifest, Vec<TrialRecord>);

/// One arm over `boots` boots of four blocks, at this rate.
fn run(boots: usize, side: &str, factor: f64, hour: u64) -> Run {
    let mut lab = lab(&[("default", "")], &["pipe:pin=same"]);
    lab.manifest.title = format!("kernel {side}");
    lab.manifest.environment.kernel_release = side.into();
    for boot in 0..boots {
        let effect = 0.01 * lab.random.normal();
        lab.manifest.environment.boot_id = format!("{side}-{boot}");
        for _ in 0..4 {
            lab.block(0, |_, noise| rate(1000.0 * factor * (effect + 0.005 * noise).exp()));
        }
    }
    for trial in &mut lab.trials {
        trial.started_unix_ns = 1_700_006_400_000_000_000 + hour * 3_600_000_000_000 + trial.trial * 1_000_000_000;
    }
    lab.run()
}

fn only(findings: &Findings) -> &Contrast {
    &findings.workloads[0].metrics[0].contrasts[0]
}

fn reason(findings: &Findings) -> &str {
    match &only(findings).verdict {
        Verdict::NoVerdict { reason, .. } => reason,
        other => panic!("a verdict where none may be: {other:?}"),
    }
}

#[test]
fn two_boots_are_described_with_the_number_a_verdict_needs() {
    let findings = compare_runs(&run(1, "6.1", 1.0, 0), &run(1, "6.18", 1.5, 1));
    assert_eq!(
        reason(&findings),
        "confounded: the arms differ by kernel as well (1 boot against 1 boot); a verdict needs 5 boots a side: reboot \
         between runs, the arms in alternating order, and give `schedlab compare` all runs of each (--more-a, --more-b)"
    );
    let effect = only(&findings).effect.unwrap();
    assert!((effect.value / 1.5 - 1.0).abs() < 0.06, "the ratio is still there: {effect:?}");
    assert!(only(&findings).p.is_none() && only(&findings).estimator.contains("descriptive"));
    assert_eq!(findings.workloads[0].confounded.as_ref().unwrap().units_needed, Some(5));
    assert!(findings.environment.changes.iter().any(|c| (c.before.as_str(), c.after.as_str()) == ("6.1", "6.18")));
    assert_eq!(findings.arms.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["A: default", "B: default"]);
}

#[test]
fn five_boots_a_side_on_one_day_carry_a_verdict_whose_unit_is_the_boot() {
    let findings = compare_runs(&run(5, "6.1", 1.0, 0), &run(6, "6.18", 1.2, 2));
    let contrast = only(&findings);
    assert_eq!((contrast.verdict.clone(), contrast.units, contrast.unit_name.as_str()), (Verdict::Better, 11, "boots"));
    assert!(contrast.estimator == "Welch's t on boot means" && contrast.p_adjusted.is_some());
    assert!(findings.workloads[0].confounded.is_none());
    let next_day = compare_runs(&run(5, "6.1", 1.0, 0), &run(5, "6.18", 1.2, 24));
    assert!(reason(&next_day).contains("differ by day as well (1 day against 1 day)"));
}

#[test]
fn runs_of_one_boot_each_pool_into_a_side() {
    let side = |kernel: &str, factor: f64, start_hour: u64| {
        let one = |boot: u64| {
            let (mut manifest, mut trials) = run(1, kernel, factor * (1.0 + 0.002 * boot as f64), start_hour + boot);
            manifest.environment.boot_id = format!("{kernel}-{boot}");
            trials.iter_mut().for_each(|t| t.boot_id = manifest.environment.boot_id.clone());
            (manifest, trials)
        };
        let mut side = one(0);
        (1..5).for_each(|boot| pool(&mut side, one(boot)).unwrap());
        side
    };
    let (a, mut b) = (side("6.1", 1.0, 0), side("6.18", 1.2, 1));
    let trials: std::collections::BTreeSet<u64> = b.1.iter().map(|t| t.trial).collect();
    let blocks: std::collections::BTreeSet<u32> = b.1.iter().map(|t| t.block).collect();
    assert_eq!((trials.len(), blocks.len()), (b.1.len(), 20), "no two became one");
    let findings = compare_runs(&a, &b);
    assert_eq!((only(&findings).units, only(&findings).unit_name.as_str()), (10, "boots"));
    assert_eq!(only(&findings).verdict, Verdict::Better);
    let before = b.clone();
    assert_eq!(pool(&mut b, run(1, "6.19", 1.0, 3)).unwrap_err(), "its kernel is `6.19`, not `6.18`");
    let mut other = run(1, "6.18", 1.0, 3);
    other.0.workloads = vec!["burn".parse().unwrap()];
    assert_eq!(pool(&mut b, other).unwrap_err(), "its workloads are others");
    assert_eq!(b, before);
    let mut void = run(1, "6.18", 1.0, 3);
    void.0.ended = "void: smt changed".into();
    pool(&mut b, void).unwrap();
    assert_eq!(compare_runs(&a, &b).void.as_deref(), Some("run B: smt changed"));
}

#[test]
fn two_machines_are_always_descriptive_and_one_boot_is_not_interleaved() {
    let mut other = run(6, "6.1", 1.3, 0);
    other.0.environment.hostname = "bench2".into();
    let findings = compare_runs(&run(6, "6.1", 1.0, 0), &other);
    assert!(reason(&findings).contains("two machines (`bench1`, `bench2`)"));
    assert_eq!(findings.workloads[0].confounded.as_ref().unwrap().units_needed, None);
    let same_boot = compare_runs(&run(1, "6.1", 1.0, 0), &run(1, "6.1", 1.3, 1));
    assert!(reason(&same_boot).contains("schedlab ab"));
}

#[test]
fn of_imported_rows_neither_boot_nor_order_is_known() {
    let (ours, mut imported) = (run(1, "6.1", 1.0, 0), run(1, "6.1", 1.5, 1));
    imported.0.order = schedlab_plan::manifest::OrderKnown::Unknown;
    for pair in [compare_runs(&ours, &imported), compare_runs(&imported, &imported)] {
        assert!(reason(&pair).starts_with("the order in which the rows were measured is unknown"), "{}", reason(&pair));
    }
}

#[test]
fn marks_that_go_with_one_run_bar_the_verdict() {
    let mut stolen = run(6, "6.18", 1.2, 2);
    for trial in &mut stolen.1 {
        trial.marks = vec![Mark::Steal { share: 0.02 }];
    }
    let findings = compare_runs(&run(5, "6.1", 1.0, 0), &stolen);
    let why = reason(&findings);
    assert!(why.contains("marks differ between arms") && why.contains("of `A: default`"), "{why}");
}

#[test]
fn what_cannot_be_set_side_by_side_is_refused() {
    let refused = |change: fn(&mut Manifest)| {
        let mut b = run(1, "6.1", 1.0, 0);
        change(&mut b.0);
        let findings = compare_runs(&run(1, "6.1", 1.0, 0), &b);
        assert!(findings.workloads.is_empty() && findings.claims.is_empty());
        match findings.source {
            Source::TwoRuns { refused: Some(why), .. } => {
                assert_eq!(findings.void.as_ref(), Some(&why));
                why
            }
            other => panic!("not refused: {other:?}"),
        }
    };
    assert!(refused(|m| m.stamping = Stamping::Off).contains("stamping levels differ"));
    assert!(refused(|m| m.workload_ids = vec!["pipe/2".into()]).contains("pipe/1, pipe/2"));
    assert!(refused(|m| m.workloads = vec!["burn".parse().unwrap()]).contains("no workload in common"));
    let shorter = refused(|m| m.workloads[0] = format!("{}:duration=100ms", m.workloads[0].name).parse().unwrap());
    assert!(shorter.contains("` is not `") && shorter.contains(":duration=100ms`"), "{shorter}");
    assert!(refused(|m| m.switchback_window_ns = Some(50_000_000)).contains("switchback"));
}

#[test]
fn a_void_side_voids_the_pair() {
    let mut b = run(6, "6.18", 1.2, 0);
    b.0.ended = "void: smt changed".into();
    let findings = compare_runs(&run(6, "6.1", 1.0, 0), &b);
    assert_eq!(findings.void.as_deref(), Some("run B: smt changed"));
    assert!(reason(&findings).contains("smt changed"));
}

#[test]
fn arms_of_one_run_that_never_shared_a_boot_are_confounded_too() {
    let by_boot = |boots: usize| -> Findings {
        let mut lab: Lab = planted(&[1.0, 1.2], 12);
        for trial in &mut lab.trials {
            trial.boot_id = format!("arm{:?}-{}", trial.arm, trial.block as usize % boots);
        }
        let (manifest, trials) = lab.run();
        compare(&manifest, &trials)
    };
    let (interrupted, why) =
        (by_boot(2), "boots, of their own: 2 boots against 2 boots so far; a verdict needs 5 boots a side: go on");
    assert!(reason(&interrupted).contains(why) && !reason(&interrupted).contains("reboot"), "{}", reason(&interrupted));
    assert_eq!(only(&by_boot(6)).verdict, Verdict::Better);
}
