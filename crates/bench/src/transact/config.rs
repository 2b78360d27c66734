//! The options of `transact/1` and what they mean.

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::options::Arguments;
use crate::placement::Pin;
use crate::transport::Transport;
use crate::workload::{Workload, WorkloadInfo, option};
use schedlab_plan::WorkloadSpec;
use schedlab_plan::units::{self, CpuList};

/// Which thread makes the FIFO transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FifoThread {
    /// A new thread for each transaction, as in the references, with its cold stack.
    Fresh,
    /// One thread for the whole run.
    Kept,
}

/// Whose output is imitated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compat {
    None,
    Hwbinder,
    SchdDbg,
}

/// A validated configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) length: Length,
    pub(super) length_written: bool,
    pub(super) pairs: u32,
    pub(super) deadline_ns: u64,
    pub(super) transport: Transport,
    /// A device to use instead of the one found automatically.
    pub(super) binder_device: Option<String>,
    pub(super) fifo_thread: FifoThread,
    pub(super) pin: Pin,
    pub(super) cpus: CpuList,
    pub(super) stop_on_miss: bool,
    /// A tracefs instance (or a directory like one) to stop at the first miss.
    pub(super) trace_instance: Option<String>,
    pub(super) raw_data: bool,
    pub(super) verbose: bool,
    pub(super) compat: Compat,
}

pub(super) const FIFO_THREADS: [(&str, FifoThread); 2] = [("fresh", FifoThread::Fresh), ("kept", FifoThread::Kept)];
pub(super) const COMPATS: [(&str, Compat); 3] =
    [("none", Compat::None), ("hwbinder", Compat::Hwbinder), ("schd-dbg", Compat::SchdDbg)];
const NO_YES: [(&str, bool); 2] = [("no", false), ("yes", true)];

/// The option's word for a value.
pub(super) fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, one)| one == value).map_or("", |(word, _)| word)
}

/// `transact/1`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "transact",
    version: 1,
    reference: "libhwbinder_latency and schd-dbg (Android)",
    summary: "pairs of client and server process; each iteration one transaction from a SCHED_FIFO 99 thread, one from a SCHED_OTHER thread",
    operation: "transaction",
    primary: &["other_p50_ns"],
    metrics: &[
        "transactions_per_s",
        "sync_share",
        "other_p*_ns",
        "other_mean_ns",
        "other_worst_ns",
        "other_miss_share",
        "other_sync_share",
        "fifo_p*_ns",
        "fifo_mean_ns",
        "fifo_worst_ns",
        "fifo_miss_share",
        "fifo_sync_share",
    ],
    options: &[
        option(
            "loops",
            "N",
            "100",
            "iterations of each pair, two transactions each (-i of the references; this or duration)",
        ),
        option("duration", "TIME", "-", "length of the steady state instead of loops"),
        option("pairs", "N|ncpu|Nncpu", "1", "pairs of processes at the same time (-pair of the references)"),
        option(
            "deadline",
            "TIME",
            "2.5ms",
            "a transaction that takes longer is a miss, in both classes (-deadline_us)",
        ),
        option("transport", Transport::FORM, "unix", "what carries the transactions"),
        Transport::DEVICE_OPTION,
        option(
            "fifo-thread",
            "fresh|kept",
            "fresh",
            "a new FIFO thread for each transaction, as the references, or one kept",
        ),
        Pin::OPTION,
        Pin::CPUS_OPTION,
        option(
            "stop-on-miss",
            "no|yes",
            "no",
            "end the run at the first missed deadline of any pair and class (-trace)",
        ),
        option(
            "trace-instance",
            "NAME|none",
            "none",
            "tracefs instance to stop at the first miss (needs stop-on-miss=yes)",
        ),
        option("raw-data", "no|yes", "no", "print each transaction's nanoseconds (-raw_data; needs loops)"),
        option(
            "verbose",
            "no|yes",
            "no",
            "a line for each transaction: who called, who served, where (-v; needs loops)",
        ),
        option("compat", "none|hwbinder|schd-dbg", "none", "print what that tool would print, and nothing else"),
    ],
    shorthand: "",
    parse: |spec| Ok(Box::new(read(spec)?) as Box<dyn Workload>),
};

/// Most transactions whose raw data are kept, at 24 bytes each.
const MAX_KEPT: u64 = 2_000_000;

pub(super) fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let args = Arguments::new(&INFO, spec)?;
    let cpus = args.cpus()?;
    let pairs = args.number_or_ncpu("pairs", 1_000, &cpus)?;
    let (length, length_written) = args.length_or(Length::Loops(100))?;
    let config = Config {
        length,
        length_written,
        pairs: pairs as u32,
        deadline_ns: deadline(&args)?,
        transport: args.choice("transport", Transport::Unix, &Transport::WORDS)?,
        binder_device: args.written("binder-device", "auto"),
        fifo_thread: args.choice("fifo-thread", FifoThread::Fresh, &FIFO_THREADS)?,
        pin: args.choice("pin", Pin::Free, &Pin::WORDS)?,
        cpus,
        stop_on_miss: args.choice("stop-on-miss", false, &NO_YES)?,
        trace_instance: args.written("trace-instance", "none"),
        raw_data: args.choice("raw-data", false, &NO_YES)?,
        verbose: args.choice("verbose", false, &NO_YES)?,
        compat: args.choice("compat", Compat::None, &COMPATS)?,
    };
    check_together(&args, &config)?;
    Ok(config)
}

fn deadline(args: &Arguments<'_>) -> Result<u64, BenchError> {
    let Some(text) = args.get("deadline") else { return Ok(2_500_000) };
    let ns = units::parse_duration_ns(text).map_err(|e| args.bad("deadline", text, e.to_string()))?;
    if (1..=1_000_000_000_000).contains(&ns) {
        return Ok(ns);
    }
    Err(args.bad("deadline", text, "must be above 0 and at most 1000s: every transaction would miss a deadline of 0"))
}

fn check_together(args: &Arguments<'_>, config: &Config) -> Result<(), BenchError> {
    if config.trace_instance.is_some() && !config.stop_on_miss {
        return Err(args.conflict("trace-instance is stopped at the first miss: add stop-on-miss=yes"));
    }
    if !(config.raw_data || config.verbose) {
        return Ok(());
    }
    let Length::Loops(loops) = config.length else {
        return Err(args.conflict("raw-data and verbose keep every transaction: use loops, not a duration"));
    };
    let kept = loops.saturating_mul(2 * u64::from(config.pairs));
    if kept > MAX_KEPT {
        let reason = format!(
            "raw-data and verbose keep every transaction: {kept} are more than {MAX_KEPT}; use fewer loops or pairs"
        );
        return Err(args.conflict(reason));
    }
    Ok(())
}

impl Config {
    /// Whether every transaction is kept.
    pub(super) fn keeps_all(&self) -> bool {
        self.raw_data || self.verbose
    }

    /// The arguments in their canonical form.
    pub(super) fn arguments(&self) -> Vec<(&'static str, String)> {
        let yes = |value: bool| word(&NO_YES, &value).to_owned();
        vec![
            ("pairs", self.pairs.to_string()),
            ("deadline", units::format_ns_exact(self.deadline_ns)),
            ("transport", self.transport.name().to_owned()),
            ("binder-device", self.binder_device.clone().unwrap_or_else(|| "auto".to_owned())),
            ("fifo-thread", word(&FIFO_THREADS, &self.fifo_thread).to_owned()),
            ("pin", self.pin.name().to_owned()),
            ("cpus", crate::options::cpus_text(&self.cpus)),
            ("stop-on-miss", yes(self.stop_on_miss)),
            ("trace-instance", self.trace_instance.clone().unwrap_or_else(|| "none".to_owned())),
            ("raw-data", yes(self.raw_data)),
            ("verbose", yes(self.verbose)),
            ("compat", word(&COMPATS, &self.compat).to_owned()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::registry;

    #[test]
    fn the_defaults_are_the_references_and_every_argument_is_spelled_out() {
        let spec = registry::parse(&"transact".parse().unwrap()).unwrap().spec();
        assert_eq!(
            spec.to_string(),
            "transact/1:binder-device=auto,compat=none,cpus=all,deadline=2.5ms,fifo-thread=fresh,loops=100,pairs=1,pin=free,raw-data=no,\
             stop-on-miss=no,trace-instance=none,transport=unix,verbose=no"
        );
        assert_eq!(registry::parse(&spec).unwrap().spec(), spec);
        let fraction = registry::parse(&"transact:deadline=1234.567us".parse().unwrap()).unwrap().spec();
        assert_eq!(fraction.args["deadline"], "1.234567ms");
    }

    #[test]
    fn bad_input_is_one_clear_line() {
        for (text, needle) in [
            ("transact:deadline=0", "above 0"),
            ("transact:deadline=2500", "is not a time"),
            ("transact:pairs=0", "from 1 to"),
            ("transact:pairs=1001", "from 1 to 1000"),
            ("transact:loops=0", "from 1 to"),
            ("transact:pair=3", "did you mean `pairs`"),
            ("transact:transport=bindr", "must be one of"),
            ("transact:fifo-thread=old", "fresh, kept"),
            ("transact:compat=hwbindr", "did you mean `hwbinder`"),
            ("transact:raw-data=yes,duration=1s", "use loops"),
            ("transact:raw-data=yes,loops=100000000", "use fewer"),
            ("transact:trace-instance=mine", "stop-on-miss=yes"),
            ("transact:cpus=8000", "CPU 8000 is not among"),
        ] {
            let error = registry::parse(&text.parse().unwrap()).err().unwrap().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
