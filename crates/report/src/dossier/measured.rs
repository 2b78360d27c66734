//! Chapter 4, from a measured run: its result, its picture, and how often the functions ran.

use crate::{Input, labels, pictures, sections};
use schedlab_plan::require::CALLS;

/// The picture's file, without `.svg`.
pub(super) const NAME: &str = "measured";

/// The part of a run that a dossier shows. Sentences are those of the run's report.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Its directory's name.
    pub name: String,
    /// The machine and the time of the run.
    pub place: String,
    /// The verdict first.
    pub claims: Vec<String>,
    /// An SVG of all questions, or of the first one.
    pub picture: Option<String>,
    /// Function, arm, median calls per operation.
    pub calls: Vec<(String, String, String)>,
}

/// Reads the findings of a run.
pub fn measured(name: &str, input: &Input<'_>) -> Measured {
    let findings = input.findings;
    let (headline, _) = sections::headline(findings);
    let others = findings.claims.iter().skip(1).filter(|_| findings.void.is_none());
    let claims = [headline].into_iter().chain(others.map(|claim| claim.sentence.clone())).collect();
    let mut calls = Vec::new();
    for workload in &findings.workloads {
        for facts in &workload.arms {
            for counter in &facts.per_operation {
                let Some(function) = counter.name.strip_prefix(CALLS) else { continue };
                let value = match (counter.median, &counter.not_counted) {
                    (Some(value), _) => crate::number::significant(value, 4),
                    (None, why) => why.clone().unwrap_or_default(),
                };
                calls.push((function.to_owned(), labels::arm_with_spec(findings, facts.arm), value));
            }
        }
    }
    calls.sort();
    let picture = pictures::pictures(input).into_iter().next().map(|(_, svg)| svg);
    Measured { name: name.to_owned(), place: labels::provenance(input.manifest), claims, picture, calls }
}
