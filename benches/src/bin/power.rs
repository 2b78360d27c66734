//! Seconds to a verdict on a planted slowdown of 3 %, set-up included. The oracle is a paired t test whose number of
//! blocks was chosen knowing the answer: the smallest n whose power is 80 % on the recorded series. The budgeted
//! design is replayed on the same blocks; the switchback is that of `aa`. Beside them: how often A-then-B with Welch's
//! test, the way everybody compares, flags A against A. Reads the series of `aa` (and records what is missing). About 1
//! minute once they are there.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result};
use schedlab_analyze::Verdict;
use schedlab_benches::series::{self, Arrangement, SERIES, Series};
use schedlab_benches::table;
use schedlab_plan::{MIN_UNITS, Manifest, TrialRecord};
use schedlab_stats::{GroupSequential, Look};
use std::time::Instant;

const LOOKS: usize = 5;
const WANTED_POWER: f64 = 0.8;

fn main() -> Result<()> {
    let started = Instant::now();
    let filter = std::env::args().nth(1).unwrap_or_default();
    let mut rows = Vec::new();
    let quiet_blocks = |s: &&Series| s.arrangement == Arrangement::Blocks && !s.disturbed && s.name.contains(&filter);
    for series in SERIES.iter().filter(quiet_blocks) {
        let Series { name, rate, .. } = series;
        let alternating = SERIES.iter().find(|s| s.name == format!("{name}-switchback"));
        let alternating = alternating.with_context(|| format!("{name} has no switchback"))?;
        let (_, trials) = series::standard(series)?.planted;
        let planted = series::block_contrasts(&trials, rate, [0, 2]);
        let block_s = planted.iter().map(|b| b.1).sum::<f64>() / planted.len() as f64;
        let logs: Vec<f64> = planted.iter().map(|b| b.0).collect();
        let oracle = least_n(&logs, |_| |window: &[f64]| fixed_t(window).then_some(window.len()))
            .context("no number of blocks reaches 80 % power: the series is too noisy")?;
        let budgeted = least_n(&logs, |n| {
            let looks = planned_looks(n);
            move |window: &[f64]| budgeted(window, &looks)
        })
        .context("no budget reaches 80 % power")?;
        let switchback = switchback_seconds(&series::standard(alternating)?.planted);
        let oracle_s = oracle.blocks as f64 * block_s;
        rows.push(vec![
            (*name).into(),
            format!("{:.1} s ({} blocks)", oracle_s, oracle.blocks),
            format!(
                "{:.1} s, {:.2} ×",
                budgeted.blocks as f64 * block_s,
                budgeted.blocks as f64 / oracle.blocks as f64
            ),
            table::met(budgeted.blocks as f64 <= 1.1 * oracle.blocks as f64),
            format!("{:.1} s, {:.2} ×", budgeted.mean_blocks * block_s, budgeted.mean_blocks / oracle.blocks as f64),
            table::met(budgeted.mean_blocks <= 0.9 * oracle.blocks as f64),
            switchback.map_or("never".into(), |s| format!("{s:.2} s (1/{:.0})", oracle_s / s)),
            table::met(switchback.is_some_and(|s| s <= oracle_s / 10.0)),
            format!("{:.0} %", 100.0 * a_then_b(&trials, rate)),
        ]);
    }
    let header = [
        "series",
        "oracle, 80 % power",
        "budgeted, at most",
        "≤ 1.1 ×",
        "budgeted, mean",
        "≤ 0.9 ×",
        "switchback",
        "≤ 1/10",
        "A then B, Welch: A/A flagged",
    ];
    table::print("Seconds to a verdict on a planted 3 %", &header, &rows);
    table::closing("power", started.elapsed());
    Ok(())
}

/// A design's smallest size with the wanted power, and the blocks it used on average there.
struct Size {
    blocks: usize,
    mean_blocks: f64,
}

/// The smallest n for which the design for n blocks finds the effect in 80 % of the windows of n consecutive blocks. A
/// window starts at every third block: windows overlap, which does not bias the estimate of the mean rate.
fn least_n<D: Fn(&[f64]) -> Option<usize>>(logs: &[f64], design: impl Fn(usize) -> D) -> Option<Size> {
    (MIN_UNITS..=logs.len() / 4).find_map(|n| {
        let decide = design(n);
        let windows: Vec<&[f64]> = logs.windows(n).step_by(3).collect();
        let used: Vec<Option<usize>> = windows.iter().map(|w| decide(w)).collect();
        let found = used.iter().flatten().count();
        let blocks: usize = used.iter().map(|u| u.unwrap_or(n)).sum();
        (found as f64 >= WANTED_POWER * windows.len() as f64)
            .then(|| Size { blocks: n, mean_blocks: blocks as f64 / windows.len() as f64 })
    })
}

fn fixed_t(window: &[f64]) -> bool {
    schedlab_stats::t_estimate(window, 0.95).is_some_and(|e| e.interval.hi < 0.0)
}

/// The product's rule: after the first six blocks, it looks at fifths of the budget.
fn planned_looks(blocks: usize) -> Vec<(usize, Look)> {
    let Ok(mut sequence) = GroupSequential::new(0.05) else { return Vec::new() };
    let at = (1..=LOOKS).map(|k| blocks * k / LOOKS).filter(|&n| n >= MIN_UNITS);
    at.filter_map(|n| Some((n, sequence.push_look(n as f64 / blocks as f64).ok()?))).collect()
}

/// Blocks used up to the look that finds the slowdown, by the repeated interval. A look that finds a speed-up also
/// stops the design, which has then found nothing.
fn budgeted(window: &[f64], looks: &[(usize, Look)]) -> Option<usize> {
    let decided = looks.iter().find_map(|(blocks, look)| {
        let interval = schedlab_stats::repeated_interval(&window[..*blocks], look)?.interval;
        (interval.hi < 0.0 || interval.lo > 0.0).then_some((*blocks, interval.hi < 0.0))
    });
    decided.filter(|&(_, slower)| slower).map(|(blocks, _)| blocks)
}

/// Wall seconds of the smallest number of consecutive switchback trials that finds the planted effect in 80 % of the
/// windows.
fn switchback_seconds((manifest, trials): &(Manifest, Vec<TrialRecord>)) -> Option<f64> {
    let trials: Vec<&TrialRecord> = trials.iter().filter(|t| !t.warm_up && t.outcome.is_some()).collect();
    let trial_s = trials.iter().map(|t| t.wall_ns as f64 / 1e9).sum::<f64>() / trials.len() as f64;
    let n = (MIN_UNITS..=trials.len() / 4).find(|&n| {
        let windows: Vec<&[&TrialRecord]> = trials.windows(n).step_by(n.div_ceil(2)).collect();
        let found = windows.iter().filter(|w| switchback_finds(manifest, w)).count();
        found as f64 >= WANTED_POWER * windows.len() as f64
    })?;
    Some(n as f64 * trial_s)
}

fn switchback_finds(manifest: &Manifest, trials: &[&TrialRecord]) -> bool {
    let trials: Vec<TrialRecord> = trials.iter().map(|&t| t.clone()).collect();
    let findings = schedlab_analyze::compare(manifest, &trials);
    let primary = findings.workloads[0].metrics.first().and_then(|m| m.contrasts.first());
    primary.is_some_and(|c| c.verdict == Verdict::Worse)
}

/// Share of A/A stretches that Welch's test flags when the first half in time is called A and the second B.
fn a_then_b(trials: &[TrialRecord], rate: &str) -> f64 {
    let equal = trials.iter().filter(|t| !t.warm_up && t.arm != Some(2));
    let logs: Vec<f64> = equal.filter_map(|t| series::value(t, rate)).map(f64::ln).collect();
    let stretch = 40;
    let flagged = |w: &&[f64]| {
        let (a, b) = w.split_at(stretch / 2);
        schedlab_stats::welch(a, b, 0.95).is_some_and(|e| e.p_value < 0.05)
    };
    let stretches = logs.chunks_exact(stretch);
    let count = stretches.len().max(1);
    stretches.filter(flagged).count() as f64 / count as f64
}
