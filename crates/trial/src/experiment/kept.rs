//! What the loop keeps of a stored trial: in a run of many thousands it cannot keep every task and counter of each.

use schedlab_plan::{Manifest, NamedHistogram, TrialOutcome, TrialRecord};

/// Removes from a row what no stopping rule, interval or forecast uses: everything except the primary metrics, the
/// distributions from which they are quantiles, and the windows of a switchback. The few rows of the warm-up stay
/// complete: they show which metrics exist.
pub fn keep_what_stopping_needs(manifest: &Manifest, record: &mut TrialRecord) {
    let primary = manifest.primary.get(record.workload as usize).filter(|names| !names.is_empty());
    let (Some(primary), Some(outcome), false) = (primary, &mut record.outcome, record.warm_up) else { return };
    let is_of_primary = |whole: &NamedHistogram| {
        whole.tier.is_none()
            && primary.iter().any(|name| name.strip_prefix(&whole.name).is_some_and(|rest| rest.starts_with("_p")))
    };
    let TrialOutcome { operations, mut metrics, mut histograms, mut windows, .. } = std::mem::take(outcome);
    metrics.retain(|metric| primary.contains(&metric.name));
    metrics.shrink_to_fit();
    histograms.retain(is_of_primary);
    histograms.shrink_to_fit();
    windows.shrink_to_fit();
    *outcome = TrialOutcome { operations, metrics, histograms, windows, ..TrialOutcome::default() };
}
