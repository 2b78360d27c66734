//! What the kernel reports through system calls rather than in files.

use schedlab_sys::audit::{self, AuditState};
use schedlab_sys::kernel_facts::{self, Uname};
use schedlab_sys::perf_event::{Event, Group, Target};
use schedlab_sys::rights;

/// Whether something is permitted; if not, the kernel's error message.
pub type Permitted = Result<(), String>;

/// The results of these calls for one process on one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemAnswers {
    /// uname(2).
    pub uname: Uname,
    /// Bytes of a page.
    pub page_size_bytes: u64,
    /// The tick's length, ns.
    pub tick_ns: Option<u64>,
    /// A software event on a whole CPU.
    pub perf_cpu: Permitted,
    /// A hardware counter on a whole CPU.
    pub pmu: Permitted,
    /// Creating a BPF map.
    pub bpf: Permitted,
    /// SCHED_FIFO on a thread of ours.
    pub fifo: Permitted,
    /// State of auditing, or the kernel's error message.
    pub audit: Result<AuditState, String>,
}

impl SystemAnswers {
    /// Asks the running kernel; each probe is tiny and leaves nothing behind.
    pub fn ask() -> Self {
        let open = |event| Group::open(&[event], Target::Cpu(first_cpu())).map(drop).map_err(|e| e.to_string());
        Self {
            uname: kernel_facts::uname().unwrap_or_default(),
            page_size_bytes: kernel_facts::page_size_bytes(),
            tick_ns: kernel_facts::tick_ns().ok(),
            perf_cpu: open(Event::CpuMigrations),
            pmu: open(Event::Cycles),
            bpf: rights::try_bpf().map_err(|e| e.to_string()),
            fifo: rights::try_fifo().map_err(|e| e.to_string()),
            audit: audit::audit_state().map_err(|e| e.to_string()),
        }
    }
}

/// A CPU we may run on: CPU 0 can be offline.
fn first_cpu() -> u32 {
    schedlab_sys::affinity::allowed_cpus(0).ok().and_then(|cpus| cpus.first().copied()).unwrap_or(0)
}
