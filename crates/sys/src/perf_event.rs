//! perf's counting events: groups of software or hardware counters on a CPU or on this process and its children. A
//! group is scheduled on and off the PMU as one, so its members cover exactly the same period; where `running_ns <
//! enabled_ns` the counts are estimates. Source: perf_event_open(2), include/uapi/linux/perf_event.h.

use perf_event_open_sys as raw;
use raw::bindings;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Context switches, software.
    ContextSwitches,
    /// Times a task was switched in on another CPU than before, software.
    CpuMigrations,
    /// Page faults, software.
    PageFaults,
    /// CPU time of the tasks, ns, software.
    TaskClock,
    /// Core cycles, hardware.
    Cycles,
    /// Retired instructions, hardware.
    Instructions,
    /// Last-level cache misses, hardware.
    CacheMisses,
    /// Mispredicted branches, hardware.
    BranchMisses,
    /// An event of a PMU in its own encoding.
    Raw(RawEvent),
}

/// An event as its PMU encodes it: the type and the bit fields come from /sys/bus/event_source/devices/PMU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RawEvent {
    /// `type` of the PMU.
    pub pmu_type: u32,
    /// `perf_event_attr.config`, `config1` and `config2`.
    pub config: [u64; 3],
    /// The PMU is not a core's (memory controller, interconnect): it counts for a socket or die, and does not support
    /// excluding user or kernel mode.
    pub is_uncore: bool,
}

impl Event {
    /// The software events, in the order of the kernel's enum.
    pub const SOFTWARE: [Self; 4] = [Self::TaskClock, Self::PageFaults, Self::ContextSwitches, Self::CpuMigrations];
    /// The hardware events of the group.
    pub const HARDWARE: [Self; 4] = [Self::Cycles, Self::Instructions, Self::CacheMisses, Self::BranchMisses];

    /// The kernel's type and config.
    fn type_and_config(self) -> (u32, u64) {
        let (type_, config) = match self {
            Self::Raw(raw) => return (raw.pmu_type, raw.config[0]),
            Self::ContextSwitches => (bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_CONTEXT_SWITCHES),
            Self::CpuMigrations => (bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_CPU_MIGRATIONS),
            Self::PageFaults => (bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_PAGE_FAULTS),
            Self::TaskClock => (bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_TASK_CLOCK),
            Self::Cycles => (bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_CPU_CYCLES),
            Self::Instructions => (bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_INSTRUCTIONS),
            Self::CacheMisses => (bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_CACHE_MISSES),
            Self::BranchMisses => (bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_BRANCH_MISSES),
        };
        (type_, u64::from(config))
    }
}

/// On what it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Everything that runs on one CPU; needs CAP_PERFMON or `kernel.perf_event_paranoid` of 0 or less.
    Cpu(u32),
    /// This process and every task that it creates from now on. The event is switched in and out with each task, which
    /// costs time at every context switch. Needs CAP_PERFMON or `kernel.perf_event_paranoid` of 1 or less.
    ThisProcessAndChildren,
}

/// A count and the period that it covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Counts, not scaled.
    pub value: u64,
    /// ns during which the group was enabled.
    pub enabled_ns: u64,
    /// ns during which it actually counted.
    pub running_ns: u64,
}

/// The most events in a [`Group`]: a group for Intel's top-down metrics has nine.
pub const MAX_EVENTS: usize = 12;

/// Open events that count together; created disabled.
#[derive(Debug)]
pub struct Group {
    members: Vec<File>,
    target: Target,
}

impl Group {
    /// Opens these events on the target, disabled. Errors are the kernel's: `EACCES`/`EPERM` without the permission,
    /// `ENOENT`/`EOPNOTSUPP` if there is no such counter (no PMU), `ENODEV` for a CPU that is offline, `EINVAL` for
    /// more events than the PMU can count at once.
    pub fn open(events: &[Event], target: Target) -> io::Result<Self> {
        if events.len() > MAX_EVENTS {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "more events than a group here can read at once"));
        }
        let mut group = Self { members: Vec::with_capacity(events.len()), target };
        for &event in events {
            let leader = group.members.first().map_or(-1, File::as_raw_fd);
            group.members.push(File::from(open_one(event, target, leader)?));
        }
        Ok(group)
    }

    /// Counts the calls of a kernel function on a CPU with a kprobe at its first instruction; created disabled.
    /// `pmu_type` is that of the `kprobe` PMU. `ENOENT` if the kernel has no such symbol, `EINVAL` if it must not be
    /// probed, `EACCES` without CAP_PERFMON. Source: kernel/events/core.c, `perf_kprobe`.
    pub fn open_calls(pmu_type: u32, function: &CStr, cpu: u32) -> io::Result<Self> {
        // `kprobe_func` and `probe_offset`, which are unions with config1 and config2.
        let config = [0, function.as_ptr() as u64, 0];
        let event = Event::Raw(RawEvent { pmu_type, config, is_uncore: false });
        Self::open(&[event], Target::Cpu(cpu))
    }

    /// Starts counting, also for tasks that exist already.
    pub fn enable(&self) -> io::Result<()> {
        self.control(raw::ioctls::ENABLE)
    }

    /// Stops counting; the values stay readable.
    pub fn disable(&self) -> io::Result<()> {
        self.control(raw::ioctls::DISABLE)
    }

    fn control(&self, request: unsafe fn(libc::c_int, libc::c_uint) -> libc::c_int) -> io::Result<()> {
        let Some(leader) = self.members.first() else { return Ok(()) };
        control(leader.as_fd(), request, bindings::PERF_IOC_FLAG_GROUP)
    }

    /// Appends one reading per event, in the order of `open`. For a CPU, one call reads the group. Kernels before 6.12
    /// refuse that for inherited events, so these are read one by one.
    pub fn read(&self, out: &mut Vec<Reading>) -> io::Result<()> {
        match self.target {
            Target::Cpu(_) => self.read_at_once(out),
            Target::ThisProcessAndChildren => {
                for member in &self.members {
                    let words: [u64; 3] = read_words(member)?;
                    out.push(Reading { value: words[0], enabled_ns: words[1], running_ns: words[2] });
                }
                Ok(())
            }
        }
    }

    fn read_at_once(&self, out: &mut Vec<Reading>) -> io::Result<()> {
        let Some(leader) = self.members.first() else { return Ok(()) };
        // nr, time_enabled, time_running, then one value per member; `open` refuses a group larger than the array.
        let words: [u64; 3 + MAX_EVENTS] = read_words(leader)?;
        for index in 0..self.members.len() {
            out.push(Reading { value: words[3 + index], enabled_ns: words[1], running_ns: words[2] });
        }
        Ok(())
    }
}

/// ENABLE or DISABLE for an event, or for its group.
pub(crate) fn control(
    event: BorrowedFd<'_>,
    request: unsafe fn(libc::c_int, libc::c_uint) -> libc::c_int,
    flags: u32,
) -> io::Result<()> {
    // SAFETY: ENABLE and DISABLE take a perf descriptor, which `event` keeps open for the length of the call, and an
    // integer flag; they touch no memory of ours.
    let rc = unsafe { request(event.as_raw_fd(), flags) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// One read(2) from a perf descriptor into native words; words that the kernel does not fill stay 0.
fn read_words<const N: usize>(mut file: &File) -> io::Result<[u64; N]> {
    let mut bytes = [0u8; 8 * 16];
    let got = file.read(&mut bytes[..8 * N])?;
    if got < 24 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the perf event is in an error state"));
    }
    let mut words = [0u64; N];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_ne_bytes(chunk.try_into().expect("chunks of eight bytes"));
    }
    Ok(words)
}

fn open_one(event: Event, target: Target, leader: i32) -> io::Result<OwnedFd> {
    let (type_, config) = event.type_and_config();
    let mut attr = bindings::perf_event_attr {
        type_,
        size: size_of::<bindings::perf_event_attr>() as u32,
        config,
        ..Default::default()
    };
    let is_uncore = match event {
        Event::Raw(raw) => {
            // Both are unions whose named member is the widest; writing one is safe.
            attr.__bindgen_anon_3.config1 = raw.config[1];
            attr.__bindgen_anon_4.config2 = raw.config[2];
            raw.is_uncore
        }
        _ => false,
    };
    let times = bindings::PERF_FORMAT_TOTAL_TIME_ENABLED | bindings::PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.read_format = u64::from(times);
    // Members follow their leader; only the leader is enabled and disabled.
    attr.set_disabled(u64::from(leader < 0));
    attr.set_exclude_hv(u64::from(!is_uncore));
    let (pid, cpu) = match target {
        Target::Cpu(cpu) => {
            attr.read_format |= u64::from(bindings::PERF_FORMAT_GROUP);
            (-1, cpu as i32)
        }
        Target::ThisProcessAndChildren => {
            attr.set_inherit(1);
            (0, -1)
        }
    };
    open(&mut attr, pid, cpu, leader)
}

/// perf_event_open(2) with an attribute whose `size` is that of the bindings.
pub(crate) fn open(attr: &mut bindings::perf_event_attr, pid: i32, cpu: i32, leader: i32) -> io::Result<OwnedFd> {
    let flags = libc::c_ulong::from(bindings::PERF_FLAG_FD_CLOEXEC);
    // SAFETY: `attr` is a live, fully initialised perf_event_attr of `size` bytes, which the call may write (its
    // `size`, when the kernel's is another), hence the exclusive borrow. It names no other memory that is written: what
    // an event samples goes to a ring that is mapped by a call of its own; a probe's function name is copied from the
    // address, which `open_calls` borrows for the call, and a bad one is EFAULT.
    let fd = unsafe { raw::perf_event_open(&raw mut *attr, pid, cpu, leader, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, ours, and owned nowhere else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests;
