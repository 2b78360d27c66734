//! What is asked of an analysis.

use super::kworkers::Symbols;
use super::latency::LatencySort;
use super::scope::Scope;

/// Slices of a picture over time, by default.
const SLICES: usize = 60;

/// What is asked: each analysis takes of it what it has a use for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Which tasks and waits, when, and on which CPUs.
    pub scope: Scope,
    /// A row for each task instead of one for each name.
    pub each_task: bool,
    /// The order of the rows of latencies.
    pub sort: LatencySort,
    /// Most rows of each table, and most names with a sign; all when `None`.
    pub top: Option<usize>,
    /// Slices of a picture over time, at most.
    pub slices: usize,
    /// CPUs that share a last-level cache, `sd_llc_size`; all CPUs of the trace when `None`.
    pub llc_size: Option<u32>,
    /// Names of work functions that the trace gives by address.
    pub symbols: Symbols,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            each_task: false,
            sort: LatencySort::default(),
            top: None,
            slices: SLICES,
            llc_size: None,
            symbols: Symbols::default(),
        }
    }
}
