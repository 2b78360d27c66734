//! What arms gain in one question and lose in another, with known effects in both.

use crate::lab::{lab, metric};
use schedlab_analyze::*;
use schedlab_plan::Direction::{HigherIsBetter, LowerIsBetter};

/// A run of two workloads; an arm's rate in the first and its latency in the second, relative to the control.
fn run(planted: &[(f64, f64)]) -> Findings {
    let names: Vec<(String, String)> =
        (1..=planted.len()).map(|number| (format!("arm {number}"), format!("slice={number}ms"))).collect();
    let mut arms = vec![("default", "")];
    arms.extend(names.iter().map(|(name, spec)| (name.as_str(), spec.as_str())));
    let mut lab = lab(&arms, &["messaging:5x5", "wakeup"]);
    let of = |arm: u32| arm.checked_sub(1).map_or((1.0, 1.0), |at| planted[at as usize]);
    for _ in 0..6 {
        let noisy = |value: f64, noise: f64| value * (0.003 * noise).exp();
        lab.block(0, |arm, noise| vec![metric("rate_per_s", noisy(1e4 * of(arm).0, noise), "1/s", HigherIsBetter)]);
        lab.block(1, |arm, noise| vec![metric("p99_ns", noisy(1e5 * of(arm).1, noise), "ns", LowerIsBetter)]);
    }
    let (mut manifest, trials) = lab.run();
    manifest.primary[1] = vec!["p99_ns".into()];
    compare(&manifest, &trials)
}

#[test]
fn the_front_holds_what_nothing_beats_and_lower_latency_is_a_gain() {
    // Arm 1 beats arm 3 in both; arm 4 beats the control.
    let found = run(&[(1.3, 1.2), (0.8, 0.5), (1.2, 1.4), (1.1, 0.9)]);
    let tradeoff = found.tradeoff.unwrap();
    assert_eq!((tradeoff.front, tradeoff.compared), (vec![1, 4, 2], 5));
    let objectives: Vec<(u32, &str)> = tradeoff.objectives.iter().map(|of| (of.workload, &*of.metric)).collect();
    assert_eq!(objectives, [(0, "rate_per_s"), (1, "p99_ns")]);
    let alone = run(&[(0.9, 1.1), (0.8, 1.2), (0.7, 1.3)]).tradeoff.unwrap();
    assert_eq!(alone.front, [0], "the control beats all");
}

#[test]
fn two_arms_are_no_sweep_and_one_question_has_no_tradeoff() {
    assert_eq!(run(&[(1.3, 1.2), (0.8, 0.5)]).tradeoff, None);
    let mut lab = lab(&[("default", ""), ("a", "slice=1ms"), ("b", "slice=2ms"), ("c", "slice=3ms")], &["pipe"]);
    for _ in 0..6 {
        lab.block(0, |_, noise| crate::lab::rate(1000.0 * (0.01 * noise).exp()));
    }
    let (manifest, trials) = lab.run();
    assert_eq!(compare(&manifest, &trials).tradeoff, None);
}
