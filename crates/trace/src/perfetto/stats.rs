//! The recorder's loss counters: `FtraceStats` (ftrace_stats.proto) for the kernel's buffers, by CPU, at the start and
//! end of the trace, and `TraceStats` (trace_stats.proto) for the service's own buffers. The counters have no times.

use super::wire::{Fields, Value};
use crate::event::Cpu;
use crate::problem::{ProblemKind, Problems};
use std::collections::BTreeMap;

/// Most CPUs that are remembered: as many as the largest kernel supports.
const MAX_CPUS: usize = 8192;

/// CPUs of writers beyond which no further message is read: a forged file may have any number of writers.
const MAX_COUNTS: usize = 8 * MAX_CPUS;

/// Counters in `FtraceCpuStats` that count lost events.
const LOST: [(u32, &str); 3] = [(3, "overrun"), (4, "commit_overrun"), (8, "dropped_events")];

/// Counters in `BufferStats` and `TraceStats` that count lost packets.
const BUFFER: [(u32, &str); 6] = [
    (3, OVERWRITTEN),
    (6, "patches_failed"),
    (9, "abi_violations"),
    (18, "chunks_discarded"),
    (19, "trace_writer_packet_loss"),
    (22, "oversized_packets_dropped"),
];
/// In a ring, these are the oldest chunks; each CPU has a mark before its first event for them.
const OVERWRITTEN: &str = "chunks_overwritten";
const SERVICE: [(u32, &str); 3] = [(8, "chunks_discarded"), (9, "patches_discarded"), (10, "invalid_packets")];

/// Most counters of the service that are reported.
const MAX_REPORTED: usize = 32;

type Counts = [u64; LOST.len()];

/// Those of the kernel's buffers by writer and CPU: each ftrace data source counts from its own start.
type Kernels = BTreeMap<(u64, u64), Counts>;

/// The latest counts.
#[derive(Debug, Default)]
pub(super) struct Stats {
    start: Kernels,
    end: Kernels,
    /// As `trace_writer_packet_loss 3`; each `TraceStats` counts from the start of the trace.
    service: Vec<String>,
    /// Whether some of that may have come after everything in the trace.
    may_lack_last: bool,
    /// Whether the service reported that the recording began, and that it ended.
    began: bool,
    ended: bool,
}

impl Stats {
    /// An `FtraceStats`.
    pub(super) fn ftrace(&mut self, bytes: &[u8], sequence: u64, problems: &mut Problems) {
        const START_OF_TRACE: u64 = 1;
        let (mut phase, mut cpus) = (0, Kernels::new());
        for (field, value) in Fields::of(bytes) {
            match (field, value) {
                (1, Value::Number(number)) => phase = number,
                (2, Value::Bytes(cpu)) if cpus.len() < MAX_CPUS => {
                    let number = numbers(cpu).find(|(field, _)| *field == 1).map_or(0, |(_, number)| number);
                    let count = |of| numbers(cpu).find(|(field, _)| *field == of).map_or(0, |(_, number)| number);
                    cpus.insert((sequence, number), LOST.map(|(field, _)| count(field)));
                }
                (6 | 7, Value::Bytes(name)) => problems.add(ProblemKind::Recording, || {
                    let name = super::facts::text(name);
                    format!("{name} was asked for and could not be recorded")
                }),
                (9, Value::Number(status)) => problems.add(ProblemKind::SkippedPart, || unread_page(status)),
                _ => {}
            }
        }
        let counts = if phase == START_OF_TRACE { &mut self.start } else { &mut self.end };
        if counts.len() < MAX_COUNTS {
            counts.extend(cpus);
        }
    }

    /// A `TraceStats`.
    pub(super) fn service(&mut self, bytes: &[u8]) {
        const BUFFER_STATS: u32 = 1;
        const FINAL_FLUSH_OUTCOME: u32 = 15;
        const FAILED: u64 = 2;
        self.service.clear();
        self.may_lack_last = false;
        for (field, value) in Fields::of(bytes) {
            match (field, value) {
                (BUFFER_STATS, Value::Bytes(buffer)) => self.add(&BUFFER, buffer),
                (FINAL_FLUSH_OUTCOME, Value::Number(FAILED)) => {
                    self.service.push("the final flush failed".into());
                    self.may_lack_last = true;
                }
                _ => {}
            }
        }
        self.add(&SERVICE, bytes);
    }

    /// A `TracingServiceEvent`.
    pub(super) fn event(&mut self, bytes: &[u8]) {
        const TRACING_STARTED: u32 = 2;
        const TRACING_DISABLED: u32 = 5;
        for (field, _) in numbers(bytes) {
            self.began |= field == TRACING_STARTED;
            self.ended |= field == TRACING_DISABLED;
        }
    }

    fn add(&mut self, names: &[(u32, &str)], counts: &[u8]) {
        let named = |field| names.iter().find(|(of, _)| *of == field).map(|(_, name)| name);
        let lost = numbers(counts).filter(|(_, count)| *count > 0);
        for (name, count) in lost.filter_map(|(field, count)| Some((*named(field)?, count))) {
            self.may_lack_last |= name != OVERWRITTEN;
            if self.service.len() < MAX_REPORTED {
                self.service.push(format!("{name} {count}"));
            }
        }
    }

    /// Lost events by CPU, of the writer that counted most: several may read the same buffers.
    fn lost_by_kernel(&self) -> BTreeMap<u64, Counts> {
        let mut lost: BTreeMap<u64, Counts> = BTreeMap::new();
        for (of, end) in &self.end {
            let start = self.start.get(of).copied().unwrap_or_default();
            let most = lost.entry(of.1).or_default();
            (0..LOST.len()).for_each(|at| most[at] = most[at].max(end[at].saturating_sub(start[at])));
        }
        lost
    }

    /// Reports, at the end of the trace, counts that no gap accounts for. `gaps_are_marked`: each bundle records where
    /// the previous ones ended, so that nothing can be missing between two of them unseen. Returns the number of events
    /// that the kernel lost at unknown times, by CPU.
    pub(super) fn report(
        &self,
        has_gap: impl Fn(u64) -> bool,
        has_any_gap: bool,
        gaps_are_marked: bool,
        problems: &mut Problems,
    ) -> BTreeMap<Cpu, u64> {
        let mut at_unknown_times = BTreeMap::new();
        for (cpu, counts) in self.lost_by_kernel() {
            for (lost, (_, name)) in counts.into_iter().zip(LOST) {
                if lost > 0 && !has_gap(cpu) {
                    *at_unknown_times.entry(Cpu::from_raw(cpu as i64).unwrap_or(Cpu::ANY)).or_default() += lost;
                    problems.add_many(ProblemKind::Lost, lost, || {
                        format!("the kernel's buffer of CPU {cpu} lost {lost} events ({name}) at unknown times")
                    });
                }
            }
        }
        if self.began && !self.ended {
            problems.add(ProblemKind::Recording, || {
                "the recorder does not say that it ended: the trace is a snapshot of a recording that continued, or its end is missing".into()
            });
        }
        if self.service.is_empty() {
            return at_unknown_times;
        }
        let seen = self.service.join(", ");
        if gaps_are_marked {
            let (kind, or) = match self.may_lack_last {
                true => (ProblemKind::MayBeLost, ", or after the last events of a CPU"),
                false => (ProblemKind::Recording, ""),
            };
            problems.add(kind, || {
                format!("the recorder lost packets ({seen}): those of the scheduler are in the gaps{or}")
            });
        } else {
            // What a ring overwrote comes before everything in the trace. The other losses may be of any CPU, at any
            // time, unless they are what left a gap.
            if self.may_lack_last && !has_any_gap {
                *at_unknown_times.entry(Cpu::ANY).or_default() += 1;
            }
            problems.add(ProblemKind::Lost, || {
                format!("the recorder lost packets at unknown times, maybe some with events of the scheduler ({seen})")
            });
        }
        at_unknown_times
    }
}

/// The number fields of a message.
fn numbers(message: &[u8]) -> impl Iterator<Item = (u32, u64)> {
    Fields::of(message).filter_map(|(field, value)| match value {
        Value::Number(number) => Some((field, number)),
        Value::Bytes(_) => None,
    })
}

/// In words: the recorder could not parse a page of the kernel's buffer, with its `FtraceParseStatus`.
pub(super) fn unread_page(status: u64) -> String {
    format!("the recorder could not read a part of the kernel's buffer (FtraceParseStatus {status})")
}
