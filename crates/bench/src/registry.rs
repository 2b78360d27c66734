//! From a written spec to a validated workload.

use crate::WORKLOADS;
use crate::error::BenchError;
use crate::workload::{Workload, WorkloadInfo};
use schedlab_plan::WorkloadSpec;
use schedlab_plan::nearest::nearest;

/// The workload that a spec names, with its version checked.
pub fn find(spec: &WorkloadSpec) -> Result<&'static WorkloadInfo, BenchError> {
    let Some(info) = WORKLOADS.iter().find(|info| info.name == spec.name) else {
        let nearest = nearest(&spec.name, WORKLOADS.iter().map(|info| info.name));
        return Err(BenchError::UnknownWorkload { name: spec.name.clone(), nearest });
    };
    match spec.version {
        Some(wanted) if wanted != info.version => {
            Err(BenchError::WrongVersion { name: info.name, wanted, ours: info.version })
        }
        _ => Ok(info),
    }
}

/// Parses and validates completely: unknown keys, forms, ranges, CPUs beyond the machine, options that conflict.
pub fn parse(spec: &WorkloadSpec) -> Result<Box<dyn Workload>, BenchError> {
    (find(spec)?.parse)(spec)
}
