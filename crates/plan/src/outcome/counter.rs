//! What was counted in a trial, in total and every 100 ms. A number that is estimated, or not there, says so.

use serde::{Deserialize, Serialize};

/// A count that admits what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// Counted over the whole period.
    Exact(u64),
    /// Estimated from a part of the period (a multiplexed PMU).
    Scaled {
        /// The estimate.
        value: u64,
        /// ns the counter ran.
        running_ns: u64,
        /// ns it was wanted.
        enabled_ns: u64,
    },
    /// Not counted, and why.
    NotCounted(String),
}

impl Count {
    /// The number, exact or estimated.
    pub fn value(&self) -> Option<u64> {
        match self {
            Self::Exact(value) | Self::Scaled { value, .. } => Some(*value),
            Self::NotCounted(_) => None,
        }
    }
    /// Why there is no number.
    pub fn why_not(&self) -> Option<&str> {
        match self {
            Self::NotCounted(why) => Some(why),
            Self::Exact(_) | Self::Scaled { .. } => None,
        }
    }
}

/// A counter's total over the measured part of the trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// Such as `voluntary_switches`, `migrations`, `run_delay_ns`, `TcpExt.TCPAutoCorking`, `softirq.TIMER`.
    pub name: String,
    /// Where it was counted: `workload`, `host`, `cpu0`, `node0`, `netns`.
    pub scope: String,
    /// Where the number comes from: `rusage`, `schedstat`, `perf`, `/proc/stat`, …
    pub source: String,
    /// The count.
    pub count: Count,
}

/// One cell of the 100 ms series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// End of the interval, ns after the release of the tasks.
    pub t_ns: u64,
    /// Counter name.
    pub name: String,
    /// Scope, as in [`Counter`].
    pub scope: String,
    /// Increase within the interval.
    #[serde(with = "crate::number")]
    pub delta: f64,
}
