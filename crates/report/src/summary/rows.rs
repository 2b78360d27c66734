//! The questions of a comparison, as rows by metric.

use crate::labels;
use schedlab_analyze::{ArmValues, Contrast, Findings, MainEffect, MetricFindings, Role, WorkloadFindings};

/// A row of the table: a question, or the control that it is compared with.
pub(super) struct Row<'f> {
    /// The arm, or the factor.
    pub(super) index: u32,
    /// The row that it is compared with; a factor has its own two levels.
    pub(super) control: Option<u32>,
    pub(super) name: String,
    pub(super) median: Option<f64>,
    pub(super) contrast: Option<&'f Contrast>,
}

/// The rows of one metric.
pub(super) struct Group<'f> {
    pub(super) label: String,
    pub(super) metric: &'f MetricFindings,
    pub(super) rows: Vec<Row<'f>>,
}

pub(super) fn groups(findings: &Findings) -> Vec<Group<'_>> {
    let of_workload = |workload| {
        let metrics = Vec::from_iter(primaries(workload));
        metrics.into_iter().map(move |metric| Group {
            label: labels::workload_label(findings, workload),
            metric,
            rows: rows(findings, workload, metric),
        })
    };
    findings.workloads.iter().flat_map(of_workload).filter(|group| !group.rows.is_empty()).collect()
}

fn primaries(workload: &WorkloadFindings) -> impl Iterator<Item = &MetricFindings> {
    workload.metrics.iter().filter(|m| m.role == Role::Primary)
}

fn rows<'f>(findings: &'f Findings, workload: &'f WorkloadFindings, metric: &'f MetricFindings) -> Vec<Row<'f>> {
    if !findings.factors.is_empty() {
        // The questions of a factorial are its main effects, not its arms.
        let effects = workload.main_effects.iter().filter(|effect| effect.metric == metric.name);
        let row = |effect: &'f MainEffect| {
            let name = findings.factors.get(effect.factor as usize).map_or("?", |factor| factor.name.as_str());
            Row {
                index: effect.factor,
                control: None,
                name: name.to_owned(),
                median: None,
                contrast: Some(&effect.contrast),
            }
        };
        return effects.map(row).collect();
    }
    let row = |values: &'f ArmValues| {
        let contrast = metric.contrasts.iter().find(|c| c.arm == values.arm);
        Row {
            index: values.arm,
            control: contrast.map(|c| c.control),
            name: labels::arm_with_spec(findings, values.arm),
            median: values.median,
            contrast,
        }
    };
    metric.values.iter().map(row).collect()
}
