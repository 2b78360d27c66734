//! Records other than samples: losses, and the names and lives of threads.

use super::super::attr::{u32_at, u64_at};
use super::{Records, record};
use crate::event::{Cpu, Event, Missing, Tid, What};
use crate::kind::Kind;
use crate::problem::ProblemKind;

/// Whether thread ids in perf's own parts of samples and records equal those in the events. In a container perf writes
/// the ids of its PID namespace, or 0 for a thread that has none there (`perf_event_tid`).
#[derive(Debug, Default)]
pub(super) struct Ids {
    compared: u8,
    pub(super) are_of_a_namespace: bool,
}

impl Ids {
    /// Whether more samples are needed to decide. The first ones decide, because in a namespace nearly all of them
    /// differ.
    #[inline(always)]
    pub(super) fn are_open(&self) -> bool {
        self.compared < u8::MAX
    }

    /// Compares `tid` in a sample with `common_pid` of its event, which is the second word of each.
    #[cold]
    pub(super) fn compare<const BIG: bool>(&mut self, tid: Option<u32>, raw: &[u8]) {
        self.compared += 1;
        // A thread no longer has an id after its exit.
        let tid = tid.filter(|tid| *tid != u32::MAX);
        let differ = tid.zip(u32_at(raw, 4, BIG)).is_some_and(|(tid, common_pid)| tid != common_pid);
        self.are_of_a_namespace |= differ;
    }
}

impl Records {
    /// A record in which the kernel reports lost events.
    pub(super) fn lost(&mut self, record: &[u8], lost: u64) {
        let (ts, cpu) = self.when(record);
        // If it has no time, the loss was before now.
        let ts = if ts == 0 { self.order.latest() } else { ts };
        if self.sample_type == record::SAMPLE {
            return self.order.lost(cpu, ts, lost, &mut self.problems);
        }
        let what = What::GapEnd { missing: Missing::Lost, lost: u32::try_from(lost).unwrap_or(u32::MAX) };
        self.held.push(Event { ts, cpu, what });
    }

    /// Time and CPU of a record that is not a sample; the time is 0 if it has none.
    fn when(&self, record: &[u8]) -> (u64, Cpu) {
        let trailer = self.sources.trailer(record, self.big_endian);
        let from_end = |back: Option<usize>| back.and_then(|back| record.len().checked_sub(back));
        let ts = from_end(trailer.time).and_then(|at| u64_at(record, at, self.big_endian)).unwrap_or(0);
        let cpu = from_end(trailer.cpu).and_then(|at| u32_at(record, at, self.big_endian));
        (ts, cpu.and_then(|cpu| Cpu::from_raw(i64::from(cpu))).unwrap_or(Cpu::ANY))
    }

    /// COMM, FORK and EXIT: names and lifetimes, including threads from before the recording (time 0).
    pub(super) fn thread_record(&mut self, kind: u32, record: &[u8]) {
        if self.ids.are_of_a_namespace {
            return self.problems.add(ProblemKind::Recording, || {
                "perf ran in a PID namespace: its records of threads have ids of that namespace, and the events those of the \
                 machine; from the first events on the names and ends of threads in these records are left out"
                    .into()
            });
        }
        let tid = |at: usize| u32_at(record, at, self.big_endian).and_then(|raw| Tid::from_raw(i64::from(raw)));
        let (mut ts, cpu) = self.when(record);
        let what = if kind == record::COMM {
            let end = record.len().saturating_sub(self.sources.trailer(record, self.big_endian).size);
            let Some((tid, comm)) = tid(12).zip(record.get(16..end)) else { return };
            What::Comm { tid, comm: self.dictionary.names.intern_bytes(comm) }
        } else {
            let (Some(tid), Some(parent)) = (tid(16), tid(20)) else { return };
            ts = u64_at(record, 24, self.big_endian).unwrap_or(ts);
            let comm = crate::names::Name::UNKNOWN;
            if kind == record::FORK { What::Fork { parent, child: tid, comm } } else { What::Exit { tid, comm } }
        };
        let kind = match what {
            What::Comm { .. } => Kind::TaskRename,
            What::Fork { .. } => Kind::SchedProcessFork,
            _ => Kind::SchedProcessExit,
        };
        // If the tracepoint was also recorded on that CPU, this record repeats it.
        if self.wanted.has(kind) && (ts == 0 || !self.traced.has(kind) || !self.coverage.has(cpu)) {
            // perf's synthesized records for existing threads have no time, and belong to no CPU.
            let event = Event { ts, cpu: if ts == 0 { Cpu::ANY } else { cpu }, what };
            if !event.is_from_before() {
                *self.noted.entry(cpu).or_default() += 1;
            }
            if ts == 0 {
                self.order.push_rare(event, &mut self.problems);
            } else if self.sample_type == record::SAMPLE {
                self.order.push_perf_record(event, &mut self.problems);
            } else {
                self.held.push(event);
            }
        }
    }
}
