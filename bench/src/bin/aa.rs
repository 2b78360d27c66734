//! False alarms and power on recorded series: the same settings that stay silent on A against A must find a planted
//! slowdown of 3 %. Each series is cut into 100 disjoint comparisons. The first run records for about 20 minutes and
//! resumes where it was stopped; later runs judge what is recorded.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result};
use schedlab_analyze::Verdict;
use schedlab_benches::series::{self, COMPARISONS, SERIES};
use schedlab_benches::table;
use schedlab_run::{Manifest, TrialRecord};
use std::time::Instant;

fn main() -> Result<()> {
    let started = Instant::now();
    let filter = std::env::args().nth(1).unwrap_or_default();
    let mut rows = Vec::new();
    for series in SERIES.iter().filter(|s| s.name.contains(&filter)) {
        eprintln!("{}: recording or reading", series.name);
        let (manifest, trials) = series::standard(series)?;
        let false_alarms = flagged(&manifest, &trials, series.blocks, [0, 1]);
        let found = flagged(&manifest, &trials, series.blocks, [0, 2]);
        let rate = schedlab_stats::clopper_pearson(false_alarms.into(), COMPARISONS.into(), 0.95).context("a rate")?;
        let planted: Vec<f64> = series::block_contrasts(&trials, series.rate, [0, 2]).iter().map(|b| b.0).collect();
        let effect = schedlab_stats::t_estimate(&planted, 0.95).context("a planted effect")?;
        let used = trials.iter().filter(|t| !t.warm_up && t.arm != Some(2)).count();
        rows.push(vec![
            format!("{}, {} blocks of {}", series.name, series.blocks, series.trial),
            used.to_string(),
            format!("{false_alarms} of {COMPARISONS} [{:.1} %, {:.1} %]", 100.0 * rate.lo, 100.0 * rate.hi),
            table::met(false_alarms <= 9),
            format!("{:.2} % ± {:.2}", -100.0 * effect.mean, 100.0 * effect.interval.half_width()),
            format!("{found} of {COMPARISONS}"),
            table::met(found >= 80),
        ]);
    }
    let title = format!("A/A on recorded series, each cut into {COMPARISONS} comparisons");
    let header = [
        "series, comparison",
        "A/A trials",
        "A/A flagged (95 % interval of the rate)",
        "≤ 9",
        "planted slowdown, as measured",
        "found",
        "≥ 80",
    ];
    table::print(&title, &header, &rows);
    table::closing("aa", started.elapsed());
    Ok(())
}

/// Comparisons whose primary metric got a direction.
fn flagged(manifest: &Manifest, trials: &[TrialRecord], blocks: u32, arms: [u32; 2]) -> u32 {
    let is_flagged = |comparison: &u32| {
        let blocks = comparison * blocks..(comparison + 1) * blocks;
        let (manifest, trials) = series::cut(manifest, trials, blocks, arms);
        let findings = schedlab_analyze::compare(&manifest, &trials);
        let primary = findings.workloads[0].metrics.first().and_then(|m| m.contrasts.first());
        primary.is_some_and(|c| matches!(c.verdict, Verdict::Better | Verdict::Worse) || significant(c))
    };
    (0..COMPARISONS).filter(is_flagged).count() as u32
}

/// A difference below the smallest effect of interest is called equivalent; for the error rate it is a flag all the same.
fn significant(contrast: &schedlab_analyze::Contrast) -> bool {
    contrast.effect.is_some_and(|e| e.lo > 1.0 || e.hi < 1.0) && contrast.p_adjusted.is_some_and(|p| p < 0.05)
}
