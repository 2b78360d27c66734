//! What a trial takes besides its length, for forecasts before anything has run; the pilot measures it. The numbers are
//! those of a host with two CPUs; the report of a run has its own.

use schedlab_plan::{Setting, TraceSetting, WorkloadSpec};

/// Start of a trial's process, settings, checks and storage.
const PROCESS_NS: u64 = 20_000_000;
/// Start and end of a task.
const TASK_NS: u64 = 700_000;
/// Start, end and storage of a trace.
const TRACE_NS: u64 = 200_000_000;
/// Checks of the machine at both ends of a run.
pub(crate) const CHECKS_NS: u64 = 1_000_000_000;

/// The time around a trial of a workload under these settings, ns.
pub(crate) fn around_ns(workload: &WorkloadSpec, settings: &[Setting]) -> u64 {
    let parsed = schedlab_bench::parse(&workload.with_options(settings));
    let tasks = parsed.map_or(0, |workload| schedlab_bench::tasks(workload.as_ref()));
    let is_traced =
        settings.iter().any(|setting| matches!(setting, Setting::Trace(trace) if !matches!(trace, TraceSetting::Off)));
    PROCESS_NS + tasks.saturating_mul(TASK_NS) + if is_traced { TRACE_NS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_and_a_trace_take_time() {
        let of = |workload: &str, settings: &str| {
            let arm = schedlab_plan::Arm::parse("a", settings).unwrap();
            around_ns(&workload.parse().unwrap(), &arm.settings) / 1_000_000
        };
        assert_eq!((of("pipe", ""), of("exec", "")), (21, 20));
        assert_eq!(of("messaging:100x100,groups=10", ""), 1420);
        assert_eq!(of("pipe", "option:copies=100;trace=on"), 360);
    }
}
