//! perf's ring buffers in place of a tracefs instance: the same tracepoints, the same records, one ring per CPU. They
//! are used if tracefs can be read but not written, as in a container; the ids of the events come from tracefs. When
//! the process ends, nothing remains in the kernel.

use super::TracerOrder;
use super::error::TracerError;
use super::events::EventFiles;
use crate::per_cpu::online_cpus;
use schedlab_sys::kernel_facts::page_size_bytes;
use schedlab_sys::perf_ring::{TracepointRing, Tracepoints};
use schedlab_sys::tracefs::Tracefs;
use std::io;
use std::sync::Arc;

/// The smallest ring to fall back to, if less memory may be locked.
const FEWEST_PAGES: usize = 8;

/// The rings of all CPUs.
#[derive(Debug)]
pub(super) struct Rings {
    tracefs: Tracefs,
    /// By CPU; the threads that read the rings have taken them.
    events: Vec<(u32, Arc<Tracepoints>)>,
    rings: Vec<(u32, TracepointRing)>,
    ring_pages: usize,
}

impl Rings {
    /// Opens the events on every CPU, disabled. A CPU that has gone offline meanwhile is left out.
    pub(super) fn open(order: &TracerOrder, buffer_kib: u64) -> Result<Self, TracerError> {
        if order.trace.out.is_none() {
            return Err(TracerError::UnreadRings);
        }
        let tracefs = Tracefs::find_or_mount(&order.roots.proc).map_err(|cause| TracerError::NoTracefs { cause })?;
        let ids = EventFiles::below(tracefs.root()).ids(order.trace.events)?;
        let pages = (buffer_kib * 1024 / page_size_bytes()) as usize;
        // Rounded down, because the kernel accepts powers of two only.
        let ring_pages = 1 << pages.max(FEWEST_PAGES).ilog2();
        let mut all = Self { tracefs, events: Vec::new(), rings: Vec::new(), ring_pages };
        for &cpu in online_cpus(&order.roots).as_slice() {
            match fitting(&ids, cpu, &mut all.ring_pages) {
                Ok(ring) => {
                    all.events.push((cpu, ring.events()));
                    all.rings.push((cpu, ring));
                }
                Err(cause) if cause.raw_os_error() == Some(errno::ENODEV) => {}
                Err(cause) => {
                    let fix = fix(&cause);
                    return Err(TracerError::Refused { cpu, cause, fix });
                }
            }
        }
        if all.rings.is_empty() {
            let path = order.roots.sys.join("devices/system/cpu/online");
            return Err(TracerError::File {
                path,
                cause: io::ErrorKind::NotFound.into(),
                fix: "; no CPU is known from it",
            });
        }
        Ok(all)
    }

    pub(super) fn event_files(&self) -> EventFiles {
        EventFiles::below(self.tracefs.root())
    }

    pub(super) fn cpus(&self) -> Vec<u32> {
        self.events.iter().map(|(cpu, _)| *cpu).collect()
    }

    /// The ring of a CPU, once.
    pub(super) fn take(&mut self, cpu: u32) -> Option<TracepointRing> {
        let at = self.rings.iter().position(|(of, _)| *of == cpu)?;
        Some(self.rings.swap_remove(at).1)
    }

    pub(super) fn pages(&self) -> u64 {
        self.ring_pages as u64
    }

    pub(super) fn enable(&self) -> Result<(), TracerError> {
        self.switch(Tracepoints::enable)
    }

    pub(super) fn disable(&self) -> Result<(), TracerError> {
        self.switch(Tracepoints::disable)
    }

    fn switch(&self, how: fn(&Tracepoints) -> io::Result<()>) -> Result<(), TracerError> {
        self.events.iter().try_for_each(|(cpu, events)| {
            how(events).map_err(|cause| TracerError::Refused { cpu: *cpu, cause, fix: "" })
        })
    }

    /// Number of events lost on a CPU, as the kernel counts them; 0 if it does not.
    pub(super) fn lost(&self, cpu: u32) -> u64 {
        let of = self.events.iter().find(|(of, _)| *of == cpu);
        of.and_then(|(_, events)| events.lost()).unwrap_or(0)
    }
}

/// The ring, or a smaller one if less memory may be locked; then all later ones are as small.
fn fitting(ids: &[u32], cpu: u32, ring_pages: &mut usize) -> io::Result<TracepointRing> {
    loop {
        match TracepointRing::open(ids, cpu, *ring_pages) {
            Err(error) if error.raw_os_error() == Some(errno::EPERM) && *ring_pages > FEWEST_PAGES => *ring_pages /= 2,
            opened => return opened,
        }
    }
}

fn fix(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(errno::EPERM | errno::EACCES) => {
            "; run as root or with CAP_PERFMON, or set kernel.perf_event_paranoid to -1; in a container its seccomp filter \
             must allow perf_event_open"
        }
        Some(errno::EMFILE) => {
            "; an event of a CPU is a file: raise the limit (ulimit -n), or record fewer events (--events)"
        }
        _ => "",
    }
}

/// The errno(3) values that matter here; they are the same on all architectures we build for.
mod errno {
    pub(super) const EPERM: i32 = 1;
    pub(super) const EACCES: i32 = 13;
    pub(super) const ENODEV: i32 = 19;
    pub(super) const EMFILE: i32 = 24;
}
