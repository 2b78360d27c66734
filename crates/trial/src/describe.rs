//! What `--dry-run` prints: the plan, the rights and places its arms need, the order of the first blocks, and how long
//! the run may take. It runs, tries and writes nothing.

use crate::cost::{CHECKS_NS, around_ns};
use crate::experiment::{is_timed, trial_duration_ns};
use crate::stopping::most_repeats;
use schedlab_plan::manifest::{Design, Factor};
use schedlab_plan::plan::{GuestPer, GuestPlan, Plan, Stopping};
use schedlab_plan::units::format_ns;
use schedlab_plan::{Arm, Manifest, Setting, WorkloadSpec, counted};
use schedlab_tune::Roots;
use std::fmt::Write;

/// The plan as TOML, with everything else as comments.
pub fn describe(manifest: &Manifest, plan: &Plan, roots: &Roots) -> String {
    let mut text = format!("{}\n", plan.to_toml());
    for line in needs(manifest, plan, roots).iter().chain(&arms_of_factors(manifest)) {
        comment(&mut text, "", line);
    }
    if plan.seed.is_none() {
        comment(&mut text, "", &drawn_seed(manifest.seed));
    }
    let arms = arms_that_run(manifest, roots);
    let blocks_ns: Vec<u64> = manifest.workloads.iter().map(|workload| block_ns(manifest, &arms, workload)).collect();
    for (index, block_ns) in blocks_ns.iter().enumerate() {
        forecast(&mut text, manifest, index, *block_ns);
    }
    let are_timed = manifest.workloads.iter().all(is_timed);
    if let (Design::Fixed { blocks }, 2.., true) = (&manifest.design, manifest.workloads.len(), are_timed) {
        let of_all = blocks_ns.iter().map(|block_ns| all_blocks_ns(*blocks, *block_ns));
        let _ = writeln!(text, "# in all about {} s", of_all.fold(CHECKS_NS, u64::saturating_add) / 1_000_000_000);
    }
    text
}

/// One line for each setting of each arm, or level of a factor, and for each workload with cgroups of its own.
fn needs(manifest: &Manifest, plan: &Plan, roots: &Roots) -> Vec<String> {
    let mut lines = Vec::new();
    let mut of = |scope: &str, arm: &Arm| {
        if arm.settings.is_empty() {
            lines.push(format!("{scope}: the host as it is, needs nothing"));
        }
        let needs = schedlab_tune::needs(roots, &arm.settings);
        lines.extend(needs.iter().map(|need| format!("{scope}: {need}")));
    };
    // For the arms of a factorial this would repeat the same text many times.
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

/// The arms that the factors produce, and the factors that are left out.
fn arms_of_factors(manifest: &Manifest) -> Vec<String> {
    let Some(factorial) = &manifest.factorial else { return Vec::new() };
    let left_out =
        |factor: &Factor| Some(format!("factor `{}` is left out: {}", factor.name, factor.not_applied.as_ref()?));
    let arm = |arm: &Arm| {
        format!("arm `{}`: {}", arm.name, if arm.settings.is_empty() { "the host as it is".into() } else { arm.spec() })
    };
    factorial.factors.iter().filter_map(left_out).chain(manifest.arms.iter().map(arm)).collect()
}

/// The arms that a run would not leave out at its beginning, as far as that is known.
fn arms_that_run<'m>(manifest: &'m Manifest, roots: &Roots) -> Vec<&'m Arm> {
    let is_here = |arm: &Arm| schedlab_tune::needs(roots, &arm.settings).iter().all(|need| need.met != Some(false));
    manifest.arms.iter().filter(|arm| manifest.factorial.is_some() || is_here(arm)).collect()
}

/// How long a block of a workload takes according to the plan, ns.
fn block_ns(manifest: &Manifest, arms: &[&Arm], workload: &WorkloadSpec) -> u64 {
    let trial_ns = |settings: &[Setting]| {
        trial_duration_ns(&workload.with_options(settings)).saturating_add(around_ns(workload, settings))
    };
    if manifest.switchback_window_ns.is_some() {
        return trial_ns(&[]);
    }
    arms.iter().map(|arm| trial_ns(&arm.settings)).fold(0, u64::saturating_add).saturating_mul(2)
}

/// How long this many blocks and the warm-up block take, ns. The user's numbers may be larger than any clock.
fn all_blocks_ns(blocks: u32, block_ns: u64) -> u64 {
    (u64::from(blocks) + 1).saturating_mul(block_ns)
}

fn forecast(text: &mut String, manifest: &Manifest, index: usize, block_ns: u64) {
    let workload = &manifest.workloads[index];
    let is_timed = is_timed(workload);
    let takes = match is_timed {
        true => format!("a block takes about {}", format_ns(block_ns / 1_000_000 * 1_000_000)),
        false => "how long a trial takes is known after the pilot".into(),
    };
    comment(text, "", &format!("{workload}: {takes}"));
    let length = match manifest.design {
        Design::Fixed { blocks } if !is_timed => counted(blocks, "blocks"),
        Design::Budgeted { budget_ns, looks } if !is_timed => {
            format!("{}, {}", format_ns(budget_ns), counted(looks, "looks"))
        }
        Design::Fixed { blocks } => {
            let seconds = all_blocks_ns(blocks, block_ns) / 1_000_000_000;
            let more = u64::from(most_repeats(blocks)).saturating_mul(block_ns).div_ceil(1_000_000_000);
            format!("{}, about {seconds} s, and up to {more} s for disturbed blocks", counted(blocks, "blocks"))
        }
        Design::Budgeted { budget_ns, looks } => {
            let blocks = counted(budget_ns / block_ns.max(1), "blocks");
            format!("at most {blocks} in {}, {}", format_ns(budget_ns), counted(looks, "looks"))
        }
        Design::OpenEnded { max_blocks } => format!("until decided, at most {}", counted(max_blocks, "blocks")),
    };
    comment(text, "  ", &length);
    if manifest.switchback_window_ns.is_none() {
        orders(text, manifest.seed, index as u32, &manifest.arms);
    }
}

/// The first blocks of a workload.
fn orders(text: &mut String, seed: u64, workload: u32, arms: &[Arm]) {
    let all: Vec<u32> = (0..arms.len() as u32).collect();
    for block in 0..2 {
        let order = crate::schedule::block_order(seed, workload, block, &all);
        let names: Vec<&str> = order.iter().map(|&arm| arms[arm as usize].name.as_str()).collect();
        comment(text, "  ", &format!("block {block}: {}", names.join(" · ")));
    }
}

/// Range of the time that a guest takes to boot, s: small kernels under KVM to distribution kernels in translation.
pub(crate) const BOOT_S: [u64; 2] = [3, 30];
/// The shortest time that a restored guest and its trial take, ns.
pub(crate) const SAMPLE_NS: u64 = 500_000_000;

/// Order and time, as comments, of a plan whose trials run in this many kinds of guests, `at_once` at a time. How long
/// a trial with a fixed number of loops takes is known only once it runs in a guest, so there is no upper limit.
pub fn describe_guests(plan: &Plan, guest: &GuestPlan, kinds: usize, at_once: usize) -> String {
    let mut text = String::new();
    let seed = plan.seed.unwrap_or_else(crate::prepare::fresh_seed);
    let is_ordered = plan.switchback_window_ns.is_none() && !plan.arms.is_empty();
    if plan.seed.is_none() && is_ordered {
        comment(&mut text, "", &drawn_seed(seed));
    }
    let (mut least_s, mut index) = (0u64, 0);
    for planned in &plan.workloads {
        let swept = planned.sweep.as_ref().map_or(1, |(_, values)| values.len() as u32);
        let (line, seconds) = forecast_in_guests(plan, guest, (&planned.run, swept), [kinds, at_once], index == 0);
        least_s = least_s.saturating_add(seconds);
        comment(&mut text, "", &line);
        if is_ordered {
            orders(&mut text, seed, index, &plan.arms);
        }
        index += swept;
    }
    if plan.workloads.len() > 1 {
        comment(&mut text, "", &format!("in all {least_s} s or more"));
    }
    let unknown = "only its guest shows how long a trial takes: after each block the run prints the time left";
    comment(&mut text, "", unknown);
    text
}

fn drawn_seed(seed: u64) -> String {
    format!("the order shown is for seed {seed}; without a `seed` the run draws its own")
}

/// A sentence on a workload that is swept over this many values, and its shortest duration, s. The first value boots
/// the guests that the others share.
fn forecast_in_guests(
    plan: &Plan,
    guest: &GuestPlan,
    (run, swept): (&WorkloadSpec, u32),
    [kinds, at_once]: [usize; 2],
    is_first: bool,
) -> (String, u64) {
    let kinds = kinds as u64;
    let (at_least, blocks) = match plan.stopping {
        Stopping::Trials { blocks } => ("", u64::from(blocks)),
        _ => ("at least ", schedlab_plan::MIN_UNITS as u64),
    };
    let of_block = 2 * plan.arms.len() as u64;
    // The blocks and the warm-up block.
    let rounds = (blocks + 1).saturating_mul(swept.into());
    let samples = rounds.saturating_mul(of_block);
    let boots = match (guest.boots, guest.per) {
        (Some(boots), _) => u64::from(boots).saturating_mul(kinds) * u64::from(is_first),
        (None, GuestPer::Block) => rounds.saturating_mul(kinds),
        (None, GuestPer::Trial) => samples,
    };
    let known_ns = if is_timed(run) { crate::experiment::trial_duration_ns(run) } else { 0 };
    let trial_ns = plan.trial_ns.unwrap_or(known_ns).max(SAMPLE_NS);
    let of_samples = samples.saturating_mul(trial_ns) / 1_000_000_000;
    let guests = if guest.per == GuestPer::Block { kinds } else { of_block };
    let beside = (at_once as u64).min(guests).max(1);
    // Each boot is saved as a state. At most one guest of each kind boots at a time.
    let booting = if guest.boots.is_some() { beside.min(kinds).max(1) } else { beside };
    let [least, most] =
        BOOT_S.map(|boot| boots.saturating_mul(boot).div_ceil(booting).saturating_add(of_samples.div_ceil(beside)));
    let at_a_time = if beside > 1 { format!(", {beside} guests at a time") } else { String::new() };
    let times = if swept > 1 { format!("{swept} times ") } else { String::new() };
    let (blocks, of_block, boots) = (counted(blocks, "blocks"), counted(of_block, "trials"), counted(boots, "boots"));
    let line = format!(
        "{run}: {times}a warm-up and {at_least}{blocks} of {of_block}, {boots}{at_a_time}: {least} s or more, {most} s if each \
         boot takes {} s",
        BOOT_S[1]
    );
    (line, least)
}

/// A line of the plan's TOML with content, within 80 columns if it has a space or a comma to break at.
fn comment(text: &mut String, indent: &str, line: &str) {
    const COLUMNS: usize = 80;
    let mut at = format!("# {indent}");
    let mut is_new = true;
    // A list of names breaks between the names.
    let words: Vec<&str> = if line.contains(" · ") {
        line.split_inclusive("· ").collect()
    } else {
        line.split_inclusive([' ', ',']).collect()
    };
    for word in words {
        if !is_new && at.chars().count() + word.trim_end().chars().count() > COLUMNS {
            let _ = writeln!(text, "{}", at.trim_end());
            at = format!("# {indent}  ");
        }
        at.push_str(word);
        is_new = false;
    }
    let _ = writeln!(text, "{}", at.trim_end());
}
