use super::*;
use crate::Random;

fn line(levels: usize) -> Axis {
    Axis { levels: (0..levels).map(|l| l as f64 / (levels - 1) as f64).collect(), is_ordered: true }
}

fn own_errors(i: usize, j: usize) -> f64 {
    if i == j { 1.0 } else { 0.0 }
}

fn fit(axes: &[Axis], at: &[Vec<usize>], values: &[f64], repeats: Option<(f64, f64)>) -> GaussianProcess {
    GaussianProcess::fit(axes, &Observations { at, values, errors: &own_errors, repeats }, None).unwrap()
}

/// The posterior for two points with independent errors has a closed form.
#[test]
fn two_points_by_hand() {
    let axes = [line(3)];
    let smoothness = Smoothness { surface: 0.0, error: 0.5f64.ln(), lengths: vec![0.0] };
    let at = [vec![0], vec![2]];
    let seen = Observations { at: &at, values: &[1.0, 3.0], errors: &own_errors, repeats: None };
    let process = GaussianProcess::with(&axes, &seen, smoothness).unwrap();
    let (near, far) = (matern(0.5), matern(1.0));
    let (mean, sd) = process.predict(&[1]);
    assert!((mean - 2.0).abs() < 1e-12, "half way between, by symmetry: {mean}");
    assert!((sd * sd - (1.0 - 2.0 * near * near / (1.25 + far))).abs() < 1e-12, "{sd}");
    let (left, _) = process.predict(&[0]);
    // The mean is 2, the residuals -1 and 1: the weights are -1 / (1.25 - far) and its negative.
    assert!((left - (2.0 - (1.0 - far) / (1.25 - far))).abs() < 1e-12, "{left}");
}

#[test]
fn the_noise_and_the_surface_are_told_apart_and_intervals_hold() {
    let axes = [line(12), Axis { levels: vec![0.0; 3], is_ordered: false }];
    let truth = |at: &[usize]| 0.2 * (at[0] as f64 / 3.0).sin() + 0.05 * at[1] as f64;
    let (mut held, mut all, mut errors) = (0, 0, 0.0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let at: Vec<Vec<usize>> = (0..30).map(|_| vec![random.below(12), random.below(3)]).collect();
        let values: Vec<f64> = at.iter().map(|at| truth(at) + 0.04 * random.normal()).collect();
        let process = fit(&axes, &at, &values, Some((0.0016, 20.0)));
        errors += process.error() / 60.0;
        for point in (0..36).map(|i| [i % 12, i / 12]) {
            let (mean, sd) = process.predict(&point);
            held += u32::from((mean - truth(&point)).abs() < 2.0 * sd);
            all += 1;
        }
    }
    assert!((errors - 0.04).abs() < 0.005, "{errors}");
    let share = f64::from(held) / f64::from(all);
    assert!((0.9..=0.995).contains(&share), "{share}");
}

/// An error that all share moves the mean of all, not one against the other.
#[test]
fn an_error_that_is_shared_is_no_difference() {
    let axes = [line(4)];
    let at: Vec<Vec<usize>> = (0..8).map(|i| vec![i % 4]).collect();
    // The second four were measured against a control that was 10 % too slow.
    let values: Vec<f64> = (0..8).map(|i| if i < 4 { 0.0 } else { 0.1 } + 0.001 * f64::from(i % 3)).collect();
    let shared = |i: usize, j: usize| f64::from(u8::from(i / 4 == j / 4)) + own_errors(i, j);
    let seen = Observations { at: &at, values: &values, errors: &shared, repeats: Some((0.05f64.powi(2), 20.0)) };
    let process = GaussianProcess::fit(&axes, &seen, None).unwrap();
    let means: Vec<f64> = (0..4).map(|level| process.predict(&[level]).0).collect();
    let spread = means.iter().fold(f64::MIN, |a, &b| a.max(b)) - means.iter().fold(f64::MAX, |a, &b| a.min(b));
    assert!(spread < 0.01, "{means:?}");
}

#[test]
fn a_point_that_is_believed_is_no_longer_unknown_and_changes_no_mean() {
    let axes = [line(8)];
    let at = [vec![0], vec![1], vec![2]];
    let mut process = fit(&axes, &at, &[0.0, 0.1, 0.3], None);
    let before = process.predict(&[5]);
    let mean_beside = process.predict(&[6]).0;
    process.believe(&[5], 0.01);
    let after = process.predict(&[5]);
    assert!((after.0 - before.0).abs() < 1e-9 && after.1 < 0.2 * before.1, "{before:?} {after:?}");
    assert!((process.predict(&[6]).0 - mean_beside).abs() < 1e-9);
}

#[test]
fn expected_improvement_of_known_values() {
    assert_eq!(expected_improvement(3.0, 0.0, 1.0), 2.0);
    assert_eq!(expected_improvement(1.0, 0.0, 3.0), 0.0);
    // E max(Z, 0) is 1/√(2π).
    assert!((expected_improvement(0.0, 1.0, 0.0) - 0.398_942_28).abs() < 1e-8);
    let mut random = Random::new(3);
    let drawn: f64 = (0..200_000).map(|_| (0.5 + 2.0 * random.normal() - 1.0).max(0.0)).sum::<f64>() / 200_000.0;
    assert!((expected_improvement(0.5, 2.0, 1.0) - drawn).abs() < 0.01);
}

#[test]
fn what_cannot_be_fitted_is_none() {
    let seen = |values| Observations { at: &[], values, errors: &own_errors, repeats: None };
    assert!(GaussianProcess::fit(&[line(2)], &seen(&[]), None).is_none());
    let at = [vec![0], vec![1]];
    let nan = Observations { at: &at, values: &[f64::NAN, 1.0], errors: &own_errors, repeats: None };
    assert!(GaussianProcess::fit(&[line(2)], &nan, None).is_none());
}
