//! What happened to the machine during a trial: stolen time, heat, and knobs or CPUs that another process changed.

use schedlab_plan::{Mark, TrialOutcome};
use schedlab_record::{Roots, ThermalReading, thermal_evidence};

/// Stolen share of the trial's CPU time above which its block is repeated (design, section 6).
pub const STEAL_LIMIT: f64 = 0.005;
/// Unit of the times in /proc/stat (USER_HZ is 100 on every architecture we build for), ns.
const TICK_NS: u64 = 10_000_000;

/// The machine's state between trials; a change here is not a setting of an arm.
pub struct Watch {
    host_roots: schedlab_host::Roots,
    record_roots: Roots,
    foreign: Vec<(String, String)>,
    thermal: ThermalReading,
}

impl Watch {
    /// Reads the state with which later readings are compared.
    pub fn start(host_roots: schedlab_host::Roots, record_roots: Roots) -> Self {
        let foreign = schedlab_host::foreign_state(&host_roots);
        let thermal = ThermalReading::read(&record_roots);
        Self { host_roots, record_roots, foreign, thermal }
    }

    /// What differs from the state at the start, and the heat since the last call.
    pub fn marks(&mut self) -> Vec<Mark> {
        let mut marks = Vec::new();
        let now = schedlab_host::foreign_state(&self.host_roots);
        for ((name, before), (_, after)) in self.foreign.iter().zip(&now).filter(|(a, b)| a != b) {
            marks.push(Mark::Foreign { what: format!("{name} changed from `{before}` to `{after}`") });
        }
        let thermal = ThermalReading::read(&self.record_roots);
        marks.extend(thermal_evidence(&self.thermal, &thermal).map(|evidence| Mark::Thermal { evidence }));
        self.thermal = thermal;
        marks
    }
}

/// The mark of a trial from which the hypervisor certainly took more than [`STEAL_LIMIT`]. /proc/stat counts in ticks,
/// so one tick may be due to rounding: a single tick in a short trial is no evidence.
pub fn steal_mark(outcome: &TrialOutcome) -> Option<Mark> {
    let share = schedlab_record::steal_share(&outcome.counters)?;
    let stolen = outcome.counters.iter().find(|c| c.name == "steal_ns" && c.scope == "host")?.count.value()?;
    let sure = share * stolen.saturating_sub(TICK_NS) as f64 / stolen.max(1) as f64;
    (sure > STEAL_LIMIT).then_some(Mark::Steal { share })
}

/// Whether the trial's block must be repeated.
pub fn contaminated(marks: &[Mark]) -> bool {
    marks.iter().any(|m| matches!(m, Mark::Steal { .. } | Mark::Thermal { .. } | Mark::Pause { .. }))
}

/// What voids the run, if something does.
pub fn void(marks: &[Mark]) -> Option<&str> {
    marks.iter().find_map(|m| match m {
        Mark::Foreign { what } => Some(what.as_str()),
        _ => None,
    })
}
