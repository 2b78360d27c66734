//! `burn/1`: threads that keep a CPU busy for a share of the time; the references are stress-ng --cpu-load and fio's
//! cpuio. There are two named clocks, because they differ under contention: `cpu` burns CPU time (stress-ng: a
//! preempted burner catches up), `wall` burns until a wall-clock instant (fio: a preempted burner takes the time off
//! the CPU for burned).
//!
//! t0 is before the release of all burners, t1 is when the stop flag is set. Each burner loops: it burns a slice, then
//! sleeps so that slice ÷ (slice + sleep) is the load. With `cpu`, the time by which a sleep was too long, including
//! the wait for the CPU after it, is taken off the next sleep, as in stress-ng; with `wall` it is not, as in fio. The
//! report gives what was achieved: CPU time over wall time × threads, and the overshoot of each sleep.

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::herd::Herd;
use crate::limits::Limits;
use crate::metrics::metric;
use crate::observer::{Observer, RunOrder};
use crate::options::{Arguments, canonical, cpus_text, set_duration};
use crate::placement::confine;
use crate::prepared::{Ended, Prepared, StampParts};
use crate::recorder::Recorder;
use crate::task::{StopFlag, Work};
use crate::workload::{Workload, WorkloadInfo, option};
use schedlab_plan::units::{self, CpuList};
use schedlab_plan::{Direction, Tier, TrialOutcome, WorkloadSpec};
use schedlab_sys::clock::{monotonic_ns, thread_cpu_ns};
use schedlab_sys::fd;
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Which clock ends a burn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BurnClock {
    /// CPU time of the thread.
    Cpu,
    /// CLOCK_MONOTONIC.
    Wall,
}

/// A validated configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    pub(crate) threads: u32,
    /// Share of the time, in (0, 1].
    pub(crate) load: f64,
    pub(crate) chunk_ns: u64,
    pub(crate) clock: BurnClock,
    pub(crate) length: Length,
    pub(crate) cpus: CpuList,
}

/// `burn/1`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "burn",
    version: 1,
    reference: "stress-ng --cpu-load (clock=cpu), fio cpuio (clock=wall)",
    summary: "tasks that keep a CPU busy for a share of the time; also a background load",
    operation: "chunk",
    primary: &["achieved_cpu_share"],
    metrics: &["achieved_cpu_share", "asked_cpu_share", "chunks_per_s"],
    options: &[
        option("threads", "N", "1", "burning tasks (processes of one thread)"),
        option("load", "SHARE", "100%", "share of the time each burns"),
        option("chunk", "TIME", "50ms", "length of one burn"),
        option("clock", "cpu|wall", "cpu", "a burn ends after CPU time (stress-ng) or at a wall-clock instant (fio)"),
        option("duration", "TIME", "1s", "length of the steady state; a background load runs until its trial ends"),
        option("cpus", "CPULIST|all", "all", "CPUs all burners are confined to"),
    ],
    shorthand: "THREADS[xLOAD%]",
    parse: |spec| Ok(Box::new(read(spec)?)),
};

/// Reads and validates a `burn` spec (also for background loads).
pub(crate) fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let args = Arguments::new(&INFO, spec)?;
    let (threads, load) = match args.shorthand() {
        None => (1, None),
        Some(text) => {
            if let Some(key) = ["threads", "load"].into_iter().find(|key| args.get(key).is_some()) {
                return Err(args.conflict(format!("`{text}` already gives threads and load; leave out {key}=")));
            }
            let (threads, load) = text.split_once('x').map_or((text, None), |(threads, load)| (threads, Some(load)));
            (args.number("THREADS[xLOAD%]", threads, 1, 10_000)?, load)
        }
    };
    let load = match load.or(args.get("load")) {
        None => 1.0,
        Some(text) => {
            let share = units::parse_share(text).map_err(|e| args.bad("load", text, e.to_string()))?;
            if !(share > 0.0 && share <= 1.0) {
                return Err(args.bad("load", text, "must be above 0% and at most 100%"));
            }
            share
        }
    };
    let chunk_ns = match args.get("chunk") {
        None => 50_000_000,
        Some(text) => {
            let ns = units::parse_duration_ns(text).map_err(|e| args.bad("chunk", text, e.to_string()))?;
            if !(10_000..=10_000_000_000).contains(&ns) {
                return Err(args.bad("chunk", text, "must be from 10us to 10s"));
            }
            ns
        }
    };
    Ok(Config {
        threads: args.number_or("threads", threads, 1, 10_000)? as u32,
        load,
        chunk_ns,
        clock: args.choice("clock", BurnClock::Cpu, &[("cpu", BurnClock::Cpu), ("wall", BurnClock::Wall)])?,
        length: args.length_or(Length::DurationNs(1_000_000_000))?.0,
        cpus: args.cpus()?,
    })
}

/// Spins for a few microseconds between two reads of the clock; on that scale a burner is no different from work.
#[inline(always)]
fn spin_a_little() {
    let mut x = black_box(1u64);
    for _ in 0..1_000 {
        x = black_box(x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
    }
    black_box(x);
}

/// Burns one chunk; ends early at the stop flag.
#[inline(always)]
fn burn_chunk(config: &Config, stop: &StopFlag) {
    match config.clock {
        BurnClock::Cpu => {
            let end = thread_cpu_ns() + config.chunk_ns;
            while !stop.is_set() && thread_cpu_ns() < end {
                spin_a_little();
            }
        }
        BurnClock::Wall => {
            let end = monotonic_ns() + config.chunk_ns;
            while !stop.is_set() && monotonic_ns() < end {
                spin_a_little();
            }
        }
    }
}

/// A burner's loop, until the flag is set; returns the number of chunks. `asleep` gets the overshoot of every sleep,
/// ns.
pub(crate) fn burn(config: &Config, stop: &StopFlag, counter: &AtomicU64, mut asleep: impl FnMut(u64)) -> u64 {
    // fio: sleep = burn × (100 − load) / load.
    let sleep_ns = (config.chunk_ns as f64 * (1.0 - config.load) / config.load) as u64;
    let (mut chunks, mut owed_ns) = (0, 0);
    while !stop.is_set() {
        burn_chunk(config, stop);
        chunks += 1;
        counter.store(chunks, Relaxed);
        if sleep_ns > 0 {
            let wake_ns = monotonic_ns() + sleep_ns.saturating_sub(owed_ns);
            if stop.sleep_until_ns(wake_ns) {
                let overshoot_ns = monotonic_ns().saturating_sub(wake_ns);
                asleep(overshoot_ns);
                owed_ns = if config.clock == BurnClock::Cpu { overshoot_ns } else { 0 };
            }
        }
    }
    chunks
}

/// Forks the burners of one configuration.
fn start(config: &Config, run: &Prepared<'_>) -> Result<Herd, BenchError> {
    let mut herd = run.herd(config.threads as usize, fd::pipe_pair)?;
    for thread in 0..config.threads {
        let (task, recorder) = (herd.next_task(), run.recorder.as_ref());
        let prepare = || {
            if let Some(recorder) = recorder {
                recorder.fault_in(thread as usize);
            }
            confine(config.cpus.as_slice())
        };
        let body = |()| {
            let mut work = Work::default();
            let record = |ns| {
                if let Some(recorder) = recorder {
                    recorder.record(0, Tier::SameCpu, thread as usize, ns);
                    work.stamped += 1;
                }
            };
            work.operations = burn(config, &run.cells.stop_flag(), run.cells.counter(task), record);
            Ok(work)
        };
        herd.fork("burner", thread, prepare, body)?;
    }
    Ok(herd)
}

impl Config {
    /// The spec without a length, in which form a load prints it.
    pub(crate) fn spec_of(&self, length: Option<Length>) -> WorkloadSpec {
        let args = [
            ("threads", self.threads.to_string()),
            ("load", format!("{}%", self.load * 100.0)),
            ("chunk", units::format_ns(self.chunk_ns)),
            ("clock", if self.clock == BurnClock::Cpu { "cpu" } else { "wall" }.to_owned()),
            ("cpus", cpus_text(&self.cpus)),
        ];
        canonical(&INFO, &args, length)
    }
}

impl Workload for Config {
    fn info(&self) -> &'static WorkloadInfo {
        &INFO
    }

    fn spec(&self) -> WorkloadSpec {
        self.spec_of(Some(self.length))
    }

    fn set_duration_ns(&mut self, ns: u64) -> Result<(), BenchError> {
        set_duration(&INFO, &mut self.length, false, ns)
    }

    fn check(&self, limits: &Limits) -> Result<(), BenchError> {
        limits.fit(INFO.name, &format!("{} burners", self.threads), self.threads.into(), 16)
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        order.injects_nothing(INFO.name)?;
        // One stamp per sleep of milliseconds costs nothing noticeable at any level but `off`, which reads no clock for
        // it.
        let free = StampParts { clock_reads: 0.0, values: 0.0 };
        let run = Prepared::new(order, self.threads as usize, 1, true)?
            .recorded(|| Recorder::new(&["overshoot"], &[], 1), free)?;
        run.before_fork(observer)?;
        let herd = start(self, &run)?;
        // It has no loops.
        let ended = run.run(herd, observer, self.length, |_| 0, "burner")?;
        Ok(outcome(self, &run, ended))
    }
}

fn outcome(config: &Config, run: &Prepared<'_>, ended: Ended) -> TrialOutcome {
    let operations = ended.total("burner");
    let busy_ns: u64 = ended.tasks.iter().filter_map(|task| task.run_ns.or(task.cpu_ns)).sum();
    let wall_ns = (ended.line.drained_ns.max(ended.line.t0_ns + 1) - ended.line.t0_ns) as f64;
    let share = busy_ns as f64 / (wall_ns * f64::from(config.threads));
    let own = vec![
        metric("achieved_cpu_share", share, "share", Direction::HigherIsBetter),
        metric("asked_cpu_share", config.load, "share", Direction::Neutral),
        metric("chunks_per_s", ended.rate_per_s(operations), "1/s", Direction::HigherIsBetter),
    ];
    let (threads, asked, achieved) = (config.threads, config.load * 100.0, share * 100.0);
    TrialOutcome {
        native_lines: vec![format!("{threads} burners: {asked:.1}% of a CPU each asked, {achieved:.1}% achieved")],
        ..run.outcome(&INFO, ended, operations, own)
    }
}
