//! Sampled profiles to findings: the share of each function, alone and with what it calls, of each call chain, and what
//! that is per operation of a workload. Pure: a [`Profile`] in, findings out.

mod annotate;
mod folded;
mod groups;
mod interrupts_off;
mod shares;
mod tally;

pub use annotate::{Annotation, InstructionShare, annotate, functions_named};
pub use folded::folded;
pub use groups::{GroupFindings, GroupShare, Weight, group_of, group_of_source};
pub use schedlab_plan::profile::Profile;
pub use shares::{ChainShare, FunctionShare, ProfileFindings, ProfileOptions, SCHEMA, SortBy, TaskShare, profile};

/// What the operations of a workload are measured in, and when they were done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operations {
    /// How many.
    pub count: u64,
    /// What one is: `round trip`.
    pub name: String,
    /// CLOCK_MONOTONIC from which, and until which, samples belong to them, ns.
    pub during_ns: (u64, u64),
}
