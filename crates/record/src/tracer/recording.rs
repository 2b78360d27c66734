//! From an order to a file: makes the instance, switches the events on, reads until told to stop, and writes down what
//! was read and what was not.

use super::drain::{CPUS_OF_A_THREAD, DrainThread, Lanes, Shared};
use super::error::TracerError;
use super::events::{kinds, place};
use super::instance::Instance;
use super::lane::Lane;
use super::sink::Sink;
use super::snapshot;
use crate::Roots;
use schedlab_run::TraceOrder;
use schedlab_run::units::CpuList;
use schedlab_sys::{affinity, clock, kernel_facts};
use schedlab_trace::PageDecoder;
use schedlab_trace::recording::{About, CpuTotals, FormatText, Moment, Totals};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The kernel's buffer of a CPU where nobody says otherwise: 0.1 s of the busiest events there are (1.2 M/s of 60
/// bytes), five ticks of the reader.
const BUFFER_KIB: u64 = 8 << 10;

/// Of the machine's memory, the share that all buffers together may take: 1 / this.
const SHARE_OF_MEMORY: u64 = 8;

/// What to trace and where to put it.
#[derive(Debug, Clone)]
pub struct TracerOrder {
    /// Events, file, and what is kept.
    pub trace: TraceOrder,
    /// CPUs on which the measured work runs, so that the reading is done elsewhere; empty: not known.
    pub measured_cpus: Vec<u32>,
    /// What is recorded, for the file: a command line.
    pub command: String,
    /// Where the entry of the instance goes ([`schedlab_sys::net_name::RUN_ROOT`]).
    pub run_root: PathBuf,
    /// Where /proc is.
    pub roots: Roots,
}

/// What became of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recorded {
    /// The file; `None` where the events were left unread.
    pub file: Option<PathBuf>,
    /// Its size, bytes.
    pub file_bytes: u64,
    /// Events in it; of an unread trace: in the kernel's buffer.
    pub events: u64,
    /// Bytes of the events before compression.
    pub whole_bytes: u64,
    /// Events that were lost, by whatever count is larger: the pages', or the kernel's own.
    pub lost: u64,
    /// How long tracing was on, ns.
    pub on_ns: u64,
    /// What a reader of the numbers should know.
    pub notes: Vec<String>,
}

/// A trace under way; dropped without [`Tracer::stop`] it ends and what it made in the kernel is removed.
#[derive(Debug)]
pub struct Tracer {
    order: TracerOrder,
    instance: Instance,
    cpus: Vec<u32>,
    shared: Option<Arc<Shared>>,
    threads: Vec<DrainThread>,
    notes: Vec<String>,
    began_ns: u64,
}

impl Tracer {
    /// Starts it; when this returns, events are being recorded.
    pub fn start(order: TracerOrder) -> Result<Self, TracerError> {
        let instance = Instance::create(&order.run_root, &order.roots.proc)?;
        let cpus = instance.cpus()?;
        let buffer_kib = buffer_kib(&order, cpus.len());
        // So that the times are those of the workloads: CLOCK_MONOTONIC.
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &buffer_kib.to_string())?;
        // The kernel would note the name of every task that is switched, for reading as text: a probe that costs as much
        // as an event.
        let _ = instance.write("options/record-cmd", "0");
        let formats = formats(&instance, &order)?;
        let mut tracer =
            Self { order, instance, cpus, shared: None, threads: Vec::new(), notes: Vec::new(), began_ns: 0 };
        if tracer.order.trace.out.is_some() {
            tracer.begin_recording(&formats, buffer_kib)?;
        }
        for format in &formats {
            tracer.instance.write(&format!("events/{}/{}/enable", format.system, name(&format.text)), "1")?;
        }
        tracer.began_ns = clock::monotonic_ns();
        tracer.instance.write("tracing_on", "1")?;
        tracer.snapshot(Moment::Start)?;
        Ok(tracer)
    }

    /// The directory of its instance: what writes 0 to `tracing_on` there stops the trace.
    pub fn instance(&self) -> &Path {
        self.instance.directory()
    }

    /// Opens the file and starts the threads that fill it.
    fn begin_recording(&mut self, formats: &[FormatText], buffer_kib: u64) -> Result<(), TracerError> {
        let Some(path) = self.order.trace.out.clone() else { return Ok(()) };
        let header_page = self.instance.read_global("events/header_page")?;
        let pairs: Vec<(&str, &str)> = formats.iter().map(|f| (f.system.as_str(), f.text.as_str())).collect();
        let decoder =
            || PageDecoder::new(&header_page, &pairs, cfg!(target_endian = "big")).map_err(TracerError::Layout);
        let page_bytes = decoder()?.page_bytes() as u64;
        let drain_cpus = self.drain_cpus();
        let groups: Vec<&[u32]> = self.cpus.chunks(CPUS_OF_A_THREAD).collect();
        let about = self.about(formats, buffer_kib, drain_cpus.as_deref());
        let keep_ns = self.order.trace.keep_ns;
        let sink = Sink::create(&path, &about, &header_page, formats, groups.len(), keep_ns)?;
        let shared = Arc::new(Shared { sink: Mutex::new(sink), stop: AtomicBool::new(false) });
        self.shared = Some(Arc::clone(&shared));
        for (number, group) in groups.into_iter().enumerate() {
            let lanes = group.iter().map(|cpu| Lane::open(&self.instance, *cpu)).collect::<Result<_, _>>()?;
            let pages = buffer_kib * 1024 / page_bytes;
            let thread =
                DrainThread::start(number, lanes, decoder()?, pages, drain_cpus.clone(), Arc::clone(&shared))?;
            self.threads.push(thread);
        }
        Ok(())
    }

    /// CPUs for the drain threads: those that we may use and that are not measured. `None`, and a note, where all are.
    fn drain_cpus(&mut self) -> Option<Vec<u32>> {
        let allowed = affinity::allowed_cpus(0).unwrap_or_default();
        let measured = &self.order.measured_cpus;
        let free: Vec<u32> = allowed.into_iter().filter(|cpu| !measured.contains(cpu)).collect();
        if measured.is_empty() || free.is_empty() {
            let why = if measured.is_empty() { "the workload may run on every CPU" } else { "every CPU is measured" };
            self.notes.push(format!("trace: {why}, so it is read beside the workload: its cost is in the numbers"));
            return None;
        }
        Some(free)
    }

    fn about(&self, formats: &[FormatText], buffer_kib: u64, drain_cpus: Option<&[u32]>) -> About {
        let mut about = About::default();
        let uname = kernel_facts::uname().unwrap_or_default();
        let (mono, real) = (clock::monotonic_ns(), clock::realtime_ns());
        let boot_id = std::fs::read_to_string(self.order.roots.proc.join("sys/kernel/random/boot_id"));
        let names: Vec<&str> = formats.iter().map(|f| name(&f.text)).collect();
        about.set("clock", "CLOCK_MONOTONIC");
        about.set("begin_ns", mono);
        about.set("realtime_minus_clock_ns", real.saturating_sub(mono));
        about.set("hostname", uname.nodename);
        about.set("release", uname.release);
        about.set("arch", uname.machine);
        about.set("boot_id", boot_id.unwrap_or_default().trim());
        about.set("recorder", format!("schedlab {}", env!("CARGO_PKG_VERSION")));
        about.set("recorder_pid", std::process::id());
        about.set("command", &self.order.command);
        about.set("cpus", self.cpus.len());
        about.set("events", names.join(","));
        about.set("buffer_kib", buffer_kib);
        about.set("measured_cpus", CpuList::new(self.order.measured_cpus.clone()));
        about.set("read_on_cpus", drain_cpus.map(|cpus| CpuList::new(cpus.to_vec()).to_string()).unwrap_or_default());
        about.set("keep_ns", self.order.trace.keep_ns.map(|ns| ns.to_string()).unwrap_or_default());
        about
    }

    fn snapshot(&self, moment: Moment) -> Result<(), TracerError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let at_ns = clock::monotonic_ns();
        let threads = snapshot::threads(&self.order.roots.proc);
        shared.sink.lock().unwrap_or_else(PoisonError::into_inner).threads(moment, at_ns, &threads)
    }

    /// Ends it: the last events are read, the file is complete, the instance is gone.
    pub fn stop(mut self) -> Result<Recorded, TracerError> {
        let snapshot = self.snapshot(Moment::End);
        let end_ns = clock::monotonic_ns();
        self.instance.write("tracing_on", "0")?;
        let lanes = self.join()?;
        snapshot?;
        let mut recorded = Recorded { on_ns: end_ns - self.began_ns, ..Recorded::default() };
        recorded.notes = std::mem::take(&mut self.notes);
        recorded.notes.extend(lanes.iter().flat_map(|l| &l.trouble).map(|t| format!("trace: a page was lost: {t}")));
        let mut totals: Vec<CpuTotals> = lanes.into_iter().flat_map(|lanes| lanes.totals).collect();
        if totals.is_empty() {
            totals = self.cpus.iter().map(|cpu| CpuTotals { cpu: *cpu, ..CpuTotals::default() }).collect();
        }
        for cpu in &mut totals {
            let stats = Stats::parse(&self.instance.read(&format!("per_cpu/cpu{}/stats", cpu.cpu))?);
            // Unread events that were overwritten are no loss: nobody wanted them.
            let unread = self.shared.is_none();
            cpu.kernel_lost = stats.lost(unread);
            cpu.events = if unread { stats.entries + stats.overrun } else { cpu.events };
        }
        recorded.events = totals.iter().map(|cpu| cpu.events).sum();
        recorded.lost = totals.iter().map(|cpu| cpu.lost.max(cpu.kernel_lost)).sum();
        if let Some(shared) = self.shared.take() {
            self.finish_file(shared, Totals { end_ns, cpus: totals }, &mut recorded)?;
        }
        Ok(recorded)
    }

    fn finish_file(
        &self,
        shared: Arc<Shared>,
        totals: Totals,
        recorded: &mut Recorded,
    ) -> Result<(), TracerError> {
        let Some(shared) = Arc::into_inner(shared) else {
            return Err(TracerError::Thread("still holds the recording".to_owned()));
        };
        let mut sink = shared.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((dropped, was_full)) = sink.write_kept()? {
            let room = if was_full { "; there was no room for as long as wanted" } else { "" };
            recorded.notes.push(format!("trace: the last part is kept, {dropped} older events were dropped{room}"));
        }
        (recorded.events, recorded.whole_bytes) = (sink.events, sink.whole_bytes);
        recorded.file_bytes = sink.end(&totals)?;
        recorded.file = self.order.trace.out.clone();
        Ok(())
    }

    /// Ends the threads; what each read.
    fn join(&mut self) -> Result<Vec<Lanes>, TracerError> {
        if let Some(shared) = &self.shared {
            shared.stop.store(true, Ordering::Release);
        }
        self.threads.iter().for_each(DrainThread::wake);
        // All of them, also behind one that failed: their files hold the instance.
        let lanes: Vec<Result<Lanes, TracerError>> = self.threads.iter_mut().map(DrainThread::join).collect();
        lanes.into_iter().collect()
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // After `stop` there is nothing left to join; the instance goes with its own drop, after its files are closed.
        let _ = self.join();
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

/// The wanted size, within what the machine can spare.
fn buffer_kib(order: &TracerOrder, cpus: usize) -> u64 {
    let wanted = order.trace.buffer_kib.unwrap_or(BUFFER_KIB);
    let memory = std::fs::read_to_string(order.roots.proc.join("meminfo")).unwrap_or_default();
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let available = available.and_then(|text| text.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    let most = available.map_or(wanted, |kib| kib / SHARE_OF_MEMORY / cpus.max(1) as u64);
    wanted.min(most).max(64)
}

/// The format files of the events, each of which must be there.
fn formats(instance: &Instance, order: &TracerOrder) -> Result<Vec<FormatText>, TracerError> {
    let mut formats = Vec::new();
    for kind in kinds(order.trace.events) {
        let (system, name) = place(kind);
        if !instance.has_event(system, name) {
            return Err(TracerError::NoEvent { system, name });
        }
        let text = instance.read(&format!("events/{system}/{name}/format"))?;
        formats.push(FormatText { system: system.to_owned(), text });
    }
    Ok(formats)
}

/// The event that a format is of: its first line.
fn name(format: &str) -> &str {
    format.lines().next().and_then(|line| line.strip_prefix("name:")).map_or("", str::trim)
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_read_by_name() {
        let text = "entries: 5\noverrun: 7\ncommit overrun: 1\nbytes: 99\noldest event ts:  1.0\ndropped events: 2\n";
        let stats = Stats::parse(text);
        assert_eq!(stats, Stats { entries: 5, overrun: 7, commit_overrun: 1, dropped: 2 });
        assert_eq!((stats.lost(false), stats.lost(true)), (10, 3));
        assert_eq!(name("name: sched_switch\nID: 3\n"), "sched_switch");
    }
}
