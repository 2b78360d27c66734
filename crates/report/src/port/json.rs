//! Findings as JSON, one object a line: a hunk, a file as a whole, a part of the series that was skipped.

use super::words::{access, change, confidence, kind, obstacle, outcome, sign, verdict};
use super::{Rehearsal, builds};
use schedlab_kernel::FileFinding;
use schedlab_kernel::needs::Need;
use serde_json::{Value, json};
use std::io::{self, Write};

pub(super) fn write(rehearsal: &Rehearsal, out: &mut dyn Write) -> io::Result<()> {
    let outcomes: Vec<&str> =
        rehearsal.port.outcomes(&rehearsal.patches).iter().map(|(found, _)| outcome(*found)).collect();
    let hunks = (0..rehearsal.port.findings.len()).map(|number| hunk(rehearsal, number, &outcomes));
    let files = rehearsal.port.files.iter().map(|found| file(rehearsal, found, &outcomes));
    let skipped = rehearsal.patches.iter().zip(&rehearsal.from).flat_map(|(patch, from)| {
        patch.refused.iter().map(|refused| {
            json!({
                "patch": patch.subject,
                "from": from.display().to_string(),
                "line": refused.line,
                "skipped": refused.why.to_string(),
            })
        })
    });
    let builds = rehearsal.build.iter().flat_map(|build| builds::json(rehearsal, build));
    hunks.chain(files).chain(skipped).chain(builds).try_for_each(|line| writeln!(out, "{line}"))
}

fn hunk(rehearsal: &Rehearsal, number: usize, outcomes: &[&str]) -> Value {
    let finding = &rehearsal.port.findings[number];
    let seen = finding.rehearsed.as_ref();
    let place = seen.and_then(|seen| seen.place.as_ref());
    let proposal = seen.and_then(|seen| seen.proposal.as_ref());
    let history = rehearsal.history.of(finding.patch).map(|found| {
        json!({
            "commit": found.commit,
            "subject": found.subject,
            "by": sign(found.by),
            "reverted_by": found.reverted_by,
        })
    });
    let fixes = rehearsal.history.fixed.get(finding.patch).into_iter().flatten();
    let fixes = fixes.map(|fixed| json!({"commit": fixed.commit, "subject": fixed.subject, "there": fixed.there}));
    json!({
        "patch": rehearsal.patches[finding.patch].subject,
        "from": rehearsal.from[finding.patch].display().to_string(),
        "outcome": outcomes[finding.patch],
        "file": finding.file,
        "hunk": number + 1,
        "verdict": verdict(finding.verdict),
        "obstacle": finding.obstacle.map(obstacle),
        "flagged": seen.and_then(|seen| seen.flagged.as_ref()).or(finding.doubt.as_ref()),
        "place": place.map(|p| json!({"file": finding.file, "function": p.function, "line": p.line})),
        "proposal": proposal.map(|p| String::from_utf8_lossy(&p.hunk.to_bytes()).into_owned()),
        "confidence": proposal.map(|p| confidence(p.confidence)),
        "present": finding.is_present,
        "history": history,
        "fixes": fixes.collect::<Vec<_>>(),
        "taken": finding.is_taken,
        "needs": needs(rehearsal, number),
    })
}

/// A file that gets another name or mode, or that comes or goes without a line.
fn file(rehearsal: &Rehearsal, found: &FileFinding, outcomes: &[&str]) -> Value {
    json!({
        "patch": rehearsal.patches[found.patch].subject,
        "from": rehearsal.from[found.patch].display().to_string(),
        "outcome": outcomes[found.patch],
        "file": found.file,
        "change": change(found.change),
        "to": found.to,
        "modes": found.modes.map(|(old, new)| [old, new].map(|mode| format!("{mode:06o}"))),
        "obstacle": found.obstacle.map(obstacle),
        "present": found.is_present,
        "taken": found.is_taken,
    })
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
    let commits = rehearsal.prerequisites.iter().flat_map(|found| found.of_hunk(number));
    lacks.chain(states).chain(commits).collect()
}
