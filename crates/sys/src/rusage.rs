//! Resource usage of a process, a thread, or a reaped child. Source: getrusage(2), wait4(2).

/// The fields we use, in our units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rusage {
    /// User and system CPU time, ns (µs resolution).
    pub cpu_ns: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Largest resident set, bytes.
    pub max_rss_bytes: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
}

impl Rusage {
    pub(crate) fn from_raw(raw: &libc::rusage) -> Self {
        let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
        Self {
            cpu_ns: ns(raw.ru_utime) + ns(raw.ru_stime),
            voluntary_switches: raw.ru_nvcsw as u64,
            involuntary_switches: raw.ru_nivcsw as u64,
            max_rss_bytes: raw.ru_maxrss as u64 * 1024,
            minor_faults: raw.ru_minflt as u64,
        }
    }
}

pub(crate) fn empty_raw() -> libc::rusage {
    // SAFETY: rusage is a plain C struct of integers (and padding), for which all zeros is a valid value.
    unsafe { std::mem::zeroed() }
}

fn read(who: libc::c_int) -> Rusage {
    let mut raw = empty_raw();
    // SAFETY: `raw` is a live, writable rusage for the length of the call.
    let rc = unsafe { libc::getrusage(who, &raw mut raw) };
    debug_assert_eq!(rc, 0, "getrusage fails only for an unknown `who`");
    Rusage::from_raw(&raw)
}

/// RUSAGE_SELF: the whole process.
pub fn of_process() -> Rusage {
    read(libc::RUSAGE_SELF)
}

/// RUSAGE_THREAD: the calling thread.
pub fn of_thread() -> Rusage {
    read(libc::RUSAGE_THREAD)
}

/// RUSAGE_CHILDREN: all children that have been waited for, and theirs.
pub fn of_children() -> Rusage {
    read(libc::RUSAGE_CHILDREN)
}
