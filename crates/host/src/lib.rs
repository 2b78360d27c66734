//! What this machine is and what it can measure: `doctor`. Read-only checks, each with its effect on results, the
//! evidence and the fix. Every manifest contains the same list, and crate `analyze` reports differences.
//!
//! Checks are small functions over a `machine::Machine`: file trees below [`Roots`], results of system calls
//! ([`SystemAnswers`]) and the caller's measurements ([`Probes`]). None of them fails: a check reports what it cannot
//! read.
#![forbid(unsafe_code)]

mod answers;
mod cpu;
mod domains;
mod draft;
mod frequency;
mod groups;
mod guest;
mod identity;
mod idle;
mod inflate;
mod kernel;
mod kernel_config;
mod kernel_costs;
mod kvm;
mod machine;
mod memory;
mod rights;
mod round_trip;
mod virtualization;

pub mod foreign;

pub use answers::{Permitted, SystemAnswers};
pub use cpu::arrangement;
pub use foreign::foreign_state;
pub use kvm::{KvmOutcome, KvmSeen, kvm};
pub use schedlab_plan::manifest::FLUCTUATING;
pub use schedlab_sys::roots::Roots;

use machine::Machine;
use schedlab_plan::{Check, Environment};

/// Measurements that only the caller can make, because they need a workload.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Probes {
    /// Mean round trip of two tasks on one CPU, ns.
    pub round_trip_same_ns: Option<f64>,
    /// Mean round trip of two tasks on two CPUs, ns.
    pub round_trip_apart_ns: Option<f64>,
}

/// One check.
type CheckFn = fn(&Machine<'_>) -> Check;

/// Every check, in the order it is printed.
const CHECKS: &[CheckFn] = &[
    kernel::preempt_model,
    kernel::tick,
    kernel::hrtick,
    kernel::default_slice,
    kernel::sched_ext,
    kernel::schedstats,
    kernel_costs::debug_options,
    kernel_costs::context_tracking,
    kernel_costs::audit,
    kernel_costs::seccomp,
    kernel_costs::mitigations,
    frequency::governor,
    frequency::turbo,
    frequency::energy_aware,
    idle::cpuidle,
    idle::halt_polling,
    cpu::smt,
    cpu::topology,
    domains::sched_domains,
    cpu::isolated,
    memory::page_size,
    memory::transparent_hugepages,
    memory::numa_balancing,
    cpu::clocksource,
    virtualization::hypervisor,
    virtualization::steal_rate,
    virtualization::background_load,
    groups::autogroup,
    groups::cgroup,
    groups::cpu_quota,
    groups::pressure,
    rights::limits,
    rights::lockdown,
    rights::tracefs,
    rights::perf_software,
    rights::pmu,
    rights::bpf,
    rights::real_time,
];

/// The machine below `roots`; system calls go to the running kernel.
pub fn environment(roots: &Roots, probes: Probes) -> Environment {
    environment_of(roots, &SystemAnswers::ask(), probes)
}

/// The same with given results of system calls: for tests, and for a tree copied from another machine.
pub fn environment_of(roots: &Roots, answers: &SystemAnswers, probes: Probes) -> Environment {
    let machine = Machine::new(roots, answers);
    let mut environment = identity::identity(&machine);
    environment.checks = CHECKS.iter().map(|check| check(&machine)).collect();
    environment.checks.extend(guest::lane(&machine));
    environment.checks.extend(guest::kernel(&machine));
    environment.checks.push(round_trip::round_trip(probes));
    environment
}
