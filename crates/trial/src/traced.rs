//! A trial with a trace of the scheduler: starts the trace before the trial process and ends it afterwards, and records
//! the result in the trial's answer. The tracer's threads belong to the process that orders trials, so that the process
//! that runs them stays as small and single-threaded as without a trace.

use schedlab_bench::Topology;
use schedlab_plan::{Applied, Count, Counter, Setting, TraceOrder, TrialOrder, TrialOutcome};
use schedlab_record::Roots;
use schedlab_record::tracer::{Recorded, Tracer, TracerError, TracerOrder};
use schedlab_sys::{net_name, places};
use std::path::Path;

/// Runs `trial` with its order, during the trace that the order asks for, if any. If the trace cannot be started, that
/// setting is not applied: the trial runs without it, and its row says why. If `is_ended` says that the user ended the
/// trial, the error says what was kept of the trace.
pub(crate) fn beside_trace(
    order: &TrialOrder,
    is_ended: &dyn Fn() -> bool,
    trial: impl FnOnce(&TrialOrder) -> Result<TrialOutcome, String>,
) -> Result<TrialOutcome, String> {
    let Some(trace) = &order.trace else { return trial(order) };
    let tracer = match start(trace, order) {
        Ok(tracer) => tracer,
        Err(why) => {
            let mut outcome = trial(&TrialOrder { trace: None, ..order.clone() })?;
            outcome.applied.push(applied(trace, Some(why.to_string())));
            return Ok(outcome);
        }
    };
    let order = TrialOrder { trace_instance: tracer.instance().map(Path::to_owned), ..order.clone() };
    let outcome = trial(&order);
    let recorded = tracer.stop();
    let mut outcome = outcome.map_err(|why| if is_ended() { format!("{why}; {}", kept(&recorded)) } else { why })?;
    match recorded {
        Ok(recorded) => {
            outcome.applied.push(applied(trace, None));
            add(&recorded, &mut outcome);
        }
        Err(why) => outcome.applied.push(applied(trace, Some(why.to_string()))),
    }
    Ok(outcome)
}

fn kept(recorded: &Result<Recorded, TracerError>) -> String {
    match recorded {
        Ok(Recorded { file: Some(file), events, lost, .. }) => {
            format!("what was traced is kept: {} ({events} events, {lost} lost)", file.display())
        }
        Ok(_) => "its trace was not recorded".to_owned(),
        Err(why) => format!("its trace is incomplete, too: {why}"),
    }
}

fn applied(trace: &TraceOrder, not_applied: Option<String>) -> Applied {
    let setting = Setting::Trace(trace.setting());
    let effective = if not_applied.is_none() { setting.to_string() } else { "trace=off".to_owned() };
    Applied { setting, effective, not_applied }
}

fn start(trace: &TraceOrder, order: &TrialOrder) -> Result<Tracer, TracerError> {
    if let Some(directory) = trace.out.as_deref().and_then(Path::parent) {
        let made = places::private_directory(directory);
        made.map_err(|cause| TracerError::Output { path: directory.to_owned(), cause })?;
    }
    Tracer::start(TracerOrder {
        trace: trace.clone(),
        measured_cpus: measured_cpus(order),
        command: order.workload.to_string(),
        run_root: net_name::RUN_ROOT.into(),
        roots: Roots::default(),
    })
}

/// The CPUs to which the trial's tasks are confined by the arm or the workload; `None` if they may run anywhere.
fn measured_cpus(order: &TrialOrder) -> Vec<u32> {
    let by_setting = order.settings.iter().find_map(|setting| match setting {
        Setting::Cpus(cpus) => Some(cpus.as_slice().to_vec()),
        _ => None,
    });
    by_setting.unwrap_or_else(|| {
        let topology = Topology::read(Path::new("/sys")).ok();
        let workload = schedlab_bench::parse(&order.workload).ok();
        workload.zip(topology).map(|(workload, topology)| workload.confined_to(&topology)).unwrap_or_default()
    })
}

/// What was recorded, as counters of the machine; a loss is also a note.
fn add(recorded: &Recorded, outcome: &mut TrialOutcome) {
    let counts = [
        ("trace_events", recorded.events),
        ("trace_lost", recorded.lost),
        ("trace_file_bytes", recorded.file_bytes),
        ("trace_bytes_before_compression", recorded.whole_bytes),
        ("trace_on_ns", recorded.on_ns),
        ("trace_reader_cpu_ns", recorded.reader_cpu_ns),
    ];
    outcome.counters.extend(counts.map(|(name, count)| Counter {
        name: name.to_owned(),
        scope: "host".to_owned(),
        source: recorded.source.to_owned(),
        count: Count::Exact(count),
    }));
    outcome.notes.extend(recorded.notes.iter().cloned());
    if recorded.lost > 0 {
        let (lost, all) = (recorded.lost, recorded.events + recorded.lost);
        outcome.notes.push(format!("trace: {lost} of {all} events were lost; give a larger buffer or fewer events"));
    }
}
