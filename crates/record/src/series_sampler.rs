//! The 100 ms series: few files, kept open and re-read from their start, and the perf totals. Rows of plain numbers are
//! collected while the workload runs, and get their names afterwards.
//!
//! The control process shares the machine with the measured tasks, so a sample may use at most a thousandth of a CPU:
//! if /proc/stat is slow (hundreds of CPUs), samples are taken less often, and the series has their true instants.

use crate::Roots;
use crate::perf_counters::PerfCounters;
use crate::pressure;
use crate::proc_stat::{self, KINDS, ProcStat};
use schedlab_plan::SeriesPoint;
use schedlab_sys::clock;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The intended time between samples, ns.
const INTERVAL_NS: u64 = 100_000_000;
/// A sample may use 1 / this of the time between two.
const COST_DIVISOR: u64 = 1_000;

/// What a column of the samples is.
#[derive(Debug)]
struct Column {
    name: String,
    scope: String,
    /// Factor for differences: ns per tick for /proc/stat, 1 for counts.
    scale: f64,
}

/// The series while it is recorded.
#[derive(Debug)]
pub(crate) struct SeriesSampler {
    stat: Option<File>,
    pressure: Option<File>,
    bytes: Vec<u8>,
    parsed: ProcStat,
    columns: Vec<Column>,
    /// Instants of the samples, ns after release.
    at_ns: Vec<u64>,
    /// `columns.len()` numbers per sample.
    values: Vec<u64>,
    t0_ns: u64,
    interval_ns: u64,
    next_ns: u64,
}

impl SeriesSampler {
    /// Opens the files and takes the first sample, at which the first interval starts.
    pub(crate) fn start(roots: &Roots, t0_ns: u64, tick_ns: u64, perf: &mut PerfCounters) -> Self {
        let mut sampler = Self {
            stat: File::open(roots.proc.join("stat")).ok(),
            pressure: File::open(roots.proc.join("pressure/cpu")).ok(),
            bytes: vec![0; 64 * 1024],
            parsed: ProcStat::default(),
            columns: Vec::new(),
            at_ns: Vec::with_capacity(128),
            values: Vec::new(),
            t0_ns,
            interval_ns: INTERVAL_NS,
            next_ns: t0_ns + INTERVAL_NS,
        };
        // A file that cannot be read (PSI off) is closed here, so that all samples have the same columns.
        if !sampler.read_stat() {
            sampler.stat = None;
        }
        if sampler.read_pressure().is_none() {
            sampler.pressure = None;
        }
        sampler.name_columns(tick_ns, perf);
        sampler.values.reserve(sampler.columns.len() * 128);
        sampler.sample(clock::monotonic_ns(), perf);
        sampler
    }

    /// Takes a sample if one is due; returns when the next one is.
    pub(crate) fn sample_if_due(&mut self, now_ns: u64, perf: &mut PerfCounters) -> u64 {
        if now_ns >= self.next_ns {
            let before = clock::thread_cpu_ns();
            self.sample(now_ns, perf);
            let cost = clock::thread_cpu_ns().saturating_sub(before);
            self.interval_ns = INTERVAL_NS.max(cost * COST_DIVISOR);
            let passed = now_ns.saturating_sub(self.t0_ns) / self.interval_ns;
            self.next_ns = self.t0_ns + (passed + 1) * self.interval_ns;
        }
        self.next_ns
    }

    /// The last sample, at the end of the measured part.
    pub(crate) fn stop(&mut self, t1_ns: u64, perf: &mut PerfCounters) {
        self.sample(t1_ns, perf);
    }

    /// Increases per interval; a cell that did not increase is left out and means 0.
    pub(crate) fn series(&self) -> Vec<SeriesPoint> {
        let width = self.columns.len().max(1);
        let mut points = Vec::new();
        for (pair, at) in
            self.values.chunks_exact(width).zip(self.values.chunks_exact(width).skip(1)).zip(&self.at_ns[1..])
        {
            for ((column, &from), &to) in self.columns.iter().zip(pair.0).zip(pair.1) {
                if to > from {
                    let delta = (to - from) as f64 * column.scale;
                    points.push(SeriesPoint {
                        t_ns: *at,
                        name: column.name.clone(),
                        scope: column.scope.clone(),
                        delta,
                    });
                }
            }
        }
        points
    }

    fn name_columns(&mut self, tick_ns: u64, perf: &PerfCounters) {
        let column = |name: &str, scope: &str, scale| Column { name: name.to_owned(), scope: scope.to_owned(), scale };
        if self.stat.is_some() {
            self.columns.push(column("context_switches", "host", 1.0));
            for (cpu, _) in &self.parsed.cpus {
                let scope = format!("cpu{cpu}");
                self.columns.extend(KINDS.iter().map(|kind| column(&format!("{kind}_ns"), &scope, tick_ns as f64)));
            }
        }
        if self.pressure.is_some() {
            self.columns.push(column("psi.cpu.some_ns", "host", 1.0));
        }
        self.columns.extend(perf.counted().map(|name| column(name, "host", 1.0)));
    }

    fn sample(&mut self, now_ns: u64, perf: &mut PerfCounters) {
        let first = self.values.len();
        if self.stat.is_some() {
            if !self.read_stat() {
                return;
            }
            self.values.push(self.parsed.ctxt);
            for (_, ticks) in &self.parsed.cpus {
                self.values.extend(ticks);
            }
        }
        if self.pressure.is_some() {
            let some_ns = self.read_pressure();
            self.values.extend(some_ns);
        }
        perf.sample(&mut self.values);
        // If a CPU came or went, or a read failed, the row has another width, and all columns would be shifted.
        if self.values.len() - first == self.columns.len() {
            self.at_ns.push(now_ns.saturating_sub(self.t0_ns));
        } else {
            self.values.truncate(first);
        }
    }

    fn read_stat(&mut self) -> bool {
        let Some(text) = self.stat.as_ref().and_then(|file| read_again(file, &mut self.bytes)) else { return false };
        proc_stat::parse_into(text, &mut self.parsed).is_ok()
    }

    fn read_pressure(&mut self) -> Option<u64> {
        let text = self.pressure.as_ref().and_then(|file| read_again(file, &mut self.bytes))?;
        pressure::parse("/proc/pressure/cpu", text).ok().map(|p| p.some_ns)
    }
}

/// Reads the whole file from its start, into a buffer that grows at most once per size of the file.
pub(crate) fn read_again<'a>(file: &File, bytes: &'a mut Vec<u8>) -> Option<&'a str> {
    let mut length = 0;
    loop {
        if length == bytes.len() {
            bytes.resize(2 * bytes.len().max(4096), 0);
        }
        match file.read_at(&mut bytes[length..], length as u64).ok()? {
            0 => break,
            got => length += got,
        }
    }
    std::str::from_utf8(&bytes[..length]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_the_increase_of_each_interval() {
        let dir = std::env::temp_dir().join(format!("schedlab-sampler-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("pressure")).unwrap();
        let write = |user: u64, ctxt: u64| {
            std::fs::write(dir.join("stat"), format!("cpu0 {user} 0 0 5 0 0 0 0\nctxt {ctxt}\n")).unwrap();
        };
        write(3, 100);
        let roots = Roots { proc: dir.clone(), sys: dir.clone() };
        let mut perf = PerfCounters::open(&roots);
        let t0 = clock::monotonic_ns();
        let mut sampler = SeriesSampler::start(&roots, t0, 10_000_000, &mut perf);
        write(4, 150);
        assert_eq!(sampler.sample_if_due(t0 + 50_000_000, &mut perf), t0 + INTERVAL_NS, "not due yet");
        let next = sampler.sample_if_due(t0 + INTERVAL_NS + 1, &mut perf);
        assert!(next >= t0 + 2 * INTERVAL_NS);
        write(4, 151);
        sampler.stop(t0 + 130_000_000, &mut perf);
        std::fs::remove_dir_all(&dir).unwrap();
        let series: Vec<_> = sampler.series().into_iter().map(|p| (p.t_ns, p.name, p.scope, p.delta)).collect();
        let expected = [
            (INTERVAL_NS + 1, "context_switches", "host", 50.0),
            (INTERVAL_NS + 1, "user_ns", "cpu0", 1e7),
            (130_000_000, "context_switches", "host", 1.0),
        ];
        assert_eq!(series, expected.map(|(t, name, scope, delta)| (t, name.to_owned(), scope.to_owned(), delta)));
    }
}
