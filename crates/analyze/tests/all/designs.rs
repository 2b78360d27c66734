//! Designs besides blocks: switchback trials and imported rows, with the published netperf study as the worked example.

use crate::lab::{lab, metric, outcome, planted, rate};
use schedlab_analyze::*;
use schedlab_plan::manifest::OrderKnown;
use schedlab_plan::{Direction, Window};

fn primary(findings: &Findings) -> &Contrast {
    &findings.workloads[0].metrics[0].contrasts[0]
}

fn reason(contrast: &Contrast) -> &str {
    match &contrast.verdict {
        Verdict::NoVerdict { reason, .. } => reason,
        other => panic!("a verdict where none may be: {other:?}"),
    }
}

/// Trials of 20 pairs of 50 ms windows in which B does `factor` times the operations.
fn switchback(factor: f64, carry: f64) -> Findings {
    switchback_without(factor, carry, |_, _, _| false)
}

/// The same without the windows for which `lost(pair, half, is_b)` is true.
fn switchback_without(factor: f64, carry: f64, lost: fn(u32, usize, bool) -> bool) -> Findings {
    let mut lab = lab(&[("a", ""), ("b", "policy=batch")], &["pipe"]);
    lab.manifest.switchback_window_ns = Some(50_000_000);
    for block in 0..8 {
        let mut made = outcome(rate(1e6));
        let mut after_b = false;
        for pair in 0..20u32 {
            let b_first = lab.random.uniform() < 0.5;
            for (half, is_b) in [b_first, !b_first].into_iter().enumerate() {
                let start_ns = u64::from(2 * pair + half as u32) * 50_000_000;
                let noise = (0.01 * lab.random.normal()).exp();
                let own = if is_b { factor } else { 1.0 };
                let left = if after_b { carry } else { 1.0 };
                let operations = (40_000.0 * own * left * noise) as u64;
                let (counted_from_ns, end_ns) = (start_ns + 10_000_000, start_ns + 50_000_000);
                if !lost(pair, half, is_b) {
                    made.windows.push(Window { pair, is_b, start_ns, counted_from_ns, end_ns, operations });
                }
                after_b = is_b;
            }
        }
        lab.push(0, None, block, 0, Some(made));
    }
    let (manifest, trials) = lab.run();
    compare(&manifest, &trials)
}

#[test]
fn switchback_trials_are_the_unit_and_carry_over_is_tested() {
    let findings = switchback(1.03, 1.0);
    let contrast = primary(&findings);
    let effect = contrast.effect.unwrap();
    assert_eq!((contrast.units, contrast.unit_name.as_str()), (8, "switchback trials"));
    assert!(effect.lo < 1.03 && 1.03 < effect.hi && effect.lo > 1.0, "{effect:?}");
    assert_eq!(contrast.verdict, Verdict::Equivalent, "real, but smaller than the 5 % that matter");
    assert!(contrast.notes.iter().any(|n| n.starts_with("Carry-over")));
    assert!(findings.workloads[0].metrics[0].values.iter().all(|v| v.n == 8));
    assert!(reason(primary(&switchback(1.2, 1.1))).contains("window before still acts"));
    // A carry-over of 10 % is large compared with an effect of 20 %; compared with a factor of 100 it is only the last
    // operation of B, which ends in A's window.
    let slow = switchback(0.01, 1.1);
    let contrast = primary(&slow);
    assert_eq!(contrast.verdict, Verdict::Worse, "{:?}", contrast.notes);
    assert!(contrast.notes.iter().any(|n| n.starts_with("Carry-over") && n.contains("+10.")), "{:?}", contrast.notes);
}

#[test]
fn windows_are_not_compared_across_one_that_was_lost() {
    // Only one window of each pair is left, of alternating arms: neighbours in the table, but not in time.
    let findings = switchback_without(1.2, 1.1, |pair, _, is_b| is_b != (pair % 2 == 1));
    assert_eq!(primary(&findings).units, 0);
    assert!(primary(&findings).notes.is_empty(), "nor is a carry-over taken from them: {:?}", primary(&findings).notes);
    // A few windows lost by chance cost only their pairs.
    let findings = switchback_without(1.2, 1.0, |pair, half, _| pair % 7 == 3 && half == 0);
    assert_eq!((primary(&findings).units, primary(&findings).verdict.clone()), (8, Verdict::Better));
}

#[test]
fn windows_that_are_lost_with_one_arm_bar_the_verdict() {
    // B makes the controller late, so the window after B's is too short to count: A's window, if B came first.
    let findings = switchback_without(1.2, 1.0, |_, half, is_b| half == 1 && !is_b);
    let reason = reason(primary(&findings));
    assert!(reason.starts_with("windows lost differ between arms: 0 of 152 of `b`, "), "{reason}");
    assert!(matches!(primary(&findings).verdict, Verdict::NoVerdict { why: Withheld::LossesDiffer, .. }));
}

/// The published study of design's issue 2: CPU use of five netperf streams before and after a kernel patch.
const NETPERF: [(f64, f64); 22] = [
    (0.089, 0.085),
    (0.093, 0.079),
    (0.083, 0.070),
    (0.079, 0.085),
    (0.050, 0.078),
    (0.082, 0.062),
    (0.094, 0.082),
    (0.111, 0.079),
    (0.097, 0.080),
    (0.110, 0.096),
    (0.084, 0.084),
    (0.081, 0.042),
    (0.099, 0.102),
    (0.096, 0.092),
    (0.096, 0.082),
    (0.077, 0.066),
    (0.101, 0.075),
    (0.074, 0.063),
    (0.076, 0.076),
    (0.104, 0.089),
    (0.098, 0.080),
    (0.053, 0.109),
];

/// No verdict, because drift cannot be distinguished from an effect.
fn confounded(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::NoVerdict { why: Withheld::Confounded, .. })
}

fn netperf(rows: &[(f64, f64)], paired: bool) -> Findings {
    let mut lab = lab(&[("before", ""), ("after", "")], &["netperf"]);
    lab.manifest.order = OrderKnown::Unknown;
    lab.manifest.primary = vec![vec!["cpu".into()]];
    for (i, &(before, after)) in rows.iter().enumerate() {
        for (arm, value) in [(0, before), (1, after)] {
            let block = if paired { i } else { 2 * i + arm as usize } as u32;
            let made = outcome(vec![metric("cpu", value, "share", Direction::LowerIsBetter)]);
            lab.push(0, Some(arm), block, arm, Some(made));
        }
    }
    let (manifest, trials) = lab.run();
    compare(&manifest, &trials)
}

#[test]
fn the_netperf_study_keeps_its_outliers_and_shows_what_dropping_them_would_claim() {
    let findings = netperf(&NETPERF, true);
    let contrast = primary(&findings);
    assert_eq!((contrast.units, contrast.unit_name.as_str(), contrast.is_aa), (22, "pairs", false));
    let far: Vec<u64> = contrast.unit_effects.iter().filter(|u| u.far_out).map(|u| u.unit).collect();
    assert!(far.contains(&4) && far.contains(&21), "{far:?}");
    assert!(confounded(&contrast.verdict), "{:?}", contrast.verdict);
    assert!(contrast.effect.unwrap().lo < 1.0 && 1.0 < contrast.effect.unwrap().hi);
    let view = |name: &str| contrast.views.iter().find(|v| v.name.contains(name)).unwrap();
    assert!(view("without the").effect.unwrap().hi < 1.0);
    assert!(view("Hodges").effect.unwrap().value < contrast.effect.unwrap().value);
    assert!(view("Welch").effect.is_some() && view("Wilcoxon").p.is_some());
    let dropped: Vec<(f64, f64)> =
        NETPERF.into_iter().enumerate().filter(|(i, _)| ![4, 21].contains(i)).map(|(_, row)| row).collect();
    let trimmed = netperf(&dropped, true);
    assert!(primary(&trimmed).units == 20 && primary(&trimmed).effect.unwrap().hi < 1.0);
    assert!(confounded(&primary(&trimmed).verdict), "not even where the interval excludes no effect");
    let steadiness = &findings.workloads[0].dispersion[0];
    assert_eq!((steadiness.units, steadiness.unit_name.as_str()), (44, "trials"));
    assert!(confounded(&steadiness.verdict), "{steadiness:?}");
    let unpaired = netperf(&NETPERF, false);
    assert_eq!((primary(&unpaired).estimator.as_str(), primary(&unpaired).units), ("Welch's t on trials", 44));
}

#[test]
fn rows_of_unknown_order_are_refused_a_verdict_as_runs_one_after_the_other_are() {
    let reason = |contrast: &Contrast| match &contrast.verdict {
        Verdict::NoVerdict { why: Withheld::Confounded, reason } => reason.clone(),
        other => panic!("{other:?}"),
    };
    let lower: Vec<(f64, f64)> = (0..20).map(|i| (1.0 + 0.001 * f64::from(i), 0.5 - 0.001 * f64::from(i))).collect();
    let imported = netperf(&lower, true);
    let run = || planted(&[1.0, 2.0], 8).run();
    let (mut a, mut b) = (run(), run());
    a.1.retain(|t| t.arm == Some(0));
    b.1.retain(|t| t.arm == Some(1));
    a.0.arms.truncate(1);
    b.0.arms.truncate(1);
    b.1.iter_mut().for_each(|t| t.arm = Some(0));
    let sequential = compare_runs(&a, &b);
    let remedy = "so drift looks like an effect: measure both arms in one `schedlab ab`, which interleaves them";
    for findings in [&imported, &sequential] {
        let contrast = primary(findings);
        assert!(contrast.effect.is_some() && reason(contrast).ends_with(remedy), "{}", reason(contrast));
        assert!(findings.claims[0].sentence.starts_with("no verdict on "), "{}", findings.claims[0].sentence);
        assert_eq!(findings.workloads[0].confounded.as_ref().unwrap().level, "run");
    }
}

#[test]
fn imported_trials_without_blocks_have_a_spread_too() {
    let mut lab = lab(&[("before", ""), ("after", "")], &["hackbench"]);
    lab.manifest.order = OrderKnown::Unknown;
    for i in 0..40u32 {
        let arm = i % 2;
        let spread = if arm == 0 { 0.06 } else { 0.01 };
        let value = 10.0 * (spread * lab.random.normal()).exp();
        let made = outcome(vec![metric("rate_per_s", value, "1/s", Direction::HigherIsBetter)]);
        lab.push(0, Some(arm), i, 0, Some(made));
    }
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let steadiness = &findings.workloads[0].dispersion[0];
    assert!(steadiness.units == 40 && confounded(&steadiness.verdict), "{steadiness:?}");
    assert!((0.08..0.35).contains(&steadiness.effect.unwrap().value), "{steadiness:?}");
    assert!(steadiness.estimator.contains("drift counts as spread"));
}
