//! The kinds of guest that a plan's arms need: the first trial boot of each, and its description.

use super::{GuestTrial, booted_with};
use schedlab_plan::plan::GuestPer;
use schedlab_plan::{Environment, GuestTask, Plan, Setting};
use std::time::Duration;

/// Time limit of a boot for a manifest, or for a look at the kernel.
pub const TO_PREPARE: Duration = Duration::from_secs(300);

/// The first boot of each kind of guest, with the names of its arms. It checks the plan inside the guest.
pub fn preparations(plan: &Plan) -> Vec<(String, GuestTrial)> {
    let mut kinds: Vec<(Vec<Setting>, Vec<&str>)> = Vec::new();
    for arm in &plan.arms {
        let booted_with = booted_with(&arm.settings);
        match kinds.iter_mut().find(|(kind, _)| *kind == booted_with) {
            Some((_, arms)) => arms.push(&arm.name),
            None => kinds.push((booted_with, vec![&arm.name])),
        }
    }
    let first = plan.guest.as_ref().and_then(|guest| guest.first_seed).unwrap_or(1);
    let trial = |booted_with, arms: &[&str]| GuestTrial {
        task: GuestTask::Prepare { plan_toml: of_arms(plan, arms).to_toml() },
        booted_with,
        sample: first,
        boot: plan.guest.as_ref().and_then(|guest| guest.boots).map(|_| first),
        limit: TO_PREPARE,
    };
    kinds.into_iter().map(|(booted_with, arms)| (names(&arms), trial(booted_with, &arms))).collect()
}

/// Most arms that are named one by one.
const MAX_NAMES: usize = 8;

fn names(arms: &[&str]) -> String {
    match arms {
        [first, rest @ ..] if arms.len() > MAX_NAMES => format!("`{first}` and {} more arms", rest.len()),
        arms => format!("`{}`", arms.join("`, `")),
    }
}

/// The plan with only the requirements of these arms: another kernel may lack their counters.
fn of_arms(plan: &Plan, arms: &[&str]) -> Plan {
    let mut own = plan.clone();
    own.require.retain(|requirement| requirement.arm.as_deref().is_none_or(|arm| arms.contains(&arm)));
    own
}

/// The plan's statement about the guest's last-level cache, if the guest contradicts it.
pub fn other_llc(wanted: u32, guest: &Environment) -> Option<String> {
    let fix = "change `sd_llc_size` or the cpus and topology of [guest]";
    match guest.sd_llc_size {
        Some(size) if size == wanted => None,
        Some(size) => Some(format!(
            "the plan says sd_llc_size {wanted}, its guest has {size} ({}); {fix}",
            guest.value("sched_domains").unwrap_or("unknown")
        )),
        None => Some(format!(
            "the plan says sd_llc_size {wanted}, which its guest does not tell: its kernel needs CONFIG_SCHED_DEBUG and \
             CONFIG_SCHEDSTATS"
        )),
    }
}

/// A guest in a sentence of the report. `kernel` is its name and checksum, which distinguishes two builds with one
/// name.
pub fn description(arms: &str, (kernel, crc32): (&str, u32), guest: &Environment, per: GuestPer) -> String {
    let (release, of) = (&guest.kernel_release, |id| guest.value(id).unwrap_or("unknown"));
    let (topology, domains) = (of("topology"), of("sched_domains"));
    let each = if per == GuestPer::Block { ", one for each block" } else { "" };
    format!(
        "{arms} ran in guests with Linux {release} ({kernel}, CRC-32 {crc32:08x}), {topology}; domains {domains}{each}"
    )
}
