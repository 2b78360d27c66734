//! Traces to findings: what the tasks of a machine waited for. Each analysis reads a trace once, in bounded memory, and
//! answers findings **and** what was wrong with the trace; a wait that a loss may have falsified is counted apart.

pub mod affine;
mod affinity;
mod asked;
pub mod blame;
mod calls;
pub mod cgroups;
pub mod chains;
pub mod check;
pub mod copies;
pub mod diff;
pub mod explain;
mod facts;
mod filter;
mod follow;
pub mod inversions;
pub mod kworkers;
mod lacking;
mod lanes;
pub mod latency;
mod longest;
pub mod map;
pub mod overview;
pub mod perf_latency;
mod places;
mod processes;
pub mod queues;
mod quick;
mod recent;
mod run_queues;
mod scope;
mod slices;
pub mod slow;
pub mod states;
pub mod timehist;
mod words;

pub use affine::{Affine, affine};
pub use asked::Asked;
pub use blame::{Blame, blame};
pub use cgroups::{CgroupError, cgroup_members};
pub use chains::{Chains, chains};
pub use check::{Check, check};
pub use copies::{Copies, CopiesOfArms, CopiesOrder, copies};
pub use diff::{DiffError, DiffOptions, TraceDiff, diff};
pub use explain::{Explained, explain};
pub use facts::{Definition, Seconds, TraceFacts, definitions};
pub use filter::TaskFilter;
pub use inversions::{Inversions, inversions};
pub use kworkers::{Kworkers, PooledKworkers, kworkers};
pub use latency::{Latency, LatencySort, latency};
pub use map::{MapRow, map};
pub use overview::{Overview, overview};
pub use perf_latency::{PerfLatency, perf_latency};
pub use queues::{Queues, queues};
pub use schedlab_trace::{ByteSource, Forward, Reader, TimeWindow, TraceError};
pub use scope::{Scope, ScopeError};
pub use slow::{Slow, slow};
pub use states::{States, states};
pub use timehist::{TimehistRow, timehist};

/// Every metric of every analysis, in the order in which they are listed.
pub fn all_definitions() -> impl Iterator<Item = &'static Definition> {
    let all = [
        definitions(),
        blame::DEFINITIONS,
        chains::DEFINITIONS,
        inversions::DEFINITIONS,
        kworkers::DEFINITIONS,
        overview::DEFINITIONS,
        copies::DEFINITIONS,
        affine::DEFINITIONS,
        queues::DEFINITIONS,
        slow::DEFINITIONS,
        diff::DEFINITIONS,
    ];
    all.into_iter().flatten()
}
