//! Threads that only sleep and look at the clock, one on each CPU: they show how long the machine itself stalled during
//! a measurement. A guest whose host takes its CPUs away stalls for 100 ms at a time, and need not see that as steal
//! time.

use anyhow::{Context, Result};
use schedlab_sys::clock::{monotonic_ns, sleep_until_ns};
use schedlab_sys::{affinity, rights, sched_attr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

/// Interval between two looks, ns.
const EVERY_NS: u64 = 1_000_000;
/// A priority above what is measured, if permitted; otherwise a CPU that is merely busy also seems to stall.
const PRIORITY: u32 = 60;

/// Running sentinels.
pub struct Sentinels {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<u64>>>,
}

impl Sentinels {
    /// Begins to look, on all CPUs we may use.
    pub fn start() -> Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let watch = |cpu| {
            let ended = ended.clone();
            std::thread::spawn(move || longest_stall_ns(cpu, &ended))
        };
        let threads = affinity::allowed_cpus(0)?.into_iter().map(watch).collect();
        Ok(Self { ended, threads })
    }

    /// Ends them; returns the longest time by which one of their sleeps was too long, ns.
    pub fn end(self) -> Result<u64> {
        self.ended.store(true, Relaxed);
        let stalls: Result<Vec<u64>> =
            self.threads.into_iter().map(|thread| thread.join().ok().context("a sentinel died")?).collect();
        Ok(stalls?.into_iter().max().unwrap_or(0))
    }
}

fn longest_stall_ns(cpu: u32, ended: &AtomicBool) -> Result<u64> {
    affinity::set_affinity(0, &[cpu])?;
    if rights::try_fifo().is_ok() {
        sched_attr::set_policy(0, sched_attr::SCHED_FIFO, PRIORITY)?;
    }
    let mut longest_ns = 0;
    while !ended.load(Relaxed) {
        let armed_ns = monotonic_ns() + EVERY_NS;
        sleep_until_ns(armed_ns);
        longest_ns = longest_ns.max(monotonic_ns() - armed_ns);
    }
    Ok(longest_ns)
}
