//! From a plan to a manifest that can be run: every workload is validated and written out in full, every default is
//! made explicit, and whatever cannot work here is refused before anything starts.

use crate::schedule::Coins;
use crate::workloads::Expansion;
use anyhow::{Context, Result};
use schedlab_plan::manifest::{FORMAT_VERSION, OrderKnown};
use schedlab_plan::plan::Plan;
use schedlab_plan::units::format_ns;
use schedlab_plan::{Arm, Environment, Manifest, PlanError, Setting};
use schedlab_tune::Roots;

/// The manifest of a run that is about to begin.
pub fn manifest(plan: &Plan, command: Vec<String>, environment: Environment) -> Result<Manifest> {
    // In a round of a study, an arm that is impossible here is treated like one that has no effect: the study goes on
    // without it.
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
        design: workloads.design()?,
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
    workloads.fill(&mut manifest)?;
    if manifest.switchback_window_ns.is_some() {
        fill_sysctls(&mut manifest.arms)?;
        enough_windows(&manifest)?;
    }
    Ok(manifest)
}

/// Refuses what cannot be run on any machine; for a plan whose trials run in guests that are booted later.
pub fn check_anywhere(plan: &Plan) -> Result<()> {
    let workloads = Expansion::of(plan)?;
    workloads.design()?;
    workloads.check()
}

/// From the clock: if a run names no seed, it draws one and records it. Kept below 2^53 so that JSON readers that hold
/// numbers as doubles (jq, JavaScript, pandas) repeat the same run.
pub fn fresh_seed() -> u64 {
    Coins::new(schedlab_sys::clock::realtime_ns(), &[u64::from(std::process::id())]).next() >> 11
}

/// In a switchback each arm undoes the other, so if one arm does not name a sysctl, it is set there to its present
/// value.
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
