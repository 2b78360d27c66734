//! Where events come from: a tracefs instance of our own, or perf's rings if none can be made.

use super::TracerOrder;
use super::cpu_reader::CpuReader;
use super::error::TracerError;
use super::events::{EventFiles, name};
use super::instance::Instance;
use super::rings::Rings;
use crate::per_cpu::online_cpus;
use schedlab_plan::TraceSource;
use schedlab_trace::recording::{CpuTotals, FormatText};

/// An open source, switched off.
#[derive(Debug)]
pub(super) enum Source {
    /// An instance, removed on drop.
    Instance(Instance),
    /// Perf events, closed on drop.
    Rings(Rings),
}

impl Source {
    /// Opens the source for the order, with `buffer_kib` for each CPU; notes describe what is unusual about it.
    pub(super) fn open(order: &TracerOrder, buffer_kib: u64, notes: &mut Vec<String>) -> Result<Self, TracerError> {
        let (rings, why) = match order.trace.source {
            TraceSource::Perf => (Rings::open(order, buffer_kib)?, "as asked for".to_owned()),
            TraceSource::Tracefs => return Self::instance(order, buffer_kib, notes),
            TraceSource::Auto => match Self::instance(order, buffer_kib, notes) {
                Ok(instance) => return Ok(instance),
                Err(barred) => match Rings::open(order, buffer_kib) {
                    Ok(rings) => (rings, format!("since no tracefs instance can be made ({barred})")),
                    // The error is complete as it is.
                    Err(TracerError::NoTracefs { .. } | TracerError::UnreadRings) => return Err(barred),
                    Err(perf) => return Err(TracerError::Neither { tracefs: barred.into(), perf: perf.into() }),
                },
            },
        };
        let no_stop = if order.trace.keep_ns.is_some() { "; a missed deadline cannot stop them" } else { "" };
        notes.push(format!("trace: read from perf's ring buffers, {why}{no_stop}"));
        let kib = rings.pages() * schedlab_sys::kernel_facts::page_size_bytes() / 1024;
        if kib * 2 <= buffer_kib {
            notes.push(format!("trace: kernel.perf_event_mlock_kb allows rings of {kib} KiB only; more may be lost"));
        }
        Ok(Self::Rings(rings))
    }

    fn instance(order: &TracerOrder, buffer_kib: u64, notes: &mut Vec<String>) -> Result<Self, TracerError> {
        let instance = Instance::create(&order.run_root, &order.roots.proc)?;
        // CLOCK_MONOTONIC, so that the times are those of the workloads.
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &buffer_kib.to_string())?;
        if !instance.note_no_names() {
            notes.push(
                "trace: somebody else traces events on this machine: each event costs more than it does alone".into(),
            );
        }
        Ok(Self::Instance(instance))
    }

    /// In a word.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Instance(_) => "tracefs",
            Self::Rings(_) => "perf",
        }
    }

    pub(super) fn event_files(&self) -> EventFiles {
        match self {
            Self::Instance(instance) => EventFiles::below(instance.directory()),
            Self::Rings(rings) => rings.event_files(),
        }
    }

    /// CPUs that have a buffer.
    pub(super) fn cpus(&self, order: &TracerOrder) -> Result<Vec<u32>, TracerError> {
        match self {
            Self::Instance(instance) => {
                // The kernel also has directories for CPUs that may come later; only CPUs that are online have a
                // buffer.
                let online = online_cpus(&order.roots);
                let here = |cpu: &u32| online.is_empty() || online.as_slice().contains(cpu);
                Ok(instance.cpus()?.into_iter().filter(here).collect())
            }
            Self::Rings(rings) => Ok(rings.cpus()),
        }
    }

    /// Pages of a CPU's buffer, each of `page_bytes`.
    pub(super) fn pages(&self, buffer_kib: u64, page_bytes: u64) -> u64 {
        match self {
            Self::Instance(_) => buffer_kib * 1024 / page_bytes,
            Self::Rings(rings) => rings.pages(),
        }
    }

    /// What a drain thread reads from a CPU.
    pub(super) fn cpu_reader(&mut self, cpu: u32) -> Result<CpuReader, TracerError> {
        match self {
            Self::Instance(instance) => CpuReader::of_instance(instance, cpu),
            Self::Rings(rings) => {
                let ring = rings.take(cpu).ok_or_else(|| TracerError::Thread("asks for a ring twice".into()))?;
                Ok(CpuReader::of_ring(ring, cpu))
            }
        }
    }

    /// Enables the events; when this returns, they are being recorded.
    pub(super) fn enable(&self, formats: &[FormatText]) -> Result<(), TracerError> {
        match self {
            Self::Instance(instance) => {
                for format in formats {
                    instance.write(&format!("events/{}/{}/enable", format.system, name(&format.text)), "1")?;
                }
                instance.write("tracing_on", "1")
            }
            Self::Rings(rings) => rings.enable(),
        }
    }

    /// Switches tracing off; what is in the buffers can still be read.
    pub(super) fn disable(&self) -> Result<(), TracerError> {
        match self {
            Self::Instance(instance) => instance.write("tracing_on", "0"),
            Self::Rings(rings) => rings.disable(),
        }
    }

    /// Adds the kernel's own count of a CPU's lost events and, for an unread buffer, also of its events. Events that
    /// were overwritten in an unread buffer are no loss, because they were not wanted.
    pub(super) fn count(&self, cpu: &mut CpuTotals, unread: bool) -> Result<(), TracerError> {
        match self {
            Self::Rings(rings) => cpu.kernel_lost = rings.lost(cpu.cpu),
            Self::Instance(instance) => {
                let stats = Stats::parse(&instance.read(&format!("per_cpu/cpu{}/stats", cpu.cpu))?);
                cpu.kernel_lost = stats.lost(unread);
                cpu.events = if unread { stats.entries + stats.overrun } else { cpu.events };
            }
        }
        Ok(())
    }
}

/// The kernel's own counters of a CPU's buffer, `per_cpu/cpuN/stats`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stats {
    entries: u64,
    overrun: u64,
    commit_overrun: u64,
    dropped: u64,
}

impl Stats {
    fn parse(text: &str) -> Self {
        let of = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            entries: of("entries"),
            overrun: of("overrun"),
            commit_overrun: of("commit overrun"),
            dropped: of("dropped events"),
        }
    }

    fn lost(&self, overwritten_is_fine: bool) -> u64 {
        self.commit_overrun + self.dropped + if overwritten_is_fine { 0 } else { self.overrun }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_read_by_name() {
        let text = "entries: 5\noverrun: 7\ncommit overrun: 1\nbytes: 99\noldest event ts:  1.0\ndropped events: 2\n";
        let stats = Stats::parse(text);
        assert_eq!(stats, Stats { entries: 5, overrun: 7, commit_overrun: 1, dropped: 2 });
        assert_eq!((stats.lost(false), stats.lost(true)), (10, 3));
    }
}
