//! The cgroups in which threads were seen, for files of `perf record --all-cgroups`: every sample has the number of the
//! tracing thread's cgroup, and `PERF_RECORD_CGROUP` maps numbers to names.

use super::attr::{Layout, u32_at, u64_at};
use crate::event::Tid;
use std::collections::HashMap;

/// Most threads and cgroups that are remembered; no machine has more threads at a time.
const MAX_REMEMBERED: usize = 1 << 20;

/// Threads, with the cgroups they were in when they traced something.
#[derive(Debug, Default)]
pub struct SeenCgroups {
    /// Paths by number.
    paths: HashMap<u64, String>,
    /// Numbers by thread, in the order in which they were seen.
    threads: HashMap<u32, Vec<u64>>,
    seen: usize,
    /// Thread and cgroup of the latest sample: the next one usually has the same.
    last: (u32, u64),
    is_full: bool,
}

impl SeenCgroups {
    /// The paths of the cgroups that a thread was in; empty for a cgroup without a name.
    pub fn of(&self, tid: Tid) -> impl Iterator<Item = &str> {
        self.threads.get(&tid.0).into_iter().flatten().map(|id| self.paths.get(id).map_or("", String::as_str))
    }

    /// Every thread that was seen.
    pub fn threads(&self) -> impl Iterator<Item = Tid> {
        self.threads.keys().map(|tid| Tid(*tid))
    }

    /// Whether there were more than can be remembered.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Takes a sample; if it has a cgroup, that is the cgroup of the thread that wrote its raw data, `common_pid`.
    pub(super) fn sample(&mut self, layout: &Layout, record: &[u8], big_endian: bool) {
        let Some(back) = layout.cgroup else { return };
        let id = record.len().checked_sub(back).and_then(|at| u64_at(record, at, big_endian));
        let tid = layout.raw(record, big_endian).and_then(|raw| u32_at(raw, 4, big_endian));
        let Some((tid, id)) = tid.zip(id) else { return };
        if (tid, id) != self.last && Tid::from_raw(i64::from(tid)).is_some_and(|tid| tid != Tid::IDLE) {
            self.last = (tid, id);
            self.see(tid, id);
        }
    }

    fn see(&mut self, tid: u32, id: u64) {
        if self.seen >= MAX_REMEMBERED {
            self.is_full = true;
            return;
        }
        let ids = self.threads.entry(tid).or_default();
        if !ids.contains(&id) {
            ids.push(id);
            self.seen += 1;
        }
    }

    /// Takes a record that names a cgroup: its number, and its path up to the first zero byte.
    pub(super) fn name(&mut self, record: &[u8], big_endian: bool) {
        let Some((id, path)) = u64_at(record, 8, big_endian).zip(record.get(16..)) else { return };
        let path = &path[..path.iter().position(|b| *b == 0).unwrap_or(path.len())];
        if self.paths.len() >= MAX_REMEMBERED {
            self.is_full = true;
            return;
        }
        let path = String::from_utf8_lossy(path).chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        self.paths.insert(id, path);
    }
}
