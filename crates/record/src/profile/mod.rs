//! Sampled profiles: which functions the CPUs are found in, and by whom these were called. Needs perf_event_open(2) only:
//! no module, no BPF, no tracefs. The kernel's stacks are unwound by the kernel; user stacks by frame pointers, so they
//! are whole only for programs built with them.

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
pub use sampler::{DEFAULT_HZ, ProfileOrder, Sampler, Whose};
