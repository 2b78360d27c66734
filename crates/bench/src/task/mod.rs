//! What each task of a workload shares with the control process: a cell of atomics in shared memory, which fork does
//! not copy. The first cache line is the task's own hot line (its operation counter); the rest is written only before
//! the release and after the last operation.

mod error;

use error::STEPS;
pub(crate) use error::{Step, TaskError};
use schedlab_plan::{TaskRecord, Tier};
use schedlab_sys::rusage::{self, Rusage};
use schedlab_sys::shared_memory::{SharedWords, WORDS_PER_TASK_LINE};
use schedlab_sys::{clock, cpu_number, fd, mark, thread};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Words of one task: three padded lines.
const TASK_WORDS: usize = 3 * WORDS_PER_TASK_LINE;
/// Words of one group or copy: the number of senders still sending, or the child's stamps.
const GROUP_WORDS: usize = WORDS_PER_TASK_LINE;

/// Word offsets in a task's cell; the first 16 are the hot line.
mod word {
    pub(super) const OPERATIONS: usize = 0;
    pub(super) const TID: usize = 16;
    pub(super) const ERROR_STEP: usize = 17;
    pub(super) const ERROR_DETAIL: usize = 18;
    pub(super) const STAMPED: usize = 19;
    pub(super) const LAST_CPU: usize = 20;
    pub(super) const FINISHED_NS: usize = 21;
    pub(super) const VERIFIED: usize = 22;
    /// Five tiers.
    pub(super) const TIERS: usize = 24;
    /// run_ns, run_delay_ns, timeslices before release and at the end; the second triple follows the first.
    pub(super) const SCHEDSTAT: usize = 32;
    /// cpu_ns, voluntary, involuntary before release and at the end.
    pub(super) const RUSAGE: usize = 38;
    /// Bit 0: schedstat is valid; bit 1: the rusage at the end is valid (threads).
    pub(super) const VALID: usize = 44;
    /// nr_migrations before release and at the end (bit 2 of VALID).
    pub(super) const MIGRATIONS: usize = 45;
}

/// The flag that ends a run by time; it has its own line, which only the control process writes.
#[derive(Debug, Clone)]
pub(crate) struct StopFlag(Arc<SharedWords>);

impl StopFlag {
    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        self.0.words()[0].load(Relaxed) != 0
    }
    pub(crate) fn set(&self) {
        self.0.words()[0].store(1, Release);
    }
    /// Sleeps until `at_ns` (CLOCK_MONOTONIC) in pieces, so that a long sleep ends at most one piece after the flag is
    /// set. Returns whether it slept to the end.
    pub(crate) fn sleep_until_ns(&self, at_ns: u64) -> bool {
        const PIECE_NS: u64 = 20_000_000;
        while !self.is_set() {
            let piece_ns = at_ns.min(clock::monotonic_ns() + PIECE_NS);
            clock::sleep_until_ns(piece_ns);
            if piece_ns == at_ns {
                return true;
            }
        }
        false
    }
}

/// All cells of a workload's tasks.
#[derive(Debug, Clone)]
pub(crate) struct TaskCells {
    shared: Arc<SharedWords>,
    tasks: usize,
    groups: usize,
    /// Whether tasks read nr_migrations (see [`OwnCell::prepare`]).
    reads_migrations: bool,
}

impl TaskCells {
    pub(crate) fn new(tasks: usize, groups: usize, reads_migrations: bool) -> io::Result<Self> {
        let words = WORDS_PER_TASK_LINE + groups * GROUP_WORDS + tasks * TASK_WORDS;
        Ok(Self { shared: Arc::new(SharedWords::new(words)?), tasks, groups, reads_migrations })
    }

    pub(crate) fn stop_flag(&self) -> StopFlag {
        StopFlag(Arc::clone(&self.shared))
    }

    /// The line that the tasks of one group or copy share.
    #[inline(always)]
    pub(crate) fn group(&self, group: usize) -> &[AtomicU64] {
        debug_assert!(group < self.groups);
        let start = WORDS_PER_TASK_LINE + group * GROUP_WORDS;
        &self.shared.words()[start..start + GROUP_WORDS]
    }

    #[inline(always)]
    fn cell(&self, task: usize) -> &[AtomicU64] {
        debug_assert!(task < self.tasks);
        let start = WORDS_PER_TASK_LINE + self.groups * GROUP_WORDS + task * TASK_WORDS;
        &self.shared.words()[start..start + TASK_WORDS]
    }

    /// The task's operation counter; its owner stores to it (relaxed), and ticks of the control process read it.
    #[inline(always)]
    pub(crate) fn counter(&self, task: usize) -> &AtomicU64 {
        &self.cell(task)[word::OPERATIONS]
    }

    pub(crate) fn operations(&self, task: usize) -> u64 {
        self.counter(task).load(Relaxed)
    }

    /// What the task had verified at its end (messages sent or received, round trips).
    pub(crate) fn verified(&self, task: usize) -> u64 {
        self.cell(task)[word::VERIFIED].load(Acquire)
    }

    pub(crate) fn tid(&self, task: usize) -> u32 {
        self.cell(task)[word::TID].load(Acquire) as u32
    }

    pub(crate) fn finished_ns(&self, task: usize) -> u64 {
        self.cell(task)[word::FINISHED_NS].load(Acquire)
    }

    pub(crate) fn stamped(&self, task: usize) -> u64 {
        self.cell(task)[word::STAMPED].load(Acquire)
    }

    pub(crate) fn tier_counts(&self, task: usize) -> [u64; Tier::ALL.len()] {
        std::array::from_fn(|tier| self.cell(task)[word::TIERS + tier].load(Acquire))
    }

    pub(crate) fn error(&self, task: usize) -> Option<TaskError> {
        let cell = self.cell(task);
        let step = cell[word::ERROR_STEP].load(Acquire);
        let step = STEPS.get((step as usize).checked_sub(1)?)?;
        Some(TaskError { step: *step, detail: cell[word::ERROR_DETAIL].load(Acquire) })
    }

    /// The task as a row; `reaped` is what wait4 returned for a process (it covers the whole life; the part before the
    /// release is subtracted).
    pub(crate) fn record(&self, task: usize, role: &str, group: u32, reaped: Option<Rusage>) -> TaskRecord {
        let cell = self.cell(task);
        let load = |index: usize| cell[index].load(Acquire);
        let valid = load(word::VALID);
        let since = |base: usize, field: usize| load(base + 3 + field).saturating_sub(load(base + field));
        let usage = |field: usize| match reaped {
            Some(usage) => {
                let whole = [usage.cpu_ns, usage.voluntary_switches, usage.involuntary_switches][field];
                Some(whole.saturating_sub(load(word::RUSAGE + field)))
            }
            None => (valid & 2 != 0).then(|| since(word::RUSAGE, field)),
        };
        let tiers = self.tier_counts(task);
        let seen: u64 = tiers.iter().sum();
        let schedstat = |field: usize| (valid & 1 != 0).then(|| since(word::SCHEDSTAT, field));
        TaskRecord {
            tid: self.tid(task),
            role: role.to_owned(),
            group,
            operations: self.verified(task),
            cpu_ns: usage(0),
            voluntary_switches: usage(1),
            involuntary_switches: usage(2),
            migrations: (valid & 4 != 0).then(|| load(word::MIGRATIONS + 1).saturating_sub(load(word::MIGRATIONS))),
            run_ns: schedstat(0),
            run_delay_ns: schedstat(1),
            timeslices: schedstat(2),
            last_cpu: Some(load(word::LAST_CPU) as u32),
            same_cpu_share: (seen > 0).then(|| tiers[Tier::SameCpu as usize] as f64 / seen as f64),
        }
    }
}

/// A task's view of its own cell.
pub(crate) struct OwnCell<'a> {
    cells: &'a TaskCells,
    task: usize,
    schedstat: Option<File>,
    sched: Option<File>,
}

impl<'a> OwnCell<'a> {
    /// Before the release: faults the shared words in, opens schedstat and takes the baselines.
    pub(crate) fn prepare(cells: &'a TaskCells, task: usize) -> Self {
        let end = cells.shared.words().len();
        cells.shared.fault_in(0..end, false);
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        // Reading it takes some 10 µs, which hackbench's `Time:` would include, so it is not read where `Time:` is
        // reported.
        let sched = cells.reads_migrations.then(|| File::open("/proc/thread-self/sched").ok()).flatten();
        let own = Self { cells, task, schedstat, sched };
        let cell = cells.cell(task);
        cell[word::OPERATIONS].store(0, Relaxed);
        own.take_baselines();
        cell[word::TID].store(thread::current_tid().into(), Release);
        own
    }

    /// Records what the task has used so far, which is subtracted at its end.
    pub(crate) fn take_baselines(&self) {
        self.take_migrations(word::MIGRATIONS);
        self.take_schedstat(word::SCHEDSTAT);
        self.take_rusage(word::RUSAGE);
    }

    fn take_rusage(&self, at: usize) {
        let usage = rusage::of_thread();
        let values = [usage.cpu_ns, usage.voluntary_switches, usage.involuntary_switches];
        for (word, value) in self.cells.cell(self.task)[at..].iter().zip(values) {
            word.store(value, Relaxed);
        }
    }

    /// Reads the line `se.nr_migrations : N` from the open file.
    fn take_migrations(&self, at: usize) -> bool {
        let Some(file) = &self.sched else { return false };
        let mut text = [0u8; 2048];
        let Ok(length) = fd::read_from_start(file.as_fd(), &mut text) else { return false };
        let line = text[..length].split(|&b| b == b'\n').find(|line| line.starts_with(b"se.nr_migrations"));
        let Some(line) = line else { return false };
        let digits = line.iter().filter(|b| b.is_ascii_digit());
        let migrations = digits.fold(0, |n, &d| n * 10 + u64::from(d - b'0'));
        self.cells.cell(self.task)[at].store(migrations, Relaxed);
        true
    }

    /// Reads `run_ns run_delay_ns timeslices` with one pread of the open file.
    fn take_schedstat(&self, at: usize) -> bool {
        let Some(file) = &self.schedstat else { return false };
        let mut text = [0u8; 96];
        let Ok(length) = fd::read_from_start(file.as_fd(), &mut text) else { return false };
        let mut found = 0;
        let numbers = text[..length].split(|b| !b.is_ascii_digit()).filter(|digits| !digits.is_empty());
        for (word, digits) in self.cells.cell(self.task)[at..at + 3].iter().zip(numbers) {
            word.store(digits.iter().fold(0, |n, &d| n * 10 + u64::from(d - b'0')), Relaxed);
            found += 1;
        }
        found == 3
    }

    /// After the last operation: stores the task's sums and its final readings. `whole_process`: wait4 will provide the
    /// rusage.
    pub(crate) fn finish(&self, outcome: Result<Work, TaskError>, whole_process: bool) -> Result<(), TaskError> {
        mark::done();
        let cell = self.cells.cell(self.task);
        cell[word::FINISHED_NS].store(clock::monotonic_ns(), Relaxed);
        cell[word::LAST_CPU].store(cpu_number::current_cpu().into(), Relaxed);
        let mut valid = u64::from(self.take_schedstat(word::SCHEDSTAT + 3));
        if !whole_process {
            self.take_rusage(word::RUSAGE + 3);
            valid |= 2;
        }
        valid |= u64::from(self.take_migrations(word::MIGRATIONS + 1)) << 2;
        cell[word::VALID].store(valid, Relaxed);
        match outcome {
            Ok(work) => {
                cell[word::STAMPED].store(work.stamped, Relaxed);
                for (word, count) in cell[word::TIERS..].iter().zip(work.tiers) {
                    word.store(count, Relaxed);
                }
                cell[word::VERIFIED].store(work.operations, Release);
                Ok(())
            }
            Err(error) => {
                cell[word::ERROR_DETAIL].store(error.detail, Relaxed);
                let number = STEPS.iter().position(|&step| step == error.step).map_or(1, |at| at + 1);
                cell[word::ERROR_STEP].store(number as u64, Release);
                Err(error)
            }
        }
    }
}

/// What a task's loop returns.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Work {
    /// Operations done and verified.
    pub(crate) operations: u64,
    /// Stamped ones.
    pub(crate) stamped: u64,
    /// Counts by tier, if the task knows them.
    pub(crate) tiers: [u64; Tier::ALL.len()],
}
