//! The request to an analysis.

use super::kworkers::Symbols;
use super::latency::LatencySort;
use super::scope::Scope;

/// Default number of slices of a picture over time.
const SLICES: usize = 60;

/// The request: each analysis uses the parts that apply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnalysisRequest {
    /// Which tasks and waits, when, and on which CPUs.
    pub scope: Scope,
    /// A row for each task instead of one for each name.
    pub each_task: bool,
    /// The order of the rows of latencies.
    pub sort: LatencySort,
    /// Most rows of each table, and most names with a sign; all if `None`.
    pub top: Option<usize>,
    /// Most slices of a picture over time.
    pub slices: usize,
    /// Number of CPUs that share a last-level cache, `sd_llc_size`; all CPUs of the trace if `None`.
    pub llc_size: Option<u32>,
    /// Names of work functions that the trace only gives by address.
    pub symbols: Symbols,
}

impl Default for AnalysisRequest {
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
