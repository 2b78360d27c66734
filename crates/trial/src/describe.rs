//! What `--dry-run` prints: the plan, the rights and places its arms need, the order of the first blocks, and how long it
//! may take. Nothing is run, tried or written.

use crate::prepare::OVERHEAD_NS;
use schedlab_run::manifest::Design;
use schedlab_run::plan::Plan;
use schedlab_run::units::format_ns;
use schedlab_run::{Manifest, Setting, counted};
use schedlab_tune::Roots;
use std::fmt::Write;

/// The plan as TOML, all else as its comments.
pub fn describe(manifest: &Manifest, plan: &Plan, roots: &Roots) -> String {
    let mut text = format!("{}\n", plan.to_toml());
    for need in needs(manifest, roots) {
        let _ = writeln!(text, "# {need}");
    }
    for index in 0..manifest.workloads.len() {
        forecast(&mut text, manifest, index);
    }
    text
}

/// One line for each setting of each arm, and for each workload with cgroups of its own.
fn needs(manifest: &Manifest, roots: &Roots) -> Vec<String> {
    let mut lines = Vec::new();
    for arm in &manifest.arms {
        if arm.settings.is_empty() {
            lines.push(format!("arm `{}`: the host as it is, needs nothing", arm.name));
        }
        let needs = schedlab_tune::needs(roots, &arm.settings);
        lines.extend(needs.iter().map(|need| format!("arm `{}`: {need}", arm.name)));
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

fn forecast(text: &mut String, manifest: &Manifest, index: usize) {
    let workload = &manifest.workloads[index];
    let arms: Vec<u32> = (0..manifest.arms.len() as u32).collect();
    let duration = crate::experiment::trial_duration_ns(workload);
    let trials = if manifest.switchback_window_ns.is_some() { 1 } else { 2 * arms.len() as u64 };
    let block_ns = trials * (duration + OVERHEAD_NS);
    let _ = writeln!(text, "# {workload}: a block takes about {}", format_ns(block_ns / 1_000_000 * 1_000_000));
    let length = match manifest.design {
        Design::Fixed { blocks } => {
            let seconds = u64::from(blocks + 1) * block_ns / 1_000_000_000;
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
