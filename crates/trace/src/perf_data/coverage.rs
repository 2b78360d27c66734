//! What was recorded: the whole machine (`perf record -a`), some of its CPUs, or some tasks. Two records show this. One
//! lists the threads that perf was given. The other lists each event's ids with their CPU and thread; it is always
//! present since 6.0, before that only together with AUX data, and only if there are several events.

use super::attr::u64_at;
use crate::event::Cpu;
use crate::problem::{ProblemKind, Problems};
use std::collections::BTreeSet;

/// The value that stands for all threads or CPUs in `PERF_RECORD_ID_INDEX`.
const ALL: u32 = u32::MAX;

/// Threads and CPUs of the events.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    has_threads: bool,
    cpus: BTreeSet<u64>,
}

impl Coverage {
    /// Takes `PERF_RECORD_ID_INDEX`: a number of entries of id, index of the ring, CPU and thread. Entries whose id is
    /// not `meant` are ignored, because they concern events that are not analysed (perf opens a dummy event on all CPUs
    /// in addition to events on one). Returns whether only some tasks were recorded.
    pub(super) fn id_index(&mut self, record: &[u8], big_endian: bool, meant: impl Fn(u64) -> bool) -> bool {
        const ENTRY: usize = 32;
        let entries = u64_at(record, 8, big_endian).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        for entry in record.get(16..).unwrap_or_default().chunks_exact(ENTRY).take(entries) {
            let word = |at: usize| u64_at(entry, at, big_endian).unwrap_or(u64::MAX);
            // Both are ints that perf writes as words: "all" is -1 in either width.
            let (id, cpu, tid) = (word(0), word(16), word(24));
            if !meant(id) {
                continue;
            }
            self.has_threads |= tid as u32 != ALL;
            if cpu as u32 != ALL {
                self.cpus.insert(cpu);
            }
        }
        self.has_threads
    }

    /// Takes `PERF_RECORD_THREAD_MAP`: a number of entries of a thread and its name; a thread of -1 stands for all.
    /// Returns whether only some tasks were recorded.
    pub(super) fn thread_map(&mut self, record: &[u8], big_endian: bool) -> bool {
        const ENTRY: usize = 24;
        let entries = record.get(16..).unwrap_or_default().chunks_exact(ENTRY);
        let mut tids = entries.filter_map(|entry| u64_at(entry, 0, big_endian));
        // In either width, as below. Only idle CPUs run thread 0.
        self.has_threads |= tids.any(|tid| tid as u32 != ALL && tid != 0);
        self.has_threads
    }

    /// The CPUs whose events were recorded; empty if unknown.
    pub(super) fn cpus(&self) -> impl Iterator<Item = Cpu> {
        self.cpus.iter().filter_map(|cpu| u16::try_from(*cpu).ok().map(Cpu))
    }

    /// Whether events of a CPU were recorded, as far as known.
    pub(super) fn has(&self, cpu: Cpu) -> bool {
        self.cpus.is_empty() || self.cpus.contains(&cpu.0.into())
    }

    /// Reports what is missing because of the choice of what to record; `online` is the machine's number of CPUs.
    pub(super) fn report(&self, online: Option<u32>, problems: &mut Problems) {
        if self.has_threads {
            problems.add(ProblemKind::SomeTasks, || {
                "only the tasks that perf was told of were recorded (it ran without -a): where others take their CPU or wake \
                 them is missing, and most waits are unknown; record the whole machine with `perf record -a` or `perf sched \
                 record`"
                    .into()
            });
        }
        let recorded = self.cpus.len() as u64;
        if let Some(online) = online.filter(|online| recorded > 0 && recorded < u64::from(*online)) {
            problems.add(ProblemKind::SomeCpus, || {
                let cpus: Vec<String> = self.cpus.iter().take(16).map(u64::to_string).collect();
                format!(
                    "only {recorded} of {online} CPUs were recorded ({}): what tasks did on the others is missing, and a wait \
                     may have been a run there; record the whole machine with `perf record -a`",
                    cpus.join(", ")
                )
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_perf_was_reported_of_are_distinguished_from_all() {
        let of = |tids: &[u64], big_endian: bool| {
            let bytes = |word: u64| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
            let mut record = [bytes(0), bytes(tids.len() as u64)].concat();
            tids.iter().for_each(|tid| record.extend([&bytes(*tid)[..], b"a.out\0\0\0\0\0\0\0\0\0\0\0"].concat()));
            Coverage::default().thread_map(&record, big_endian)
        };
        for big_endian in [false, true] {
            assert!(of(&[77], big_endian) && of(&[u64::MAX, 77], big_endian));
            assert!(!of(&[u64::MAX], big_endian) && !of(&[u32::MAX.into()], big_endian) && !of(&[], big_endian));
        }
    }

    #[test]
    fn some_cpus_are_distinguished_from_all() {
        let mut record = vec![0; 8];
        for word in [2, 9, 0, 3, u64::MAX, 10, 0, 1, u64::MAX] {
            record.extend(u64::to_le_bytes(word));
        }
        let mut coverage = Coverage::default();
        assert!(!coverage.id_index(&record, false, |id| id == 9));
        for (online, seen) in [(None, 0), (Some(1), 0), (Some(2), 1)] {
            let mut problems = Problems::default();
            coverage.report(online, &mut problems);
            assert_eq!(problems.count(ProblemKind::SomeCpus), seen, "{online:?}");
        }
    }
}
