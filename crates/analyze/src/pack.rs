//! Makes a pack from a run: what another person needs to repeat it, without what distinguishes one machine from others
//! of its class.

use crate::findings::{Findings, MetricFindings, Role, Scale, Verdict};
use schedlab_plan::manifest::Sweep;
use schedlab_plan::pack::{
    ExpectedEffect, ExpectedScale, PACK_VERSION, Pack, PackError, PackedMachine, Said, without_prose,
};
use schedlab_plan::units::CpuList;
use schedlab_plan::{BootedKernel, Environment, KernelSource, Manifest, Plan};

/// Checks of `schedlab doctor` that change results and whose values identify no person or machine.
const CONDITIONS: &[&str] = &[
    "autogroup",
    "clocksource",
    "context_tracking",
    "cpu_quota",
    "default_slice",
    "governor",
    "guest_lane",
    "hrtick",
    "hypervisor",
    "hz",
    "mitigations",
    "numa_balancing",
    "preempt_model",
    "sched_domains",
    "sched_ext",
    "smt",
    "topology",
    "transparent_hugepages",
    "turbo",
];

/// The pack of a run, with what was found in it. Refused if nothing was found, or if no other machine could repeat it.
pub fn pack(manifest: &Manifest, findings: &Findings) -> Result<Pack, PackError> {
    if let Some(why) = &findings.void {
        return Err(PackError::Nothing(format!("the run is void: {why}")));
    }
    if manifest.plan_toml.is_empty() {
        return Err(PackError::Nothing("the run was imported: it has no plan to run again".into()));
    }
    let effects = expected(findings);
    if effects.iter().all(|effect| effect.said == Said::Open) {
        let more = "no primary metric of the run has a verdict: give it more trials";
        return Err(PackError::Nothing(more.into()));
    }
    let plan = resolved(manifest)?;
    let kernels = manifest.kernels.iter().map(portable).collect();
    if plan.guest.is_some() && manifest.kernels.is_empty() {
        let why = "the run was written before manifests named the kernels of guests (format 6): run its plan again";
        return Err(PackError::Nothing(why.into()));
    }
    Ok(Pack {
        pack_version: PACK_VERSION,
        schedlab_version: manifest.schedlab_version.clone(),
        title: plan.title.clone(),
        plan_toml: plan.to_toml(),
        workloads: manifest.workloads.clone(),
        workload_ids: manifest.workload_ids.clone(),
        machine: packed_machine(&manifest.environment),
        kernels,
        effects,
    })
}

/// What a machine has in common with others of its class.
pub(crate) fn packed_machine(of: &Environment) -> PackedMachine {
    let cpus = |list: &str| list.parse::<CpuList>().ok().map(|list| list.as_slice().len()).filter(|count| *count > 0);
    let cpus = cpus(&of.allowed_cpus).or_else(|| cpus(&of.online_cpus)).unwrap_or(1);
    let conditions = of.checks.iter().filter(|check| CONDITIONS.contains(&check.id.as_str()));
    PackedMachine {
        machine: of.machine.clone(),
        cpu_model: of.cpu_model.clone(),
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        kernel_release: of.kernel_release.clone(),
        kernel_version: of.kernel_version.clone(),
        program_crc32: of.program_crc32.clone(),
        conditions: conditions.map(|check| (check.id.clone(), without_seed(&check.value))).collect(),
        knobs: of.knobs.clone(),
    }
}

/// A guest's lane without its seed, because a repetition uses another seed.
fn without_seed(value: &str) -> String {
    value.split(", ").filter(|part| !part.starts_with("seed ")).collect::<Vec<_>>().join(", ")
}

/// A kernel without the text of the mails that contained its patches.
fn portable(kernel: &BootedKernel) -> BootedKernel {
    let mut kernel = kernel.clone();
    if let KernelSource::Build { patches, .. } = &mut kernel.source {
        patches.iter_mut().for_each(|patch| *patch = without_prose(patch));
    }
    kernel
}

/// The plan with its workloads as they ran: a workload that depends on the number of CPUs would be another one
/// elsewhere. Without the seed, so coins are tossed again.
fn resolved(manifest: &Manifest) -> Result<Plan, PackError> {
    let mut plan = Plan::parse(&manifest.plan_toml).map_err(|e| PackError::NoPack(format!("its plan: {e}")))?;
    plan.seed = None;
    // A title is free text, which may name the host.
    let host = &manifest.environment.hostname;
    if !host.is_empty() {
        plan.title = plan.title.replace(host.as_str(), "this host");
    }
    let mut first = 0;
    for planned in &mut plan.workloads {
        let Some(spec) = manifest.workloads.get(first) else { break };
        planned.run = spec.clone();
        let of_it = |sweep: &&Sweep| sweep.workloads.contains(&(first as u32));
        first += match manifest.sweeps.iter().find(of_it) {
            Some(sweep) => {
                planned.run.args.remove(&sweep.option);
                planned.sweep = Some((sweep.option.clone(), sweep.values.clone()));
                sweep.workloads.len()
            }
            None => 1,
        };
    }
    Ok(plan)
}

/// Every primary contrast that has an estimate.
fn expected(findings: &Findings) -> Vec<ExpectedEffect> {
    let mut effects = Vec::new();
    for workload in &findings.workloads {
        for metric in workload.metrics.iter().filter(|metric| metric.role == Role::Primary) {
            for contrast in metric.contrasts.iter().filter(|contrast| !contrast.is_aa && contrast.units >= 2) {
                let Some(effect) = contrast.effect else { continue };
                effects.push(ExpectedEffect {
                    workload: workload.workload,
                    arm: contrast.arm,
                    metric: metric.name.clone(),
                    unit: metric.unit.clone(),
                    direction: metric.direction,
                    scale: match effect.scale {
                        Scale::Ratio => ExpectedScale::Ratio,
                        Scale::Difference => ExpectedScale::Difference,
                    },
                    value: effect.value,
                    lo: effect.lo,
                    hi: effect.hi,
                    level: effect.level,
                    units: u32::try_from(contrast.units).unwrap_or(u32::MAX),
                    unit_name: contrast.unit_name.clone(),
                    control_mean: control_mean(metric, contrast.control),
                    said: said(&contrast.verdict),
                });
            }
        }
    }
    effects
}

/// Mean of the control's trials; 0 where it has none.
pub(crate) fn control_mean(metric: &MetricFindings, control: u32) -> f64 {
    metric.values.iter().find(|values| values.arm == control).and_then(|values| values.mean).unwrap_or(0.0)
}

/// The verdict as a pack states it.
pub(crate) fn said(verdict: &Verdict) -> Said {
    match verdict {
        Verdict::Better | Verdict::Worse | Verdict::Higher | Verdict::Lower => Said::Differs,
        Verdict::Equivalent => Said::Equivalent,
        Verdict::Inconclusive | Verdict::NoVerdict { .. } => Said::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_packed_without_its_seed() {
        assert_eq!(without_seed("virtual, shift 3, seed 500001, QEMU 10.0.2"), "virtual, shift 3, QEMU 10.0.2");
        assert_eq!(without_seed("madvise"), "madvise");
    }
}
