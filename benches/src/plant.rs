//! Calibrates a planted slowdown: how many nanoseconds of spin per operation make a workload slower by a given share.

use crate::program;
use anyhow::{Context, Result, bail};
use schedlab_run::RunReader;
use std::process::{Command, Stdio};

/// Trials of 100 ms of each of the two measurements.
const TRIALS: u32 = 40;

/// The spin per operation, ns, that lowers the workload's rate by `share`. A spin of about three times that share of
/// the time per operation is measured against none, and scaled: the response is linear for small spins, but its slope
/// is not one if several tasks share the work or wait for each other. The two alternate inside each trial, which
/// resolves a tenth of a percent; comparing whole trials would err by a quarter of the effect.
pub fn calibrate(workload: &str, rate_metric: &str, share: f64) -> Result<u64> {
    let outcome = program::trial(
        None,
        &[&format!("{workload},duration=100ms"), "--latency", "off", "--counters", "basic", "--set", "plant=spin:0ns"],
    )?;
    let op_ns = 1e9 / program::metric(&outcome, rate_metric)?;
    let wanted = -(1.0 - share).ln();
    let mut spin_ns = (op_ns * share).max(4.0);
    for round in 0..2 {
        let strong = (spin_ns * 3.0).round() as u64;
        let slowdown = slowdown(workload, strong, round)?;
        if slowdown <= 0.0 {
            bail!("{workload}: a spin of {strong} ns per operation does not slow it down; nothing can be planted");
        }
        spin_ns = strong as f64 * wanted / slowdown;
    }
    Ok(spin_ns.round().max(1.0) as u64)
}

/// The logarithm of the workload's rate without a spin, divided by that with one.
fn slowdown(workload: &str, spin_ns: u64, seed: u32) -> Result<f64> {
    let scratch = std::env::temp_dir().join(format!("schedlab-calibrate-{}-{seed}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let (plan, out) = (scratch.join("plan.toml"), scratch.join("run"));
    let text = format!(
        "trials = {TRIALS}\ntrial = \"100ms\"\nlatency = \"off\"\ncounters = \"basic\"\nseed = {seed}\n\
         design = \"switchback=1500us\"\n[[workload]]\nrun = \"{workload}\"\n\
         [[arm]]\nname = \"A\"\nset = \"plant=spin:0ns\"\n[[arm]]\nname = \"spin\"\nset = \"plant=spin:{spin_ns}ns\"\n"
    );
    std::fs::write(&plan, text)?;
    let mut command = Command::new(program::schedlab()?);
    command.arg("run").arg(&plan).arg("--out").arg(&out).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().context("schedlab run")?;
    if !status.success() {
        bail!("calibrating {workload}: schedlab run {}: {status}", plan.display());
    }
    let run = RunReader::open(&out)?;
    let findings = schedlab_analyze::compare(&run.manifest, &run.trials);
    std::fs::remove_dir_all(&scratch)?;
    let contrast = findings.workloads.first().and_then(|w| w.metrics.first()?.contrasts.first()?.effect);
    Ok(-contrast.with_context(|| format!("calibrating {workload}: no effect could be told"))?.value.ln())
}
