//! From a plan to a manifest that can be run: every workload validated and spelled out, every default made explicit,
//! what cannot work here refused before anything starts.

use crate::schedule::Coins;
use crate::workloads::Expansion;
use anyhow::{Context, Result, bail};
use schedlab_run::manifest::{Design, FORMAT_VERSION, OrderKnown};
use schedlab_run::plan::{Plan, Stopping};
use schedlab_run::units::format_ns;
use schedlab_run::{
    Arm, CounterLevel, Environment, LEAST_UNITS, LoadGroup, Manifest, PlanError, Setting, Stamping, counted,
};
use schedlab_tune::Roots;

/// Length of a trial when the plan names none: long against set-up, short against drift.
const DEFAULT_TRIAL_NS: u64 = 500_000_000;
/// Set-up, teardown and storage of a trial, for forecasts before anything has run.
pub(crate) const OVERHEAD_NS: u64 = 60_000_000;

/// `off`, `sampled` or `all`.
pub fn stamping(text: &str) -> Result<Stamping> {
    Ok(match text {
        "off" => Stamping::Off,
        "sampled" => Stamping::Sampled,
        "all" => Stamping::All,
        other => bail!("latency `{other}` is not off, sampled or all"),
    })
}

/// `basic`, `full` or `topdown`.
pub fn counters(text: &str) -> Result<CounterLevel> {
    Ok(match text {
        "basic" => CounterLevel::Basic,
        "full" => CounterLevel::Full,
        "topdown" => CounterLevel::TopDown,
        other => bail!("counters `{other}` is not basic, full or topdown"),
    })
}

/// `same` or `separate`.
pub fn load_group(text: &str) -> Result<LoadGroup> {
    Ok(match text {
        "same" => LoadGroup::Same,
        "separate" => LoadGroup::Separate,
        other => bail!("load_group `{other}` is not same or separate"),
    })
}

/// The manifest of a run about to begin.
pub fn manifest(plan: &Plan, command: Vec<String>, environment: Environment) -> Result<Manifest> {
    // In a round of a study an arm that cannot be is found out like one that does not take: the study goes on without it.
    for arm in plan.arms.iter().filter(|_| plan.round_of.is_none()) {
        schedlab_tune::check(&Roots::default(), &arm.settings).with_context(|| format!("arm `{}`", arm.name))?;
    }
    crate::require::check(plan, &schedlab_record::Roots::default())?;
    let workloads = Expansion::of(plan)?;
    let mut manifest = Manifest {
        format_version: FORMAT_VERSION,
        schedlab_version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        title: plan.title.clone(),
        created_unix_s: schedlab_sys::clock::realtime_ns() / 1_000_000_000,
        plan_toml: plan.to_toml(),
        arms: plan.arms.clone(),
        workloads: Vec::new(),
        workload_ids: Vec::new(),
        primary: Vec::new(),
        sesoi: plan.sesoi,
        alpha: plan.alpha,
        design: design(plan, workloads.len())?,
        switchback_window_ns: plan.switchback_window_ns,
        stamping: plan.stamping,
        counters: plan.counters,
        load: Vec::new(),
        load_group: plan.load_group,
        seed: plan.seed.unwrap_or_else(fresh_seed),
        order: OrderKnown::Randomized,
        environment,
        environment_end: None,
        looks: Vec::new(),
        ended: String::new(),
        warnings: Vec::new(),
        sweeps: Vec::new(),
        factorial: plan.factorial.clone(),
        boots: plan.guest.as_ref().and_then(|guest| guest.boots),
        kernels: Vec::new(),
    };
    workloads.fill(&mut manifest, plan, trial_ns(plan, workloads.len()))?;
    if manifest.switchback_window_ns.is_some() {
        fill_sysctls(&mut manifest.arms)?;
        enough_windows(&manifest)?;
    }
    Ok(manifest)
}

/// Refuses what cannot be run on any machine: for a plan whose trials run on others, which are booted later.
pub fn check_anywhere(plan: &Plan) -> Result<()> {
    let workloads = Expansion::of(plan)?;
    design(plan, workloads.len())?;
    workloads.check(plan, trial_ns(plan, workloads.len()))
}

/// Trial length: the plan's, or the default, shortened when a budget would not hold two dozen blocks of it.
fn trial_ns(plan: &Plan, workloads: usize) -> u64 {
    let wanted = plan.trial_ns.unwrap_or(DEFAULT_TRIAL_NS);
    match (&plan.stopping, plan.trial_ns) {
        (Stopping::Budget { budget_ns, .. }, None) if plan.switchback_window_ns.is_none() => {
            let per_workload = budget_ns / workloads.max(1) as u64;
            let trials = 24 * 2 * plan.arms.len() as u64;
            (per_workload / trials).saturating_sub(OVERHEAD_NS).clamp(100_000_000, wanted)
        }
        _ => wanted,
    }
}

fn design(plan: &Plan, workloads: usize) -> Result<Design> {
    Ok(match plan.stopping {
        Stopping::Trials { blocks } => Design::Fixed { blocks },
        Stopping::UntilDecided { max_blocks } => Design::OpenEnded { max_blocks },
        Stopping::Budget { budget_ns, looks } => {
            let per_workload = budget_ns / workloads.max(1) as u64;
            let block = if plan.switchback_window_ns.is_some() { 1 } else { 2 * plan.arms.len() as u64 };
            // One more: the warm-up block before them.
            let trial_ns = trial_ns(plan, workloads).saturating_add(OVERHEAD_NS);
            let least = ((LEAST_UNITS as u64 + 1) * block).saturating_mul(trial_ns);
            if per_workload < least {
                return Err(PlanError::Inconsistent(format!(
                    "a budget of {} is too short for {LEAST_UNITS} blocks of {} and {}: give at least {}, or a shorter `trial`",
                    format_ns(budget_ns),
                    counted(workloads, "workloads"),
                    counted(plan.arms.len(), "arms"),
                    format_ns(
                        least.saturating_mul(workloads as u64).div_ceil(1_000_000_000).saturating_mul(1_000_000_000)
                    )
                )).into());
            }
            Design::Budgeted { budget_ns: per_workload, looks }
        }
    })
}

/// From the clock: a run that names no seed draws its own and records it. Kept below 2^53 so that JSON readers that
/// hold numbers as doubles (jq, JavaScript, pandas) repeat the same run.
pub fn fresh_seed() -> u64 {
    Coins::new(schedlab_sys::clock::realtime_ns(), &[u64::from(std::process::id())]).next() >> 11
}

/// In a switchback each arm undoes the other, so a sysctl that one arm leaves alone is set there to what it is now.
fn fill_sysctls(arms: &mut [Arm]) -> Result<()> {
    let [a, b] = arms else { return Ok(()) };
    let missing = |from: &Arm, to: &Arm| -> Result<Vec<Setting>> {
        let host_wide = from.settings.iter().filter(|s| !s.is_per_task() && !s.is_trace());
        host_wide
            .filter(|s| !to.settings.iter().any(|t| t.key() == s.key()))
            .map(|s| schedlab_tune::present_value(&Roots::default(), s).map_err(Into::into))
            .collect()
    };
    let (for_a, for_b) = (missing(b, a)?, missing(a, b)?);
    a.settings.extend(for_a);
    b.settings.extend(for_b);
    Ok(())
}

fn enough_windows(manifest: &Manifest) -> Result<()> {
    let window = manifest.switchback_window_ns.unwrap_or(0);
    for workload in &manifest.workloads {
        let duration = crate::experiment::trial_duration_ns(workload);
        if duration < 2 * window {
            return Err(PlanError::Inconsistent(format!(
                "{workload}: a trial of {} holds no pair of {} windows; give a longer `trial` or a shorter window",
                format_ns(duration),
                format_ns(window)
            ))
            .into());
        }
    }
    Ok(())
}
