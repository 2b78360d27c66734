//! From sampled profiles to findings: the share of each function, alone and with its callees, and of each call chain,
//! and these per operation of a workload. Pure: a [`Profile`] in, findings out.

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

/// The operations of a workload: how many, and when they were done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operations {
    /// Their number.
    pub count: u64,
    /// What one operation is: `round trip`.
    pub name: String,
    /// The CLOCK_MONOTONIC interval whose samples belong to them, ns.
    pub during_ns: (u64, u64),
}
