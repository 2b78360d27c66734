//! Where the variance of a metric comes from: between boots, between blocks (drift), between trials, and the parts that
//! placement and steal explain. It shows what would make the next run shorter: pinning, more trials per block, a
//! quieter host.

use crate::findings::VarianceSplit;
use crate::metric::MetricKey;
use crate::selection::Selection;
use schedlab_plan::{Mark, Tier, TrialRecord};
use schedlab_stats::{components, share_explained};
use std::collections::BTreeMap;

/// The split over the used trials of all arms, after each arm's own mean is subtracted.
pub(crate) fn variance_split(selection: &Selection<'_>, key: &MetricKey, arms: u32) -> Option<VarianceSplit> {
    let mut rows: Vec<(&TrialRecord, f64)> = Vec::new();
    for arm in 0..arms {
        let values: Vec<(&TrialRecord, f64)> = selection
            .used(Some(arm))
            .filter_map(|r| Some((r, key.value(r.outcome.as_ref()?).ok().filter(|v| *v > 0.0)?.ln())))
            .collect();
        let mean = values.iter().map(|v| v.1).sum::<f64>() / values.len().max(1) as f64;
        rows.extend(values.into_iter().map(|(r, v)| (r, v - mean)));
    }
    let parts_by = |unit: &dyn Fn(u32) -> u32| {
        let mut units: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (record, value) in &rows {
            units.entry(unit(record.block)).or_default().push(*value);
        }
        components(&units.into_values().collect::<Vec<_>>())
    };
    let parts = parts_by(&|block| block)?;
    // Blocks also differ because their boots do.
    let between_boots = selection.has_boots().then(|| parts_by(&|block| selection.unit_of(block))).flatten();
    let between_boots = between_boots.map(|boots| boots.between.min(parts.between));
    let total = parts.between + parts.within;
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    let (tier_explained, steal_explained) = explained(&rows);
    Some(VarianceSplit {
        metric: key.name.clone(),
        trial_sd: total.sqrt(),
        boot_share: between_boots.map(|between| between / total),
        block_share: (parts.between - between_boots.unwrap_or(0.0)) / total,
        trial_share: parts.within / total,
        tier_explained,
        steal_explained,
    })
}

/// Shares of the variance explained by placement and by steal; `None` for a covariate that does not vary.
fn explained(rows: &[(&TrialRecord, f64)]) -> (Option<f64>, Option<f64>) {
    let values: Vec<f64> = rows.iter().map(|r| r.1).collect();
    let varies = |column: &Vec<f64>| column.iter().any(|v| (v - column[0]).abs() > 1e-9);
    // The shares of the tiers add up to one, so the last column would be redundant.
    let mut tiers: Vec<Vec<f64>> = Tier::ALL
        .into_iter()
        .map(|tier| rows.iter().map(|(r, _)| tier_share(r, tier)).collect::<Vec<f64>>())
        .filter(|column| !column.is_empty() && varies(column))
        .collect();
    if tiers.len() > 1 {
        tiers.pop();
    }
    let steal: Vec<f64> = rows.iter().map(|(r, _)| steal_share(r)).collect();
    let has_steal = !steal.is_empty() && varies(&steal);
    let tier_count = tiers.len();
    let mut columns = tiers;
    if has_steal {
        columns.push(steal);
    }
    let Some(fit) = share_explained(&values, &columns).filter(|_| !columns.is_empty()) else { return (None, None) };
    let tier = (tier_count > 0).then(|| fit.each[..tier_count].iter().sum());
    (tier, has_steal.then(|| fit.each[tier_count]))
}

fn tier_share(record: &TrialRecord, tier: Tier) -> f64 {
    let tiers = record.outcome.iter().flat_map(|o| &o.tiers);
    let (mut all, mut here) = (0u64, 0u64);
    for count in tiers {
        all += count.operations;
        here += if count.tier == tier { count.operations } else { 0 };
    }
    if all == 0 { 0.0 } else { here as f64 / all as f64 }
}

fn steal_share(record: &TrialRecord) -> f64 {
    let stolen = |m: &Mark| if let Mark::Steal { share } = m { Some(*share) } else { None };
    record.marks.iter().find_map(stolen).unwrap_or(0.0)
}
