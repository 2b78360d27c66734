//! Counts divided by operations: a count that occurs once per trial is not a rate, and one that follows the operations
//! is.

use crate::lab::{lab, metric, outcome};
use schedlab_analyze::*;
use schedlab_plan::Direction;

/// Twelve blocks in which B does `fewer` of A's operations, and `count(arm, operations, noise)` events in a trial.
fn judged(fewer: f64, noisy: f64, count: impl Fn(u32, f64, f64) -> f64) -> MetricFindings {
    judged_as(("events_per_op", "rate_per_s"), fewer, noisy, count)
}

/// The same for a metric of that name, with another one as the primary.
fn judged_as(
    (name, primary): (&str, &str),
    fewer: f64,
    noisy: f64,
    count: impl Fn(u32, f64, f64) -> f64,
) -> MetricFindings {
    let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe"]);
    lab.manifest.primary = vec![vec![primary.to_owned()]];
    let mut other = schedlab_stats::Random::new(11);
    for _ in 0..12 {
        lab.block_of(0, |arm, noise| {
            let share = if arm == 0 { 1.0 } else { fewer };
            let operations = (100_000.0 * share * (noisy * noise).exp()).round();
            let events = count(arm, operations, other.normal());
            let mut made = outcome(vec![
                metric("rate_per_s", operations, "1/s", Direction::HigherIsBetter),
                metric(name, events / operations, "1/op", Direction::Neutral),
            ]);
            made.operations = operations as u64;
            made
        });
    }
    let (manifest, trials) = lab.run();
    let found = compare(&manifest, &trials).workloads.remove(0).metrics;
    found.into_iter().find(|found| found.name == name).unwrap()
}

fn verdict(metric: &MetricFindings) -> &Verdict {
    &metric.contrasts[0].verdict
}

fn withheld(metric: &MetricFindings) -> bool {
    matches!(verdict(metric), Verdict::NoVerdict { why: Withheld::NotPerOperation, .. })
}

#[test]
fn one_migration_a_trial_is_no_finding_about_an_arm_with_fewer_operations() {
    let found = judged(0.9, 0.01, |_, _, _| 1.0);
    let effect = found.contrasts[0].effect.unwrap();
    assert!(effect.lo > 1.08, "divided it looks like more: {effect:?}");
    let reason = "not per operation: 1.00 a trial against 1.00, and they do not follow the operations; only the number of \
                  operations differs";
    assert_eq!(verdict(&found), &Verdict::NoVerdict { why: Withheld::NotPerOperation, reason: reason.into() });
    assert_eq!(found.note.as_deref(), Some(reason));
    assert!(found.contrasts[0].p_adjusted.is_none(), "it is not a question");
}

#[test]
fn neither_are_faults_of_a_set_up_that_scatter_nor_the_ticks_of_a_fixed_time() {
    assert!(withheld(&judged(0.85, 0.01, |_, _, noise| (300.0 + 5.0 * noise).round())));
    assert!(withheld(&judged(0.85, 0.01, |_, _, noise| (125.0 + noise).round())));
}

#[test]
fn two_switches_an_operation_are_a_rate_even_where_a_trial_has_as_many_in_both_arms() {
    // Twice the switches and half the operations: the counts of whole trials are the same.
    let found = judged(0.5, 0.03, |arm, operations, _| operations * f64::from(1 + arm));
    assert_eq!(verdict(&found), &Verdict::Higher);
}

#[test]
fn a_count_that_differs_by_itself_is_a_finding_however_few_it_is() {
    let found = judged(0.9, 0.01, |arm, _, noise| if arm == 0 { 1.0 } else { (6.0 + 0.5 * noise).round() });
    assert_eq!(verdict(&found), &Verdict::Higher);
    // Opposite directions: fewer per trial, but far fewer operations. It cannot be decided which of the two matters.
    assert!(withheld(&judged(0.5, 0.01, |arm, _, noise| (if arm == 0 { 40.0 } else { 36.0 } + noise).round())));
}

#[test]
fn fixed_work_needs_no_division_and_is_judged_as_it_is() {
    let found = judged(1.0, 0.0, |arm, _, noise| (20.0 + 10.0 * f64::from(arm) + noise).round());
    assert_eq!(verdict(&found), &Verdict::Higher);
    let time = judged(0.8, 0.01, |_, _, _| 1.0);
    assert!(withheld(&time), "the trials of fixed time beside it");
}

#[test]
fn a_background_that_comes_and_goes_is_no_finding_about_an_arm_that_takes_longer() {
    // A fixed amount of work, for which B takes a fifth longer: so it counts that much more of another process's
    // events.
    let faults = |arm: u32, _: f64, noise: f64| (5_000.0 * (1.0 + 0.2 * f64::from(arm)) * (0.02 * noise).exp()).round();
    let own = judged_as(("minor_faults_per_op", "rate_per_s"), 1.0, 0.0, faults);
    assert_eq!(verdict(&own), &Verdict::Higher, "the tasks' own count");
    let found = judged_as(("page_faults_per_op", "rate_per_s"), 1.0, 0.0, faults);
    let contrast = &found.contrasts[0];
    assert!(matches!(contrast.verdict, Verdict::NoVerdict { why: Withheld::OfMachine, .. }), "{:?}", contrast.verdict);
    assert!(contrast.effect.is_some() && contrast.p_adjusted.is_none(), "described, and not a question");
    assert!(found.note.unwrap().starts_with("counted on the whole machine"));
    // A large background can also hide a difference, so there is no equivalence either.
    let same = judged_as(("cycles_per_op", "rate_per_s"), 1.0, 0.0, |_, _, noise| 1e9 + noise);
    assert!(matches!(verdict(&same), Verdict::NoVerdict { why: Withheld::OfMachine, .. }), "{:?}", verdict(&same));
}

#[test]
fn a_count_of_the_machine_is_judged_where_the_plan_asks_for_it() {
    let count = |arm: u32, _: f64, noise: f64| (5_000.0 + 1_000.0 * f64::from(arm) + 20.0 * noise).round();
    let found = judged_as(("page_faults_per_op", "page_faults_per_op"), 1.0, 0.0, count);
    assert_eq!((found.role, verdict(&found)), (Role::Primary, &Verdict::Higher));
}
