use super::*;

const X: [f64; 9] = [0.0, 0.7, 1.1, 1.4, 1.6, 2.1, 2.2, 2.8, 3.4];

/// Four repeats, a hundredth apart, around a mean.
fn curve(mean: fn(f64) -> f64) -> Vec<Vec<f64>> {
    let off = [-0.015, 0.005, 0.015, -0.005];
    X.iter().map(|x| off.iter().map(|off| mean(*x) + off).collect()).collect()
}

#[test]
fn lines_are_those_of_least_squares() {
    let found = regions(&X, &curve(|x| 2.0 + 0.5 * x), &Cutting::default()).unwrap();
    let [region] = &found.regions[..] else { panic!("{found:?}") };
    assert!((region.slope - 0.5).abs() < 1e-9 && (region.at(2.0) - 3.0).abs() < 1e-9, "{region:?}");
    assert!(found.boundaries.is_empty() && found.p_value > 0.05);
}

/// A line over x has a kink if plotted over the points' numbers, where the points lie closer.
#[test]
fn the_distances_of_the_points_decide_what_is_one_line() {
    let x: Vec<f64> = (0..6).map(f64::from).chain((1..=6).map(|i| 5.0 + 12.0 * f64::from(i))).collect();
    let off = [-0.03, 0.01, 0.03, -0.01];
    let values: Vec<Vec<f64>> = x.iter().map(|x| off.iter().map(|off| 0.05 * x + off).collect()).collect();
    let numbers: Vec<f64> = (0..x.len()).map(|i| i as f64).collect();
    let cuts = |x: &[f64]| regions(x, &values, &Cutting::default()).unwrap().boundaries.len();
    assert_eq!((cuts(&x), cuts(&numbers)), (0, 1));
}

#[test]
fn two_steps_that_cancel_are_found_together() {
    let found = regions(&X, &curve(|x| if (1.3..2.15).contains(&x) { 1.0 } else { 0.0 }), &Cutting::default());
    let found = found.unwrap();
    assert_eq!(found.boundaries.iter().map(|b| b.after).collect::<Vec<_>>(), [2, 5]);
    assert!(found.boundaries.iter().all(|b| b.interval == (b.after, b.after)), "{found:?}");
}

#[test]
fn the_same_seed_gives_the_same_answer_and_units_do_not_matter() {
    let step = curve(|x| if x > 1.5 { 0.02 } else { 0.0 });
    let found = regions(&X, &step, &Cutting::default()).unwrap();
    assert_eq!(regions(&X, &step, &Cutting::default()).unwrap(), found);
    let far: Vec<Vec<f64>> = step.iter().map(|point| point.iter().map(|y| 1e6 + 1e3 * y).collect()).collect();
    assert_eq!(regions(&X, &far, &Cutting::default()).unwrap().boundaries, found.boundaries);
}

#[test]
fn what_cannot_be_cut() {
    let cut = |x: &[f64], values: &[Vec<f64>]| regions(x, values, &Cutting::default());
    let flat = curve(|_| 1.0);
    assert!(cut(&X[..5], &flat[..5]).is_none(), "no room for two regions");
    assert!(cut(&X, &flat[..8]).is_none());
    assert!(cut(&[0.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &flat).is_none(), "x does not rise");
    let with = |point: Vec<f64>| [&flat[..8], &[point]].concat();
    assert!(cut(&X, &with(vec![1.0])).is_none(), "one repeat knows no spread");
    assert!(cut(&X, &with(vec![1.0, f64::NAN])).is_none());
    let equal = cut(&X, &vec![vec![2.0; 3]; 9]).unwrap();
    assert!(equal.boundaries.is_empty() && equal.regions[0].sd < 1e-9, "{equal:?}");
    let step: Vec<Vec<f64>> = X.iter().map(|x| vec![f64::from(u8::from(*x > 1.5)); 3]).collect();
    assert_eq!(cut(&X, &step).unwrap().boundaries[0].after, 3, "a step without noise");
}
