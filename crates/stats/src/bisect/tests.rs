use super::*;
use crate::Random;

const RULES: BisectRules = BisectRules { alpha: 0.05, least_units: 6, most_units: 4000 };

/// Bisects a history in which members from `change` on are `size` better; (answer, units, members that were compared).
fn bisect(last: usize, change: usize, size: f64, sd: f64, skipped: &[usize], seed: u64) -> (BisectAnswer, Bisection) {
    let mut random = Random::new(seed);
    let mut bisection = Bisection::new(last, RULES);
    loop {
        match bisection.next() {
            BisectStep::Ended(answer) => return (answer, bisection),
            BisectStep::Compare { candidate, .. } if skipped.contains(&candidate) => bisection.skip(candidate),
            BisectStep::Compare { control, candidate, units } => {
                let value = |member: usize| if member >= change { size } else { 0.0 };
                let mean = value(candidate) - value(control);
                let drawn: Vec<f64> = (0..units).map(|_| mean + sd * random.normal()).collect();
                bisection.tell(control, candidate, &drawn);
            }
        }
    }
}

#[test]
fn without_noise_it_halves() {
    for change in [1, 20, 33, 64] {
        let (answer, bisection) = bisect(64, change, -0.03, 1e-6, &[], 1);
        let BisectAnswer::Change { after, first, probability } = answer else { panic!("{answer:?}") };
        assert_eq!((after, first), (change - 1, change));
        assert!(probability > 0.999);
        // The two ends, and one comparison for each halving.
        assert!(bisection.pairs.len() <= 8, "{:?}", bisection.pairs.keys());
    }
}

#[test]
fn two_members_are_one_comparison() {
    let (answer, bisection) = bisect(1, 1, -0.03, 0.01, &[], 2);
    assert!(matches!(answer, BisectAnswer::Change { after: 0, first: 1, .. }), "{answer:?}");
    assert_eq!(bisection.pairs.len(), 1);
}

#[test]
fn good_that_is_worse_and_ends_that_are_alike_are_told() {
    assert_eq!(bisect(16, 5, 0.03, 0.01, &[], 3).0, BisectAnswer::Reversed);
    let mut named = 0;
    for seed in 0..200 {
        let mut bisection = Bisection::new(16, BisectRules { most_units: 120, ..RULES });
        let mut random = Random::new(seed);
        let answer = loop {
            match bisection.next() {
                BisectStep::Ended(answer) => break answer,
                BisectStep::Compare { control, candidate, units } => {
                    let drawn: Vec<f64> = (0..units).map(|_| 0.03 * random.normal()).collect();
                    bisection.tell(control, candidate, &drawn);
                }
            }
        };
        named += usize::from(answer != BisectAnswer::Nothing);
    }
    assert!(named <= 16, "{named} of 200 although nothing changed");
}

#[test]
fn what_cannot_be_tried_becomes_a_stretch() {
    let (answer, _) = bisect(16, 7, -0.05, 0.01, &[6, 7, 8], 4);
    assert!(matches!(answer, BisectAnswer::Change { after: 5, first: 9, .. }), "{answer:?}");
    // A skipped member elsewhere changes nothing.
    let (answer, _) = bisect(16, 7, -0.05, 0.01, &[1, 12, 15], 5);
    assert!(matches!(answer, BisectAnswer::Change { after: 6, first: 7, .. }), "{answer:?}");
    let all: Vec<usize> = (1..16).collect();
    let (answer, _) = bisect(16, 7, -0.05, 0.01, &all, 6);
    assert!(matches!(answer, BisectAnswer::Change { after: 0, first: 16, .. }), "{answer:?}");
}

#[test]
fn units_that_run_out_leave_a_stretch_with_the_change_in_it() {
    let mut inside = 0;
    for seed in 0..200 {
        let mut bisection = Bisection::new(64, BisectRules { most_units: 150, ..RULES });
        let mut random = Random::new(seed);
        let change = 1 + random.below(64);
        let answer = loop {
            match bisection.next() {
                BisectStep::Ended(answer) => break answer,
                BisectStep::Compare { control, candidate, units } => {
                    let value = |member: usize| if member >= change { -0.03 } else { 0.0 };
                    let mean = value(candidate) - value(control);
                    let drawn: Vec<f64> = (0..units).map(|_| mean + 0.04 * random.normal()).collect();
                    bisection.tell(control, candidate, &drawn);
                }
            }
        };
        inside += match answer {
            BisectAnswer::Undecided { after, first, .. } | BisectAnswer::Change { after, first, .. } => {
                usize::from((after + 1..=first).contains(&change))
            }
            // That the ends did not differ is not a wrong answer.
            _ => 1,
        };
    }
    assert!(inside >= 186, "{inside} of 200");
}

#[test]
fn the_answer_is_right_as_often_as_it_says() {
    let mut right = 0;
    for seed in 0..300 {
        let change = 1 + Random::new(1000 + seed).below(32);
        let (answer, _) = bisect(32, change, -0.03, 0.03, &[], seed);
        right += usize::from(matches!(answer, BisectAnswer::Change { first, .. } if first == change));
    }
    assert!(right >= 282, "{right} of 300");
}

#[test]
fn sizes_are_too_large_as_documented_and_that_of_the_change_less_so() {
    // The SD of a block of the same-CPU pipe.
    const SD: f64 = 0.056;
    let (mut ends, mut change, mut histories) = (0.0, 0.0, 0.0);
    for seed in 0..400 {
        let place = 1 + Random::new(2000 + seed).below(32);
        let (answer, bisection) = bisect(32, place, -0.03, SD, &[], seed);
        if let (BisectAnswer::Change { .. }, Some(of_ends), Some(of_change)) =
            (answer, bisection.ends(), bisection.change())
        {
            ends += of_ends.mean / -0.03;
            change += of_change.mean / -0.03;
            histories += 1.0;
        }
    }
    let (ends, change) = (ends / histories, change / histories);
    // Both stop when they are certain, which is sooner if luck makes the change look larger; docs/bisect.md says by how
    // much.
    assert!((1.09..1.16).contains(&ends) && (1.05..1.12).contains(&change) && change < ends, "{ends} {change}");
}

#[test]
fn the_posterior_is_even_before_anything_is_told_and_sums_to_one() {
    let mut bisection = Bisection::new(10, RULES);
    assert!(bisection.stretches().iter().all(|s| (s.probability - 0.1).abs() < 1e-12));
    bisection.skip(3);
    bisection.tell(0, 10, &[-0.1, -0.2, -0.15, -0.12]);
    bisection.tell(10, 4, &[0.1, 0.2, 0.1, 0.12]);
    let stretches = bisection.stretches();
    assert!((stretches.iter().map(|s| s.probability).sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(stretches.len(), 9);
    let late: f64 = stretches.iter().filter(|s| s.after >= 4).map(|s| s.probability).sum();
    assert!(late > 0.95, "4 is like the first: {late}");
    let change = bisection.change().unwrap();
    assert!((change.mean + 0.137).abs() < 0.02 && change.se > 0.0, "{change:?}");
}
