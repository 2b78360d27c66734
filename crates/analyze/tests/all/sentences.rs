//! The exact text of the sentences.

use crate::lab::{Lab, lab, metric, rate};
use schedlab_analyze::*;
use schedlab_plan::{Direction, TrialStatus};

fn time(seconds: f64) -> Vec<schedlab_plan::Metric> {
    vec![metric("time_s", seconds, "s", Direction::LowerIsBetter)]
}

/// Eight blocks in which an arm's trials are at its factor ± a swing; their mean is `factor`.
fn blocks(
    lab: &mut Lab,
    n: usize,
    workload: u32,
    swing: f64,
    factors: &[f64],
    metrics: fn(f64) -> Vec<schedlab_plan::Metric>,
) {
    for block in 0..n {
        let sign = if block % 2 == 0 { swing } else { -swing };
        let value = |arm: u32| factors[arm as usize] * if arm == 0 { 1.0 } else { f64::exp(sign) };
        lab.block(workload, |arm, _| metrics(value(arm)));
    }
}

fn claims(lab: Lab) -> Vec<String> {
    let (manifest, trials) = lab.run();
    compare(&manifest, &trials).claims.into_iter().map(|c| c.sentence).collect()
}

fn one(swing: f64, factors: [f64; 2], metrics: fn(f64) -> Vec<schedlab_plan::Metric>) -> String {
    let mut lab = lab(&[("other", ""), ("batch", "policy=batch")], &["messaging:5x50"]);
    lab.manifest.primary = vec![vec![metrics(1.0)[0].name.clone()]];
    blocks(&mut lab, 8, 0, swing, &factors, metrics);
    claims(lab).remove(0)
}

#[test]
fn large_ratios_are_factors_and_small_ones_percentages() {
    assert_eq!(
        one(0.1, [1.0, 0.36], time),
        "batch makes messaging 2.8 times faster [2.5, 3.0]: 8 blocks, 95 % interval"
    );
    assert_eq!(
        one(0.01, [1.0, 0.9], time),
        "batch makes messaging take 10 % less time [9.2, 10.8]: 8 blocks, 95 % interval"
    );
    assert_eq!(one(0.01, [1.0, 1.1], rate), "batch makes messaging 10 % faster [9, 11]: 8 blocks, 95 % interval");
    assert_eq!(
        one(0.1, [1.0, 0.25], rate),
        "batch makes messaging 4.0 times slower [3.7, 4.4]: 8 blocks, 95 % interval"
    );
}

#[test]
fn neither_equivalent_nor_inconclusive_sounds_like_an_effect() {
    assert_eq!(
        one(0.01, [1.0, 1.003], rate),
        "batch and other are within 5 % of each other on messaging: 0.3 % faster [0.6 % slower, 1.2 % faster], 8 blocks, 95 % interval"
    );
    assert_eq!(
        one(0.2, [1.0, 1.1], rate),
        "batch against other on messaging is inconclusive: 10 % faster [8 % slower, 32 % faster], 8 blocks, 95 % interval; 17 to over \
         80 more blocks would decide an effect of this size"
    );
}

#[test]
fn other_metrics_are_named_and_neutral_ones_not_praised() {
    let p99 = |v: f64| vec![metric("latency_p99_ns", 1000.0 * v, "ns", Direction::LowerIsBetter)];
    assert_eq!(
        one(0.01, [1.0, 1.1], p99),
        "batch makes messaging have 99th-percentile latency 10 % higher [9, 11]: 8 blocks, 95 % interval"
    );
    let switches = |v: f64| vec![metric("switches_per_op", v, "1/op", Direction::Neutral)];
    assert_eq!(
        one(0.01, [1.0, 3.0], switches),
        "batch makes messaging have switches per operation 3.00 times higher [2.97, 3.03]: 8 blocks, 95 % interval"
    );
}

#[test]
fn no_verdict_says_why_and_aa_comes_last() {
    let arms = [("other", ""), ("other2", ""), ("slice", "slice=0.1ms")];
    let mut lab = lab(&arms, &["pipe:pin=same", "pipe:pin=apart"]);
    for workload in 0..2 {
        blocks(&mut lab, 8, workload, 0.01, &[1.0, 1.0, 1.2], rate);
    }
    for row in lab.trials.iter_mut().filter(|t| t.workload == 1 && t.arm == Some(2)) {
        row.status = TrialStatus::NotApplied("kernel 6.1 accepts a slice and ignores it".into());
    }
    assert_eq!(
        claims(lab),
        [
            "slice makes pipe:pin=same 20 % faster [18.9, 21.1]: 8 blocks, 95 % interval",
            "no verdict on slice against other on pipe:pin=apart: `slice` is not applied: kernel 6.1 accepts a slice and \
             ignores it",
            "A/A control: other2 and other are within 5 % of each other on pipe:pin=same: 0 % faster [0.9 % slower, 0.9 % faster], 8 blocks, \
             95 % interval",
            "A/A control: other2 and other are within 5 % of each other on pipe:pin=apart: 0 % faster [0.9 % slower, 0.9 % faster], 8 blocks, \
             95 % interval",
        ]
    );
}
