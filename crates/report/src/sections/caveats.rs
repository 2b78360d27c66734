//! What a reader must know before any number.

use super::Subject;
use crate::document::{Block, Landmark, Section};
use crate::remarks;
use schedlab_analyze::Source;
use schedlab_plan::{CheckState, counted};

pub(super) fn sections<'a>(subject: &'a Subject<'a>) -> Vec<Section<'a>> {
    let findings = subject.input.findings;
    let source = match &findings.source {
        Source::OneRun => None,
        Source::Imported => Some("Imported rows: the order in which they were measured is not known.".to_owned()),
        Source::TwoRuns { a, b, .. } => Some(format!("Two runs that were not interleaved: A is {a}, B is {b}.")),
    };
    let warnings = findings.environment.checks.iter().filter(|c| c.state == CheckState::Warning).count();
    let checks = (warnings > 0).then(|| {
        let warn = if warnings == 1 { "warns" } else { "warn" };
        let checks = counted(warnings, "environment checks");
        format!("{checks} {warn} of what distorts or widens results here: see Machine.")
    });
    let all = source.into_iter().chain(remarks::problems(findings)).chain(checks);
    let section =
        |block| Section { landmark: Landmark::Callout, ..Section::body("caveats", "Before you read on", vec![block]) };
    Block::warnings(all).map(section).into_iter().collect()
}
