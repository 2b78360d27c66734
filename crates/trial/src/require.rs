//! A plan's `[[require]]` tables at work: names checked before anything runs, every trial held against them. A trial that
//! does not meet one voids the run at once, because its arms were not what the plan says they are.

use anyhow::{Result, bail};
use schedlab_record::{Roots, catalogue};
use schedlab_run::nearest::hint;
use schedlab_run::require::Subject;
use schedlab_run::{Manifest, Plan, Requirement, TrialRecord, TrialStatus};

/// Refuses a counter that this kernel does not have: it would be 0 for ever, and meet `equals = 0`.
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

/// The requirements of a run, from the plan it keeps; an import keeps none.
pub(crate) fn of_run(manifest: &Manifest) -> Result<Vec<Requirement>> {
    if manifest.plan_toml.is_empty() { Ok(Vec::new()) } else { Ok(Plan::parse(&manifest.plan_toml)?.require) }
}

/// Functions whose calls the requirements want counted in a trial of this workload and arm.
pub(crate) fn called(
    requirements: &[Requirement],
    manifest: &Manifest,
    workload: u32,
    arm: Option<u32>,
) -> Vec<String> {
    let of = Some((manifest.workloads[workload as usize].name.as_str(), name(manifest, arm)));
    requirements.iter().filter_map(|requirement| requirement.called(of)).map(str::to_owned).collect()
}

/// A requirement of a switchback trial, which holds both arms, names none.
fn name(manifest: &Manifest, arm: Option<u32>) -> &str {
    arm.map_or("A and B", |arm| &manifest.arms[arm as usize].name)
}

/// What a measured trial does not meet. A trial that failed, or whose settings did not take, has its own reason.
pub(crate) fn unmet(requirements: &[Requirement], manifest: &Manifest, record: &TrialRecord) -> Option<String> {
    let outcome = record.outcome.as_ref().filter(|_| record.status == TrialStatus::Ok)?;
    let workload = &manifest.workloads[record.workload as usize].name;
    let arm = name(manifest, record.arm);
    let what = requirements.iter().find_map(|requirement| requirement.unmet(workload, arm, outcome))?;
    Some(format!("trial {}, {what}", record.trial))
}
