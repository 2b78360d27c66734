//! The threads that drain the per-CPU buffers. Each wakes up periodically and reads the buffers of a group of CPUs, so
//! that reading keeps up on a large machine. They wake up rarely, so that one wakeup reads many full pages.

use super::cpu_reader::{CpuReader, Until};
use super::error::TracerError;
use super::sink::Sink;
use schedlab_sys::{affinity, clock};
use schedlab_trace::PageDecoder;
use schedlab_trace::recording::CpuTotals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// CPUs per thread. A CPU that switches all the time produces 1.2 M events/s, and a thread can decode and encode
/// several times as many.
pub(super) const CPUS_OF_A_THREAD: usize = 8;

/// The name of every drain thread: they appear in a recording like all threads, and the name identifies them.
pub(super) const THREAD_NAME: &str = "schedlab-drain";

/// Bounds on the time between two ticks, which adapts to how fast the buffers fill.
const SHORTEST_TICK: Duration = Duration::from_millis(2);
const LONGEST_TICK: Duration = Duration::from_millis(100);
const FIRST_TICK: Duration = Duration::from_millis(20);

/// Blocks are handed in and written to the file before they are this old, even if they are not full: a reader need not
/// hold more to merge the CPUs in order of time, and a recorder that is killed loses no more.
const ROUND_NS: u64 = 250_000_000;

/// They are also handed in when a thread holds this many events.
const MAX_PENDING: u64 = 1 << 20;

/// What all drain threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) sink: Mutex<Sink>,
    pub(super) stop: AtomicBool,
}

/// A running drain thread.
#[derive(Debug)]
pub(super) struct DrainThread {
    handle: Option<JoinHandle<Result<Drained, TracerError>>>,
}

/// What a thread read.
#[derive(Debug, Default)]
pub(super) struct Drained {
    pub(super) totals: Vec<CpuTotals>,
    pub(super) trouble: Vec<String>,
    /// Its own CPU time, ns.
    pub(super) cpu_ns: u64,
}

impl DrainThread {
    /// Starts thread number `number` over its readers, on `cpus` (`None`: wherever the scheduler puts it). When this
    /// returns, the thread has its name, by which a snapshot recognises it.
    pub(super) fn start(
        number: usize,
        readers: Vec<CpuReader>,
        decoder: PageDecoder,
        buffer_pages: u64,
        cpus: Option<Vec<u32>>,
        shared: Arc<Shared>,
    ) -> Result<Self, TracerError> {
        let (is_up, up) = mpsc::channel();
        let body = move || {
            let _ = is_up.send(());
            if let Some(cpus) = cpus {
                // If a cpuset refuses this, the thread runs on any CPU that it may use.
                let _ = affinity::set_affinity(0, &cpus);
            }
            let buffer = Vec::with_capacity(decoder.page_bytes());
            let mut drain = Drain { number, readers, decoder, buffer, buffer_pages, tick: FIRST_TICK, round_ns: 0 };
            drain.run(&shared)?;
            Ok(Drained {
                totals: drain.readers.iter().map(CpuReader::totals).collect(),
                trouble: drain.readers.iter().filter_map(CpuReader::trouble).collect(),
                cpu_ns: clock::thread_cpu_ns(),
            })
        };
        let handle = std::thread::Builder::new().name(THREAD_NAME.into()).spawn(body);
        let handle = handle.map_err(|error| TracerError::Thread(format!("cannot be started: {error}")))?;
        // If the thread died before, joining it shows that.
        let _ = up.recv();
        Ok(Self { handle: Some(handle) })
    }

    /// Wakes it, so that it notices that it should stop.
    pub(super) fn wake(&self) {
        if let Some(handle) = &self.handle {
            handle.thread().unpark();
        }
    }

    /// Waits for its end.
    pub(super) fn join(&mut self) -> Result<Drained, TracerError> {
        let Some(handle) = self.handle.take() else { return Ok(Drained::default()) };
        handle.join().map_err(|_| TracerError::Thread("died".to_owned()))?
    }
}

/// The state of a drain thread.
struct Drain {
    number: usize,
    readers: Vec<CpuReader>,
    decoder: PageDecoder,
    /// What one read gives.
    buffer: Vec<u8>,
    /// Pages of a CPU's buffer.
    buffer_pages: u64,
    tick: Duration,
    round_ns: u64,
}

impl Drain {
    fn run(&mut self, shared: &Shared) -> Result<(), TracerError> {
        self.round_ns = clock::monotonic_ns();
        loop {
            // Loaded before reading, so that everything traced before tracing was switched off is still read.
            let last = shared.stop.load(Ordering::Acquire);
            let began_ns = clock::monotonic_ns();
            let fullest = self.read_all(if last { Until::Empty } else { Until::Writer }, began_ns, shared)?;
            let pending: u64 = self.readers.iter().map(CpuReader::pending).sum();
            // At the next tick it would be too late.
            let is_old = began_ns - self.round_ns + self.tick.as_nanos() as u64 > ROUND_NS;
            if last || is_old || pending >= MAX_PENDING {
                self.hand_in(began_ns, shared)?;
            }
            if last {
                return Ok(());
            }
            self.adapt(fullest);
            std::thread::park_timeout(self.tick);
        }
    }

    /// One tick; returns the largest number of pages that any CPU had.
    fn read_all(&mut self, until: Until, began_ns: u64, shared: &Shared) -> Result<u64, TracerError> {
        let mut fullest = 0;
        for reader in &mut self.readers {
            let mut full = |block| shared.sink.lock().unwrap_or_else(PoisonError::into_inner).block(block);
            let pages = reader.drain(&mut self.decoder, &mut self.buffer, until, began_ns, &mut full)?;
            fullest = fullest.max(pages);
        }
        Ok(fullest)
    }

    fn hand_in(&mut self, began_ns: u64, shared: &Shared) -> Result<(), TracerError> {
        let complete_ns = self.readers.iter().map(|reader| reader.complete_ns).min().unwrap_or(began_ns);
        let blocks: Vec<_> = self.readers.iter_mut().filter_map(|reader| reader.take(&self.decoder)).collect();
        let mut sink = shared.sink.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.into_iter().try_for_each(|block| sink.block(block))?;
        self.round_ns = began_ns;
        sink.complete(self.number, complete_ns)
    }

    /// Shortens the tick before a buffer fills, and lengthens it if there is little to read.
    fn adapt(&mut self, fullest: u64) {
        if fullest * 4 > self.buffer_pages {
            self.tick = (self.tick / 2).max(SHORTEST_TICK);
        } else if fullest * 16 < self.buffer_pages {
            self.tick = (self.tick * 5 / 4).min(LONGEST_TICK);
        }
    }
}
