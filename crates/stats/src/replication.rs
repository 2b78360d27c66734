//! Whether an effect that was measured elsewhere is reproduced here: two estimates and their errors, three answers.
//!
//! An effect is reproduced when it has the same sign here and at least the share `kept` of its size. One contrast
//! decides, here − kept · there: an interval above zero means reproduced, below zero contradicted, around zero open. So
//! the error of the first estimate counts as much as the share that is asked for, and an exaggerated first estimate
//! (published results are selected for being large) has some room before it is called contradicted.
use crate::distribution::{normal_quantile, t_critical};
use crate::mean::Interval;

/// The probability for which the needed number of units is computed.
const POWER: f64 = 0.8;

/// An estimate as in its printed interval: its error includes whatever stopping rule made the interval wide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The point estimate: a log-ratio, or a difference in the metric's unit.
    pub mean: f64,
    /// Half the interval in units of Student's t at its level: the standard error, or more where the design is
    /// sequential.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
}

impl Known {
    /// From an estimate, its interval, and the number of independent units behind both. `None` for fewer than two
    /// units, if a number is not finite, or if the level is not between 0 and 1.
    pub fn new(mean: f64, interval: Interval, units: usize) -> Option<Self> {
        let df = units.checked_sub(1).filter(|df| *df > 0)? as f64;
        let se = interval.half_width() / t_critical(1.0 - interval.level, df);
        let sound = mean.is_finite() && se.is_finite() && se >= 0.0 && (0.0..1.0).contains(&interval.level);
        sound.then_some(Self { mean, se, df })
    }
}

/// What two estimates together say of one effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicationOutcome {
    /// The effect has its sign and at least the kept share of its size.
    Reproduced,
    /// The effect is smaller than that share, absent, or of the other sign.
    Contradicted,
    /// Neither is shown.
    Open,
}

/// An answer with its evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replication {
    /// The answer.
    pub again: ReplicationOutcome,
    /// here − kept · there, with the sign turned so that the effect there is positive.
    pub contrast: Interval,
    /// Total number of units with which the answer would be decided four times in five if the effect here is equal to
    /// the one there; `None` if it is decided, or if no number of units here is enough because the first estimate
    /// itself is too wide.
    pub units: Option<f64>,
}

/// Compares an effect `there` with the one `here`, two-sided at `alpha`. The probability of *reproduced* if there is no
/// effect here, or of *contradicted* if the effect here equals the one there, is at most about alpha / 2. The latter is
/// larger if the effect there was found only by luck (docs/repeat.md has the simulated rates). `None` if the effect
/// there is zero.
pub fn replication(there: &Known, here: &Known, kept: f64, alpha: f64) -> Option<Replication> {
    if there.mean == 0.0 {
        return None;
    }
    let (sign, size) = (there.mean.signum(), there.mean.abs());
    let (of_there, of_here) = ((kept * there.se).powi(2), here.se.powi(2));
    let both = of_there + of_here;
    // Welch and Satterthwaite; two exact numbers have no error, so no degrees of freedom to estimate.
    let df = if both > 0.0 {
        both.powi(2) / (of_there.powi(2) / there.df + of_here.powi(2) / here.df)
    } else {
        here.df.min(there.df)
    };
    let (value, half) = (sign * here.mean - kept * size, t_critical(alpha, df) * both.sqrt());
    let contrast = Interval { lo: value - half, hi: value + half, level: 1.0 - alpha };
    // If the interval of the effect there includes zero, keeping a share of it is not enough: the effect here must
    // itself differ from zero.
    let is_there = sign * here.mean > t_critical(alpha, here.df) * here.se;
    let again = match (contrast.lo > 0.0 && is_there, contrast.hi < 0.0) {
        (true, _) => ReplicationOutcome::Reproduced,
        (_, true) => ReplicationOutcome::Contradicted,
        _ => ReplicationOutcome::Open,
    };
    let wanted = ((1.0 - kept) * size / (t_critical(alpha, df) + normal_quantile(POWER))).powi(2) - of_there;
    let units = (again == ReplicationOutcome::Open && wanted > 0.0).then(|| of_here * (here.df + 1.0) / wanted);
    Some(Replication { again, contrast, units })
}

/// The same for a claim that there is no effect beyond ±`margin`.
pub fn equivalence_again(here: &Known, margin: f64, alpha: f64) -> ReplicationOutcome {
    let half = t_critical(alpha, here.df) * here.se;
    match (here.mean.abs() + half < margin, here.mean.abs() - half > margin) {
        (true, _) => ReplicationOutcome::Reproduced,
        (_, true) => ReplicationOutcome::Contradicted,
        _ => ReplicationOutcome::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, t_estimate};

    fn known(mean: f64, se: f64, units: usize) -> Known {
        Known { mean, se, df: units as f64 - 1.0 }
    }

    #[test]
    fn the_error_is_read_back_from_the_interval() {
        let estimate = t_estimate(&[0.1, 0.3, 0.2, 0.25, 0.15, 0.4], 0.95).unwrap();
        let known = Known::new(estimate.mean, estimate.interval, 6).unwrap();
        assert!((known.se / estimate.se - 1.0).abs() < 1e-9 && known.df == 5.0);
        assert_eq!(Known::new(estimate.mean, estimate.interval, 1), None);
        assert_eq!(Known::new(f64::NAN, estimate.interval, 6), None);
        assert_eq!(Known::new(0.1, Interval { level: 1.0, ..estimate.interval }, 6), None);
    }

    #[test]
    fn three_answers_in_both_directions() {
        for sign in [1.0, -1.0] {
            let there = known(sign * 0.10, 0.01, 20);
            let answer = |mean: f64, se: f64| replication(&there, &known(sign * mean, se, 20), 0.5, 0.05).unwrap();
            assert_eq!(answer(0.09, 0.01).again, ReplicationOutcome::Reproduced);
            assert_eq!(answer(0.30, 0.01).again, ReplicationOutcome::Reproduced, "more is there, too");
            assert_eq!(answer(0.00, 0.01).again, ReplicationOutcome::Contradicted);
            assert_eq!(answer(-0.09, 0.01).again, ReplicationOutcome::Contradicted);
            assert_eq!(answer(0.02, 0.005).again, ReplicationOutcome::Contradicted, "it is there, but a fifth of it");
            let open = answer(0.09, 0.05);
            assert_eq!(open.again, ReplicationOutcome::Open);
            // By hand: contrast SE² wanted (0.05 / (2.09 + 0.84))² − 0.005², of 0.05² with 20 units.
            assert!((open.units.unwrap() - 188.0).abs() < 8.0, "{open:?}");
        }
        let vague = known(0.10, 0.05, 20);
        let open = replication(&vague, &known(0.1, 0.03, 20), 0.5, 0.05).unwrap();
        assert_eq!((open.again, open.units), (ReplicationOutcome::Open, None), "no number of units here is enough");
        assert_eq!(replication(&known(0.0, 0.1, 9), &vague, 0.5, 0.05), None);
    }

    #[test]
    fn nothing_is_found_again_as_nothing() {
        assert_eq!(equivalence_again(&known(0.001, 0.001, 20), 0.01, 0.05), ReplicationOutcome::Reproduced);
        assert_eq!(equivalence_again(&known(-0.05, 0.001, 20), 0.01, 0.05), ReplicationOutcome::Contradicted);
        assert_eq!(equivalence_again(&known(0.009, 0.005, 20), 0.01, 0.05), ReplicationOutcome::Open);
    }

    /// Shares of (reproduced, contradicted) over packs that were made only because their own verdict was a difference.
    fn shares(there: f64, here: f64, units: (usize, usize), heavy: bool, seed: u64) -> (f64, f64) {
        let mut random = Random::new(seed);
        let mut measured = |truth: f64, units: usize| {
            let draws: Vec<f64> = (0..units)
                .map(|_| {
                    let chi: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
                    truth + 0.02 * random.normal() / if heavy { (chi / 3.0).sqrt() } else { 1.0 }
                })
                .collect();
            t_estimate(&draws, 0.95).unwrap()
        };
        let (mut packs, mut again, mut against) = (0, 0, 0);
        while packs < 2000 {
            let first = measured(there, units.0);
            if first.interval.contains(0.0) {
                continue;
            }
            packs += 1;
            let second = measured(here, units.1);
            let [a, b] = [(first, units.0), (second, units.1)].map(|(e, n)| Known::new(e.mean, e.interval, n).unwrap());
            match replication(&a, &b, 0.5, 0.05).unwrap().again {
                ReplicationOutcome::Reproduced => again += 1,
                ReplicationOutcome::Contradicted => against += 1,
                ReplicationOutcome::Open => {}
            }
        }
        (f64::from(again) / 2000.0, f64::from(against) / 2000.0)
    }

    /// docs/repeat.md has these numbers. The SD of a unit is 2 %.
    #[test]
    fn simulated_error_rates() {
        let (mut of_nothing, mut of_all, mut of_luck) = (0.0_f64, 0.0_f64, 0.0_f64);
        for heavy in [false, true] {
            for units in [(6, 6), (12, 12), (20, 8), (8, 20)] {
                of_nothing = of_nothing.max(shares(0.03, 0.0, units, heavy, 1).0);
                of_all = of_all.max(shares(0.03, 0.03, units, heavy, 2).1);
                // An effect so small that only exaggerated estimates of it, some with the wrong sign, were reported.
                of_luck = of_luck.max(shares(0.005, 0.005, units, heavy, 3).1);
            }
        }
        assert!(of_nothing <= 0.03, "reproduced {of_nothing} where nothing is");
        assert!(of_all <= 0.03, "contradicted {of_all} where all of it is");
        assert!((0.03..=0.12).contains(&of_luck), "the text says what luck costs: {of_luck}");
        let (again, _) = shares(0.06, 0.06, (20, 20), false, 4);
        let (_, against) = shares(0.06, 0.0, (20, 20), false, 5);
        assert!(again > 0.95 && against > 0.95, "{again} {against}");
    }
}
