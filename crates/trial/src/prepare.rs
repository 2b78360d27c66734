//! From a plan to a manifest that can be run: every workload validated and spelled out, every default made explicit,
//! what cannot work here refused before anything starts.

use crate::schedule::Coins;
use anyhow::{Context, Result, bail};
use schedlab_run::manifest::{Design, FORMAT_VERSION, OrderKnown, Sweep};
use schedlab_run::plan::{Plan, PlannedWorkload, Stopping};
use schedlab_run::units::format_ns;
use schedlab_run::{Arm, CounterLevel, Environment, LoadGroup, Manifest, Setting, Stamping, WorkloadSpec};
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

/// `basic` or `full`.
pub fn counters(text: &str) -> Result<CounterLevel> {
    Ok(match text {
        "basic" => CounterLevel::Basic,
        "full" => CounterLevel::Full,
        other => bail!("counters `{other}` is not basic or full"),
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
    let expanded = expand(plan)?;
    let design = design(plan, expanded.len())?;
    let trial_ns = trial_ns(plan, expanded.len());
    let (mut workloads, mut workload_ids, mut primary, mut load) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut sweeps: Vec<Sweep> = Vec::new();
    for Expanded { planned, run, swept } in &expanded {
        let workload = validated(plan, planned, run, trial_ns)?;
        let (spec, info) = (workload.spec(), workload.info());
        if let Some((sweep, option)) = swept {
            sweeps.resize_with(sweeps.len().max(sweep + 1), || Sweep {
                option: option.clone(),
                values: Vec::new(),
                workloads: Vec::new(),
            });
            // `2` and `ncpu` on two CPUs are one value.
            if sweeps[*sweep].workloads.iter().any(|&earlier| workloads[earlier as usize] == spec) {
                continue;
            }
            sweeps[*sweep].values.push(spec.args.get(option).cloned().unwrap_or_default());
            sweeps[*sweep].workloads.push(workloads.len() as u32);
        }
        let names: Vec<String> = match &planned.primary {
            names if names.is_empty() => workload.primary(),
            names => names.clone(),
        };
        workload_ids.push(format!("{}/{}", info.name, info.version));
        workloads.push(spec);
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
        sweeps,
        factorial: plan.factorial.clone(),
    };
    if manifest.switchback_window_ns.is_some() {
        fill_sysctls(&mut manifest.arms)?;
        enough_windows(&manifest)?;
    }
    Ok(manifest)
}

/// A workload of the manifest to be.
struct Expanded<'p> {
    planned: &'p PlannedWorkload,
    run: WorkloadSpec,
    /// The number of the sweep and its option, where it is a value of one.
    swept: Option<(usize, String)>,
}

/// The plan's workloads, each sweep as one for each value.
fn expand(plan: &Plan) -> Result<Vec<Expanded<'_>>> {
    let mut expanded = Vec::new();
    let mut sweeps = 0;
    for planned in &plan.workloads {
        match schedlab_bench::sweep(&planned.run, planned.sweep.as_ref())? {
            None => expanded.push(Expanded { planned, run: planned.run.clone(), swept: None }),
            Some(sweep) => {
                let of_value = |run| Expanded { planned, run, swept: Some((sweeps, sweep.option.clone())) };
                expanded.extend(sweep.specs.into_iter().map(of_value));
                sweeps += 1;
            }
        }
    }
    Ok(expanded)
}

/// A workload with its length, checked against this machine and this plan.
fn validated(
    plan: &Plan,
    planned: &PlannedWorkload,
    run: &WorkloadSpec,
    trial_ns: u64,
) -> Result<Box<dyn schedlab_bench::Workload>> {
    let mut workload = schedlab_bench::parse(run)?;
    // A workload that fixes its loops keeps them unless the plan insists on a length; a plan's length is for those of
    // its workloads that have one.
    let takes_length = workload.info().options.iter().any(|option| option.name == "duration");
    let written = ["loops", "duration"].iter().any(|key| run.args.contains_key(*key));
    let insists = plan.trial_ns.is_some() && (takes_length || plan.workloads.len() == 1);
    if insists || takes_length && !written {
        workload.set_duration_ns(trial_ns).with_context(|| run.to_string())?;
    }
    let limits = schedlab_bench::Limits::of_a_trial(Path::new("/proc"))?;
    workload.check(&limits)?;
    for arm in &plan.arms {
        let as_the_arm_has_it = schedlab_bench::parse(&workload.spec().with_options(&arm.settings));
        let checked = as_the_arm_has_it.and_then(|workload| workload.check(&limits));
        checked.with_context(|| format!("arm `{}` on {run}", arm.name))?;
    }
    if plan.switchback_window_ns.is_some() && !workload.counts_operations() {
        bail!("{run}: it counts nothing while it runs, so a switchback has nothing to compare; use blocks");
    }
    schedlab_bench::load::Load::check(&planned.load).with_context(|| format!("load beside {run}"))?;
    Ok(workload)
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
            let trials = if plan.switchback_window_ns.is_some() { 7 } else { 7 * 2 * plan.arms.len() as u64 };
            // Seven: six blocks and the warm-up block before them.
            let least = trials * (trial_ns(plan, workloads) + OVERHEAD_NS);
            if per_workload < least {
                bail!(
                    "a budget of {} is too short for six blocks of {} workload(s) and {} arms: give at least {}, or a shorter `trial`",
                    format_ns(budget_ns),
                    workloads,
                    plan.arms.len(),
                    format_ns((least * workloads as u64).next_multiple_of(1_000_000_000))
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
    if manifest.factorial.is_some() {
        let _ = writeln!(text, "# the arms, if every factor can be set here:");
        for arm in &manifest.arms {
            let _ = writeln!(text, "#   {}: {}", arm.name, arm.spec());
        }
    }
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
