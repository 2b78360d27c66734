//! One difference over a list of kernels: where it appears, and where it disappears.

use crate::findings::{Effect, Verdict};
use crate::why::{Difference, ratio};
use serde::Serialize;

/// The difference on one kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnKernel {
    /// As it was named.
    pub kernel: String,
    /// Arm 1 over arm 0.
    pub effect: Effect,
    /// The verdict on this kernel.
    pub verdict: Verdict,
    /// Whether that is that they differ.
    pub is_there: bool,
    /// Factor on the difference, against the kernel above it here.
    pub step: Option<Effect>,
    /// Holm's p of that, over all steps.
    pub p_adjusted: Option<f64>,
}

/// A kernel on which there was nothing to compare.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotOnKernel {
    /// As it was named.
    pub kernel: String,
    /// Its guest does not boot, or an arm has no effect there.
    pub why: String,
}

/// What `schedlab why --kernels` says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyKernelsFindings {
    /// Title of the plan.
    pub title: String,
    /// The workload as run; empty before the first kernel is measured.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// Names of the arms.
    pub arms: [String; 2],
    /// Probability of calling any step a change wrongly.
    pub alpha: f64,
    /// In the order of the list.
    pub kernels: Vec<OnKernel>,
    /// Those of the list without a difference to compare; `--resume` tries again to boot one that did not.
    pub not_compared: Vec<NotOnKernel>,
    /// Those of the list that were not measured yet: `--resume` continues.
    pub left: Vec<String>,
}

impl WhyKernelsFindings {
    /// From the differences on the first kernels of `all`, or the reason why a kernel has none.
    pub fn new(title: &str, alpha: f64, measured_on: &[(String, Result<Difference, String>)], all: &[String]) -> Self {
        let measured =
            measured_on.iter().filter_map(|(kernel, measured_on)| Some((kernel, measured_on.as_ref().ok()?)));
        let measured: Vec<(&String, &Difference)> = measured.collect();
        let reason = |(kernel, measured_on): &(String, Result<Difference, String>)| {
            Some(NotOnKernel { kernel: kernel.clone(), why: measured_on.as_ref().err()?.clone() })
        };
        let logs = |at: usize| measured[at].1.logs.as_slice();
        let steps: Vec<_> =
            (1..measured.len()).map(|at| schedlab_stats::welch(logs(at - 1), logs(at), 1.0 - alpha)).collect();
        let p_values: Vec<f64> = steps.iter().map(|step| step.map_or(f64::NAN, |step| step.p_value)).collect();
        let adjusted = schedlab_stats::holm(&p_values);
        let on = |(at, (kernel, difference)): (usize, &(&String, &Difference))| {
            let step = at.checked_sub(1).and_then(|before| Some((steps[before]?, adjusted[before])));
            OnKernel {
                kernel: (*kernel).clone(),
                effect: difference.effect,
                verdict: difference.verdict.clone(),
                is_there: difference.is_there,
                step: step.as_ref().map(|(step, _)| ratio(step)),
                p_adjusted: step.map(|(_, p)| p),
            }
        };
        let first = measured.first().map(|(_, difference)| difference);
        Self {
            title: title.to_owned(),
            workload: first.map(|d| d.workload.clone()).unwrap_or_default(),
            metric: first.map(|d| d.metric.clone()).unwrap_or_default(),
            arms: first.map(|d| d.arms.clone()).unwrap_or_default(),
            alpha,
            kernels: measured.iter().enumerate().map(on).collect(),
            not_compared: measured_on.iter().filter_map(reason).collect(),
            left: all[measured_on.len()..].to_vec(),
        }
    }
}
