//! The cheap part of the analysis, used inside the trial loop: the primary contrasts so far, and whether each is
//! decided.

use crate::compare::void_reason;
use crate::findings::{Contrast, Role, Verdict, Withheld};
use crate::metric::MetricKey;
use crate::workload::Workload;
use schedlab_plan::{MIN_UNITS, Manifest, TrialRecord};

/// A primary contrast without second opinions.
#[derive(Debug, Clone, PartialEq)]
pub struct PrimaryContrast {
    /// The metric's name.
    pub metric: String,
    /// The contrast, its verdict not yet corrected for the other questions of the run.
    pub contrast: Contrast,
}

/// The primary contrasts of one workload, every arm against the control.
pub fn primary_contrasts(manifest: &Manifest, trials: &[TrialRecord], workload: u32) -> Vec<PrimaryContrast> {
    let part = Workload::new(manifest, trials, workload, void_reason(manifest, trials));
    let primaries = part.keys.iter().filter(|k| k.role == Role::Primary);
    let one =
        |key: &MetricKey, arm| PrimaryContrast { metric: key.name.clone(), contrast: part.contrast(key, arm, false) };
    primaries.flat_map(|key| part.others().map(move |arm| (key, arm))).map(|(key, arm)| one(key, arm)).collect()
}

/// Whether every primary contrast of the workload has its verdict, which the trial loop asks. Holm's method is applied
/// over all primary questions of the plan. Questions of workloads that have not run yet count as unanswered, so a
/// difference that stops a workload remains valid whatever the others show.
pub fn decided(manifest: &Manifest, trials: &[TrialRecord], workload: u32) -> bool {
    let mut contrasts = primary_contrasts(manifest, trials, workload);
    let others = (0..manifest.workloads.len() as u32).filter(|&w| w != workload);
    let elsewhere: Vec<f64> = others.flat_map(|w| questions(manifest, trials, w)).collect();
    let only_aa = contrasts.iter().all(|c| c.contrast.is_aa);
    let asked = |c: &PrimaryContrast| c.contrast.p.is_some() && (only_aa || !c.contrast.is_aa);
    let mut p_values: Vec<f64> = contrasts.iter().filter(|c| asked(c)).filter_map(|c| c.contrast.p).collect();
    let own = p_values.len();
    p_values.extend(if only_aa { Vec::new() } else { elsewhere });
    let adjusted = schedlab_stats::holm(&p_values);
    for (open, p) in contrasts.iter_mut().filter(|c| asked(c)).zip(adjusted.into_iter().take(own)) {
        if open.contrast.verdict.is_difference() && p > manifest.alpha {
            open.contrast.verdict = Verdict::Inconclusive;
        }
    }
    let units = contrasts.iter().map(|c| c.contrast.units).max().unwrap_or(0);
    let counted = |c: &&PrimaryContrast| only_aa || !c.contrast.is_aa;
    let mut asked = contrasts.iter().filter(counted).filter(|c| !not_applied(&c.contrast)).peekable();
    // No arm could be applied, so more trials are useless.
    let none_left = asked.peek().is_none() && !contrasts.is_empty();
    none_left || (units >= MIN_UNITS && asked.peek().is_some() && asked.all(|c| !c.contrast.verdict.is_open()))
}

fn not_applied(contrast: &Contrast) -> bool {
    matches!(contrast.verdict, Verdict::NoVerdict { why: Withheld::NotApplied, .. })
}

/// The p of each question of another workload; 1 if it has no answer yet.
fn questions(manifest: &Manifest, trials: &[TrialRecord], workload: u32) -> Vec<f64> {
    if trials.iter().any(|t| t.workload == workload) {
        let contrasts = primary_contrasts(manifest, trials, workload);
        let asked = contrasts.iter().filter(|c| !c.contrast.is_aa && !not_applied(&c.contrast));
        return asked.map(|c| c.contrast.p.unwrap_or(1.0)).collect();
    }
    let metrics = manifest.primary.get(workload as usize).map_or(1, |names| names.len().max(1));
    let control = manifest.arms.first().map(|a| &a.settings);
    let arms = manifest.arms.iter().skip(1).filter(|a| Some(&a.settings) != control).count();
    vec![1.0; metrics * arms]
}
