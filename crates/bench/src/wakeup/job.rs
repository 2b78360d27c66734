//! What a worker does for a request: schbench's work (think, then multiply matrices while holding a per-CPU lock), or
//! its pipe mode (write a page that the messenger reads and writes).

use crate::task::{Step, StopFlag, TaskError};
use schedlab_sys::cpu_number::current_cpu;
use schedlab_sys::private_memory::PrivateWords;
use schedlab_sys::shared_memory::{SharedWords, WORDS_PER_TASK_LINE};
use std::cell::Cell;
use std::hint::{black_box, spin_loop};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

/// One kind of request. The loops call it through a pointer: the cost of the call is negligible against a wakeup,
/// whereas compiling every loop for every job would not be.
pub(super) trait Job {
    /// Called before the worker makes its request number `number` (from 1).
    fn ask(&mut self, number: u64);
    /// Handles it.
    fn serve(&mut self, number: u64) -> Result<(), TaskError>;
    /// Whether serving takes long enough for a second stamp.
    fn is_timed(&self) -> bool;
}

/// Think time, then matrix multiplications.
#[derive(Debug)]
pub(super) struct Compute {
    think: Duration,
    operations: u64,
    size: usize,
    /// Three square matrices, one after the other: two factors, which are never written, and the product.
    matrices: PrivateWords,
    locks: Option<CpuLocks>,
    stop: StopFlag,
}

/// Rows of three matrices of 64-bit numbers that together fill a footprint.
pub(super) fn matrix_size(footprint_bytes: u64) -> usize {
    (footprint_bytes / 3 / 8).isqrt().max(1) as usize
}

impl Compute {
    pub(super) fn new(
        think_ns: u64,
        operations: u64,
        footprint_bytes: u64,
        locks: Option<CpuLocks>,
        stop: StopFlag,
    ) -> io::Result<Self> {
        let size = if operations == 0 { 0 } else { matrix_size(footprint_bytes) };
        let mut matrices = PrivateWords::new(3 * size * size)?;
        fault_in(matrices.words(), size);
        Ok(Self { think: Duration::from_nanos(think_ns), operations, size, matrices, locks, stop })
    }
}

/// Faults the memory in before the release, with the accesses of a request: reads the factors, writes the product.
fn fault_in(words: &mut [u64], size: usize) {
    const PAGE_WORDS: usize = 4096 / 8;
    let (factors, product) = words.split_at_mut(2 * size * size);
    factors.iter().step_by(PAGE_WORDS).for_each(|word| {
        black_box(*word);
    });
    product.fill(0);
}

/// Naive multiplication, row by column, that stores the sum after each step, because the memory traffic must be the
/// reference's. As far as the compiler knows, any two cells may be the same, so it keeps the stores. The order of the
/// factors is the order of the two loads; if the factors are the one page of zeros, it makes a difference of a fifth
/// (AMD Zen 4).
fn multiply(words: &mut [u64], size: usize) {
    if size == 0 {
        return;
    }
    let cells = Cell::from_mut(words).as_slice_of_cells();
    let (left, rest) = cells.split_at(size * size);
    let (right, product) = rest.split_at(size * size);
    for (row, out) in left.chunks_exact(size).zip(product.chunks_exact(size)) {
        for (column, cell) in out.iter().enumerate() {
            cell.set(0);
            for (a, line) in row.iter().zip(right.chunks_exact(size)) {
                cell.set(cell.get().wrapping_add(line[column].get().wrapping_mul(a.get())));
            }
        }
    }
}

impl Job for Compute {
    fn is_timed(&self) -> bool {
        true
    }

    fn ask(&mut self, _number: u64) {}

    fn serve(&mut self, _number: u64) -> Result<(), TaskError> {
        if !self.think.is_zero() {
            // A relative sleep, like schbench's usleep, needs no clock read.
            std::thread::sleep(self.think);
        }
        let _held = self.locks.as_ref().and_then(|locks| locks.hold(&self.stop));
        for _ in 0..self.operations {
            multiply(self.matrices.words(), self.size);
        }
        Ok(())
    }
}

/// One spin lock per CPU, like schbench's: if a worker is preempted while it holds the lock of its CPU, the next worker
/// there spins.
#[derive(Debug, Clone)]
pub(super) struct CpuLocks {
    shared: Arc<SharedWords>,
    cpus: usize,
}

/// Released on drop.
pub(super) struct Held<'a>(&'a AtomicU64);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.store(0, Release);
    }
}

impl CpuLocks {
    /// For CPUs 0 … `highest`.
    pub(super) fn new(highest: u32) -> io::Result<Self> {
        let cpus = highest as usize + 1;
        Ok(Self { shared: Arc::new(SharedWords::new(cpus * WORDS_PER_TASK_LINE)?), cpus })
    }

    /// Maps the locks into the calling task.
    pub(super) fn fault_in(&self) {
        self.shared.fault_in(0..self.shared.words().len(), true);
    }

    /// Takes the lock of the CPU that the caller runs on; `None` if the run ended while it spun.
    fn hold(&self, stop: &StopFlag) -> Option<Held<'_>> {
        loop {
            let cpu = current_cpu();
            let lock = &self.shared.words()[cpu as usize % self.cpus * WORDS_PER_TASK_LINE];
            while lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                if stop.is_set() {
                    return None;
                }
                spin_loop();
            }
            let held = Held(lock);
            if current_cpu() == cpu {
                return Some(held);
            }
            // The task migrated while it spun, and the lock of another CPU protects nothing here.
        }
    }
}

/// Pages of the pipe mode, one for each worker.
#[derive(Debug, Clone)]
pub(super) struct Pages {
    shared: Arc<SharedWords>,
    words: usize,
}

/// Makes what the worker writes different from what the messenger writes in reply.
const QUESTION: u64 = 1 << 63;

impl Pages {
    /// `bytes` is a multiple of eight.
    pub(super) fn new(workers: usize, bytes: usize) -> io::Result<Self> {
        let words = bytes / 8;
        // Pages of different workers share no cache line.
        let shared = SharedWords::new(workers * words.next_multiple_of(WORDS_PER_TASK_LINE))?;
        Ok(Self { shared: Arc::new(shared), words })
    }

    fn page(&self, worker: usize) -> &[AtomicU64] {
        let start = worker * self.words.next_multiple_of(WORDS_PER_TASK_LINE);
        &self.shared.words()[start..start + self.words]
    }

    /// Maps a worker's page into the calling task.
    pub(super) fn fault_in(&self, worker: usize) {
        let start = worker * self.words.next_multiple_of(WORDS_PER_TASK_LINE);
        self.shared.fault_in(start..start + self.words, true);
    }

    fn fill(&self, worker: usize, value: u64) {
        self.page(worker).iter().for_each(|word| word.store(value, Relaxed));
    }

    /// Checks that the first and the last word are what the partner wrote.
    fn must_hold(&self, worker: usize, value: u64) -> Result<(), TaskError> {
        let page = self.page(worker);
        let ends = [&page[0], &page[page.len() - 1]].map(|word| word.load(Relaxed));
        match ends.into_iter().find(|&found| found != value) {
            None => Ok(()),
            Some(found) => Err(TaskError { step: Step::Token, detail: found }),
        }
    }

    /// The messenger's side: reads the request, and overwrites the whole page with the reply.
    #[inline(always)]
    pub(super) fn answer(&self, worker: usize, number: u64) -> Result<(), TaskError> {
        self.must_hold(worker, QUESTION | number)?;
        self.fill(worker, number);
        Ok(())
    }
}

/// The pipe mode's worker side.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) pages: Pages,
    pub(super) worker: usize,
}

impl Job for Pipe {
    fn is_timed(&self) -> bool {
        false
    }

    fn ask(&mut self, number: u64) {
        self.pages.fill(self.worker, QUESTION | number);
    }

    fn serve(&mut self, number: u64) -> Result<(), TaskError> {
        self.pages.must_hold(self.worker, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TaskCells;

    fn flag() -> StopFlag {
        TaskCells::new(1, 1, false).unwrap().stop_flag()
    }

    #[test]
    fn the_product_is_right_and_fills_the_footprint() {
        assert_eq!((matrix_size(256 << 10), matrix_size(8)), (104, 1));
        let mut compute = Compute::new(0, 1, 3 * 8 * 4, None, flag()).unwrap();
        compute.matrices.words()[..8].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        compute.serve(1).unwrap();
        assert_eq!(compute.matrices.words()[8..], [19, 22, 43, 50]);
    }

    /// Memory of the matrices that belongs to this process, as opposed to the kernel's page of zeros.
    fn own_kb(compute: &mut Compute) -> u64 {
        let address = compute.matrices.words().as_ptr().addr();
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let start = format!("{address:x}-");
        let lines = smaps.lines().skip_while(|line| !line.starts_with(&start));
        let anonymous = lines.filter_map(|line| line.strip_prefix("Anonymous:")).next().unwrap();
        anonymous.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn requests_write_the_product_alone_as_schbenchs_do() {
        // Less than a huge page.
        let mut compute = Compute::new(0, 2, 3 << 19, None, flag()).unwrap();
        compute.serve(1).unwrap();
        let own_kb = own_kb(&mut compute);
        assert!((508..=520).contains(&own_kb), "{own_kb} kB");
    }

    #[test]
    fn a_held_lock_keeps_others_out_until_it_is_dropped_or_the_run_ends() {
        let (locks, stop) = (CpuLocks::new(0).unwrap(), flag());
        let held = locks.hold(&stop).unwrap();
        std::thread::scope(|threads| {
            let other = threads.spawn(|| locks.hold(&stop).is_some());
            assert!(!other.is_finished());
            drop(held);
            assert!(other.join().unwrap());
        });
        let _held = locks.hold(&stop).unwrap();
        stop.set();
        assert!(locks.hold(&stop).is_none());
    }

    #[test]
    fn a_page_that_was_not_answered_is_told() {
        let pages = Pages::new(2, 24).unwrap();
        let mut pipe = Pipe { pages: pages.clone(), worker: 1 };
        pipe.ask(5);
        assert!(pipe.serve(5).is_err(), "nobody answered");
        assert!(pages.answer(1, 4).is_err(), "another question");
        pages.answer(1, 5).unwrap();
        pipe.serve(5).unwrap();
        assert!(pages.page(0).iter().all(|word| word.load(Relaxed) == 0), "the other worker's page is its own");
    }
}
