//! What `--dry-run` prints: the plan, the rights and places its arms need, the order of the first blocks, and how long it
//! may take. Nothing is run, tried or written.

use crate::workloads::OVERHEAD_NS;
use schedlab_run::manifest::{Design, Factor};
use schedlab_run::plan::Plan;
use schedlab_run::units::format_ns;
use schedlab_run::{Arm, Manifest, Setting, WorkloadSpec, counted};
use schedlab_tune::Roots;
use std::fmt::Write;

/// The plan as TOML, all else as its comments.
pub fn describe(manifest: &Manifest, plan: &Plan, roots: &Roots) -> String {
    let mut text = format!("{}\n", plan.to_toml());
    for line in needs(manifest, plan, roots).iter().chain(&arms_of_factors(manifest)) {
        let _ = writeln!(text, "# {line}");
    }
    for index in 0..manifest.workloads.len() {
        forecast(&mut text, manifest, index);
    }
    if let (Design::Fixed { blocks }, 2..) = (&manifest.design, manifest.workloads.len()) {
        let of_all = manifest.workloads.iter().map(|w| all_blocks_ns(*blocks, block_ns(manifest, w)));
        let _ = writeln!(text, "# in all about {} s", of_all.fold(0, u64::saturating_add) / 1_000_000_000);
    }
    text
}

/// One line for each setting of each arm, or level of a factor, and for each workload with cgroups of its own.
fn needs(manifest: &Manifest, plan: &Plan, roots: &Roots) -> Vec<String> {
    let mut lines = Vec::new();
    let mut of = |whose: &str, arm: &Arm| {
        if arm.settings.is_empty() {
            lines.push(format!("{whose}: the host as it is, needs nothing"));
        }
        let needs = schedlab_tune::needs(roots, &arm.settings);
        lines.extend(needs.iter().map(|need| format!("{whose}: {need}")));
    };
    // The arms of a factorial would say the same many times.
    for factor in &plan.factors {
        of(&format!("factor `{}`, low", factor.name), &factor.low);
        of(&format!("factor `{}`, high", factor.name), &factor.high);
    }
    for arm in manifest.arms.iter().filter(|_| plan.factors.is_empty()) {
        of(&format!("arm `{}`", arm.name), arm);
    }
    for spec in &manifest.workloads {
        let Ok(workload) = schedlab_bench::parse(spec) else { continue };
        if !workload.cgroups().is_empty() {
            lines.push(schedlab_tune::groups_need(roots, &spec.to_string()).to_string());
        }
        let policy: Vec<Setting> = workload.own_policy().map(Setting::Policy).into_iter().collect();
        let needs = schedlab_tune::needs(roots, &policy);
        lines.extend(needs.iter().map(|need| format!("{spec}, its own threads: {need}")));
    }
    lines
}

/// The arms that the factors make, and which factors are left out.
fn arms_of_factors(manifest: &Manifest) -> Vec<String> {
    let Some(factorial) = &manifest.factorial else { return Vec::new() };
    let left_out =
        |factor: &Factor| Some(format!("factor `{}` is left out: {}", factor.name, factor.not_applied.as_ref()?));
    let arm = |arm: &Arm| {
        format!("arm `{}`: {}", arm.name, if arm.settings.is_empty() { "the host as it is".into() } else { arm.spec() })
    };
    factorial.factors.iter().filter_map(left_out).chain(manifest.arms.iter().map(arm)).collect()
}

/// What a block of a workload takes, by the plan, ns.
fn block_ns(manifest: &Manifest, workload: &WorkloadSpec) -> u64 {
    let trials = if manifest.switchback_window_ns.is_some() { 1 } else { 2 * manifest.arms.len() as u64 };
    trials.saturating_mul(crate::experiment::trial_duration_ns(workload).saturating_add(OVERHEAD_NS))
}

/// What so many blocks and the warm-up block take, ns; numbers of the user's can be beyond any clock.
fn all_blocks_ns(blocks: u32, block_ns: u64) -> u64 {
    (u64::from(blocks) + 1).saturating_mul(block_ns)
}

fn forecast(text: &mut String, manifest: &Manifest, index: usize) {
    let workload = &manifest.workloads[index];
    let arms: Vec<u32> = (0..manifest.arms.len() as u32).collect();
    let block_ns = block_ns(manifest, workload);
    let _ = writeln!(text, "# {workload}: a block takes about {}", format_ns(block_ns / 1_000_000 * 1_000_000));
    let length = match manifest.design {
        Design::Fixed { blocks } => {
            let seconds = all_blocks_ns(blocks, block_ns) / 1_000_000_000;
            format!("{}, about {seconds} s", counted(blocks, "blocks"))
        }
        Design::Budgeted { budget_ns, looks } => {
            let blocks = counted(budget_ns / block_ns.max(1), "blocks");
            format!("at most {blocks} in {}, {}", format_ns(budget_ns), counted(looks, "looks"))
        }
        Design::OpenEnded { max_blocks } => format!("until decided, at most {}", counted(max_blocks, "blocks")),
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
