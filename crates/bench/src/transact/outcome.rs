//! From finished pairs to the outcome: verified counts, metrics of both classes, the lines to print.

use super::Run;
use super::config::{Compat, FifoThread};
use super::measured::{self, Measured};
use super::report::{Account, Class, FifoUse};
use super::{INFO, compat, summary};
use crate::error::BenchError;
use crate::metrics::{self, metric};
use crate::placement;
use crate::prepared::Ended;
use schedlab_plan::units::show_ns;
use schedlab_plan::{Direction, InOrder, Metric, TaskRecord, TrialOutcome};

pub(super) fn build(run: &Run<'_>, mut ended: Ended) -> Result<TrialOutcome, BenchError> {
    let measured = Measured::collect(run);
    let operations = verify(run, &ended.tasks)?;
    ended.tasks = with_fifo_threads(run, ended.tasks);
    (ended.histograms, ended.slowest) = (measured::histograms(run), measured::slowest(run));

    let mut own: Vec<Metric> = Class::ALL.iter().flat_map(|&class| class_metrics(&measured, class)).collect();
    own.push(metric("transactions_per_s", ended.rate_per_s(operations), "1/s", Direction::HigherIsBetter));
    own.extend(sync_metrics(&measured));
    own.extend(ended.histograms.iter().filter(|named| named.tier.is_none()).flat_map(metrics::quantiles));
    // The primary one first.
    own.in_order_by_key(|metric| metric.name != INFO.primary[0]);

    let (native_lines, mut notes) = print(run, &measured);
    notes.extend(self::notes(run, &measured));
    Ok(TrialOutcome { native_lines, notes, ..run.shared.outcome(&INFO, ended, operations, own) })
}

/// Transactions of all pairs: client and server must have counted the same number and, unless a miss ended the run, the
/// number ordered.
fn verify(run: &Run<'_>, members: &[TaskRecord]) -> Result<u64, BenchError> {
    let mut sum = 0;
    // The first process of a binder run is its context manager.
    for (pair, two) in members[run.config.transport.managers()..].chunks_exact(2).enumerate() {
        let (served, done) = (two[0].operations, two[1].operations);
        let account = run.reports.account(pair);
        if served != done + account.nice_probes {
            let text = format!("pair {pair}: the client made {done} transactions, the server served {served}");
            return Err(BenchError::Verification(text));
        }
        let classes = if run.fifo_refused.is_some() { 1 } else { 2 };
        let ordered = run.config.length.loops().map(|loops| loops * classes);
        if ordered.is_some_and(|ordered| done != ordered) && !run.config.stop_on_miss {
            let text = format!("pair {pair}: {} transactions were ordered and {done} made", ordered.unwrap_or(0));
            return Err(BenchError::Verification(text));
        }
        sum += done;
    }
    Ok(sum)
}

/// The role of a client's FIFO thread in the task table.
const FIFO_ROLE: &str = "client_fifo";

/// Adds a row for the FIFO threads of each client, subtracted from the client's own row, because wait4 counted the
/// client with all its threads.
fn with_fifo_threads(run: &Run<'_>, members: Vec<TaskRecord>) -> Vec<TaskRecord> {
    let mut tasks = Vec::with_capacity(members.len() * 3 / 2);
    for mut task in members {
        if task.role != "client" {
            tasks.push(task);
            continue;
        }
        let pair = task.group as usize;
        let Account { fifo_use, tallies, .. } = run.reports.account(pair);
        let FifoUse { tid, cpu_ns, voluntary_switches, involuntary_switches } = fifo_use;
        let fifo_transactions = tallies[Class::Fifo as usize].transactions;
        if run.fifo_refused.is_some() {
            tasks.push(task);
            continue;
        }
        let without = |all: Option<u64>, fifo: u64| all.map(|all| all.saturating_sub(fifo));
        task.cpu_ns = without(task.cpu_ns, cpu_ns);
        task.voluntary_switches = without(task.voluntary_switches, voluntary_switches);
        task.involuntary_switches = without(task.involuntary_switches, involuntary_switches);
        task.operations -= fifo_transactions;
        let fifo = match run.config.fifo_thread {
            FifoThread::Kept => run.shared.cells.record(run.kept_cell(pair), FIFO_ROLE, task.group, None),
            // The sum over threads of one transaction each. Their clocks do not include their exits, so their CPU time
            // is not known as the kernel counts it.
            FifoThread::Fresh => TaskRecord {
                tid,
                role: FIFO_ROLE.to_owned(),
                group: task.group,
                operations: fifo_transactions,
                cpu_ns: Some(cpu_ns),
                voluntary_switches: Some(voluntary_switches),
                involuntary_switches: Some(involuntary_switches),
                ..TaskRecord::default()
            },
        };
        tasks.extend([task, fifo]);
    }
    tasks
}

/// Mean, worst, and share of missed deadlines of a class that was timed.
fn class_metrics(measured: &Measured, class: Class) -> Vec<Metric> {
    let one = measured.all.class(class);
    let (Some(mean), Some(met)) = (one.histogram.mean_ns(), one.met_share()) else { return Vec::new() };
    let name = |what: &str| format!("{}_{what}", class.name());
    vec![
        metric(&name("mean_ns"), mean, "ns", Direction::LowerIsBetter),
        metric(&name("worst_ns"), one.histogram.max_ns as f64, "ns", Direction::LowerIsBetter),
        metric(&name("miss_share"), 1.0 - met, "share", Direction::LowerIsBetter),
    ]
}

fn sync_metrics(measured: &Measured) -> Vec<Metric> {
    let tally = |class: Class| measured.all.class(class).tally;
    let named = [
        ("sync_share", measured.all.both()),
        ("other_sync_share", tally(Class::Other)),
        ("fifo_sync_share", tally(Class::Fifo)),
    ];
    let seen = named.into_iter().filter(|(_, tally)| tally.transactions > 0);
    let share = |(name, tally): (&str, super::report::Tally)| {
        metric(name, compat::sync_share(tally.not_sync, tally.transactions), "share", Direction::Neutral)
    };
    seen.map(share).collect()
}

/// The lines to print, and those to print separately: nothing may come between the lines that a reference tool prints.
fn print(run: &Run<'_>, measured: &Measured) -> (Vec<String>, Vec<String>) {
    let config = run.config;
    let verbose = if config.verbose { compat::verbose(measured) } else { Vec::new() };
    match config.compat {
        Compat::Hwbinder => (compat::hwbinder(config, measured), verbose),
        Compat::SchdDbg => (compat::schd_dbg(config, measured), verbose),
        Compat::None => {
            let mut lines = verbose;
            lines.extend(summary::lines(config, measured));
            if config.raw_data {
                lines.extend(raw_lines(measured));
            }
            (lines, Vec::new())
        }
    }
}

/// Each class's times in ns by pair, in the order of the iterations.
fn raw_lines(measured: &Measured) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, pair) in measured.pairs.iter().enumerate() {
        for class in [Class::Fifo, Class::Other] {
            let ns: Vec<String> = pair.kept[class as usize].iter().map(|kept| kept.ns.to_string()).collect();
            lines.push(format!("{}_{number}_data: [{}]", class.name(), ns.join(", ")));
        }
    }
    lines
}

fn notes(run: &Run<'_>, measured: &Measured) -> Vec<String> {
    let config = run.config;
    let overloaded = placement::overloaded(config.pairs, &config.cpus, &run.shared.order.topology);
    let mut notes: Vec<String> = overloaded.into_iter().collect();
    if let Some(why) = &run.fifo_refused {
        notes.push(format!("no FIFO class: {why}"));
    }
    match &measured.first_miss {
        Some((pair, miss)) => {
            let what = format!(
                "stopped at the first missed deadline: pair {pair}, {}, iteration {}, {} at {} ns on CLOCK_MONOTONIC",
                miss.class.name(),
                miss.iteration,
                show_ns(miss.took_ns),
                miss.at_ns
            );
            notes.push(what);
            notes.push(trace_note(run));
        }
        None if config.stop_on_miss && run.recorders.is_empty() => {
            notes.push("stop-on-miss could see no miss: nothing was timed (--latency off)".to_owned());
        }
        None => {}
    }
    notes
}

fn trace_note(run: &Run<'_>) -> String {
    let Some(trace) = &run.trace else {
        // A trace was recorded, but has no instance through which it could be stopped.
        if run.shared.order.keep_slowest {
            return "the trace was not stopped: it is read from perf's ring buffers, which a miss cannot stop (--source tracefs \
                    needs an instance); what is kept ends with the run"
                .to_owned();
        }
        return "no trace was stopped: record one (--trace DIR --keep 1s), or name an instance with trace-instance=NAME".to_owned();
    };
    match trace.state() {
        (_, true) if run.config.trace_instance.is_none() => {
            "the trace was stopped: its recording ends there".to_owned()
        }
        (path, true) => format!("the trace was stopped: {}", path.with_file_name("trace").display()),
        (path, false) => format!("the trace could not be stopped: {} is not 0", path.display()),
    }
}
