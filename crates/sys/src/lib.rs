//! Kernel interfaces: syscalls, clocks, shared mappings, perf events; the only crate with unsafe. One file per kernel
//! interface, each with a safe, typed surface; every unsafe block holds one operation and the argument for it.

pub mod affinity;
pub mod audit;
pub mod binder;
pub mod clock;
pub mod cpu_number;
pub mod durable;
pub mod exec;
pub mod fd;
pub mod fd_passing;
pub mod futex;
pub mod interrupt;
pub mod kernel_facts;
pub mod module;
pub mod namespace;
pub mod net_name;
pub mod netlink;
pub mod perf_event;
pub mod pidfd;
pub mod power;
pub mod process;
pub mod process_memory;
pub mod rights;
pub mod rlimit;
pub mod roots;
pub mod rtnetlink;
pub mod rusage;
pub mod sched_attr;
pub mod seccomp_notify;
pub mod shared_memory;
pub mod signal;
pub mod tcp;
pub mod terminal;
pub mod thread;
pub mod timer_slack;
