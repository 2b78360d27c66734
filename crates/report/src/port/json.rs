//! Findings as JSON, one object a line: a hunk, or a part of the series that was skipped.

use super::words::{access, confidence, kind, obstacle, outcome, sign, verdict};
use super::{Rehearsal, builds};
use schedlab_kernel::needs::Need;
use serde_json::{Value, json};
use std::io::{self, Write};

pub(super) fn write(rehearsal: &Rehearsal, out: &mut dyn Write) -> io::Result<()> {
    let outcomes = rehearsal.port.outcomes(&rehearsal.patches);
    for (number, finding) in rehearsal.port.findings.iter().enumerate() {
        let seen = finding.rehearsed.as_ref();
        let place = seen.and_then(|seen| seen.place.as_ref());
        let proposal = seen.and_then(|seen| seen.proposal.as_ref());
        let line = json!({
            "patch": rehearsal.patches[finding.patch].subject,
            "from": rehearsal.from[finding.patch].display().to_string(),
            "outcome": outcome(outcomes[finding.patch].0),
            "file": finding.file,
            "hunk": number + 1,
            "verdict": verdict(finding.verdict),
            "obstacle": finding.obstacle.map(obstacle),
            "flagged": seen.and_then(|seen| seen.flagged.clone()),
            "place": place.map(|p| json!({"file": finding.file, "function": p.function, "line": p.line})),
            "proposal": proposal.map(|p| String::from_utf8_lossy(&p.hunk.to_bytes()).into_owned()),
            "confidence": proposal.map(|p| confidence(p.confidence)),
            "present": finding.is_present,
            "history": rehearsal.history.of(finding.patch).map(|found| json!({
                "commit": found.commit,
                "subject": found.subject,
                "by": sign(found.by),
                "reverted_by": found.reverted_by,
            })),
            "fixes": rehearsal.history.fixed.get(finding.patch).into_iter().flatten().map(|fixed| json!({
                "commit": fixed.commit,
                "subject": fixed.subject,
                "there": fixed.there,
            })).collect::<Vec<_>>(),
            "taken": finding.is_taken,
            "needs": needs(rehearsal, number),
        });
        writeln!(out, "{line}")?;
    }
    for (patch, from) in rehearsal.patches.iter().zip(&rehearsal.from) {
        for refused in &patch.refused {
            let line: Value = json!({
                "patch": patch.subject,
                "from": from.display().to_string(),
                "line": refused.line,
                "skipped": refused.why.to_string(),
            });
            writeln!(out, "{line}")?;
        }
    }
    for line in rehearsal.build.iter().flat_map(|build| builds::json(rehearsal, build)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Something that the tree lacks.
pub(super) fn lacking(need: &Need) -> Value {
    json!({"kind": kind(need.kind), "name": need.name, "of": need.of, "lines": need.lines, "instead": need.instead})
}

/// Names that the tree lacks, then states that other functions change there, then commits.
fn needs(rehearsal: &Rehearsal, number: usize) -> Vec<Value> {
    let lacks = rehearsal.needs[number].iter().map(lacking);
    let states = rehearsal.contract.iter().flat_map(|contract| &contract.states);
    let states = states.filter(|state| state.differs() && state.read_by.contains(&number)).map(|state| {
        let differences = state.differences.iter().map(|found| {
            json!({
                "function": found.function,
                "file": found.file,
                "line": found.line,
                "in": if found.is_in_target { "target" } else { "source" },
                "does": found.does.iter().map(|does| access(*does)).collect::<Vec<_>>(),
                "through": found.through,
            })
        });
        json!({
            "kind": "state",
            "name": state.name,
            "of": state.of,
            "source_writers": state.writers[0],
            "target_writers": state.writers[1],
            "differences": differences.collect::<Vec<_>>(),
            "rewritten": state.rewritten,
        })
    });
    let commits = rehearsal.prerequisites.iter().flat_map(|found| found.json(number));
    lacks.chain(states).chain(commits).collect()
}
