//! From an order to a file: opens the source, enables the events, reads until asked to stop, and records what was read
//! and what was not.

use super::drain::{CPUS_OF_A_THREAD, DrainThread, Drained, Shared};
use super::error::TracerError;
use super::events::name;
use super::sink::Sink;
use super::snapshot;
use super::source::Source;
use crate::Roots;
use crate::per_cpu::online_cpus;
use schedlab_plan::TraceOrder;
use schedlab_plan::units::CpuList;
use schedlab_sys::kernel_facts::available_memory_kib;
use schedlab_sys::{affinity, clock, kernel_facts};
use schedlab_trace::PageDecoder;
use schedlab_trace::recording::{About, CpuTotals, FormatText, Moment, Totals};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The default size of the kernel's buffer per CPU: 0.1 s of the highest event rate (1.2 M/s of 60 bytes), which is
/// five ticks of the reader.
const BUFFER_KIB: u64 = 8 << 10;

/// The minimum: a few pages for each tick of the reader.
const MIN_BUFFER_KIB: u64 = 64;

/// All buffers together may take 1 / this of the machine's memory.
const SHARE_OF_MEMORY: u64 = 8;

/// What to trace and where to put it.
#[derive(Debug, Clone)]
pub struct TracerOrder {
    /// Events, file, and what is kept.
    pub trace: TraceOrder,
    /// CPUs on which the measured work runs, so that the reading is done elsewhere; empty: not known.
    pub measured_cpus: Vec<u32>,
    /// What is recorded, for the file: a command line; empty if nothing is run for the trace.
    pub command: String,
    /// Where the entry of the instance goes ([`schedlab_sys::net_name::RUN_ROOT`]).
    pub run_root: PathBuf,
    /// Where /proc is.
    pub roots: Roots,
}

/// What became of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recorded {
    /// Where the events came from: `tracefs` or `perf`.
    pub source: &'static str,
    /// The file; `None` if the events were left unread.
    pub file: Option<PathBuf>,
    /// Its size, bytes.
    pub file_bytes: u64,
    /// Number of events in it; for an unread trace, in the kernel's buffer.
    pub events: u64,
    /// Bytes of the events before compression.
    pub whole_bytes: u64,
    /// Number of lost events: the pages' count or the kernel's own, whichever is larger.
    pub lost: u64,
    /// How long tracing was on, ns.
    pub on_ns: u64,
    /// CPU time of the reading threads, ns.
    pub reader_cpu_ns: u64,
    /// Notes on the numbers.
    pub notes: Vec<String>,
}

/// A trace in progress. If dropped without [`Tracer::stop`], it ends, and what it made in the kernel is removed.
#[derive(Debug)]
pub struct Tracer {
    order: TracerOrder,
    source: Source,
    cpus: Vec<u32>,
    shared: Option<Arc<Shared>>,
    threads: Vec<DrainThread>,
    notes: Vec<String>,
    began_ns: u64,
}

impl Tracer {
    /// Starts tracing; when this returns, events are being recorded. If it fails after the file was made, the file is
    /// empty.
    pub fn start(order: TracerOrder) -> Result<Self, TracerError> {
        let mut notes = Vec::new();
        let buffer_kib = buffer_kib(&order, &mut notes);
        let source = Source::open(&order, buffer_kib, &mut notes)?;
        let formats = source.event_files().formats(order.trace.events)?;
        let cpus = source.cpus(&order)?;
        let mut tracer = Self { order, source, cpus, shared: None, threads: Vec::new(), notes, began_ns: 0 };
        if let Err(error) = tracer.switch_on(&formats, buffer_kib) {
            let out = tracer.order.trace.out.clone();
            drop(tracer);
            // Truncate: a header without events would look like a valid recording.
            let file = out.and_then(|out| std::fs::OpenOptions::new().write(true).open(out).ok());
            let _ = file.map(|file| file.set_len(0));
            return Err(error);
        }
        Ok(tracer)
    }

    fn switch_on(&mut self, formats: &[FormatText], buffer_kib: u64) -> Result<(), TracerError> {
        if self.order.trace.out.is_some() {
            self.begin_recording(formats, buffer_kib)?;
        }
        self.began_ns = clock::monotonic_ns();
        self.source.enable(formats)?;
        self.snapshot(Moment::Start)
    }

    /// The directory of its instance; writing 0 to `tracing_on` there stops the trace. perf's rings have none.
    pub fn instance(&self) -> Option<&Path> {
        match &self.source {
            Source::Instance(instance) => Some(instance.directory()),
            Source::Rings(_) => None,
        }
    }

    /// Opens the file and starts the threads that fill it.
    fn begin_recording(&mut self, formats: &[FormatText], buffer_kib: u64) -> Result<(), TracerError> {
        let Some(path) = self.order.trace.out.clone() else { return Ok(()) };
        let header_page = self.source.event_files().header_page()?;
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
            let readers = group.iter().map(|cpu| self.source.cpu_reader(*cpu)).collect::<Result<_, _>>()?;
            let pages = self.source.pages(buffer_kib, page_bytes);
            let thread =
                DrainThread::start(number, readers, decoder()?, pages, drain_cpus.clone(), Arc::clone(&shared))?;
            self.threads.push(thread);
        }
        Ok(())
    }

    /// CPUs for the drain threads: those that we may use and that are not measured. `None`, and a note, if all are
    /// measured.
    fn drain_cpus(&mut self) -> Option<Vec<u32>> {
        let allowed = affinity::allowed_cpus(0).unwrap_or_default();
        let measured = &self.order.measured_cpus;
        let free: Vec<u32> = allowed.into_iter().filter(|cpu| !measured.contains(cpu)).collect();
        if measured.is_empty() || free.is_empty() {
            let why = if measured.is_empty() { "the workload may run on every CPU" } else { "every CPU is measured" };
            if !self.order.command.is_empty() {
                self.notes.push(format!("trace: {why}, so it is read beside the workload: its cost is in the numbers"));
            }
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
        let hierarchy = super::snapshot::cpu_hierarchy(&self.order.roots.proc);
        about.set("cgroup_hierarchy", hierarchy.map(|number| number.to_string()).unwrap_or_default());
        about.set("recorder", format!("schedlab {}", env!("CARGO_PKG_VERSION")));
        about.set("recorder_pid", std::process::id());
        about.set("command", &self.order.command);
        about.set("cpus", self.cpus.len());
        about.set("events", names.join(","));
        about.set("source", self.source.name());
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

    /// Stops tracing: the last events are read, the file is completed, and what was opened in the kernel is closed.
    pub fn stop(mut self) -> Result<Recorded, TracerError> {
        let snapshot = self.snapshot(Moment::End);
        let end_ns = clock::monotonic_ns();
        self.source.disable()?;
        let drained = self.join()?;
        snapshot?;
        let (source, on_ns) = (self.source.name(), end_ns - self.began_ns);
        let mut recorded = Recorded { source, on_ns, ..Recorded::default() };
        recorded.reader_cpu_ns = drained.iter().map(|drained| drained.cpu_ns).sum();
        recorded.notes = std::mem::take(&mut self.notes);
        recorded.notes.extend(
            drained
                .iter()
                .flat_map(|l| &l.trouble)
                .map(|t| format!("trace: what could not be understood is lost: {t}")),
        );
        let mut totals: Vec<CpuTotals> = drained.into_iter().flat_map(|drained| drained.totals).collect();
        if totals.is_empty() {
            totals = self.cpus.iter().map(|cpu| CpuTotals { cpu: *cpu, ..CpuTotals::default() }).collect();
        }
        for cpu in &mut totals {
            self.source.count(cpu, self.shared.is_none())?;
        }
        recorded.events = totals.iter().map(|cpu| cpu.events).sum();
        recorded.lost = totals.iter().map(|cpu| cpu.lost.max(cpu.kernel_lost)).sum();
        if let Some(shared) = self.shared.take() {
            self.finish_file(shared, Totals { end_ns, cpus: totals }, &mut recorded)?;
        }
        Ok(recorded)
    }

    fn finish_file(&self, shared: Arc<Shared>, totals: Totals, recorded: &mut Recorded) -> Result<(), TracerError> {
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

    /// Joins the threads; returns what each read.
    fn join(&mut self) -> Result<Vec<Drained>, TracerError> {
        if let Some(shared) = &self.shared {
            shared.stop.store(true, Ordering::Release);
        }
        self.threads.iter().for_each(DrainThread::wake);
        // Joins all of them even after one failed, because their files keep the source open.
        let drained: Vec<Result<Drained, TracerError>> = self.threads.iter_mut().map(DrainThread::join).collect();
        drained.into_iter().collect()
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // After `stop` there is nothing left to join; the source is dropped after its files are closed.
        let _ = self.join();
    }
}

/// The requested size, limited to what the machine can spare and at least what is worth reading; adds a note if this is
/// not what the user asked for.
fn buffer_kib(order: &TracerOrder, notes: &mut Vec<String>) -> u64 {
    let wanted = order.trace.buffer_kib.unwrap_or(BUFFER_KIB);
    let available = available_memory_kib(&order.roots.proc);
    let cpus = online_cpus(&order.roots).as_slice().len().max(1) as u64;
    let most = available.map_or(wanted, |kib| kib / SHARE_OF_MEMORY / cpus);
    let kib = wanted.min(most).max(MIN_BUFFER_KIB);
    if order.trace.buffer_kib.is_some_and(|asked| asked != kib) {
        let why = if kib > wanted { "is less than the least" } else { "is more than this machine's memory can spare" };
        notes.push(format!("trace: a buffer of {wanted} KiB {why}; each CPU has {kib} KiB"));
    }
    kib
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::{TraceEvents, TraceSource};

    #[test]
    fn a_buffer_that_is_not_as_asked_for_says_so() {
        let proc = std::env::temp_dir().join(format!("schedlab-meminfo-{}", std::process::id()));
        std::fs::create_dir_all(&proc).unwrap();
        std::fs::write(proc.join("meminfo"), "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n").unwrap();
        // Without a list of CPUs, one CPU is assumed.
        let roots = Roots { proc: proc.clone(), sys: proc.join("sys") };
        let of = |buffer_kib: Option<u64>| {
            let (events, source) = (TraceEvents::default(), TraceSource::Auto);
            let trace = TraceOrder { events, source, out: None, keep_ns: None, buffer_kib };
            let (command, run_root) = (String::new(), PathBuf::new());
            let order = TracerOrder { trace, measured_cpus: Vec::new(), command, run_root, roots: roots.clone() };
            let mut notes = Vec::new();
            (super::buffer_kib(&order, &mut notes), notes.join("; "))
        };
        assert_eq!(of(None), (1000, String::new()));
        assert_eq!(of(Some(64)), (64, String::new()));
        assert_eq!(of(Some(1)), (64, "trace: a buffer of 1 KiB is less than the least; each CPU has 64 KiB".into()));
        let spared = "trace: a buffer of 4096 KiB is more than this machine's memory can spare; each CPU has 1000 KiB";
        assert_eq!(of(Some(4096)), (1000, spared.into()));
        std::fs::remove_dir_all(proc).unwrap();
    }
}
