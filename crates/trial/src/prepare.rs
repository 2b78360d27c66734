//! From a plan to a manifest that can be run: every workload validated and spelled out, every default made explicit,
//! what cannot work here refused before anything starts.

use crate::schedule::Coins;
use anyhow::{Context, Result, bail};
use schedlab_run::manifest::{Design, FORMAT_VERSION, OrderKnown};
use schedlab_run::plan::{Plan, Stopping};
use schedlab_run::units::format_ns;
use schedlab_run::{Arm, CounterLevel, Environment, LoadGroup, Manifest, Setting, Stamping};
use std::fmt::Write;
use std::path::Path;

/// Length of a trial when the plan names none: long against set-up, short against drift.
const DEFAULT_TRIAL_NS: u64 = 500_000_000;
/// Set-up, teardown and storage of a trial, for forecasts before anything has run.
const OVERHEAD_NS: u64 = 60_000_000;

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
    for arm in &plan.arms {
        schedlab_tune::check(&schedlab_tune::Roots::default(), &arm.settings)
            .with_context(|| format!("arm `{}`", arm.name))?;
    }
    let limits = schedlab_bench::Limits::raise_and_read(Path::new("/proc"))?;
    let design = design(plan)?;
    let trial_ns = trial_ns(plan);
    let (mut workloads, mut workload_ids, mut primary, mut load) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for planned in &plan.workloads {
        let mut workload = schedlab_bench::parse(&planned.run)?;
        // A workload that fixes its loops keeps them unless the plan insists on a length.
        if plan.trial_ns.is_some()
            || !planned.run.args.contains_key("loops") && !planned.run.args.contains_key("duration")
        {
            workload.set_duration_ns(trial_ns).with_context(|| planned.run.to_string())?;
        }
        workload.check(&limits)?;
        let info = workload.info();
        let names: Vec<String> = match &planned.primary {
            names if names.is_empty() => info.primary.iter().map(|p| p.to_string()).collect(),
            names => names.clone(),
        };
        schedlab_bench::load::Load::check(&planned.load).with_context(|| format!("load beside {}", planned.run))?;
        workload_ids.push(format!("{}/{}", info.name, info.version));
        workloads.push(workload.spec());
        primary.push(names);
        load.push(planned.load.clone());
    }
    let mut manifest = Manifest {
        format_version: FORMAT_VERSION,
        schedlab_version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        title: plan.title.clone(),
        created_unix_s: schedlab_sys::clock::realtime_ns() / 1_000_000_000,
        plan_toml: plan.to_toml(),
        arms: plan.arms.clone(),
        workloads,
        workload_ids,
        primary,
        sesoi: plan.sesoi,
        alpha: plan.alpha,
        design,
        switchback_window_ns: plan.switchback_window_ns,
        stamping: plan.stamping,
        counters: plan.counters,
        load,
        load_group: plan.load_group,
        seed: plan.seed.unwrap_or_else(fresh_seed),
        order: OrderKnown::Randomized,
        environment,
        environment_end: None,
        looks: Vec::new(),
        ended: String::new(),
        warnings: Vec::new(),
    };
    if manifest.switchback_window_ns.is_some() {
        fill_sysctls(&mut manifest.arms)?;
        enough_windows(&manifest)?;
    }
    Ok(manifest)
}

/// Trial length: the plan's, or the default, shortened when a budget would not hold two dozen blocks of it.
fn trial_ns(plan: &Plan) -> u64 {
    let wanted = plan.trial_ns.unwrap_or(DEFAULT_TRIAL_NS);
    match (&plan.stopping, plan.trial_ns) {
        (Stopping::Budget { budget_ns, .. }, None) if plan.switchback_window_ns.is_none() => {
            let per_workload = budget_ns / plan.workloads.len().max(1) as u64;
            let trials = 24 * 2 * plan.arms.len() as u64;
            (per_workload / trials).saturating_sub(OVERHEAD_NS).clamp(100_000_000, wanted)
        }
        _ => wanted,
    }
}

fn design(plan: &Plan) -> Result<Design> {
    Ok(match plan.stopping {
        Stopping::Trials { blocks } => Design::Fixed { blocks },
        Stopping::UntilDecided { max_blocks } => Design::OpenEnded { max_blocks },
        Stopping::Budget { budget_ns, looks } => {
            let per_workload = budget_ns / plan.workloads.len().max(1) as u64;
            let trials = if plan.switchback_window_ns.is_some() { 7 } else { 7 * 2 * plan.arms.len() as u64 };
            // Seven: six blocks and the warm-up block before them.
            let least = trials * (trial_ns(plan) + OVERHEAD_NS);
            if per_workload < least {
                bail!(
                    "a budget of {} is too short for six blocks of {} workload(s) and {} arms: give at least {}, or a shorter `trial`",
                    format_ns(budget_ns),
                    plan.workloads.len(),
                    plan.arms.len(),
                    format_ns((least * plan.workloads.len() as u64).next_multiple_of(1_000_000_000))
                );
            }
            Design::Budgeted { budget_ns: per_workload, looks }
        }
    })
}

/// From the clock: a run that names no seed draws its own and records it. Kept below 2^53 so that JSON readers that
/// hold numbers as doubles (jq, JavaScript, pandas) repeat the same run.
fn fresh_seed() -> u64 {
    Coins::new(schedlab_sys::clock::realtime_ns(), &[u64::from(std::process::id())]).next() >> 11
}

/// In a switchback each arm undoes the other, so a sysctl that one arm leaves alone is set there to what it is now.
fn fill_sysctls(arms: &mut [Arm]) -> Result<()> {
    let [a, b] = arms else { return Ok(()) };
    let missing = |from: &Arm, to: &Arm| -> Result<Vec<Setting>> {
        let host_wide = from.settings.iter().filter(|s| !s.is_per_task());
        host_wide
            .filter(|s| !to.settings.iter().any(|t| t.key() == s.key()))
            .map(|s| schedlab_tune::present_value(&schedlab_tune::Roots::default(), s).map_err(Into::into))
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
            bail!(
                "{workload}: a trial of {} holds no pair of {} windows; give a longer `trial` or a shorter window",
                format_ns(duration),
                format_ns(window)
            );
        }
    }
    Ok(())
}

/// What `--dry-run` prints: the plan, the order of the first blocks, and how long it may take.
pub fn describe(manifest: &Manifest, plan: &Plan) -> String {
    let mut text = format!("{}\n", plan.to_toml());
    let arms: Vec<u32> = (0..manifest.arms.len() as u32).collect();
    for (index, workload) in manifest.workloads.iter().enumerate() {
        let duration = crate::experiment::trial_duration_ns(workload);
        let trials = if manifest.switchback_window_ns.is_some() { 1 } else { 2 * arms.len() as u64 };
        let block_ns = trials * (duration + OVERHEAD_NS);
        let _ = writeln!(text, "# {workload}: a block takes about {}", format_ns(block_ns / 1_000_000 * 1_000_000));
        let length = match manifest.design {
            Design::Fixed { blocks } => {
                format!("{blocks} blocks, about {} s", u64::from(blocks + 1) * block_ns / 1_000_000_000)
            }
            Design::Budgeted { budget_ns, looks } => {
                format!("at most {} blocks in {}, {looks} looks", budget_ns / block_ns.max(1), format_ns(budget_ns))
            }
            Design::OpenEnded { max_blocks } => format!("until decided, at most {max_blocks} blocks"),
        };
        let _ = writeln!(text, "#   {length}");
        if manifest.switchback_window_ns.is_none() {
            for block in 0..2 {
                let order = crate::schedule::block_order(manifest.seed, index as u32, block, &arms);
                let names: Vec<&str> = order.iter().map(|&a| manifest.arms[a as usize].name.as_str()).collect();
                let _ = writeln!(text, "#   block {block}: {}", names.join(" · "));
            }
        }
    }
    text
}
