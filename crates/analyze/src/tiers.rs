//! Placement as a cause: the change of a mean latency, split into a change of where pairs ran and a change of how fast
//! they were there. The scheduler chooses the tier, so under free placement this is a description, not a proof.

use crate::findings::{TierRow, TierSplit};
use crate::selection::Selection;
use schedlab_plan::{Histogram, Manifest, Setting, Tier, TrialOutcome};
use schedlab_stats::decompose;
use std::collections::BTreeMap;

/// The split for one arm against the control, for the first histogram that is recorded per tier.
pub(crate) fn tier_split(
    manifest: &Manifest,
    selection: &Selection<'_>,
    (control, arm): (u32, u32),
) -> Option<TierSplit> {
    let outcomes = |of| selection.used(Some(of)).filter_map(|r| r.outcome.as_ref());
    let name = outcomes(control)
        .chain(outcomes(arm))
        .flat_map(TrialOutcome::distributions)
        .find(|(_, tier, histogram)| tier.is_some() && histogram.count() > 0)
        .map(|(name, ..)| name.to_owned())?;
    let (a, b) = (means_by_tier(outcomes(control), &name), means_by_tier(outcomes(arm), &name));
    let tiers: Vec<Tier> = Tier::ALL.into_iter().filter(|t| a.contains_key(t) || b.contains_key(t)).collect();
    if tiers.len() < 2 || a.is_empty() || b.is_empty() {
        return None;
    }
    let share = |side: &BTreeMap<Tier, (f64, f64)>, tier| side.get(&tier).map_or(0.0, |v: &(f64, f64)| v.0);
    let mean_ns = |side: &BTreeMap<Tier, (f64, f64)>, tier| side.get(&tier).map(|v: &(f64, f64)| v.1);
    let rows: Vec<TierRow> = tiers
        .into_iter()
        .map(|tier| TierRow {
            tier,
            control_share: share(&a, tier),
            arm_share: share(&b, tier),
            control_mean_ns: mean_ns(&a, tier),
            arm_mean_ns: mean_ns(&b, tier),
        })
        .collect();
    let column = |pick: fn(&TierRow) -> f64| rows.iter().map(pick).collect::<Vec<f64>>();
    let split = decompose(
        &column(|r| r.control_share),
        &column(|r| r.control_mean_ns.unwrap_or(f64::NAN)),
        &column(|r| r.arm_share),
        &column(|r| r.arm_mean_ns.unwrap_or(f64::NAN)),
    )?;
    let pinned = is_pinned(manifest, selection.workload, control) && is_pinned(manifest, selection.workload, arm);
    let note = if pinned {
        "Placement is pinned in both arms: the change within tiers may be read as an effect."
    } else {
        "Descriptive: the scheduler chose the tier, so the change within tiers is no effect. Pin both arms for a verdict \
         within a tier."
    };
    Some(TierSplit {
        arm,
        histogram: name,
        between_shares_ns: split.between_shares,
        within_ns: split.within,
        total_ns: split.total,
        tiers: rows,
        pinned,
        note: note.to_owned(),
    })
}

/// Share and mean by tier over stamped operations, ns.
fn means_by_tier<'o>(outcomes: impl Iterator<Item = &'o TrialOutcome>, name: &str) -> BTreeMap<Tier, (f64, f64)> {
    let mut merged: BTreeMap<Tier, Histogram> = BTreeMap::new();
    for (of, tier, histogram) in outcomes.flat_map(TrialOutcome::distributions) {
        if let Some(tier) = tier.filter(|_| of == name) {
            merged.entry(tier).or_default().merge(&histogram);
        }
    }
    let total: u64 = merged.values().map(Histogram::count).sum();
    let rows = merged.into_iter().filter_map(|(tier, h)| Some((tier, (h.count() as f64 / total as f64, h.mean_ns()?))));
    rows.collect()
}

/// Whether the arm or the workload fixes the CPUs: a `pin` argument, or one CPU in the affinity mask.
fn is_pinned(manifest: &Manifest, workload: u32, arm: u32) -> bool {
    let by_workload = manifest.workloads.get(workload as usize).and_then(|w| w.args.get("pin"));
    let by_arm = manifest
        .arms
        .get(arm as usize)
        .is_some_and(|a| a.settings.iter().any(|s| matches!(s, Setting::Cpus(list) if list.as_slice().len() == 1)));
    by_arm || by_workload.is_some_and(|pin| !matches!(pin.as_str(), "none" | "free" | "off"))
}
