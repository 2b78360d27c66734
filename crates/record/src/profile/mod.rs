//! Sampled profiles: which functions the CPUs are found in, and who called these. They need only perf_event_open(2): no
//! module, no BPF, no tracefs. The kernel unwinds its own stacks; user stacks are unwound by frame pointers, so they
//! are complete only for programs built with them.

mod code;
mod error;
mod gather;
mod image;
mod kallsyms;
mod naming;
mod proc_scan;
pub mod records;
mod sampler;
mod spaces;

pub use code::instructions;
pub use error::ProfileError;
pub use kallsyms::{KernelSymbol, KernelSymbols};
pub use sampler::{DEFAULT_HZ, ProfileOrder, ProfileScope, Sampler};
