//! False alarms and power on recorded series: the same settings that stay silent on A against A must find a planted
//! slowdown of 3 %. Each series is cut into 100 disjoint comparisons. About 44 minutes: the first run records, and
//! resumes where it was stopped; later runs judge what is recorded.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result};
use schedlab_analyze::Scale;
use schedlab_benches::series::{self, COMPARISONS, SERIES, Series};
use schedlab_benches::table;
use schedlab_plan::{Manifest, TrialRecord};
use std::time::Instant;

fn main() -> Result<()> {
    let started = Instant::now();
    let filter = std::env::args().nth(1).unwrap_or_default();
    let mut rows = Vec::new();
    for series in SERIES.iter().filter(|s| s.name.contains(&filter)) {
        eprintln!("{}: recording or reading", series.name);
        let recorded = series::standard(series)?;
        let false_alarms = flagged(&recorded.equal, series, recorded.arms[0]).all();
        let rate = schedlab_stats::clopper_pearson(false_alarms.into(), COMPARISONS.into(), 0.95).context("a rate")?;
        let found = flagged(&recorded.planted, series, recorded.arms[1]).slower;
        let used = recorded.equal.1.iter().filter(|t| !t.warm_up && t.arm != Some(2)).count();
        rows.push(vec![
            format!("{}, {}", series.name, series.size()),
            used.to_string(),
            format!("{false_alarms} of {COMPARISONS} [{:.1} %, {:.1} %]", 100.0 * rate.lo, 100.0 * rate.hi),
            table::met(false_alarms <= 9),
            effect(&recorded.planted, recorded.arms[1]).unwrap_or_else(|| "–".into()),
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
        "injected slowdown, as measured",
        "found",
        "≥ 80",
    ];
    table::print(&title, &header, &rows);
    table::closing("aa", started.elapsed());
    Ok(())
}

/// The effect in the whole recording, as the product reports it, with its interval.
fn effect((manifest, trials): &Run, arms: [u32; 2]) -> Option<String> {
    let (manifest, trials) = series::cut(manifest, trials, 0..u32::MAX, arms);
    let contrast = primary(&schedlab_analyze::compare(&manifest, &trials))?;
    // A trial in which nothing moved has no ratio.
    let effect = contrast.effect.filter(|e| e.scale == Scale::Ratio)?;
    let percent = |ratio: f64| 100.0 * (1.0 - ratio);
    Some(format!("{:.2} % [{:.2}, {:.2}]", percent(effect.value), percent(effect.hi), percent(effect.lo)))
}

/// Comparisons whose primary metric was given a direction.
struct Flagged {
    slower: u32,
    faster: u32,
}

impl Flagged {
    fn all(&self) -> u32 {
        self.slower + self.faster
    }
}

type Run = (Manifest, Vec<TrialRecord>);

fn flagged((manifest, trials): &Run, series: &Series, arms: [u32; 2]) -> Flagged {
    let mut flagged = Flagged { slower: 0, faster: 0 };
    for comparison in 0..COMPARISONS {
        let blocks = comparison * series.units..(comparison + 1) * series.units;
        let (manifest, trials) = series::cut(manifest, trials, blocks, arms);
        let Some(contrast) = primary(&schedlab_analyze::compare(&manifest, &trials)) else { continue };
        // A difference below the smallest effect of interest is reported as equivalent; for the error rate it counts as
        // flagged all the same.
        let Some(effect) = contrast.effect.filter(|_| contrast.p_adjusted.is_some_and(|p| p < 0.05)) else { continue };
        flagged.slower += u32::from(effect.hi < 1.0);
        flagged.faster += u32::from(effect.lo > 1.0);
    }
    flagged
}

/// The contrast of the primary metric, a rate.
fn primary(findings: &schedlab_analyze::Findings) -> Option<schedlab_analyze::Contrast> {
    findings.workloads.first()?.metrics.first()?.contrasts.first().cloned()
}
