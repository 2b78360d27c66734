//! Calibrating a planted slowdown: how many nanoseconds of spin per operation make a workload slower by a share.

use crate::program;
use anyhow::{Result, bail};

/// The spin per operation, ns, that lowers the workload's rate by `share`. A spin of about that share of the time per
/// operation is measured against none in mirrored blocks, and scaled: the response is linear for small spins, but its
/// slope is not one where several tasks share the work or one waits for the other.
pub fn calibrate(workload: &str, rate_metric: &str, share: f64) -> Result<u64> {
    let rate = |spin_ns: u64| -> Result<f64> {
        let set = if spin_ns == 0 { "plant=spin:0ns".to_owned() } else { format!("plant=spin:{spin_ns}ns") };
        let outcome = program::trial(None, &[workload, "--latency", "off", "--counters", "basic", "--set", &set])?;
        program::metric(&outcome, rate_metric)
    };
    let op_ns = 1e9 / rate(0)?;
    let wanted = -(1.0 - share).ln();
    let mut spin_ns = (op_ns * share).max(4.0);
    for _ in 0..2 {
        // A stronger spin is seen with less noise; the answer is interpolated on the line through zero.
        let strong = (spin_ns * 3.0).round() as u64;
        let mut logs = Vec::new();
        for _ in 0..80 {
            let (a, b, c, d) = (rate(0)?, rate(strong)?, rate(strong)?, rate(0)?);
            logs.push((a.ln() + d.ln() - b.ln() - c.ln()) / 2.0);
        }
        let slowdown = schedlab_stats::median(&logs);
        if slowdown <= 0.0 {
            bail!("{workload}: a spin of {strong} ns per operation does not slow it down; nothing can be planted");
        }
        spin_ns = strong as f64 * wanted / slowdown;
    }
    Ok(spin_ns.round().max(1.0) as u64)
}
