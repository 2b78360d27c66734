//! What causes a difference between two arms: the difference in one run, what goes with it, and the result of a screen
//! of toggles. Pure, like all of this crate.

use crate::compare::compare;
use crate::findings::{Contrast, Effect, MetricFindings, Role, Scale, Verdict};
use crate::profile::GroupFindings;
use schedlab_plan::{Manifest, TrialRecord};
use schedlab_stats::screen::{Screen, Stage};
use schedlab_stats::{Estimate, Interval};
use serde::Serialize;

/// The effect of the second arm against the first, on the first primary metric of a run of two arms and one workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The workload as run.
    pub workload: String,
    /// The metric's name.
    pub metric: String,
    /// Names of the arms.
    pub arms: [String; 2],
    /// Arm 1 over arm 0.
    pub effect: Effect,
    /// The run's own sentence on it.
    pub claim: String,
    /// The run's verdict.
    pub verdict: Verdict,
    /// Whether that is that there is a difference.
    pub is_there: bool,
    /// Independent units, and what one is, plural.
    pub units: (usize, String),
    /// Standard deviation of a unit's effect, as a logarithm.
    pub sd: f64,
    /// The effect of each unit, as a logarithm.
    #[serde(skip)]
    pub logs: Vec<f64>,
    /// Counts per operation that change with it.
    pub beside: Vec<AssociatedMetric>,
}

/// A count per operation, or a share of placement, of the two arms. It goes with the difference and is not shown to be
/// its cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssociatedMetric {
    /// The metric's name.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Medians of the arms.
    pub medians: [Option<f64>; 2],
    /// Arm 1 against arm 0.
    pub effect: Option<Effect>,
    /// Whether the run's verdict, after its correction, is that they differ.
    pub differs: bool,
}

impl Difference {
    /// Reads a run; the error explains why there is nothing for a screen to work on.
    pub fn of(manifest: &Manifest, trials: &[TrialRecord]) -> Result<Self, String> {
        let findings = compare(manifest, trials);
        if let Some(why) = findings.void {
            return Err(format!("the run is void: {why}"));
        }
        let ([workload], [a, b]) = (findings.workloads.as_slice(), findings.arms.as_slice()) else {
            return Err(format!(
                "it has {} and {}; `why` looks at two arms on one workload: leave the others out of the plan",
                schedlab_plan::counted(findings.workloads.len(), "workloads"),
                schedlab_plan::counted(findings.arms.len(), "arms")
            ));
        };
        let primary = workload.metrics.iter().find(|metric| metric.role == Role::Primary);
        let contrast = primary.and_then(|metric| Some((metric, metric.contrasts.first()?)));
        let Some((metric, contrast)) = contrast else {
            return Err("nothing was measured in it: `schedlab report` says why".into());
        };
        let claim = findings.claims.first().map(|claim| claim.sentence.clone()).unwrap_or_default();
        let Some(effect) = contrast.effect.filter(|effect| effect.scale == Scale::Ratio) else {
            return Err(match contrast.effect {
                Some(_) => format!(
                    "{}: a trial completed nothing, so the two arms have no ratio that a toggle could change: give the plan longer \
                     trials (`trial = \"1s\"`)",
                    metric.name
                ),
                None if claim.is_empty() => "its primary metric has no effect: `schedlab report` says why".into(),
                None => claim,
            });
        };
        let logs: Vec<f64> = contrast.unit_effects.iter().map(|unit| unit.value.ln()).collect();
        let se = schedlab_stats::t_estimate(&logs, 0.95).map_or(f64::NAN, |estimate| estimate.se);
        Ok(Self {
            workload: workload.spec.clone(),
            metric: metric.name.clone(),
            arms: [a.name.clone(), b.name.clone()],
            effect,
            claim,
            verdict: contrast.verdict.clone(),
            is_there: differs(contrast),
            units: (contrast.units, contrast.unit_name.clone()),
            sd: se * (logs.len() as f64).sqrt(),
            logs,
            beside: workload.metrics.iter().filter_map(beside).collect(),
        })
    }

    /// Its size as a logarithm.
    pub fn size(&self) -> f64 {
        self.effect.value.ln().abs()
    }
}

fn differs(contrast: &Contrast) -> bool {
    contrast.verdict.is_difference()
}

fn beside(metric: &MetricFindings) -> Option<AssociatedMetric> {
    let goes_with = metric.name.ends_with("_per_op") || metric.name.starts_with("tier_share_");
    let contrast = metric.contrasts.first().filter(|_| goes_with && metric.role == Role::Secondary)?;
    let median = |arm: usize| metric.values.get(arm).and_then(|values| values.median);
    Some(AssociatedMetric {
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        medians: [median(0), median(1)],
        effect: contrast.effect,
        differs: differs(contrast),
    })
}

/// A toggle of the screen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyFactor {
    /// `NO_DELAY_DEQUEUE`, `migration_cost=0`.
    pub name: String,
    /// How it is switched in each arm, as a SPEC; empty where the arm's kernel has none of that name.
    pub specs: [String; 2],
}

/// A stage of the screen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyStage {
    /// `groups`, `fraction` or `full`.
    pub stage: &'static str,
    /// How many factors were varied, in how many combinations and blocks.
    pub factors: usize,
    /// Combinations.
    pub rows: usize,
    /// Blocks of each.
    pub blocks: usize,
    /// Standard deviation of one block's difference in one combination, as a logarithm.
    pub sd: f64,
    /// Those kept for the next stage; in the last stage, those named.
    pub kept: Vec<String>,
}

/// A main effect or interaction of the last stage, on the difference: a ratio of ratios.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyContrast {
    /// One factor, or those that act together.
    pub factors: Vec<String>,
    /// Factor on the difference.
    pub effect: Effect,
    /// Holm's p over all contrasts of the stage.
    pub p_adjusted: f64,
}

/// The difference under one combination of toggles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyCell {
    /// What is switched.
    pub switched: Vec<String>,
    /// Arm 1 over arm 0 there.
    pub difference: f64,
    /// Factor on the difference, against no toggle switched.
    pub change: Option<Effect>,
}

/// What `schedlab why` says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyFindings {
    /// Title of the plan.
    pub title: String,
    /// What is to be explained.
    pub difference: Difference,
    /// Probability of naming any toggle wrongly.
    pub alpha: f64,
    /// Smallest change of the difference that the screen is designed to detect, as a ratio above 1.
    pub smallest: f64,
    /// All toggles that were varied.
    pub factors: Vec<WhyFactor>,
    /// What was not, and why.
    pub left_out: Vec<String>,
    /// The stages done.
    pub stages: Vec<WhyStage>,
    /// Whether the screen is complete.
    pub finished: bool,
    /// Toggles on which the difference depends.
    pub named: Vec<String>,
    /// Contrasts of the last stage, smallest p first.
    pub contrasts: Vec<WhyContrast>,
    /// The difference under each combination of the last stage.
    pub cells: Vec<WhyCell>,
    /// Why the screen ended early; `None` if it did not, or if `--resume` continues it.
    pub cut: Option<String>,
    /// The difference by part of the kernel, from a profile of each arm; `None` where there is none.
    pub groups: Option<GroupFindings>,
}

impl WhyFindings {
    /// From the difference and the state of the screen; without a screen there was nothing to screen.
    pub fn new(
        title: &str,
        difference: Difference,
        alpha: f64,
        factors: Vec<WhyFactor>,
        left_out: Vec<String>,
        screen: Option<&Screen>,
    ) -> Self {
        let name = |&factor: &usize| factors[factor].name.clone();
        let names = |all: &[usize]| all.iter().map(name).collect::<Vec<String>>();
        let steps = screen.map(Screen::steps).unwrap_or_default();
        let stages = steps.iter().map(|step| WhyStage {
            stage: match step.stage {
                Stage::Groups => "groups",
                Stage::Fraction => "fraction",
                Stage::Full => "full",
            },
            factors: step.members.len(),
            rows: step.measured.0,
            blocks: step.measured.1,
            sd: step.sd,
            kept: names(&step.kept),
        });
        let outcome = screen.and_then(Screen::outcome_at_end).cloned();
        let finished = outcome.is_some() || !difference.is_there;
        let outcome = outcome.unwrap_or_default();
        let contrast = |c: &schedlab_stats::screen::Contrast| WhyContrast {
            factors: names(&c.factors),
            effect: ratio(&c.estimate),
            p_adjusted: c.adjusted_p,
        };
        let cell = |cell: &schedlab_stats::screen::Cell| WhyCell {
            switched: names(&cell.switched),
            difference: cell.mean.exp(),
            change: cell.change.as_ref().map(ratio),
        };
        Self {
            title: title.to_owned(),
            alpha,
            smallest: (difference.size() / 2.0).exp(),
            stages: stages.collect(),
            finished,
            named: names(&outcome.named),
            contrasts: outcome.contrasts.iter().map(contrast).collect(),
            cells: outcome.cells.iter().map(cell).collect(),
            cut: None,
            groups: None,
            difference,
            factors,
            left_out,
        }
    }
}

/// A log estimate as a ratio.
pub(crate) fn ratio(estimate: &Estimate) -> Effect {
    let Interval { lo, hi, level } = estimate.interval.map(f64::exp);
    Effect { scale: Scale::Ratio, value: estimate.mean.exp(), lo, hi, level }
}
