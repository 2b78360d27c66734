//! Applies a plan's `[[require]]` tables: names are checked before anything runs, and every trial is checked against
//! the requirements. A trial that does not meet one voids the run at once, because its arms were not what the plan says
//! they are.

use anyhow::{Result, bail};
use schedlab_plan::nearest::hint;
use schedlab_plan::require::Subject;
use schedlab_plan::{Manifest, Plan, Requirement, TrialRecord, TrialStatus};
use schedlab_record::{Roots, catalogue};

/// Refuses a counter that this kernel does not have: it would always be 0, and so meet `equals = 0`.
pub(crate) fn check(plan: &Plan, roots: &Roots) -> Result<()> {
    if plan.require.is_empty() {
        return Ok(());
    }
    let called: Vec<&str> = plan.require.iter().filter_map(|requirement| requirement.called(None)).collect();
    if let Some(why) = schedlab_record::calls::absent(roots, &called) {
        bail!("[[require]]: {why}");
    }
    let names = catalogue::names(roots);
    for requirement in &plan.require {
        let Subject::Counter(name) = &requirement.subject else { continue };
        if requirement.called(None).is_none() && !names.contains(name) {
            let hint = hint(name, names.iter().map(String::as_str));
            bail!("[[require]]: there is no counter `{name}` here{hint}; `schedlab list counters` shows all");
        }
    }
    Ok(())
}

/// The requirements of a run, from the plan stored in it; an import has none.
pub(crate) fn of_run(manifest: &Manifest) -> Result<Vec<Requirement>> {
    if manifest.plan_toml.is_empty() { Ok(Vec::new()) } else { Ok(Plan::parse(&manifest.plan_toml)?.require) }
}

/// Functions whose calls must be counted in a trial of this workload and arm.
pub(crate) fn called(
    requirements: &[Requirement],
    manifest: &Manifest,
    workload: u32,
    arm: Option<u32>,
) -> Vec<String> {
    let of = Some((manifest.workloads[workload as usize].name.as_str(), name(manifest, arm)));
    requirements.iter().filter_map(|requirement| requirement.called(of)).map(str::to_owned).collect()
}

/// For a switchback trial, which contains both arms, requirements name no arm.
fn name(manifest: &Manifest, arm: Option<u32>) -> &str {
    arm.map_or("A and B", |arm| &manifest.arms[arm as usize].name)
}

/// The requirement that a measured trial does not meet. A trial that failed, or whose settings had no effect, has a
/// reason of its own.
pub(crate) fn unmet(requirements: &[Requirement], manifest: &Manifest, record: &TrialRecord) -> Option<String> {
    let outcome = record.outcome.as_ref().filter(|_| record.status == TrialStatus::Ok)?;
    let workload = &manifest.workloads[record.workload as usize].name;
    let arm = name(manifest, record.arm);
    let what = requirements.iter().find_map(|requirement| requirement.unmet(workload, arm, outcome))?;
    Some(format!("trial {}, {what}", record.trial))
}
