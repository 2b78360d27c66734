//! The kind of a text, recognised by its content. Every kind but CSV has lines that nothing else prints; a text counts
//! as CSV if its first line has a separator and no such lines are found.

use crate::{ImportError, Source, csv, error, google_benchmark, hackbench, hwbinder, perf_bench, perf_stat, unixbench};

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `before,after` pairs, or `arm,value` rows; with a header.
    Csv,
    /// The output of hackbench: any number of runs per log, one log per arm; the first is the control. The same holds
    /// for the kinds below.
    Hackbench,
    /// `perf stat`: human-readable, `-x` CSV or `-j` JSON; with or without `-r`, `-I` and aggregation.
    PerfStat,
    /// `perf bench`, default and simple format.
    PerfBench,
    /// UnixBench's report (index table) or its `.log` (each pass).
    UnixBench,
    /// `--benchmark_format=json` of Google Benchmark.
    GoogleBenchmark,
    /// JSON of Android's `libhwbinder_latency` or `schd-dbg`.
    Hwbinder,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Csv,
        Self::Hackbench,
        Self::PerfStat,
        Self::PerfBench,
        Self::UnixBench,
        Self::GoogleBenchmark,
        Self::Hwbinder,
    ];
    /// The names, in the order of [`Kind::ALL`].
    pub const NAMES: [&'static str; 7] =
        ["csv", "hackbench", "perf-stat", "perf-bench", "unixbench", "google-benchmark", "hwbinder"];

    /// The name as given to `--kind`.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == name)
    }

    /// How a sentence refers to a file of this kind.
    pub(crate) fn article(self) -> &'static str {
        [
            "a CSV",
            "a hackbench log",
            "a perf stat log",
            "a perf bench log",
            "a UnixBench result",
            "a Google Benchmark JSON",
            "an hwbinder latency JSON",
        ][self as usize]
    }

    /// Whether the text has lines that only this kind has.
    fn is_unmistakable_in(self, text: &str) -> bool {
        match self {
            Self::Csv => false,
            Self::Hackbench => text.lines().any(hackbench::is_time_line),
            Self::PerfStat => perf_stat::is_in(text),
            Self::PerfBench => perf_bench::is_in(text),
            Self::UnixBench => unixbench::is_in(text),
            Self::GoogleBenchmark => google_benchmark::is_in(text),
            Self::Hwbinder => hwbinder::is_in(text),
        }
    }

    /// The kinds whose unmistakable lines are in the text.
    pub(crate) fn recognised(text: &str) -> Vec<Self> {
        Self::ALL.into_iter().filter(|kind| kind.is_unmistakable_in(text)).collect()
    }

    /// The kind of all sources. A text from two tools (`perf stat hackbench`) is an error, because the user has to
    /// choose; so are files of different kinds.
    pub(crate) fn of_all(sources: &[Source]) -> Result<Self, ImportError> {
        let mut first: Option<(&str, Self)> = None;
        for source in sources {
            let kind = Self::of(source)?;
            match first {
                None => first = Some((&source.file, kind)),
                Some((name, known)) if known != kind => {
                    return Err(ImportError::Mixed {
                        first: name.into(),
                        first_kind: known,
                        second: source.file.clone(),
                        second_kind: kind,
                    });
                }
                Some(_) => {}
            }
        }
        first.map(|(_, kind)| kind).ok_or(ImportError::NoSource)
    }

    fn of(source: &Source) -> Result<Self, ImportError> {
        let source_name = source.file.clone();
        match Self::recognised(&source.text).as_slice() {
            [] => {}
            [only] => return Ok(*only),
            [one, other, ..] => return Err(ImportError::Ambiguous { source_name, one: *one, other: *other }),
        }
        let (line, text) = csv::content_lines(&source.text).next().ok_or(ImportError::Empty(source_name.clone()))?;
        match csv::separator(text) {
            Some(_) => Ok(Self::Csv),
            None => Err(ImportError::Unrecognised { source_name, line, text: error::shown(text) }),
        }
    }
}
