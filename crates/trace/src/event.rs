//! The one event model, which all readers yield and all analyses consume. An event has 32 bytes, owns nothing and
//! refers to strings by number, so a batch is a plain array that fits the second-level cache and is copied by cache
//! lines. Field names are the kernel's.

use crate::names::Name;
pub use crate::rows::What;

/// A CPU by the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(pub u16);

impl Cpu {
    /// Not known, or all of them.
    pub const ANY: Self = Self(u16::MAX);

    /// Number of CPUs in the largest kernel configuration (`NR_CPUS_RANGE_END` on x86); tables indexed by CPU have at
    /// most this size.
    pub const MAX_COUNT: u16 = 8192;

    /// A number from a file; `None` if no machine has such a CPU. The kernel writes −1 for "any".
    pub fn from_raw(raw: i64) -> Option<Self> {
        match raw {
            -1 => Some(Self::ANY),
            raw if (0..i64::from(Self::MAX_COUNT)).contains(&raw) => Some(Self(raw as u16)),
            _ => None,
        }
    }
}

/// A thread id in the root pid namespace. 0 is the idle thread, of which each CPU has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub u32);

impl Tid {
    /// The idle thread of some CPU.
    pub const IDLE: Self = Self(0);
    /// The kernel's `PID_MAX_LIMIT`: no thread has a larger id.
    pub const MAX: Self = Self(4 * 1024 * 1024);

    /// A number from a file; `None` if it cannot be a thread's.
    #[inline]
    pub fn from_raw(raw: i64) -> Option<Self> {
        (0..=i64::from(Self::MAX.0)).contains(&raw).then_some(Self(raw as u32))
    }
}

/// A kernel priority: −1 deadline, 0–99 real time (0 the highest), 100–139 fair (120 is nice 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prio(u8);

impl Prio {
    /// Unknown: the source does not contain it.
    pub const UNKNOWN: Self = Self(u8::MAX);

    /// From the kernel's number; a number that no kernel uses is unknown.
    #[inline]
    pub fn from_raw(raw: i64) -> Self {
        if (-1..=140).contains(&raw) { Self((raw + 1) as u8) } else { Self::UNKNOWN }
    }

    /// The kernel's number.
    pub fn get(self) -> Option<i16> {
        (self != Self::UNKNOWN).then(|| i16::from(self.0) - 1)
    }

    /// As a byte: one more than the kernel's number, 255 unknown.
    #[inline]
    pub(crate) fn byte(self) -> u8 {
        self.0
    }

    /// From a byte made by [`Prio::byte`]; any other value is unknown.
    #[inline]
    pub(crate) fn from_byte(byte: u8) -> Self {
        if byte <= 141 { Self(byte) } else { Self::UNKNOWN }
    }

    /// Deadline or real time.
    pub fn is_realtime(self) -> bool {
        self.get().is_some_and(|p| p < 100)
    }
}

/// The context in which an event was traced: the kernel's `common_flags`, of which only the interrupt bits are used
/// here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context(u8);

impl Context {
    const HARDIRQ: u8 = 0x08;
    const SOFTIRQ: u8 = 0x10;
    const NMI: u8 = 0x40;

    /// In the thread's own code, or unknown.
    pub const NONE: Self = Self(0);

    /// From `common_flags`.
    #[inline]
    pub fn from_common_flags(flags: u8) -> Self {
        Self(flags & (Self::HARDIRQ | Self::SOFTIRQ | Self::NMI))
    }

    /// The kernel's bits of it.
    #[inline]
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// In a hardirq, a softirq or an NMI, so the interrupted thread is not the cause.
    pub fn is_interrupt(self) -> bool {
        self.0 != 0
    }

    /// In a hardirq or an NMI.
    pub fn is_hard(self) -> bool {
        self.0 & (Self::HARDIRQ | Self::NMI) != 0
    }
}

/// 64 bits in two halves, so that an event needs no padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wide([u32; 2]);

impl From<u64> for Wide {
    #[inline]
    fn from(value: u64) -> Self {
        Self([value as u32, (value >> 32) as u32])
    }
}

impl Wide {
    /// The whole.
    #[inline]
    pub fn get(self) -> u64 {
        u64::from(self.0[0]) | u64::from(self.0[1]) << 32
    }
}

/// The second argument of a system call in the space that an event has for it; `u32::MAX` if it is larger, as addresses
/// are.
#[inline]
pub(crate) fn second_argument(raw: u64) -> u32 {
    u32::try_from(raw).unwrap_or(u32::MAX)
}

/// A thread became runnable, or is about to: the payload of three events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// The wakee.
    pub tid: Tid,
    /// Its name.
    pub comm: Name,
    /// The thread in whose context it was traced; it is not the cause if `context` is an interrupt.
    pub waker: Tid,
    /// For a waking: the CPU it last ran on. For a wakeup: the CPU whose queue it is on.
    pub target_cpu: Cpu,
    /// Its priority.
    pub prio: Prio,
    /// The waker's context.
    pub context: Context,
}

/// Why some of a CPU's events are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The recorder reported it.
    Lost,
    /// The thread switched out is not the one that was switched in before.
    Chain,
    /// The CPU's clock went back.
    Clock,
}

impl Wake {
    /// The thread that is the waker; `None` if an interrupt is.
    #[inline]
    pub fn by_thread(&self) -> Option<Tid> {
        (!self.context.is_interrupt() && self.waker != Tid::IDLE).then_some(self.waker)
    }
}

impl What {
    /// A mark about missing events, which is not an event of the trace.
    pub fn is_mark(&self) -> bool {
        matches!(self, Self::GapBegin | Self::GapEnd { .. } | Self::WaitsUnknown { .. })
    }
}

/// One event of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When, ns of the trace's clock.
    pub ts: u64,
    /// On which CPU it was traced.
    pub cpu: Cpu,
    /// What happened.
    pub what: What,
}

impl Event {
    /// Information of a reader about the time before the trace, such as the names that threads had: it has no time and
    /// no CPU. An event of the trace itself may have time 0, if its clock begins with the trace.
    #[inline]
    pub fn is_from_before(&self) -> bool {
        self.ts == 0 && self.cpu == Cpu::ANY
    }

    /// Whether events of its CPU are recorded from here on. perf's own records of forks, exits and names begin earlier
    /// than the tracepoints.
    pub fn begins_its_cpu(&self) -> bool {
        let may_be_perfs_own = matches!(self.what, What::Fork { .. } | What::Exit { .. } | What::Comm { .. });
        !may_be_perfs_own && !self.what.is_mark() && !self.is_from_before()
    }
}

const _: () = assert!(size_of::<Event>() == 32, "an event is half a cache line");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_kernel_writes_are_not_taken() {
        assert_eq!(Cpu::from_raw(-1), Some(Cpu::ANY));
        assert_eq!(Cpu::from_raw(8191), Some(Cpu(8191)));
        assert_eq!((Cpu::from_raw(65_535), Cpu::from_raw(1 << 32), Cpu::from_raw(-2)), (None, None, None));
        assert_eq!((Tid::from_raw(-1), Tid::from_raw(4 * 1024 * 1024 + 1)), (None, None));
        assert_eq!(Tid::from_raw(4 * 1024 * 1024), Some(Tid::MAX));
    }

    #[test]
    fn priorities_keep_their_numbers() {
        for raw in -1..=139 {
            assert_eq!(Prio::from_raw(raw).get(), Some(raw as i16));
        }
        assert_eq!(Prio::from_raw(4096), Prio::UNKNOWN);
        assert!(Prio::from_raw(-1).is_realtime() && Prio::from_raw(99).is_realtime());
        assert!(!Prio::from_raw(100).is_realtime() && !Prio::UNKNOWN.is_realtime());
    }

    #[test]
    fn wide_numbers_come_back_whole() {
        for value in [0, 1, u64::from(u32::MAX) + 7, u64::MAX] {
            assert_eq!(Wide::from(value).get(), value);
        }
    }

    #[test]
    fn only_interrupt_bits_make_an_interrupt() {
        assert!(!Context::from_common_flags(0x01 | 0x04 | 0x20 | 0x80).is_interrupt());
        assert!(Context::from_common_flags(0x10).is_interrupt() && !Context::from_common_flags(0x10).is_hard());
        assert!(Context::from_common_flags(0x08).is_hard() && Context::from_common_flags(0x40).is_hard());
    }
}
