//! The A/A comparison, and its relation to the verdict.

use super::super::*;

#[test]
fn equal_arms_are_an_aa_certificate_and_equivalent() {
    let mut lab = lab(&[("a", ""), ("a2", "")], &["pipe"]);
    for _ in 0..10 {
        lab.block(0, |_, noise| rate(1000.0 * (0.01 * noise).exp()));
    }
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    assert!(findings.arms[1].is_aa && primary(&findings).is_aa);
    assert_eq!(primary(&findings).verdict, Verdict::Equivalent);
    let aa_comparison = &findings.workloads[0].aa_comparisons[0];
    assert!(aa_comparison.includes_no_effect && aa_comparison.effect == primary(&findings).effect);
    assert!(
        aa_comparison.sentence.starts_with("a2 against a, which have the same settings: 0"),
        "{}",
        aa_comparison.sentence
    );
}

#[test]
fn without_an_aa_arm_the_control_is_held_against_itself() {
    let (manifest, trials) = planted(&[1.0, 1.5], 10).run();
    let findings = compare(&manifest, &trials);
    let [aa_comparison] = &findings.workloads[0].aa_comparisons[..] else { panic!("one primary, one A/A comparison") };
    assert_eq!((aa_comparison.equals, aa_comparison.arm, aa_comparison.units), (Equals::ControlTwice, 0, 10));
    // By hand: the t interval on ln(second / first) over the blocks.
    let rates = |block: u32| -> Vec<f64> {
        let rows = trials.iter().filter(|t| t.block == block && t.arm == Some(0));
        rows.map(|t| t.outcome.as_ref().unwrap().metrics[0].value).collect()
    };
    let logs: Vec<f64> = (0..10).map(rates).map(|v| (v[1] / v[0]).ln()).collect();
    let by_hand = schedlab_stats::t_estimate(&logs, 0.95).unwrap();
    let effect = aa_comparison.effect.unwrap();
    assert!((effect.lo.ln() - by_hand.interval.lo).abs() < 1e-9 && (effect.hi.ln() - by_hand.interval.hi).abs() < 1e-9);
    // The noise is 1 % per trial; B's 50 % are not part of it.
    assert!(effect.hi - effect.lo < 0.05, "{effect:?}");
    assert!(aa_comparison.sentence.contains("takes it out of the verdict"), "{}", aa_comparison.sentence);
}

#[test]
fn drift_within_a_block_is_in_that_certificate_and_not_in_the_verdict() {
    let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe"]);
    for _ in 0..10 {
        let mut position = 0.0;
        lab.block(0, |_, noise| {
            position += 1.0;
            rate(1000.0 * (0.03 * position + 0.001 * noise).exp())
        });
    }
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    assert_eq!(primary(&findings).verdict, Verdict::Equivalent, "the mirror cancels it");
    let aa_comparison = &findings.workloads[0].aa_comparisons[0];
    assert!(!aa_comparison.includes_no_effect && aa_comparison.effect.unwrap().lo > 1.08);
    assert!(findings.problems.iter().any(|p| p.text.contains("drifts within a block")), "{:?}", findings.problems);
}

#[test]
fn the_certificate_knows_arms_that_have_a_boot_each_in_a_block() {
    let (manifest, mut trials) = planted(&[1.0, 1.5], 10).run();
    let said = |trials: &[schedlab_plan::TrialRecord]| {
        compare(&manifest, trials).workloads[0].aa_comparisons[0].sentence.clone()
    };
    // A guest per trial, or one for both arms of a block: in both cases the trials are mirrored.
    for (number, trial) in trials.iter_mut().enumerate() {
        trial.boot_id = format!("trial-{number}");
    }
    assert!(said(&trials).contains("the mirrored order takes it out of the verdict"), "{}", said(&trials));
    trials.iter_mut().for_each(|trial| trial.boot_id = format!("block-{}", trial.block));
    assert!(said(&trials).contains("the mirrored order takes it out of the verdict"), "{}", said(&trials));
    // One of these blocks was interrupted: the control's trials have one boot, and a trial of another arm has another.
    let cut = trials.iter_mut().find(|trial| trial.arm == Some(1)).unwrap();
    cut.boot_id = "before the interruption".into();
    assert!(said(&trials).contains("the mirrored order takes it out of the verdict"), "{}", said(&trials));
    trials.iter_mut().for_each(|trial| trial.boot_id = format!("block-{}-{:?}", trial.block, trial.arm));
    assert!(
        said(&trials).contains("what differs from boot to boot is in the verdict and not in this figure"),
        "{}",
        said(&trials)
    );
}

#[test]
fn an_aa_arm_is_the_better_certificate_and_five_blocks_make_none() {
    let (mut manifest, trials) = planted(&[1.0, 1.0, 1.2], 8).run();
    manifest.arms[1].settings.clear();
    let findings = compare(&manifest, &trials);
    let [aa_comparison] = &findings.workloads[0].aa_comparisons[..] else { panic!("one primary, one A/A comparison") };
    assert_eq!((aa_comparison.equals, aa_comparison.arm, aa_comparison.units), (Equals::AaArm, 1, 8));
    let (manifest, trials) = planted(&[1.0, 1.2], 5).run();
    assert_eq!(compare(&manifest, &trials).workloads[0].aa_comparisons, []);
}

#[test]
fn equal_arms_under_drift_are_flagged_one_time_in_twenty() {
    let runs = 400;
    let flagged = (0..runs).filter(|&seed| {
        let mut lab = lab(&[("a", ""), ("a2", "")], &["pipe"]);
        lab.random = schedlab_stats::Random::new(seed);
        lab.manifest.sesoi = 1e-9;
        let mut drift = 0.0;
        for _ in 0..12 {
            drift += 0.02 * lab.random.normal();
            lab.block(0, |_, noise| rate(1000.0 * (drift + 0.01 * noise).exp()));
        }
        let (manifest, trials) = lab.run();
        let verdict = &primary_contrasts(&manifest, &trials, 0)[0].contrast.verdict;
        matches!(verdict, Verdict::Better | Verdict::Worse)
    });
    // 20 expected, SD 4.4.
    let flagged = flagged.count();
    assert!((7..=34).contains(&flagged), "{flagged} of {runs}");
}

/// For runs of every kind and size of effect: an estimate beyond the stated noise is a difference, and any other is
/// not.
#[test]
fn what_is_said_of_the_noise_agrees_with_the_verdict() {
    let designs = [
        Design::Fixed { blocks: 9 },
        Design::Budgeted { budget_ns: 60_000_000_000, looks: 5 },
        Design::OpenEnded { max_blocks: 100 },
    ];
    let (mut differences, mut open) = (0, 0);
    for (seed, design) in (0..60).zip(designs.iter().cycle()) {
        let mut lab = lab(&[("a", ""), ("b", "nice=1"), ("c", "nice=2"), ("d", "nice=3")], &["pipe"]);
        lab.random = schedlab_stats::Random::new(seed);
        for _ in 0..9 {
            lab.block(0, |arm, noise| rate(1000.0 * (0.004 * seed as f64 * f64::from(arm) + 0.1 * noise).exp()));
        }
        if matches!(design, Design::Budgeted { .. }) {
            lab.budgeted(&[(6, 0.6), (9, 1.0)]);
        }
        lab.manifest.design = design.clone();
        lab.manifest.sesoi = 1e-9;
        let (manifest, trials) = lab.run();
        let findings = compare(&manifest, &trials);
        for contrast in &findings.workloads[0].metrics[0].contrasts {
            let (noise, effect) = (contrast.noise.as_ref().unwrap(), contrast.effect.unwrap());
            let beyond = effect.value.ln().abs() >= noise.smallest.ln();
            assert_eq!(beyond, contrast.verdict != Verdict::Inconclusive, "{contrast:?}");
            if beyond {
                differences += 1
            } else {
                open += 1
            }
            assert!(noise.sentence.contains("after Holm over 3 primary contrasts"), "{}", noise.sentence);
        }
    }
    assert!(differences > 30 && open > 30, "{differences} {open}");
}
