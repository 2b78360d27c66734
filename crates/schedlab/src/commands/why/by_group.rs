//! The difference between two arms by part of the kernel, from a profile of each: instructions in guests of the virtual
//! lane, samples on this host. It accompanies the difference, and does not explain it.

use super::super::profile;
use super::super::vm::profile as instructions;
use super::super::vm::trials::Guests;
use crate::output::say;
use anyhow::{Context, Result};
use schedlab_analyze::WhyFindings;
use schedlab_analyze::profile::GroupFindings;
use schedlab_plan::{Arm, Plan, Setting};

/// Adds it if there is a difference; without a profile, the reason is reported.
pub(crate) fn add(found: &mut WhyFindings, plan: &Plan) {
    if !found.difference.is_there {
        return;
    }
    match of_arms(plan, &found.difference.workload) {
        Ok(groups) => found.groups = Some(groups),
        Err(error) => say(format_args!("schedlab: no breakdown by part of the kernel: {error:#}")),
    }
}

/// Compares the second arm with the first, one trial of each.
fn of_arms(plan: &Plan, workload: &str) -> Result<GroupFindings> {
    let guests = Guests::of(plan)?;
    let of = |arm: &Arm| {
        let (booted_with, set): (Vec<_>, Vec<_>) = arm.settings.iter().cloned().partition(Setting::is_of_guest);
        let words = command(plan, workload, &Arm { settings: set, ..arm.clone() });
        say(format_args!("schedlab: profiling `{}`", arm.name));
        let found = match &guests {
            Some(guests) => guests.instructions(&booted_with, &words).map(|one| instructions::groups(&[one])),
            None => profile::groups(&words),
        };
        found.with_context(|| format!("`{}`", arm.name))
    };
    let [a, b] = &plan.arms[..] else { anyhow::bail!("two arms are compared") };
    let before = of(a)?;
    Ok(of(b)?.against(&before))
}

/// An arm as a `bench` command.
fn command(plan: &Plan, workload: &str, arm: &Arm) -> Vec<String> {
    let mut words: Vec<String> =
        ["bench", workload, "--latency", "off", "--counters", "basic"].map(str::to_owned).to_vec();
    let loads = plan.workloads.first().map(|workload| workload.load.as_slice()).unwrap_or_default();
    words.extend(loads.iter().flat_map(|load| ["--load".to_owned(), load.to_string()]));
    if !arm.settings.is_empty() {
        words.extend(["--set".to_owned(), arm.spec()]);
    }
    words
}
