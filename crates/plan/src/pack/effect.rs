//! The effects that a pack expects: the results of its run. They are checked, because the file may come from a stranger
//! and contradict itself.

use crate::outcome::Direction;
use serde::{Deserialize, Serialize};

/// An effect with its interval, as reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedEffect {
    /// Index into the pack's workloads.
    pub workload: u32,
    /// Index into the plan's arms; the control is 0.
    pub arm: u32,
    /// Metric, such as `msgs_per_s`.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way is good.
    pub direction: Direction,
    /// What the three numbers are.
    pub scale: ExpectedScale,
    /// Estimate.
    pub value: f64,
    /// Lower end of its interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Coverage of the interval, 0.95.
    pub level: f64,
    /// Independent units behind it.
    pub units: u32,
    /// What a unit is: `blocks`, `boots`.
    pub unit_name: String,
    /// Mean of the control, in the metric's unit; it makes a difference relative.
    pub control_mean: f64,
    /// What was said of it.
    pub said: Said,
}

/// Scale of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedScale {
    /// arm / control.
    Ratio,
    /// arm − control, in the metric's unit.
    Difference,
}

/// The verdict on an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// There is a difference.
    Differs,
    /// Any difference is smaller than the plan's smallest effect of interest.
    Equivalent,
    /// Neither of these; there is no effect to find again.
    Open,
}

/// How far the control's mean in a pack may differ from that of the units from which a plan's sesoi was derived.
const SESOI_SLACK: f64 = 1.5;

impl ExpectedEffect {
    /// Checks that each metric of a workload has one unit and one good direction, and each arm one effect.
    pub(super) fn contradiction(&self, other: &Self) -> Option<String> {
        if (self.workload, &self.metric) != (other.workload, &other.metric) {
            return None;
        }
        if (&self.unit, self.direction) != (&other.unit, other.direction) {
            let (of, than) = (self.direction, other.direction);
            return Some(format!("{than:?} in {}, and {of:?} in {}", other.unit, self.unit));
        }
        (self.arm == other.arm).then(|| {
            let size = |effect: &Self| format!("{} [{}, {}]", effect.value, effect.lo, effect.hi);
            format!("of arm {} it is {}, and again {}", self.arm, size(other), size(self))
        })
    }

    /// Whether its interval contradicts its verdict: a verdict follows from the interval.
    pub(super) fn is_belied(&self, sesoi: f64) -> bool {
        let (none, least, most) = match self.scale {
            ExpectedScale::Ratio => (1.0, (1.0 - 1e-9) / (1.0 + sesoi), (1.0 + 1e-9) * (1.0 + sesoi)),
            ExpectedScale::Difference => {
                let bound = SESOI_SLACK * sesoi * self.control_mean.abs();
                (0.0, -bound, bound)
            }
        };
        match self.said {
            Said::Differs => self.lo < none && none < self.hi,
            Said::Equivalent => self.lo < least || self.hi > most,
            Said::Open => false,
        }
    }

    pub(super) fn is_sound(&self, workloads: usize, arms: usize) -> bool {
        let least = if self.scale == ExpectedScale::Ratio { f64::MIN_POSITIVE } else { f64::MIN };
        let numbers = [self.lo, self.value, self.hi].iter().all(|x| x.is_finite() && *x >= least);
        (self.workload as usize) < workloads
            && (1..arms).contains(&(self.arm as usize))
            && numbers
            && (self.lo..=self.hi).contains(&self.value)
            && self.control_mean.is_finite()
            && (0.5..1.0).contains(&self.level)
            && self.units >= 2
    }
}
