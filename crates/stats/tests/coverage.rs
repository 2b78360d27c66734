//! Simulated coverage, with few repetitions: guards against mistakes of a few per cent. The full table is
//! `examples/simulate.rs`.
use schedlab_stats::{
    DecisionTarget, GroupSequential, Random, TMixture, bootstrap_interval, dispersion_ratio, dispersion_ratio_blocked,
    observations_to_decide, range_to_decide, repeated_interval, t_estimate,
};

fn normal(random: &mut Random) -> f64 {
    random.normal()
}

fn t3(random: &mut Random) -> f64 {
    random.normal() / ((0..3).map(|_| random.normal().powi(2)).sum::<f64>() / 3.0).sqrt()
}

fn sample(random: &mut Random, n: usize, draw: fn(&mut Random) -> f64) -> Vec<f64> {
    (0..n).map(|_| draw(random)).collect()
}

/// Share of `runs` in which `holds`.
fn share(runs: usize, seed: u64, mut holds: impl FnMut(&mut Random) -> bool) -> f64 {
    let mut random = Random::new(seed);
    (0..runs).filter(|_| holds(&mut random)).count() as f64 / runs as f64
}

fn check(what: &str, got: f64, range: std::ops::RangeInclusive<f64>) {
    assert!(range.contains(&got), "{what}: {got} outside {range:?}");
}

#[test]
fn fixed_t_covers() {
    for n in [6, 20] {
        for draw in [normal, t3] {
            let covered = share(1500, 1, |r| t_estimate(&sample(r, n, draw), 0.95).unwrap().interval.contains(0.0));
            check("t interval", covered, 0.935..=0.985);
        }
    }
}

#[test]
fn bootstrap_undercovers_small_samples_as_documented() {
    let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
    let covered = share(300, 2, |r| {
        bootstrap_interval(&sample(r, 6, normal), mean, 200, 0.95, r.next_u64()).unwrap().contains(0.0)
    });
    check("percentile bootstrap", covered, 0.78..=0.92);
}

/// First look at 6 of 30 observations: the hardest case for the normal-theory bounds.
#[test]
fn looks_keep_their_error_at_small_n() {
    let mut sequence = GroupSequential::new(0.05).unwrap();
    let looks: Vec<_> = (1..=5).map(|k| (6 * k, sequence.push_look(k as f64 / 5.0).unwrap())).collect();
    let held = share(2000, 3, |r| {
        let xs = sample(r, 30, normal);
        looks.iter().all(|(n, look)| repeated_interval(&xs[..*n], look).unwrap().interval.contains(0.0))
    });
    check("all repeated intervals", held, 0.938..=0.965);
}

#[test]
fn confidence_sequence_holds_at_every_size() {
    let sequence = TMixture::new(0.05, TMixture::DEFAULT_TUNING);
    for draw in [normal, t3] {
        let held = share(400, 4, |r| {
            let xs = sample(r, 150, draw);
            (6..=150).all(|n| sequence.interval(&xs[..n]).unwrap().interval.contains(0.0))
        });
        check("confidence sequence", held, 0.94..=1.0);
    }
}

#[test]
fn dispersion_covers() {
    for n in [12, 40] {
        for draw in [normal, t3] {
            let covered = share(1500, 5, |r| {
                dispersion_ratio(&sample(r, n, draw), &sample(r, n, draw), 0.95).unwrap().interval.contains(0.0)
            });
            check(&format!("dispersion, n = {n}"), covered, 0.92..=0.98);
            let covered = share(1500, 6, |r| {
                let arm = |r: &mut Random| (0..n).map(|_| sample(r, 2, draw)).collect::<Vec<_>>();
                let (a, b) = (arm(r), arm(r));
                dispersion_ratio_blocked(&a, &b, 0.95).unwrap().interval.contains(0.0)
            });
            check(&format!("blocked dispersion, {n} blocks"), covered, 0.92..=0.98);
        }
    }
}

/// The forecast range contains the number of observations for the true SD at 80 %, and that number decides as often as
/// it promises.
#[test]
fn the_range_of_a_forecast_covers() {
    let question = DecisionTarget { delta: 0.4, sesoi: 0.0, alpha: 0.05, alpha_difference: 0.05, power: 0.8 };
    let truth = observations_to_decide(1.0, &question, 2, 10_000).unwrap();
    for n in [6, 12, 30] {
        let covered = share(1000, 7, |r| {
            let estimate = t_estimate(&sample(r, n, normal), 0.95).unwrap();
            let sd = estimate.se * (n as f64).sqrt();
            let range = range_to_decide(sd, n, &question, 0.8, 10_000).unwrap();
            range.least.unwrap() <= truth && truth <= range.most.unwrap()
        });
        check(&format!("forecast from {n}"), covered, 0.77..=0.84);
    }
    let decided = share(1000, 8, |r| {
        let xs: Vec<f64> = sample(r, truth, normal).iter().map(|x| x + question.delta).collect();
        !t_estimate(&xs, 0.95).unwrap().interval.contains(0.0)
    });
    check("decided at that number", decided, 0.77..=0.84);
}
