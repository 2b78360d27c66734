//! Does the arm of the previous window still act? A switchback contrast is valid only if it does not.
use crate::mean::{Estimate, t_estimate};
use crate::ols;
use crate::switchback::Window;

/// The carry-over term of one unit, in log units: the coefficient of the previous window's arm beside the current arm
/// and a straight drift (Senn, *Cross-over Trials in Clinical Research*, ch. 10, for why it must be modelled together
/// with the direct effect). Positive: a window runs faster after B than after A. `None` for fewer than 6 windows with a
/// known predecessor, or when the arms simply alternate, which makes the two indistinguishable.
pub fn carry_over_term(windows: &[Window]) -> Option<f64> {
    let arm = |is_b: bool| if is_b { 0.5 } else { -0.5 };
    let (mut current, mut previous, mut position, mut y) = (vec![], vec![], vec![], vec![]);
    for (i, window) in windows.iter().enumerate().filter(|(_, w)| w.log_rate.is_finite()) {
        let Some(before) = window.previous else { continue };
        current.push(arm(window.is_b));
        previous.push(arm(before));
        position.push(i as f64 / windows.len() as f64 - 0.5);
        y.push(window.log_rate);
    }
    if y.len() < 6 {
        return None;
    }
    let fit = ols::fit(&y, &[vec![1.0; y.len()], current, position, previous])?;
    fit.coefficients.last().copied()
}

/// t estimate of the carry-over over units; p is that of "no carry-over". Units without a term are left out.
/// Neighbouring windows of a unit are correlated, so a single unit can give a term but no test: `None` below two units
/// with one.
pub fn carry_over_test(units: &[Vec<Window>], level: f64) -> Option<Estimate> {
    let terms: Vec<f64> = units.iter().filter_map(|windows| carry_over_term(windows)).collect();
    t_estimate(&terms, level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Pairs in coin order, a direct effect of 0.1, some drift, and a carry-over of `carry`.
    fn unit(random: &mut Random, carry: f64) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::new();
        for _ in 0..40 {
            let b_first = random.uniform() < 0.5;
            for is_b in [b_first, !b_first] {
                let previous = windows.last().map(|w| w.is_b);
                let after_b = if previous == Some(true) { carry } else { 0.0 };
                let direct = if is_b { 0.1 } else { 0.0 };
                let log_rate = direct + after_b + 0.002 * windows.len() as f64 + 0.02 * random.normal();
                windows.push(Window { is_b, previous, log_rate });
            }
        }
        windows
    }

    #[test]
    fn finds_carry_over_and_only_then() {
        let mut random = Random::new(21);
        let mut test = |carry: f64| {
            let units: Vec<_> = (0..10).map(|_| unit(&mut random, carry)).collect();
            carry_over_test(&units, 0.95).unwrap()
        };
        let present: Vec<Estimate> = (0..100).map(|_| test(0.03)).collect();
        assert!(present.iter().filter(|e| e.interval.contains(0.03)).count() >= 88);
        assert!(present.iter().all(|e| e.p_value < 0.001));
        let flagged = (0..200).filter(|_| test(0.0).p_value < 0.05).count();
        assert!(flagged <= 20, "{flagged} of 200");
    }

    #[test]
    fn strict_alternation_has_no_answer() {
        let alternating = |i: usize| Window {
            is_b: i % 2 == 1,
            previous: (i > 0).then_some(i.is_multiple_of(2)),
            log_rate: i as f64,
        };
        assert_eq!(carry_over_term(&(0..20).map(alternating).collect::<Vec<_>>()), None);
    }
}
