//! The findings of a search: its gains, which are log-ratios where larger is better, as effects on the metrics.

use super::SearchStudy;
use super::budget::budget_ns;
use crate::rounds::Ended;
use schedlab_analyze::{Effect, Objective, SEARCH_SCHEMA, SearchFindings, SearchedKnob, SearchedPoint, Seen, Verdict};
use schedlab_plan::Direction;
use schedlab_plan::plan::SearchStrategy;
use schedlab_plan::units::format_ns;
use schedlab_stats::{Estimate, Interval};
use schedlab_tune::search::{Candidate, Gain, Stopped};

/// How a search ends that had trials but no valid point; `left_out` lists the reasons.
const NO_VALUE: &str = "no point could be set and had a value of every objective";

impl SearchStudy {
    /// What was found; `ended` says how the rounds ended.
    pub fn findings(&self, ended: &Ended) -> SearchFindings {
        let level = 1.0 - self.plan.alpha;
        let outcome = self.search.outcome(level);
        let point = |candidate: &Candidate| self.point(candidate, level);
        let winner = outcome.confirmed.first().and_then(|winner| winner.fresh.first().copied().flatten());
        SearchFindings {
            schema: SEARCH_SCHEMA,
            title: self.plan.title.clone(),
            workload: self.plan.workloads[0].run.to_string(),
            strategy: self.planned.strategy.name().into(),
            seed: self.options.seed,
            control: self.control.spec(),
            knobs: self
                .planned
                .knobs
                .iter()
                .map(|knob| SearchedKnob {
                    name: knob.name.clone(),
                    scale: knob.scale.name().into(),
                    values: knob.values.clone(),
                })
                .collect(),
            objectives: self.objectives.clone(),
            points: self.planned.points(),
            rounds: outcome.rounds,
            trials: self.spent.1,
            seconds: self.spent.0 as f64 / 1e9,
            ended: match ended {
                Ended::Finished => "finished".into(),
                Ended::Interrupted => "interrupted".into(),
                Ended::Void(why) => format!("void: {why}"),
            },
            stopped: match outcome.measured.is_empty() && self.spent.1 > 0 {
                true => NO_VALUE.into(),
                false => self.stopped(outcome.stopped),
            },
            sesoi: self.plan.sesoi,
            level,
            confirmed: outcome.confirmed.iter().map(point).collect(),
            measured: outcome.measured.iter().map(point).collect(),
            front: outcome.front,
            left_out: self.left_out.clone(),
            warnings: self.warnings.iter().map(|(_, text)| text.clone()).collect(),
            keep: Vec::new(),
            verdict: winner.map(|gain| judged(&gain, self.plan.sesoi)),
        }
    }

    fn stopped(&self, stopped: Option<Stopped>) -> String {
        let all = self.planned.strategy == SearchStrategy::Grid;
        match stopped {
            Some(Stopped::NothingToGain(hope)) => {
                format!("no remaining point is expected to gain {:.2} %", 100.0 * hope.max(0.0).exp_m1())
            }
            Some(Stopped::Done) if all => format!("every point is measured{}", self.unused()),
            Some(Stopped::Done) => format!("few enough points are left to measure them again{}", self.unused()),
            Some(Stopped::Budget) => "the budget holds no further round".into(),
            None => "it continues".into(),
        }
    }

    /// A note about the unused rest of the budget, if it is more than a twentieth.
    fn unused(&self) -> String {
        let budget_ns = budget_ns(&self.plan).unwrap_or(0);
        match budget_ns.saturating_sub(self.spent.0) {
            left if left > budget_ns / 20 => {
                // Whole seconds, because the time used is a wall-clock time.
                let seconds = left.div_ceil(1_000_000_000) * 1_000_000_000;
                format!("; {} of the budget of {} were not used", format_ns(seconds), format_ns(budget_ns))
            }
            _ => String::new(),
        }
    }

    fn point(&self, candidate: &Candidate, level: f64) -> SearchedPoint {
        let arm = self.planned.arm(&candidate.point, &self.control).unwrap_or_else(|_| self.control.clone());
        let pairs = || self.objectives.iter();
        SearchedPoint {
            spec: arm.spec(),
            name: arm.name,
            units: candidate.units,
            search: pairs().zip(&candidate.search).map(|(objective, gain)| seen(objective, gain, level)).collect(),
            fresh: pairs()
                .zip(&candidate.fresh)
                .map(|(objective, fresh)| fresh.map(|f| measured(objective, &f)))
                .collect(),
            over_winner: pairs().zip(&candidate.over_winner).map(|(objective, over)| measured(objective, over)).next(),
            fresh_units: candidate.fresh.iter().flatten().map(|fresh| fresh.n).next().unwrap_or(0),
        }
    }
}

fn sign(objective: &Objective) -> f64 {
    if objective.direction == Direction::HigherIsBetter { 1.0 } else { -1.0 }
}

/// A gain as an effect on the metric.
fn on_metric(objective: &Objective, gain: f64) -> f64 {
    (sign(objective) * gain).exp()
}

/// The ends of the interval, the lower one first: if less is better, the larger gain is the smaller number.
fn ends(objective: &Objective, gain: Interval) -> (f64, f64) {
    let (a, b) = (on_metric(objective, gain.lo), on_metric(objective, gain.hi));
    (a.min(b), a.max(b))
}

fn seen(objective: &Objective, gain: &Gain, level: f64) -> Seen {
    let (lo, hi) = gain.interval.map(|interval| ends(objective, interval)).unzip();
    Seen { scale: objective.scale, value: on_metric(objective, gain.mean), lo, hi, level }
}

fn measured(objective: &Objective, of: &Estimate) -> Effect {
    let (lo, hi) = ends(objective, of.interval);
    Effect { scale: objective.scale, value: on_metric(objective, of.mean), lo, hi, level: of.interval.level }
}

/// A larger gain is better.
fn judged(gain: &Estimate, sesoi: f64) -> Verdict {
    match schedlab_stats::decide(gain.interval, sesoi.ln_1p(), true) {
        schedlab_stats::Verdict::Better => Verdict::Better,
        schedlab_stats::Verdict::Worse => Verdict::Worse,
        schedlab_stats::Verdict::Equivalent => Verdict::Equivalent,
        schedlab_stats::Verdict::Inconclusive => Verdict::Inconclusive,
    }
}
