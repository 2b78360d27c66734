//! The effects that a plan can detect, computed before it runs.

use crate::contrasts::mean;
use crate::metric::metric_keys;
use crate::rule::Rule;
use schedlab_plan::{Manifest, TrialRecord, TrialStatus, counted};
use schedlab_stats::minimum_detectable;
use std::collections::BTreeMap;

/// Power at which effects are stated.
const POWER: f64 = 0.8;

/// The smallest effect a number of blocks finds.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PowerForecast {
    /// Blocks (or switchback trials).
    pub blocks: usize,
    /// SD of a block's log-ratio, from the pilot.
    pub sd: f64,
    /// Smallest effect found with 80 % power, as a share (0.03 is 3 %).
    pub minimum_detectable: f64,
    /// In words.
    pub sentence: String,
}

fn forecast_from_sd(sd: f64, blocks: usize, alpha: f64, width_factor: f64) -> Option<PowerForecast> {
    let share = (minimum_detectable(sd, blocks, alpha, POWER) * width_factor).exp_m1();
    (sd > 0.0 && share.is_finite()).then(|| PowerForecast {
        blocks,
        sd,
        minimum_detectable: share,
        sentence: format!(
            "{} find effects of {} or more four times in five",
            counted(blocks, "blocks"),
            crate::number::percent_within(share, share / 3.0)
        ),
    })
}

/// The forecast for a workload from the trials so far, including the warm-up block. It uses the spread of trials of one
/// arm within a block, because there are too few blocks to compare. Drift between blocks cancels in the contrast and is
/// not included.
pub fn forecast(manifest: &Manifest, trials: &[TrialRecord], workload: u32, blocks: usize) -> Option<PowerForecast> {
    let rows: Vec<&TrialRecord> =
        trials.iter().filter(|t| t.workload == workload && matches!(t.status, TrialStatus::Ok)).collect();
    let keys = metric_keys(manifest, workload, rows.iter().filter_map(|r| r.outcome.as_ref()));
    let key = keys.first()?;
    let mut groups: BTreeMap<(bool, u32, u32), Vec<f64>> = BTreeMap::new();
    for row in rows.iter().filter(|r| r.arm.is_some()) {
        let value = key.value(row.outcome.as_ref()?).ok().filter(|v| *v > 0.0)?;
        groups.entry((row.warm_up, row.block, row.arm?)).or_default().push(value.ln());
    }
    let (mut squares, mut freedom, mut per_arm) = (0.0, 0usize, 1usize);
    for values in groups.values().filter(|v| v.len() > 1) {
        let center = mean(values)?;
        squares += values.iter().map(|v| (v - center).powi(2)).sum::<f64>();
        freedom += values.len() - 1;
        per_arm = per_arm.max(values.len());
    }
    if freedom == 0 {
        return None;
    }
    // The log-ratio of a block is the difference of two means, each over `per_arm` trials; in a factorial, over those
    // of half of the arms.
    let arms_a_side = manifest.factorial.as_ref().map_or(1, |factorial| (factorial.levels.len() / 2).max(1));
    let sd = (2.0 * squares / freedom as f64 / (per_arm * arms_a_side) as f64).sqrt();
    let width_factor = Rule::planned_width_factor(&manifest.design);
    let Some(boots) = manifest.boots.map(|boots| boots as usize) else {
        return forecast_from_sd(sd, blocks, manifest.alpha, width_factor);
    };
    // The log-ratio of a boot is the mean of those of its blocks. A pilot with one boot cannot show how much an effect
    // varies from boot to boot.
    let of_boot = sd * (boots as f64 / blocks.max(1) as f64).sqrt();
    let found = forecast_from_sd(of_boot, boots, manifest.alpha, width_factor)?;
    let sentence = found.sentence.replacen("blocks", "boots", 1);
    Some(PowerForecast { blocks, sentence: format!("{sentence}, if an effect is the same in each boot"), ..found })
}
