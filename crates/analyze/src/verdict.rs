//! From an effect to a verdict, the correction for several questions, and the exit status.
//!
//! A verdict is withheld, with its reason, before any number is considered: a void run, a setting that had no effect,
//! too few tail samples, arms confounded with boots, fewer than six units, marks that go with an arm.

use crate::contrasts::Units;
use crate::findings::*;
use crate::rule::SEQUENCE_WIDTH;
use schedlab_plan::{Direction, MIN_UNITS, counted, noun};
use schedlab_stats::{DecisionTarget, Estimate, decide, range_to_decide, t_estimate};

/// Probability of a verdict for which a forecast computes the number of units.
const POWER: f64 = 0.8;

/// Level of the interval of the variance from which a forecast is computed.
const FORECAST_LEVEL: f64 = 0.8;

/// More than this many times the units of a run are considered out of reach.
const REACH: usize = 10;

/// A verdict that is withheld.
pub(crate) fn withheld(why: Withheld, reason: impl Into<String>) -> Verdict {
    Verdict::NoVerdict { why, reason: reason.into() }
}

/// The smallest effect of interest on the scale of the units; 0 if the control's mean is 0, of which no share can be
/// formed.
pub(crate) fn sesoi_on_scale(units: &Units, sesoi: f64) -> f64 {
    match units.scale {
        Scale::Ratio => sesoi.ln_1p(),
        Scale::Difference => (sesoi * units.control_mean).abs(),
    }
}

/// The verdict on an estimate, before the correction for several questions.
pub(crate) fn judge(units: &Units, estimate: &Estimate, direction: Direction, sesoi: f64) -> Verdict {
    if units.count() < MIN_UNITS {
        let units = counted(units.count(), units.kind.name());
        return withheld(Withheld::TooFewUnits, format!("only {units}, a verdict needs {MIN_UNITS}"));
    }
    if units.all_equal() {
        return Verdict::Equivalent;
    }
    let verdict = decide(estimate.interval, sesoi_on_scale(units, sesoi), direction != Direction::LowerIsBetter);
    match (verdict, direction) {
        (schedlab_stats::Verdict::Equivalent, _) => Verdict::Equivalent,
        (schedlab_stats::Verdict::Inconclusive, _) => Verdict::Inconclusive,
        (schedlab_stats::Verdict::Better, Direction::Neutral) => Verdict::Higher,
        (schedlab_stats::Verdict::Worse, Direction::Neutral) => Verdict::Lower,
        (schedlab_stats::Verdict::Better, _) => Verdict::Better,
        (schedlab_stats::Verdict::Worse, _) => Verdict::Worse,
    }
}

/// How many more units would decide an inconclusive contrast.
fn more_units(contrast: &Contrast, sesoi: f64, alpha: f64) -> Option<MoreUnits> {
    let effect = contrast.effect.filter(|e| e.scale == Scale::Ratio && contrast.units >= MIN_UNITS)?;
    let logs: Vec<f64> = contrast.unit_effects.iter().map(|u| u.value.ln()).collect();
    let (n, estimate) = (logs.len(), t_estimate(&logs, effect.level)?);
    // A confidence sequence is wider than the t interval that the forecast assumes.
    let width = if contrast.is_sequence { SEQUENCE_WIDTH } else { 1.0 };
    let sd = width * estimate.se * (n as f64).sqrt();
    let question = DecisionTarget {
        delta: estimate.mean,
        sesoi: sesoi.ln_1p(),
        alpha,
        alpha_difference: contrast.p_needed.unwrap_or(alpha),
        power: POWER,
    };
    let limit = REACH * n;
    let range = range_to_decide(sd, n, &question, FORECAST_LEVEL, n + limit)?;
    // The question is open with the present number of units, even if the forecast says that they suffice.
    let more = |total: usize| (total - n).max(1);
    Some(MoreUnits { least: range.least.map(more), most: range.most.map(more), limit })
}

/// Adjusts the p of every judged contrast, and withdraws differences that do not survive: Holm over the primary
/// contrasts of the whole run, Benjamini–Hochberg over the others. A/A contrasts compare equals and are not questions,
/// so they are a family of their own.
pub(crate) fn correct(workloads: &mut [WorkloadFindings], sesoi: f64, alpha: f64) {
    for (primary, is_aa) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut family: Vec<&mut Contrast> = workloads
            .iter_mut()
            .flat_map(|w| {
                let metrics = w.metrics.iter_mut().map(|m| (m.role == Role::Primary, &mut m.contrasts));
                metrics.chain(std::iter::once((false, &mut w.dispersion)))
            })
            .filter(|(is_primary, _)| *is_primary == primary)
            .flat_map(|(_, contrasts)| contrasts.iter_mut())
            .filter(|c| c.is_aa == is_aa && c.p.is_some() && !matches!(c.verdict, Verdict::NoVerdict { .. }))
            .collect();
        let questions = match (primary, is_aa) {
            (true, false) => "primary contrasts",
            (true, true) => "primary A/A contrasts",
            (false, false) => "other contrasts",
            (false, true) => "other A/A contrasts",
        };
        correct_family(&mut family, primary, questions, sesoi, alpha);
    }
    let effects = workloads.iter_mut().flat_map(|w| &mut w.main_effects).map(|effect| &mut effect.contrast);
    let mut family: Vec<&mut Contrast> =
        effects.filter(|c| c.p.is_some() && !matches!(c.verdict, Verdict::NoVerdict { .. })).collect();
    correct_family(&mut family, true, "main effects", sesoi, alpha);
}

fn correct_family(family: &mut [&mut Contrast], primary: bool, questions: &str, sesoi: f64, alpha: f64) {
    let p_values: Vec<f64> = family.iter().map(|c| c.p.unwrap_or(f64::NAN)).collect();
    let n = family.len();
    let adjusted =
        if primary { schedlab_stats::holm(&p_values) } else { schedlab_stats::benjamini_hochberg(&p_values) };
    for (i, (contrast, p)) in family.iter_mut().zip(adjusted).enumerate() {
        contrast.p_adjusted = p.is_finite().then_some(p);
        contrast.p_needed = Some(alpha_for_next(primary, n, found_beside(&p_values, i, primary, alpha), alpha));
        contrast.is_alone = primary && n == 1;
        contrast.adjustment = match primary {
            true => format!("Holm over {n} {}", noun(n, questions)),
            false => format!("Benjamini–Hochberg over {n} {}", noun(n, questions)),
        };
        let survives = p <= alpha;
        if contrast.verdict.is_difference() && !survives {
            contrast.verdict = Verdict::Inconclusive;
            // For the many exploratory contrasts, the verdict alone is enough.
            if primary {
                contrast.notes.push(format!("A difference alone, but not after {} (p {p:.3}).", contrast.adjustment));
            }
        }
        if contrast.verdict == Verdict::Inconclusive {
            contrast.more_units = more_units(contrast, sesoi, alpha);
        }
    }
}

/// How many of the other questions are differences, whatever the result of this one.
fn found_beside(p_values: &[f64], this: usize, holm: bool, alpha: f64) -> usize {
    let mut others = p_values.to_vec();
    others[this] = 1.0;
    let adjusted = if holm { schedlab_stats::holm(&others) } else { schedlab_stats::benjamini_hochberg(&others) };
    adjusted.iter().enumerate().filter(|&(i, &p)| i != this && p <= alpha).count()
}

/// The p that one more of `n` questions must reach if `found` others are differences already and the rest stay open: a
/// forecast must include the correction that will be made. Holm steps down, so questions that are already decided no
/// longer count, and the smallest p of the rest is multiplied by their number. Benjamini–Hochberg steps up, and each
/// difference found helps. Equivalence is not corrected: its error is to overlook a difference, and a claim of "no more
/// than this" is made for each question by its own interval.
fn alpha_for_next(holm: bool, n: usize, found: usize, alpha: f64) -> f64 {
    match holm {
        true => alpha / n.saturating_sub(found).max(1) as f64,
        false => alpha * (found + 1) as f64 / n.max(1) as f64,
    }
}

/// What can make the exit status of a comparison nonzero; `--fail-on` accepts only some of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailOn {
    /// A primary metric got worse: status 3.
    Worse,
    /// A primary metric has no answer: status 4.
    Inconclusive,
    /// Nothing of the run is judged: status 5.
    Void,
}

/// The exit status for `--fail-on`: 5 void, 3 worse, 4 inconclusive, otherwise 0; only the requested ones count. An arm
/// whose setting had no effect is a question without an answer; an A/A control is not a question.
pub fn exit_status(findings: &Findings, fail_on: &[FailOn]) -> u8 {
    let asked = |what| fail_on.contains(&what);
    if asked(FailOn::Void) && findings.void.is_some() {
        return 5;
    }
    let questions: Vec<&Verdict> = findings.workloads.iter().flat_map(|w| questions(findings, w)).collect();
    if asked(FailOn::Worse) && questions.iter().any(|v| **v == Verdict::Worse) {
        return 3;
    }
    if asked(FailOn::Inconclusive) && (findings.workloads.is_empty() || questions.iter().any(|v| v.is_open())) {
        return 4;
    }
    0
}

/// The questions of a workload: its primary contrasts, or the main effects that a factorial is run for.
fn questions<'f>(findings: &Findings, workload: &'f WorkloadFindings) -> Vec<&'f Verdict> {
    if !findings.factors.is_empty() {
        let measured = |effect: &&MainEffect| !effect.low_arms.is_empty() && !effect.high_arms.is_empty();
        return workload.main_effects.iter().filter(measured).map(|effect| &effect.contrast.verdict).collect();
    }
    let contrasts = workload.metrics.iter().filter(|m| m.role == Role::Primary).flat_map(|m| &m.contrasts);
    contrasts.filter(|c| !c.is_aa).map(|c| &c.verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_forecast_is_the_one_at_which_the_correction_lets_a_difference_pass() {
        let (n, alpha) = (6, 0.05);
        for found in 0..5 {
            // `found` certain differences, one question at the rate, and the rest open.
            let adjusted = |correct: fn(&[f64]) -> Vec<f64>, p: f64| {
                let mut p_values = vec![1e-9; found];
                p_values.push(p);
                p_values.resize(n, 0.9);
                correct(&p_values)[found]
            };
            let holm = alpha_for_next(true, n, found, alpha);
            assert!(adjusted(schedlab_stats::holm, 0.999 * holm) <= alpha, "{found}");
            assert!(adjusted(schedlab_stats::holm, 1.001 * holm) > alpha, "{found}");
            let step_up = alpha_for_next(false, n, found, alpha);
            assert!(adjusted(schedlab_stats::benjamini_hochberg, 0.999 * step_up) <= alpha, "{found}");
            assert!(adjusted(schedlab_stats::benjamini_hochberg, 1.001 * step_up) > alpha, "{found}");
        }
    }
}
