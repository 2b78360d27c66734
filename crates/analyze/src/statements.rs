//! Judges a plan's statements by its run. Each statement becomes a contrast of arms, a trend along a setting, a ratio
//! of spreads, or a set that should contain the best arm; it holds, does not hold, or is not decided. All intervals
//! together keep the run's error rate.

use crate::contrasts::{self, mean, values_by_unit};
use crate::estimate::effect;
use crate::findings::{BestArm, Effect, Role, Scale, Standing, StatementFindings};
use crate::metric::MetricKey;
use crate::workload::Workload;
use schedlab_plan::statement::{Assertion, Matched, Point, Statement};
use schedlab_plan::{Direction, MIN_UNITS, Plan, counted};
use schedlab_stats::{Interval, dispersion_ratio, t_estimate, undecided_from_best};
use std::collections::BTreeMap;

mod trend;

/// The smallest ratio of spreads of interest: the logarithm of 1.25.
const SPREAD_OF_INTEREST: f64 = 0.223;

/// Logarithms of a metric: the values of the trials, by arm and independent unit.
struct Logs {
    of: Vec<BTreeMap<u32, Vec<f64>>>,
    /// Units in which all arms have values.
    units: Vec<u32>,
}

impl Logs {
    /// An error if the metric is not positive, or if an arm has no value.
    fn new(part: &Workload<'_>, key: &MetricKey, arms: &[u32]) -> Result<Self, String> {
        let mut of = vec![BTreeMap::new(); part.manifest.arms.len()];
        for &arm in arms {
            let values = values_by_unit(&part.selection, key, arm).unwrap_or_default();
            let name = &part.manifest.arms[arm as usize].name;
            if values.is_empty() {
                return Err(format!("arm `{name}` has no value"));
            }
            if values.values().flatten().any(|value| *value <= 0.0) {
                return Err(format!("a trial of arm `{name}` did nothing: it has no ratio to another"));
            }
            of[arm as usize] = values.into_iter().map(|(unit, v)| (unit, v.iter().map(|x| x.ln()).collect())).collect();
        }
        let first = &of[*arms.first().ok_or("no arm was measured")? as usize];
        let in_all = |unit: &&u32| arms.iter().all(|&arm| of[arm as usize].contains_key(unit));
        let units = first.keys().filter(in_all).copied().collect();
        Ok(Self { of, units })
    }

    fn mean(&self, arm: u32, unit: u32) -> f64 {
        mean(&self.of[arm as usize][&unit]).unwrap_or(f64::NAN)
    }

    /// One number per unit: the mean of `says` over the matched sets.
    fn by_unit(&self, sets: &[Matched], says: impl Fn(&Matched, u32) -> f64) -> Vec<f64> {
        let of_unit = |unit: &u32| sets.iter().map(|set| says(set, *unit)).sum::<f64>() / sets.len() as f64;
        self.units.iter().map(of_unit).collect()
    }

    /// The mean logarithm of one side minus that of the other.
    fn difference(&self, set: &Matched, unit: u32) -> f64 {
        let side = |points: &[Point]| points.iter().map(|p| self.mean(p.arm, unit)).sum::<f64>() / points.len() as f64;
        side(&set.arms) - side(&set.than)
    }

    /// The rise of a straight line from the first value to the last.
    fn rise(&self, set: &Matched, unit: u32) -> f64 {
        let place = places(&set.arms);
        let points: Vec<(f64, f64)> = set.arms.iter().map(|p| (place(p), self.mean(p.arm, unit))).collect();
        let span = |at: fn(f64, f64) -> f64, from| points.iter().map(|p| p.0).fold(from, at);
        line(&points).1 * (span(f64::max, f64::NEG_INFINITY) - span(f64::min, f64::INFINITY))
    }

    /// The residuals of the trials from a line along the setting, or, without a varying setting or with fewer than
    /// three values, from their arm's mean; the mean of all arms in a unit is subtracted first.
    fn residuals(&self, side: &[Point], all: &[Point]) -> Vec<f64> {
        let place = places(side);
        let shared = |unit: u32| all.iter().map(|p| self.mean(p.arm, unit)).sum::<f64>() / all.len() as f64;
        let of_point = |p: &Point| -> Vec<(f64, f64)> {
            let of_unit = |&unit: &u32| {
                let shared = shared(unit);
                self.of[p.arm as usize][&unit].iter().map(move |y| (place(p), y - shared)).collect::<Vec<_>>()
            };
            self.units.iter().flat_map(of_unit).collect()
        };
        let points: Vec<Vec<(f64, f64)>> = side.iter().map(of_point).collect();
        let groups = if side.len() > 2 && side.iter().all(|p| p.at.is_some()) { vec![points.concat()] } else { points };
        groups.iter().flat_map(|group| off_line(group)).collect()
    }
}

/// The position of each point: its logarithm, because values act by ratios, or the value itself if some value has no
/// logarithm.
fn places(points: &[Point]) -> impl Fn(&Point) -> f64 + Copy {
    let by_ratio = points.iter().all(|point| point.at.is_none_or(|at| at > 0.0));
    move |point| point.at.map_or(0.0, |at| if by_ratio { at.ln() } else { at })
}

/// The least-squares line: its value at x = 0 and its slope, which is 0 if all x are equal.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let (x, y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let sxx: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let sxy: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let slope = if sxx > 0.0 { sxy / sxx } else { 0.0 };
    (y - slope * x, slope)
}

/// Residuals, widened to what they would be if the line were known.
fn off_line(points: &[(f64, f64)]) -> Vec<f64> {
    let (at_zero, slope) = line(points);
    let n = points.len() as f64;
    let taken = if slope == 0.0 { 1.0 } else { 2.0 };
    let widened = if n > taken { (n / (n - taken)).sqrt() } else { 1.0 };
    points.iter().map(|(x, y)| widened * (y - at_zero - slope * x)).collect()
}

/// The plan's statements, judged by the first primary metric of a workload.
pub(crate) fn statements(part: &Workload<'_>) -> Vec<StatementFindings> {
    let plan = Some(&part.manifest.plan_toml).filter(|text| !text.is_empty());
    let Some(plan) = plan.and_then(|text| Plan::parse(text).ok()) else { return Vec::new() };
    let questions = (plan.statements.len() * part.manifest.workloads.len()).max(1) as f64;
    let level = 1.0 - part.manifest.alpha / questions;
    plan.statements.iter().map(|statement| judged(part, statement, level)).collect()
}

fn judged(part: &Workload<'_>, statement: &Statement, level: f64) -> StatementFindings {
    let than = match &statement.than {
        None if statement.claim.is_trend() || statement.claim == Assertion::Best => None,
        None => part.manifest.arms.first().map(|arm| arm.name.clone()),
        named => named.clone(),
    };
    let (answer, effect, reason) =
        answered(part, statement, level).unwrap_or_else(|why| (Standing::NotDecided, None, why));
    let claim = statement.claim.name().to_owned();
    StatementFindings {
        says: statement.says.clone(),
        arms: statement.arms.clone(),
        claim,
        than,
        answer,
        effect,
        reason,
    }
}

type Answered = (Standing, Option<Effect>, String);

fn answered(part: &Workload<'_>, statement: &Statement, level: f64) -> Result<Answered, String> {
    if let Some(why) = &part.void {
        return Err(why.clone());
    }
    let key = primary(part).ok_or("there is no primary metric")?;
    let sets = statement.matched(&part.manifest.arms)?;
    if statement.claim == Assertion::Best {
        return best_lies_in(part, key, &sets, level);
    }
    let arms: Vec<u32> = sets.iter().flat_map(|set| set.arms.iter().chain(&set.than)).map(|point| point.arm).collect();
    let logs = Logs::new(part, key, &arms)?;
    let sesoi = part.manifest.sesoi.ln_1p();
    let (value, interval, of_interest) = match statement.claim {
        Assertion::Steadier | Assertion::LessSteady => {
            let side = |of: fn(&Matched) -> &[Point]| -> Vec<f64> {
                let all = |set: &Matched| [&set.arms[..], &set.than].concat();
                sets.iter().flat_map(|set| logs.residuals(of(set), &all(set))).collect()
            };
            let found = dispersion_ratio(&side(|set| &set.than), &side(|set| &set.arms), level);
            let found = found.ok_or("too few trials for their spread")?;
            (found.mean, found.interval, SPREAD_OF_INTEREST)
        }
        claim => {
            let says = |set: &Matched, unit| {
                if claim.is_trend() { logs.rise(set, unit) } else { logs.difference(set, unit) }
            };
            let found =
                t_estimate(&logs.by_unit(&sets, says), level).ok_or("fewer than two units have all its arms")?;
            (found.mean, found.interval, sesoi)
        }
    };
    let shown = effect(Scale::Ratio, value, interval);
    if logs.units.len() < MIN_UNITS {
        let have = counted(logs.units.len(), contrasts::unit_kind(&part.selection).name());
        return Ok((Standing::NotDecided, shown, format!("only {have}, a verdict needs {MIN_UNITS}")));
    }
    let answer = decided(statement.claim, key.direction, interval, of_interest)?;
    let name = |arm: u32| part.manifest.arms[arm as usize].name.as_str();
    let inside = trend::against(statement.claim, &logs, &trend::pieces(statement.claim, &sets, name), level, sesoi);
    Ok(match inside {
        Some((against, piece, at))
            if answer == Standing::Holds || (answer, against) == (Standing::NotDecided, Standing::DoesNotHold) =>
        {
            (against, effect(Scale::Ratio, piece.mean, piece.interval), at)
        }
        _ => (answer, shown, String::new()),
    })
}

/// What an interval says about a claim. An effect below the smallest effect of interest counts as none.
fn decided(claim: Assertion, direction: Direction, interval: Interval, of_interest: f64) -> Result<Standing, String> {
    let better = match direction {
        Direction::HigherIsBetter => 1.0,
        Direction::LowerIsBetter => -1.0,
        Direction::Neutral if matches!(claim, Assertion::Better | Assertion::Worse) => {
            return Err("the metric has no better direction".into());
        }
        Direction::Neutral => 0.0,
    };
    let upwards = match claim {
        Assertion::Better => better,
        Assertion::Worse => -better,
        Assertion::Rising | Assertion::LessSteady => 1.0,
        Assertion::Falling | Assertion::Steadier => -1.0,
        Assertion::Same | Assertion::Level | Assertion::Best => 0.0,
    };
    let (lo, hi) = if upwards < 0.0 { (-interval.hi, -interval.lo) } else { (interval.lo, interval.hi) };
    Ok(match upwards == 0.0 {
        true if lo > -of_interest && hi < of_interest => Standing::Holds,
        true if lo > of_interest || hi < -of_interest => Standing::DoesNotHold,
        false if hi < of_interest => Standing::DoesNotHold,
        false if lo > 0.0 => Standing::Holds,
        _ => Standing::NotDecided,
    })
}

fn primary<'w>(part: &'w Workload<'_>) -> Option<&'w MetricKey> {
    part.keys.iter().find(|key| key.role == Role::Primary)
}

/// Whether all arms that may be the best are in the sets, or none of them is.
fn best_lies_in(part: &Workload<'_>, key: &MetricKey, sets: &[Matched], level: f64) -> Result<Answered, String> {
    let best = best_of(part, key, level).ok_or("fewer than six units have all arms")?;
    let name = |arm: u32| part.manifest.arms[arm as usize].name.as_str();
    let is_in = |arm: &u32| sets.iter().flat_map(|set| &set.arms).any(|point| point.arm == *arm);
    let among = best.candidates.iter().filter(|arm| is_in(arm)).count();
    let all = best.candidates.len();
    let answer = match among {
        0 => Standing::DoesNotHold,
        _ if among == all => Standing::Holds,
        _ => Standing::NotDecided,
    };
    let reason = format!(
        "best is `{}`; of {} that may be the best, {among} are in this span",
        name(best.arm),
        counted(all, "arms")
    );
    Ok((answer, best.effect, reason))
}

/// The best arm, for runs with curves.
pub(crate) fn best(part: &Workload<'_>) -> Option<BestArm> {
    best_of(part, primary(part).filter(|_| part.void.is_none())?, 1.0 - part.manifest.alpha)
}

fn best_of(part: &Workload<'_>, key: &MetricKey, level: f64) -> Option<BestArm> {
    let sign = match key.direction {
        Direction::HigherIsBetter => 1.0,
        Direction::LowerIsBetter => -1.0,
        Direction::Neutral => return None,
    };
    let measured = |arm: &u32| part.selection.used(Some(*arm)).next().is_some();
    let arms: Vec<u32> = (0..part.manifest.arms.len() as u32).filter(measured).collect();
    let logs = Logs::new(part, key, &arms).ok().filter(|logs| logs.units.len() >= MIN_UNITS)?;
    let values: Vec<Vec<f64>> =
        arms.iter().map(|&arm| logs.units.iter().map(|&unit| sign * logs.mean(arm, unit)).collect()).collect();
    let found = undecided_from_best(&values, level)?;
    let upright = |e: Interval| if sign > 0.0 { e } else { Interval { lo: -e.hi, hi: -e.lo, level: e.level } };
    let over_control = found.over(0).filter(|_| arms[0] == 0).map(upright);
    Some(BestArm {
        metric: key.name.clone(),
        arm: arms[found.best],
        effect: over_control.and_then(|e| effect(Scale::Ratio, 0.5 * (e.lo + e.hi), e)),
        candidates: found.open.iter().map(|&at| arms[at]).collect(),
    })
}
