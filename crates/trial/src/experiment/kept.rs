//! What the loop keeps of a trial that is stored: a run of many thousands must not hold every task and counter of each.

use schedlab_run::{Manifest, NamedHistogram, TrialOutcome, TrialRecord};

/// Takes from a row what no stopping rule, interval or forecast looks at: all but the primary metrics, the distributions
/// that they are quantiles of, and the windows of a switchback. The warm-up, few rows, stays whole: it says which metrics
/// there are.
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
