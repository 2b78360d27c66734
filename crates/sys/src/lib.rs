//! Kernel interfaces: syscalls, clocks, shared mappings, perf events; the only crate with unsafe. One file per kernel
//! interface, each with a safe, typed surface; every unsafe block holds one operation and the argument for it.

pub mod affinity;
pub mod audit;
pub mod clock;
pub mod cpu_number;
pub mod durable;
pub mod fd;
pub mod futex;
pub mod interrupt;
pub mod kernel_facts;
pub mod namespace;
pub mod perf_event;
pub mod pidfd;
pub mod process;
pub mod rights;
pub mod rlimit;
pub mod roots;
pub mod rusage;
pub mod sched_attr;
pub mod shared_memory;
pub mod signal;
pub mod terminal;
pub mod thread;
pub mod timer_slack;
