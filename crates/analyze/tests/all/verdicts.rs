//! Verdicts on hand-made runs: planted effects are found, and a verdict that must be withheld is withheld with its
//! reason.

mod of_verdicts;

use crate::lab::{lab, metric, planted, rate};
use schedlab_analyze::*;
use schedlab_plan::manifest::Design;
use schedlab_plan::{Direction, Mark, TrialStatus};

fn primary(findings: &Findings) -> &Contrast {
    &findings.workloads[0].metrics[0].contrasts[0]
}

fn reason(contrast: &Contrast) -> &str {
    match &contrast.verdict {
        Verdict::NoVerdict { reason, .. } => reason,
        other => panic!("a verdict where none may be: {other:?}"),
    }
}

#[test]
fn ten_percent_planted_is_better_in_its_size() {
    let (manifest, trials) = planted(&[1.0, 1.1], 8).run();
    let findings = compare(&manifest, &trials);
    let contrast = primary(&findings);
    let effect = contrast.effect.unwrap();
    assert_eq!(contrast.verdict, Verdict::Better);
    assert!(effect.lo < 1.1 && 1.1 < effect.hi && effect.hi - effect.lo < 0.05, "{effect:?}");
    assert_eq!((contrast.units, contrast.unit_effects.len()), (8, 8));
    assert!(contrast.views.iter().any(|v| v.name.contains("bootstrap") && v.effect.is_some()));
    assert!(contrast.noise.as_ref().unwrap().smallest < 1.03);
    assert_eq!(exit_status(&findings, &[FailOn::Worse, FailOn::Inconclusive, FailOn::Void]), 0);
    let values = &findings.workloads[0].metrics[0].values[1];
    assert_eq!((values.n, values.trials.len()), (16, 16));
    assert!(values.trials.windows(2).all(|w| w[0].trial < w[1].trial));
}

#[test]
fn the_direction_of_the_metric_decides_what_is_good() {
    for (direction, want) in [(Direction::LowerIsBetter, Verdict::Worse), (Direction::Neutral, Verdict::Higher)] {
        let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe"]);
        for _ in 0..8 {
            lab.block(0, |arm, noise| {
                vec![metric("rate_per_s", (1.0 + 0.2 * f64::from(arm)) * (0.01 * noise).exp(), "s", direction)]
            });
        }
        let (manifest, trials) = lab.run();
        let findings = compare(&manifest, &trials);
        assert_eq!(primary(&findings).verdict, want);
        let status = if want == Verdict::Worse { 3 } else { 0 };
        assert_eq!(exit_status(&findings, &[FailOn::Worse]), status);
    }
}

#[test]
fn a_trial_that_did_nothing_is_a_result_and_is_named() {
    let (manifest, mut trials) = planted(&[1.0, 1.1], 8).run();
    let idle = trials.iter_mut().rfind(|trial| trial.arm == Some(1)).unwrap().outcome.as_mut().unwrap();
    (idle.operations, idle.metrics[0].value) = (0, 0.0);
    let findings = compare(&manifest, &trials);
    assert_eq!(primary(&findings).effect.unwrap().scale, Scale::Difference);
    assert_eq!(primary(&findings).units, 8, "it is not left out");
    let named = |problem: &Problem| problem.text.contains("1 trial completed no operation");
    assert!(findings.problems.iter().any(named), "{:?}", findings.problems);
}

#[test]
fn a_setting_that_did_not_take_never_gets_a_verdict_and_leaves_its_question_open() {
    let (manifest, mut trials) = planted(&[1.0, 1.5], 8).run();
    trials.retain(|t| t.arm == Some(0) || t.block == 0);
    for trial in trials.iter_mut().filter(|t| t.arm == Some(1)) {
        trial.status = TrialStatus::NotApplied("the kernel ignores a slice before 6.12".into());
    }
    let findings = compare(&manifest, &trials);
    assert!(reason(primary(&findings)).contains("`b` is not applied: the kernel ignores a slice"));
    assert_eq!(findings.workloads[0].arms[1].not_applied.len(), 1);
    assert_eq!(exit_status(&findings, &[FailOn::Worse, FailOn::Inconclusive]), 4);
    assert!(decided(&manifest, &trials, 0), "more trials of the control bring nothing");
}

#[test]
fn what_a_withheld_verdict_is_does_not_hang_on_its_words() {
    let kind = |findings: &Findings| match primary(findings).verdict {
        Verdict::NoVerdict { why, .. } => why,
        _ => panic!("{:?}", primary(findings).verdict),
    };
    // Neither an arm with this name, nor a metric without numbers whose reason contains these words, counts as "not
    // applied".
    let (mut manifest, trials) = planted(&[1.0, 1.2], 5).run();
    manifest.arms[1].name = "`x` is not applied".into();
    assert_eq!(kind(&compare(&manifest, &trials)), Withheld::TooFewUnits);
    assert!(!decided(&manifest, &trials, 0), "more trials may still bring a verdict");
    let (manifest, mut trials) = planted(&[1.0, 1.2], 8).run();
    trials[0].marks.push(Mark::Foreign { what: "kernel.x is not applied by us".into() });
    assert_eq!(kind(&compare(&manifest, &trials)), Withheld::Void);
    assert!(!decided(&manifest, &trials, 0));
    let (manifest, mut trials) = planted(&[1.0, 1.2], 8).run();
    for trial in trials.iter_mut().filter(|t| t.arm == Some(1)) {
        trial.status = TrialStatus::NotApplied("refused".into());
    }
    assert_eq!(kind(&compare(&manifest, &trials)), Withheld::NotApplied);
    assert!(decided(&manifest, &trials, 0));
}

#[test]
fn a_failed_trial_is_counted_and_its_block_left_out() {
    let mut lab = planted(&[1.0, 1.1], 8);
    let row = lab.rows(0, 3).nth(1).unwrap();
    (row.status, row.outcome) = (TrialStatus::Failed("exit status 1: too many open files".into()), None);
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    assert_eq!(primary(&findings).units, 7);
    assert_eq!(primary(&findings).verdict, Verdict::Better);
    assert_eq!(findings.workloads[0].arms[1].failed[0].count, 1);
    let said = |words: &str| findings.problems.iter().any(|p| p.text.contains(words));
    assert!(said("`b`: 1 trial failed: exit status 1: too many open files"), "{:?}", findings.problems);
    assert!(said("1 trial not compared, in a block that was never completed"), "{:?}", findings.problems);
}

#[test]
fn a_contaminated_block_gives_way_to_its_repeat_with_the_unfiltered_estimate_beside() {
    let mut lab = planted(&[1.0, 1.0], 8);
    for row in lab.rows(0, 2) {
        row.marks = vec![Mark::Steal { share: 0.03 }];
        let slow = if row.arm == Some(1) { 0.5 } else { 1.0 };
        row.outcome.as_mut().unwrap().metrics[0].value *= slow;
    }
    let repeat = lab.block(0, |_, noise| rate(100_000.0 * (0.01 * noise).exp()));
    lab.rows(0, repeat).for_each(|row| row.repeats_block = Some(2));
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let contrast = primary(&findings);
    assert_eq!((contrast.verdict.clone(), contrast.units), (Verdict::Equivalent, 8));
    let unfiltered = contrast.views.iter().find(|v| v.name.starts_with("unfiltered")).unwrap();
    assert!(unfiltered.n == 9 && unfiltered.effect.unwrap().value < 0.95, "{unfiltered:?}");
    let marked = &findings.workloads[0].contamination.blocks;
    assert_eq!((marked[0].block, marked[0].repeated_by), (2, Some(repeat)));
    assert_eq!(findings.workloads[0].counts.contaminated, 4);
    let shown = &findings.workloads[0].metrics[0].values[1].trials;
    assert!(shown.iter().any(|t| !t.used && t.note.as_deref().is_some_and(|n| n.contains("steal 3.0 %"))));
}

#[test]
fn marks_that_go_with_an_arm_bar_the_verdict() {
    let (manifest, mut trials) = planted(&[1.0, 1.2], 8).run();
    for trial in trials.iter_mut().filter(|t| t.arm == Some(1)) {
        trial.marks = vec![Mark::Steal { share: 0.02 }];
    }
    let findings = compare(&manifest, &trials);
    assert!(
        reason(primary(&findings)).contains("marks differ between arms: 16 of 16 trials of `b`, 0 of 16 of `other`")
    );
}

#[test]
fn failures_that_go_with_an_arm_bar_the_verdict() {
    let mut lab = planted(&[1.0, 1.2], 20);
    for block in 0..12 {
        let row = lab.rows(0, block).find(|row| row.arm == Some(1)).unwrap();
        (row.status, row.outcome) = (TrialStatus::Failed("timed out".into()), None);
    }
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let contrast = primary(&findings);
    assert_eq!(contrast.units, 8, "enough for a verdict of those that are left");
    assert_eq!(reason(contrast), "failures differ between arms: 12 of 40 trials of `b`, 0 of 40 of `other`");
    // Equal numbers in both arms select nothing.
    let (manifest, mut trials) = planted(&[1.0, 1.2], 20).run();
    for row in trials.iter_mut().filter(|t| t.block < 12 && t.position < 2) {
        (row.status, row.outcome) = (TrialStatus::Failed("timed out".into()), None);
    }
    assert_eq!(primary(&compare(&manifest, &trials)).verdict, Verdict::Better);
}

#[test]
fn a_foreign_write_voids_everything() {
    let (manifest, mut trials) = planted(&[1.0, 1.2], 8).run();
    trials[5].marks = vec![Mark::Foreign { what: "smt changed from `on` to `off`".into() }];
    let findings = compare(&manifest, &trials);
    assert!(findings.void.as_deref().unwrap().contains("smt"));
    assert!(reason(primary(&findings)).contains("void"));
    assert_eq!(exit_status(&findings, &[FailOn::Void]), 5);
    let mut ended = manifest.clone();
    ended.ended = "void: clocksource changed".into();
    trials[5].marks.clear();
    assert_eq!(compare(&ended, &trials).void.as_deref(), Some("clocksource changed"));
}

#[test]
fn too_few_blocks_give_no_verdict() {
    let (manifest, trials) = planted(&[1.0, 2.0], 5).run();
    let findings = compare(&manifest, &trials);
    assert_eq!(reason(primary(&findings)), "only 5 blocks, a verdict needs 6");
    assert!(primary(&findings).effect.is_some(), "the numbers are still described");
    assert_eq!(exit_status(&findings, &[FailOn::Inconclusive]), 4);
    assert_eq!(exit_status(&findings, &[FailOn::Worse]), 0);
}

#[test]
fn holm_covers_all_primaries_of_the_run_and_leaves_aa_out() {
    let (mut manifest, trials) = planted(&[1.0, 1.0, 1.012, 1.3, 1.0], 6).run();
    manifest.sesoi = 0.001;
    let findings = compare(&manifest, &trials);
    let contrasts = &findings.workloads[0].metrics[0].contrasts;
    assert_eq!(contrasts.len(), 4);
    assert!(contrasts.iter().all(|c| c.adjustment == "Holm over 4 primary contrasts"));
    assert!(contrasts.iter().all(|c| c.p_adjusted.unwrap() >= c.p.unwrap()));
    assert_eq!(contrasts[2].verdict, Verdict::Better);
    let smallest = contrasts.iter().map(|c| c.p.unwrap()).fold(1.0, f64::min);
    let adjusted = contrasts[2].p_adjusted.unwrap();
    assert!((adjusted - 4.0 * smallest).abs() < 1e-12, "{adjusted} {smallest}");
    for contrast in contrasts.iter().filter(|c| c.p_adjusted.unwrap() > 0.05) {
        assert_eq!(contrast.verdict, Verdict::Inconclusive);
        assert!(contrast.more_units.is_none_or(|more| more.least.is_none_or(|n| n > 0)));
    }
}

#[test]
fn the_blocks_that_would_decide_count_the_questions_asked_beside() {
    // The same rows of one arm, alone and with three other arms: its interval includes no effect in both cases.
    let more = |factors: &[f64]| {
        let mut lab = planted(factors, 6);
        lab.manifest.sesoi = 0.000_1;
        for row in &mut lab.trials {
            let effect = match row.arm {
                Some(0) => 0.0,
                Some(1) => [0.06, -0.02, 0.05, -0.01, 0.06, 0.0][row.block as usize],
                _ => [0.01, -0.01][row.block as usize % 2],
            };
            row.outcome.as_mut().unwrap().metrics[0].value = 1000.0 * f64::exp(effect);
        }
        let (manifest, trials) = lab.run();
        let findings = compare(&manifest, &trials);
        let contrast = primary(&findings).clone();
        assert_eq!(contrast.verdict, Verdict::Inconclusive);
        contrast.more_units.unwrap().least.unwrap()
    };
    let (alone, beside) = (more(&[1.0, 1.0]), more(&[1.0, 1.0, 1.0, 1.0]));
    assert!(beside > alone + alone / 3, "{beside} against {alone}: p must fall to a third");
}

#[test]
fn secondaries_are_labelled_and_zeros_become_differences() {
    let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe"]);
    for _ in 0..8 {
        lab.block(0, |arm, noise| {
            let mut metrics = rate(1000.0 * (0.01 * noise).exp());
            let switches = if arm == 0 { 0.0 } else { 0.5 + 0.01 * noise };
            metrics.push(metric("involuntary_switches_per_op", switches, "1/op", Direction::Neutral));
            metrics.push(metric("migrations_per_op", 0.0, "1/op", Direction::Neutral));
            metrics
        });
    }
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let [_, switches, migrations] = findings.workloads[0].metrics.as_slice() else { panic!("three metrics") };
    let contrast = &switches.contrasts[0];
    let effect = contrast.effect.unwrap();
    assert_eq!((effect.scale, contrast.verdict.clone()), (Scale::Difference, Verdict::Higher));
    assert!((effect.value - 0.5).abs() < 0.02 && switches.values[0].geometric_mean.is_none());
    assert!(contrast.adjustment.starts_with("Benjamini–Hochberg over"));
    assert_eq!(migrations.contrasts[0].verdict, Verdict::Equivalent);
}

#[test]
fn the_warm_up_block_is_shown_and_a_late_one_is_cut_for_all_arms() {
    let mut lab = planted(&[1.0, 1.1], 20);
    for block in 0..3 {
        lab.rows(0, block).for_each(|row| row.outcome.as_mut().unwrap().metrics[0].value *= 0.6);
    }
    let (manifest, mut trials) = lab.run();
    for trial in trials.iter_mut().filter(|t| t.block == 0) {
        trial.warm_up = true;
    }
    let findings = compare(&manifest, &trials);
    let warm_up = &findings.workloads[0].warm_up;
    let cut = warm_up.blocks_cut;
    assert!((2..=4).contains(&cut), "two slow blocks are left after the flagged one: {warm_up:?}");
    assert_eq!((warm_up.flagged, warm_up.trials_cut), (4, 4 * cut));
    let settled = format!("settled only after {cut} more blocks, cut for all arms");
    assert!(warm_up.sentence.contains(&settled), "{}", warm_up.sentence);
    let claim = &findings.claims[0].sentence;
    assert!(claim.contains(&format!("{} of 19 blocks", 19 - cut)), "{claim}");
    assert_eq!((primary(&findings).units, primary(&findings).verdict.clone()), (19 - cut, Verdict::Better));
    assert_eq!(findings.workloads[0].metrics[0].values[0].trials.len(), 40, "shown all the same");
}

#[test]
fn steadier_is_a_finding_of_its_own() {
    let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe"]);
    for _ in 0..30 {
        lab.block(0, |arm, noise| rate(1000.0 * (if arm == 0 { 0.06 } else { 0.01 } * noise).exp()));
    }
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let dispersion = &findings.workloads[0].dispersion[0];
    assert_eq!(dispersion.verdict, Verdict::Better);
    assert!((3.0..12.0).contains(&(1.0 / dispersion.effect.unwrap().value)));
    assert!(findings.claims.iter().any(|c| c.sentence.contains("times steadier")), "{:?}", findings.claims);
}
