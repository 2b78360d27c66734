//! The records of a sampling ring, as `sys::perf_ring` requests them: samples with a call chain, and the records needed
//! to resolve addresses (execs, mappings, forks). Pure: bytes in, records out. Source: perf_event_open(2), "MMAP
//! layout".

/// A record that matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    /// A task was found somewhere.
    Sample(RawSample),
    /// A thread has a new name; with `exec`, its process also runs a new program.
    Comm {
        /// The thread.
        task: Task,
        /// By an exec.
        exec: bool,
        /// Up to 15 bytes.
        name: &'a [u8],
    },
    /// Code was mapped.
    Mapped {
        /// Into this process.
        pid: u32,
        /// What and where.
        mapping: MappedCode<'a>,
    },
    /// A thread was created; also a process if `task.pid` is not `parent.pid`.
    Forked {
        /// The new one.
        task: Task,
        /// Who made it.
        parent: Task,
    },
    /// Number of samples for which the ring had no room.
    Lost(u64),
    /// The kernel throttled sampling for a while.
    Throttled,
}

/// A thread and its process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Task {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
}

/// A mapping of code into an address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedCode<'a> {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Offset in the file of the byte at `start`.
    pub file_offset: u64,
    /// Path of the file, or the kernel's name for a mapping without one: `[vdso]`, `//anon`.
    pub name: &'a [u8],
}

/// A sample as the kernel writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawSample {
    /// The sampled task.
    pub task: Task,
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// Where it ran.
    pub cpu: u32,
    /// What the sample stands for: ns or cycles.
    pub period: u64,
    /// The innermost first.
    pub chain: Vec<Address>,
}

/// An address, and whether it belongs to the kernel or to user space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// An address in the kernel, or in the process.
    pub address: u64,
    /// The kernel's.
    pub is_kernel: bool,
}

/// Types and bits of include/uapi/linux/perf_event.h.
mod kind {
    pub(super) const LOST: u32 = 2;
    pub(super) const COMM: u32 = 3;
    pub(super) const THROTTLE: u32 = 5;
    pub(super) const FORK: u32 = 7;
    pub(super) const SAMPLE: u32 = 9;
    pub(super) const MMAP2: u32 = 10;
    pub(super) const LOST_SAMPLES: u32 = 13;
    pub(super) const MISC_COMM_EXEC: u16 = 1 << 13;
    pub(super) const MISC_CPUMODE: u16 = 7;
    pub(super) const MISC_KERNEL: u16 = 1;
    /// Below this, an entry of a call chain is an address; from here on, it is a marker for whose addresses follow.
    pub(super) const CONTEXT_FIRST: u64 = -4095i64 as u64;
    pub(super) const CONTEXT_KERNEL: u64 = -128i64 as u64;
}

/// The end of every record that is not a sample: pid, tid, time, CPU.
const TRAILER_BYTES: usize = 24;

/// One step through a ring's bytes: the record that was read, and the remaining bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<'a> {
    /// ns, CLOCK_MONOTONIC; orders the records of several rings.
    pub time_ns: u64,
    /// `None` for a record that is not used here.
    pub record: Option<Record<'a>>,
    /// The bytes after it, always fewer than before.
    pub rest: &'a [u8],
}

/// The first record in the bytes of a ring; `None` at their end, and where they cannot be a record.
pub fn next(bytes: &[u8]) -> Option<Step<'_>> {
    let mut header = Words(bytes);
    let type_ = header.u32()?;
    let misc = header.u16()?;
    let size = usize::from(header.u16()?);
    let whole = bytes.get(..size).filter(|whole| whole.len() >= 8)?;
    let body = &whole[8..];
    let (time_ns, record) = match type_ {
        kind::SAMPLE => {
            let sample = sample(body, misc);
            (sample.as_ref().map_or(0, |s| s.time_ns), sample.map(Record::Sample))
        }
        _ => {
            let (body, time_ns) = trailer(body);
            (time_ns, other(type_, misc, body))
        }
    };
    Some(Step { time_ns, record, rest: &bytes[size..] })
}

/// The words before the trailer, and its time.
fn trailer(body: &[u8]) -> (&[u8], u64) {
    let Some(split) = body.len().checked_sub(TRAILER_BYTES) else { return (body, 0) };
    let (body, trailer) = body.split_at(split);
    (body, Words(&trailer[8..]).u64().unwrap_or(0))
}

fn other(type_: u32, misc: u16, body: &[u8]) -> Option<Record<'_>> {
    let mut words = Words(body);
    Some(match type_ {
        kind::LOST => {
            words.u64()?;
            Record::Lost(words.u64()?)
        }
        kind::LOST_SAMPLES => Record::Lost(words.u64()?),
        kind::THROTTLE => Record::Throttled,
        kind::COMM => {
            let task = words.task()?;
            Record::Comm { task, exec: misc & kind::MISC_COMM_EXEC != 0, name: text(words.0) }
        }
        kind::FORK => {
            let (pid, parent_pid) = (words.u32()?, words.u32()?);
            let (tid, parent_tid) = (words.u32()?, words.u32()?);
            Record::Forked { task: Task { pid, tid }, parent: Task { pid: parent_pid, tid: parent_tid } }
        }
        kind::MMAP2 => {
            let pid = words.task()?.pid;
            let (start, length, file_offset) = (words.u64()?, words.u64()?, words.u64()?);
            // Device, inode and its generation (or a build id), protection, flags.
            words.skip(4 + 4 + 8 + 8 + 4 + 4)?;
            Record::Mapped { pid, mapping: MappedCode { start, length, file_offset, name: text(words.0) } }
        }
        _ => return None,
    })
}

fn sample(body: &[u8], misc: u16) -> Option<RawSample> {
    let mut words = Words(body);
    let ip = words.u64()?;
    let task = words.task()?;
    let time_ns = words.u64()?;
    let cpu = words.u32()?;
    words.skip(4)?;
    let period = words.u64()?;
    let entries = words.u64()?;
    let mut is_kernel = misc & kind::MISC_CPUMODE == kind::MISC_KERNEL;
    let mut chain = Vec::new();
    for _ in 0..entries {
        match words.u64()? {
            context @ kind::CONTEXT_FIRST.. => is_kernel = context == kind::CONTEXT_KERNEL,
            address => chain.push(Address { address, is_kernel }),
        }
    }
    if chain.is_empty() {
        chain.push(Address { address: ip, is_kernel: misc & kind::MISC_CPUMODE == kind::MISC_KERNEL });
    }
    Some(RawSample { task, time_ns, cpu, period, chain })
}

/// Up to the first NUL.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}

/// Reads native words from the front of bytes.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }
    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }
    fn task(&mut self) -> Option<Task> {
        Some(Task { pid: self.u32()?, tid: self.u32()? })
    }
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }
}

#[cfg(test)]
pub(crate) mod written {
    //! Records as the kernel writes them, for tests.

    use super::{Address, Task, kind};

    pub(crate) fn record(type_: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let size = u16::try_from(8 + body.len()).unwrap();
        [&type_.to_ne_bytes()[..], &misc.to_ne_bytes(), &size.to_ne_bytes(), body].concat()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    fn task(task: Task) -> Vec<u8> {
        [task.pid.to_ne_bytes(), task.tid.to_ne_bytes()].concat()
    }

    fn with_trailer(type_: u32, misc: u16, body: &[u8], of: Task, time_ns: u64) -> Vec<u8> {
        record(type_, misc, &[body, &task(of), &words(&[time_ns, 0])].concat())
    }

    /// Padded with NULs to a multiple of a word, as the kernel pads names.
    fn padded(name: &str) -> Vec<u8> {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize((bytes.len() + 8) & !7, 0);
        bytes
    }

    pub(crate) fn sample(of: Task, time_ns: u64, period: u64, chain: &[Address]) -> Vec<u8> {
        let mut entries = Vec::new();
        let mut before = None;
        for at in chain {
            if before != Some(at.is_kernel) {
                entries.push(if at.is_kernel { kind::CONTEXT_KERNEL } else { -512i64 as u64 });
                before = Some(at.is_kernel);
            }
            entries.push(at.address);
        }
        let head = [words(&[chain.first().map_or(0, |a| a.address)]), task(of), words(&[time_ns])].concat();
        let tail = words(&[&[3, period, entries.len() as u64], &entries[..]].concat());
        let misc = if chain.first().is_some_and(|a| a.is_kernel) { kind::MISC_KERNEL } else { 2 };
        record(kind::SAMPLE, misc, &[head, tail].concat())
    }

    pub(crate) fn comm(of: Task, exec: bool, name: &str, time_ns: u64) -> Vec<u8> {
        let misc = if exec { kind::MISC_COMM_EXEC } else { 0 };
        with_trailer(kind::COMM, misc, &[task(of), padded(name)].concat(), of, time_ns)
    }

    pub(crate) fn fork(of: Task, parent: Task, time_ns: u64) -> Vec<u8> {
        let ids = [of.pid, parent.pid, of.tid, parent.tid].map(u32::to_ne_bytes).concat();
        with_trailer(kind::FORK, 0, &[ids, words(&[time_ns])].concat(), of, time_ns)
    }

    pub(crate) fn mmap2(of: Task, [start, length, file_offset]: [u64; 3], name: &str, time_ns: u64) -> Vec<u8> {
        let body = [task(of), words(&[start, length, file_offset, 0, 77, 0, 5]), padded(name)].concat();
        with_trailer(kind::MMAP2, 2, &body, of, time_ns)
    }

    pub(crate) fn lost(n: u64, time_ns: u64) -> Vec<u8> {
        with_trailer(kind::LOST, 0, &words(&[1, n]), Task::default(), time_ns)
    }
}

#[cfg(test)]
mod tests;
