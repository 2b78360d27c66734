//! Regions along a knob, on runs in which the boundary is planted.

use crate::lab::{lab, metric};
use schedlab_analyze::*;
use schedlab_plan::Direction;

const VALUES: [&str; 10] = ["1ms", "2ms", "3ms", "4ms", "6ms", "8ms", "9ms", "12ms", "17ms", "30ms"];

/// A run of the default and ten slices, in six blocks, with the rate and the spread of each arm and drift between
/// blocks.
fn run(rate: fn(usize) -> f64, spread: fn(usize) -> f64) -> Findings {
    let specs: Vec<(String, String)> =
        VALUES.iter().map(|value| (format!("slice {value}"), format!("policy=batch;slice={value}"))).collect();
    let mut arms = vec![("default", "")];
    arms.extend(specs.iter().map(|(name, spec)| (name.as_str(), spec.as_str())));
    let mut lab = lab(&arms, &["messaging:5x5"]);
    for block in 0..6 {
        let drift = 1.0 + 0.1 * f64::from(block);
        lab.block(0, |arm, noise| {
            let at = (arm as usize).saturating_sub(1);
            let switches = if at < 6 { 0.25 } else { 0.02 };
            vec![
                metric("rate_per_s", drift * rate(at) * (spread(at) * noise).exp(), "1/s", Direction::HigherIsBetter),
                metric("involuntary_switches_per_op", switches, "1/op", Direction::Neutral),
            ]
        });
    }
    let (manifest, trials) = lab.run();
    compare(&manifest, &trials)
}

#[test]
fn a_step_along_a_setting_is_found_in_its_gap_in_spite_of_drift() {
    let findings = run(|at| if at < 6 { 1000.0 } else { 1300.0 }, |_| 0.02);
    let [curve] = &findings.workloads[0].curves[..] else { panic!("{:?}", findings.workloads[0].curves) };
    assert_eq!((curve.knob.as_str(), curve.others.as_str()), ("slice", "policy=batch"));
    assert_eq!(curve.values, ["1ms", "2ms", "3ms", "4ms", "6ms", "8ms", "9ms", "12ms", "17ms", "30ms"]);
    let [boundary] = &curve.boundaries[..] else { panic!("{curve:?}") };
    assert_eq!((boundary.earliest, boundary.after, boundary.latest), (5, 5, 5));
    let change = boundary.change.unwrap();
    assert!(change.lo < 1.3 && 1.3 < change.hi && change.lo > 1.2, "{change:?}");
    assert!(boundary.spread.is_some_and(|spread| spread.lo < 1.0 && 1.0 < spread.hi), "{boundary:?}");
    let switches: Vec<_> = curve.regions.iter().map(|region| region.switches_per_op[1].unwrap()).collect();
    assert!((switches[0] - 0.25).abs() < 1e-9 && (switches[1] - 0.02).abs() < 1e-9, "{switches:?}");
    assert_eq!(curve.regions.iter().map(|region| (region.first, region.last)).collect::<Vec<_>>(), [(0, 5), (6, 9)]);
}

#[test]
fn an_unsettled_region_is_one_of_spread() {
    let findings = run(|_| 1000.0, |at| if at < 5 { 0.01 } else { 0.12 });
    let curve = &findings.workloads[0].curves[0];
    let [boundary] = &curve.boundaries[..] else { panic!("{curve:?}") };
    assert!((boundary.earliest..=boundary.latest).contains(&4), "{boundary:?}");
    assert!(boundary.spread.unwrap().lo > 2.0 && boundary.change.unwrap().hi > 1.0, "{boundary:?}");
}

#[test]
fn without_a_boundary_there_is_one_region_and_what_it_does() {
    let flat = run(|_| 1000.0, |_| 0.02);
    let [region] = &flat.workloads[0].curves[0].regions[..] else { panic!("{:?}", flat.workloads[0].curves) };
    assert_eq!(region.trend, Trend::Level);
    let falling = run(|at| 1000.0 * (-0.05 * at as f64).exp(), |_| 0.02);
    assert!(falling.workloads[0].curves[0].regions.iter().all(|region| region.trend != Trend::Rises));
    assert_eq!(falling.workloads[0].curves[0].regions[0].trend, Trend::Falls);
}

/// The rate falls with the logarithm of the slice; the values are 0.69 apart at first and 0.12 in the middle: one line.
#[test]
fn values_that_are_unevenly_apart_make_no_boundary() {
    let ms = |at: usize| VALUES[at].trim_end_matches("ms").parse::<f64>().unwrap();
    assert!((ms(6) / ms(5)).ln() < 0.2 * (ms(1) / ms(0)).ln());
    let falling = run(|at| 1000.0 * [1.0f64, 2.0, 3.0, 4.0, 6.0, 8.0, 9.0, 12.0, 17.0, 30.0][at].powf(-0.5), |_| 0.01);
    let curve = &falling.workloads[0].curves[0];
    assert!(curve.boundaries.is_empty() && curve.regions[0].trend == Trend::Falls, "{curve:?}");
}

#[test]
fn fewer_values_than_two_regions_need_are_no_curve() {
    let arms: Vec<(String, String)> = (1..=5).map(|ms| (format!("{ms}"), format!("slice={ms}ms"))).collect();
    let arms: Vec<(&str, &str)> = arms.iter().map(|(name, spec)| (name.as_str(), spec.as_str())).collect();
    let mut lab = lab(&arms, &["pipe"]);
    for _ in 0..6 {
        lab.block(0, |_, noise| crate::lab::rate(1000.0 * (0.02 * noise).exp()));
    }
    let (manifest, trials) = lab.run();
    assert!(compare(&manifest, &trials).workloads[0].curves.is_empty());
}
