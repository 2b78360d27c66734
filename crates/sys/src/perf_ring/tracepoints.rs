//! The tracepoints of one CPU, all in one ring: each hit is a sample with its time and the raw record, the same bytes
//! that ftrace writes. The sample type is `PERF_SAMPLE_TIME | PERF_SAMPLE_RAW`, so a sample is time, length and record;
//! other records end with their time. The decoder (crate `trace`) relies on it.

use super::mapping::Mapping;
use crate::perf_event::{self, control};
use perf_event_open_sys as raw;
use raw::bindings;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

/// The cast: the enum has 32 bits in the bindings of one architecture and 64 in those of another.
const SAMPLE_TYPE: u64 = (bindings::PERF_SAMPLE_TIME | bindings::PERF_SAMPLE_RAW) as u64;

/// `PERF_FORMAT_LOST` (Linux 6.0), which some versions of the bindings lack.
const FORMAT_LOST: u64 = 1 << 4;

/// The open events of a ring; any thread can enable and disable them through this.
#[derive(Debug)]
pub struct Tracepoints {
    events: Vec<File>,
    counts_lost: bool,
}

/// Tracepoints and the ring that they write to; disabled at first.
#[derive(Debug)]
pub struct TracepointRing {
    events: Arc<Tracepoints>,
    mapping: Mapping,
}

impl TracepointRing {
    /// Opens tracepoints by their ids (`events/SYSTEM/NAME/id` in tracefs) for everything that runs on a CPU. Errors
    /// are the kernel's: `EACCES`/`EPERM` without CAP_PERFMON and with `kernel.perf_event_paranoid` above -1 (or, from
    /// the mapping, if the ring is larger than `kernel.perf_event_mlock_kb` and RLIMIT_MEMLOCK allow), `ENODEV` if the
    /// CPU is offline, `EMFILE` if too many files are open.
    pub fn open(ids: &[u32], cpu: u32, ring_pages: usize) -> io::Result<Self> {
        let refused_read_format = |error: &io::Error| error.raw_os_error() == Some(libc::EINVAL);
        let (events, counts_lost) = match open_all(ids, cpu, FORMAT_LOST) {
            Err(error) if refused_read_format(&error) => (open_all(ids, cpu, 0)?, false),
            opened => (opened?, true),
        };
        let Some((first, others)) = events.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no tracepoint"));
        };
        let mapping = Mapping::new(first.as_fd(), ring_pages)?;
        others.iter().try_for_each(|event| write_to_ring_of(event.as_fd(), first.as_fd()))?;
        Ok(Self { events: Arc::new(Tracepoints { events, counts_lost }), mapping })
    }

    /// Its events, so that one thread can enable or disable them while another drains.
    pub fn events(&self) -> Arc<Tracepoints> {
        Arc::clone(&self.events)
    }

    /// Appends all complete records in the ring, as the kernel wrote them, and frees their space.
    pub fn drain(&mut self, out: &mut Vec<u8>) {
        self.mapping.drain(out);
    }
}

impl Tracepoints {
    /// Starts recording.
    pub fn enable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(|event| control(event.as_fd(), raw::ioctls::ENABLE, 0))
    }

    /// Stops recording; records in the ring can still be drained.
    pub fn disable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(|event| control(event.as_fd(), raw::ioctls::DISABLE, 0))
    }

    /// Number of events so far that found no room in the ring, as the kernel counts them; `None` before Linux 6.0.
    pub fn lost(&self) -> Option<u64> {
        let of = |mut event: &File| {
            // The event's count, then the number of lost events.
            let mut words = [0; 16];
            let read = event.read_exact(&mut words);
            read.ok().map(|()| u64::from_ne_bytes(words[8..].try_into().expect("eight bytes")))
        };
        self.counts_lost.then(|| self.events.iter().map(of).sum()).flatten()
    }
}

fn open_all(ids: &[u32], cpu: u32, read_format: u64) -> io::Result<Vec<File>> {
    let open = |id: &u32| perf_event::open(&mut attributes(*id, read_format), -1, cpu as i32, -1).map(File::from);
    ids.iter().map(open).collect()
}

/// Makes `event` write into the ring of `owner`.
fn write_to_ring_of(event: BorrowedFd<'_>, owner: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: SET_OUTPUT takes two perf descriptors, which the borrows keep open for the length of the call, and
    // touches no memory of ours; the kernel keeps the ring alive for as long as any event writes to it.
    let rc = unsafe { raw::ioctls::SET_OUTPUT(event.as_raw_fd(), owner.as_raw_fd()) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn attributes(id: u32, read_format: u64) -> bindings::perf_event_attr {
    let mut attr = bindings::perf_event_attr {
        type_: bindings::PERF_TYPE_TRACEPOINT,
        size: size_of::<bindings::perf_event_attr>() as u32,
        config: u64::from(id),
        sample_type: SAMPLE_TYPE,
        read_format,
        // The workloads' clock, which our tracefs instances use too.
        clockid: libc::CLOCK_MONOTONIC,
        ..Default::default()
    };
    // Unions whose named members have their full width; writing one is safe.
    attr.__bindgen_anon_1.sample_period = 1;
    // No task sleeps on the ring. With this watermark, the kernel looks for one to wake once per filled ring and not at
    // every event.
    attr.__bindgen_anon_2.wakeup_watermark = u32::MAX >> 1;
    attr.set_watermark(1);
    attr.set_use_clockid(1);
    attr.set_disabled(1);
    attr.set_sample_id_all(1);
    attr
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{affinity, tracefs::Tracefs};
    use std::path::Path;

    fn id(name: &str) -> Option<u32> {
        let root = Tracefs::find_or_mount(Path::new("/proc")).ok()?;
        std::fs::read_to_string(root.root().join(format!("events/sched/{name}/id"))).ok()?.trim().parse().ok()
    }

    /// The ring; where this machine cannot test it, prints why.
    fn opened(ring_pages: usize) -> Option<(TracepointRing, [u32; 2])> {
        let why = match (id("sched_switch"), id("sched_waking")) {
            (Some(switch), Some(waking)) => match TracepointRing::open(&[switch, waking], 0, ring_pages) {
                Ok(ring) => return Some((ring, [switch, waking])),
                Err(error) => error.to_string(),
            },
            _ => "no tracefs".to_owned(),
        };
        use std::io::Write;
        let _ = writeln!(io::stderr(), "schedlab-skip: tracepoints: needs root, tracefs and perf events ({why})");
        None
    }

    /// The types of the records, which must fill the bytes exactly, and the tracepoint ids of the samples.
    fn records(mut bytes: &[u8]) -> Vec<(u32, u16)> {
        let mut records = Vec::new();
        while !bytes.is_empty() {
            let kind = u32::from_ne_bytes(bytes[..4].try_into().unwrap());
            let size = u16::from_ne_bytes(bytes[6..8].try_into().unwrap());
            records.push((kind, u16::from_ne_bytes(bytes[20..22].try_into().unwrap())));
            bytes = &bytes[usize::from(size)..];
        }
        records
    }

    fn sleep_on_cpu_0(times: u32) {
        affinity::set_affinity(0, &[0]).unwrap();
        for _ in 0..times {
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
    }

    #[test]
    fn every_tracepoint_writes_into_the_one_ring() {
        let Some((mut ring, ids)) = opened(64) else { return };
        sleep_on_cpu_0(5);
        let mut bytes = Vec::new();
        ring.drain(&mut bytes);
        assert_eq!(bytes.len(), 0, "disabled at first");
        ring.events().enable().unwrap();
        sleep_on_cpu_0(20);
        ring.events().disable().unwrap();
        ring.drain(&mut bytes);
        let found = records(&bytes);
        for id in ids {
            let samples = found.iter().filter(|r| **r == (bindings::PERF_RECORD_SAMPLE, id as u16)).count();
            assert!(samples >= 10, "{id}: {found:?}");
        }
        assert!(matches!(ring.events().lost(), None | Some(0)));
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let Some((mut ring, _)) = opened(1) else { return };
        ring.events().enable().unwrap();
        sleep_on_cpu_0(100);
        let mut bytes = Vec::new();
        ring.drain(&mut bytes);
        // The first record that finds room again reports the lost ones.
        sleep_on_cpu_0(5);
        ring.events().disable().unwrap();
        bytes.clear();
        ring.drain(&mut bytes);
        let lost = u64::from_ne_bytes(bytes[16..24].try_into().unwrap());
        assert_eq!(records(&bytes)[0].0, bindings::PERF_RECORD_LOST);
        assert!(lost >= 100 && ring.events().lost().is_none_or(|all| all >= lost), "{lost}");
    }

    #[test]
    fn a_cpu_or_a_tracepoint_that_does_not_exist_is_refused() {
        assert!(TracepointRing::open(&[1], 65_000, 8).is_err());
        assert!(TracepointRing::open(&[], 0, 8).is_err());
    }
}
