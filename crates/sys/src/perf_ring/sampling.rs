//! perf's sampling events and the ring buffer that each writes to: which task ran, where, and with which call chain.
//! One event and one ring per CPU, because an inherited event can be mapped only if it is bound to a CPU.

use super::mapping::Mapping;
use crate::perf_event::{self, control};
use perf_event_open_sys as raw;
use raw::bindings;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// What sets the pace of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Core cycles, hardware: a non-maskable interrupt on x86, so that code with interrupts off is sampled too.
    Cycles,
    /// A kernel timer: it fires only where interrupts are on.
    CpuClock,
}

/// Which tasks are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampled {
    /// Everything that runs on the CPU, including the idle task; needs CAP_PERFMON or `kernel.perf_event_paranoid` of 0
    /// or less.
    Everyone,
    /// The processes that the calling thread starts from now on, each from its first exec; neither the caller nor
    /// children that never exec. Such an event is switched with its task, which costs time at every context switch.
    ChildrenThatExec,
}

/// A sampling event on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleOrder {
    /// Its pace.
    pub pace: Pace,
    /// Samples a second of CPU time.
    pub frequency_hz: u32,
    /// The CPU.
    pub cpu: u32,
    /// Whose.
    pub sampled: Sampled,
    /// Whether to sample kernel mode too; needs CAP_PERFMON or `kernel.perf_event_paranoid` of 1 or less.
    pub with_kernel: bool,
    /// Most frames in a call chain; 0 leaves the kernel's own limit (`kernel.perf_event_max_stack`).
    pub most_frames: u16,
    /// Pages of the ring, a power of two.
    pub ring_pages: usize,
}

/// The layout of samples, and the end of every other record in the ring: the words that `sample_type` asks for, in the
/// order of the kernel's enum. The reader of the records (crate `record`) relies on it. (The cast: the enum has 32 bits
/// in the bindings of one architecture and 64 in those of another.)
const SAMPLE_TYPE: u64 = (bindings::PERF_SAMPLE_IP
    | bindings::PERF_SAMPLE_TID
    | bindings::PERF_SAMPLE_TIME
    | bindings::PERF_SAMPLE_CPU
    | bindings::PERF_SAMPLE_PERIOD
    | bindings::PERF_SAMPLE_CALLCHAIN) as u64;

/// An open event, disabled at first, and its ring.
#[derive(Debug)]
pub struct SampleRing {
    event: OwnedFd,
    mapping: Mapping,
}

impl SampleRing {
    /// Opens the event and maps its ring. Errors are the kernel's: `EACCES`/`EPERM` without a permission (or, from the
    /// mapping, if the ring is larger than `kernel.perf_event_mlock_kb` and RLIMIT_MEMLOCK allow), `ENOENT` or
    /// `EOPNOTSUPP` if the CPU has no such counter, `ENODEV` if it is offline.
    pub fn open(order: &SampleOrder) -> io::Result<Self> {
        let (pid, children) = match order.sampled {
            Sampled::Everyone => (-1, false),
            Sampled::ChildrenThatExec => (0, true),
        };
        let event = perf_event::open(&mut attributes(order, children), pid, order.cpu as i32, -1)?;
        let mapping = Mapping::new(event.as_fd(), order.ring_pages)?;
        Ok(Self { event, mapping })
    }

    /// Starts sampling at once, including what already runs.
    pub fn enable(&self) -> io::Result<()> {
        control(self.event.as_fd(), raw::ioctls::ENABLE, 0)
    }

    /// Stops sampling, children included; records in the ring can still be drained.
    pub fn disable(&self) -> io::Result<()> {
        control(self.event.as_fd(), raw::ioctls::DISABLE, 0)
    }

    /// Appends all complete records in the ring, as the kernel wrote them, and frees their space.
    pub fn drain(&mut self, out: &mut Vec<u8>) {
        self.mapping.drain(out);
    }
}

fn attributes(order: &SampleOrder, children: bool) -> bindings::perf_event_attr {
    let (type_, config) = match order.pace {
        Pace::Cycles => (bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_CPU_CYCLES),
        Pace::CpuClock => (bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_CPU_CLOCK),
    };
    let mut attr = bindings::perf_event_attr {
        type_,
        size: size_of::<bindings::perf_event_attr>() as u32,
        config: u64::from(config),
        sample_type: SAMPLE_TYPE,
        sample_max_stack: order.most_frames,
        // The workloads' clock, so that a sample can be assigned to a phase.
        clockid: libc::CLOCK_MONOTONIC,
        ..Default::default()
    };
    // A union whose named member has its full width; writing one is safe.
    attr.__bindgen_anon_1.sample_freq = u64::from(order.frequency_hz);
    attr.set_freq(1);
    attr.set_use_clockid(1);
    attr.set_disabled(1);
    attr.set_sample_id_all(1);
    attr.set_exclude_hv(1);
    attr.set_exclude_guest(u64::from(order.pace == Pace::Cycles));
    attr.set_exclude_kernel(u64::from(!order.with_kernel));
    attr.set_exclude_callchain_kernel(u64::from(!order.with_kernel));
    attr.set_inherit(u64::from(children));
    attr.set_enable_on_exec(u64::from(children));
    // For resolving addresses: mappings of code, execs, forks and exits.
    attr.set_mmap(1);
    attr.set_mmap2(1);
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_task(1);
    // No task sleeps on the ring; without the watermark the kernel would look for one to wake at every sample.
    attr.set_watermark(1);
    attr
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

    fn order(sampled: Sampled) -> SampleOrder {
        SampleOrder {
            pace: Pace::CpuClock,
            frequency_hz: 1997,
            cpu: 0,
            sampled,
            with_kernel: false,
            most_frames: 32,
            ring_pages: 8,
        }
    }

    /// The ring; where this machine cannot test it, prints why.
    fn opened(order: &SampleOrder) -> Option<SampleRing> {
        match SampleRing::open(order) {
            Ok(ring) => Some(ring),
            Err(error) => {
                use std::io::Write;
                let _ = writeln!(io::stderr(), "schedlab-skip: perf_ring: needs CAP_PERFMON ({error})");
                None
            }
        }
    }

    /// The types of the records; these must fill the bytes exactly.
    fn types(mut bytes: &[u8]) -> Vec<u32> {
        let mut types = Vec::new();
        while !bytes.is_empty() {
            types.push(u32::from_ne_bytes(bytes[..4].try_into().unwrap()));
            let size = u16::from_ne_bytes(bytes[6..8].try_into().unwrap());
            bytes = &bytes[usize::from(size)..];
        }
        types
    }

    #[test]
    fn whole_records_come_out_also_over_the_end_of_the_ring() {
        let Some(mut ring) = opened(&order(Sampled::Everyone)) else { return };
        crate::affinity::set_affinity(0, &[0]).unwrap();
        ring.enable().unwrap();
        let (mut samples, mut passed, mut bytes) = (0, 0, Vec::new());
        let mut x = 1u64;
        // A ring of 32 KiB, filled at 100 bytes a sample: three rounds take a second at most.
        for _ in 0..2_000 {
            (0..20_000).for_each(|n| x = std::hint::black_box(x.wrapping_mul(n | 1)));
            bytes.clear();
            ring.drain(&mut bytes);
            passed += bytes.len();
            samples += types(&bytes).iter().filter(|t| **t == bindings::PERF_RECORD_SAMPLE).count();
            if passed > 3 * (8 << 12) {
                break;
            }
        }
        ring.disable().unwrap();
        assert!(samples > 0, "{passed} bytes");
        bytes.clear();
        ring.drain(&mut bytes);
        ring.drain(&mut bytes);
        types(&bytes);
    }

    #[test]
    fn a_child_is_followed_from_its_exec_and_the_caller_is_not() {
        let Some(mut ring) = opened(&order(Sampled::ChildrenThatExec)) else { return };
        let line: Vec<std::ffi::CString> = ["true"].iter().map(|w| std::ffi::CString::new(*w).unwrap()).collect();
        let pid = process::fork_child(|| {
            let _ = crate::affinity::set_affinity(0, &[0]);
            crate::exec::replace(&line).raw_os_error().unwrap_or(1)
        });
        let pid = pid.unwrap();
        process::wait_for(pid).unwrap();
        let mut bytes = Vec::new();
        ring.drain(&mut bytes);
        let types = types(&bytes);
        for expected in [bindings::PERF_RECORD_COMM, bindings::PERF_RECORD_MMAP2, bindings::PERF_RECORD_EXIT] {
            assert!(types.contains(&expected), "{expected} in {types:?}");
        }
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused() {
        let order = SampleOrder { cpu: 65_000, ..order(Sampled::Everyone) };
        assert!(SampleRing::open(&order).is_err());
    }
}
