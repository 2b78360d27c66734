//! Converts the run directory of a grid to the text of a surface, as in benches/data/search.

use anyhow::{Context, Result, bail};
use schedlab_analyze::Contrast;
use schedlab_run::RunReader;
use std::collections::BTreeMap;
use std::path::Path;

/// The first primary metric at the points of a run's grid, or at those with one of these values of the knob `fixed`:
/// the mean of the units' ln(point/default), and their standard deviation.
pub(crate) fn text(run: &Path, fixed: Option<(&str, Vec<&str>)>) -> Result<String> {
    let read = RunReader::open(run)?;
    let findings = schedlab_analyze::compare(&read.manifest, &read.trials);
    let metric = findings.workloads.first().and_then(|workload| workload.metrics.first()).context("no metric")?;
    let (mut knobs, mut points): (Vec<(&str, Vec<&str>)>, _) = (Vec::new(), BTreeMap::new());
    for contrast in &metric.contrasts {
        let name = &read.manifest.arms[contrast.arm as usize].name;
        let Some(values) = values(name) else { continue };
        let is_left_out = |(knob, value): &(&str, &str)| {
            fixed.as_ref().is_some_and(|(fixed, only)| knob == fixed && !only.contains(value))
        };
        if values.iter().any(is_left_out) {
            continue;
        }
        for (at, (knob, value)) in values.iter().enumerate() {
            if knobs.len() == at {
                knobs.push((knob, Vec::new()));
            }
            if !knobs[at].1.contains(value) {
                knobs[at].1.push(value);
            }
        }
        let words: Vec<&str> = values.iter().map(|(_, value)| *value).collect();
        points.insert(contrast.arm, format!("point {} {}\n", words.join(" "), gain(contrast).context(name.clone())?));
    }
    if points.len() != knobs.iter().map(|(_, values)| values.len()).product::<usize>() {
        bail!(
            "{} has {} of these points, which is no whole grid: give --fixed KNOB=VALUES",
            run.display(),
            points.len()
        );
    }
    let knobs = knobs.iter().map(|(name, values)| format!("knob {name} log {}\n", values.join(" ")));
    Ok(knobs.chain(points.into_values()).collect())
}

/// Knobs and numbers in `m=1ms w=4.5ms`.
fn values(arm: &str) -> Option<Vec<(&str, &str)>> {
    let of = |word| {
        let (knob, value): (&str, &str) = str::split_once(word, '=')?;
        Some((knob, value.trim_end_matches(char::is_alphabetic)))
    };
    arm.split(' ').map(of).collect()
}

/// `GAIN SD`.
fn gain(contrast: &Contrast) -> Result<String> {
    let logs: Vec<f64> = contrast.unit_effects.iter().map(|unit| unit.value.ln()).collect();
    let gain = schedlab_stats::t_estimate(&logs, 0.95).context("fewer than two units")?;
    Ok(format!("{:.4} {:.4}", gain.mean, gain.se * (logs.len() as f64).sqrt()))
}
