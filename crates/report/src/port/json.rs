//! Findings as JSON, one object per line: a hunk, a whole file, a skipped part of the series.

use super::labels::{access, change, confidence, kind, obstacle, outcome, sign, verdict};
use super::lines::{PortDifference, PortFile, PortFixed, PortHistory, PortHunk, PortNeed, PortPlace, PortSkipped};
use super::{Rehearsal, builds};
use schedlab_kernel::FileFinding;
use schedlab_kernel::needs::Need;
use serde::Serialize;
use std::io::{self, Write};

pub(super) fn write(rehearsal: &Rehearsal, out: &mut dyn Write) -> io::Result<()> {
    let outcomes: Vec<&'static str> =
        rehearsal.port.outcomes(&rehearsal.patches).iter().map(|(found, _)| outcome(*found)).collect();
    for number in 0..rehearsal.port.findings.len() {
        line("hunk", &hunk(rehearsal, number, &outcomes), out)?;
    }
    for found in &rehearsal.port.files {
        line("file", &file(rehearsal, found, &outcomes), out)?;
    }
    for (patch, from) in rehearsal.patches.iter().zip(&rehearsal.from) {
        for refused in &patch.refused {
            let (patch, from, skipped) = (patch.subject.clone(), from.display().to_string(), refused.why.to_string());
            line("skipped", &PortSkipped { patch, from, line: refused.line, skipped }, out)?;
        }
    }
    let built = rehearsal.build.iter().flat_map(|build| builds::lines(rehearsal, build));
    built.into_iter().try_for_each(|built| line("build", &built, out))
}

fn line(of: &str, one: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", schedlab_plan::json::line(&format!("schedlab/kernel-port-{of}-line/1"), one)?)
}

fn hunk(rehearsal: &Rehearsal, number: usize, outcomes: &[&'static str]) -> PortHunk {
    let finding = &rehearsal.port.findings[number];
    let seen = finding.rehearsed.as_ref();
    let place = seen.and_then(|seen| seen.place.as_ref());
    let proposal = seen.and_then(|seen| seen.proposal.as_ref());
    let history = rehearsal.history.of(finding.patch).map(|found| PortHistory {
        commit: found.commit.clone(),
        subject: found.subject.clone(),
        by: sign(found.by),
        reverted_by: found.reverted_by.clone(),
    });
    let fixes = rehearsal.history.fixed.get(finding.patch).into_iter().flatten().map(|fixed| PortFixed {
        commit: fixed.commit.clone(),
        subject: fixed.subject.clone(),
        there: fixed.there.clone(),
    });
    PortHunk {
        patch: rehearsal.patches[finding.patch].subject.clone(),
        from: rehearsal.from[finding.patch].display().to_string(),
        outcome: outcomes[finding.patch],
        file: finding.file.clone(),
        hunk: number + 1,
        verdict: verdict(finding.verdict),
        obstacle: finding.obstacle.map(obstacle),
        flagged: seen.and_then(|seen| seen.flagged.as_ref()).or(finding.doubt.as_ref()).cloned(),
        place: place.map(|p| PortPlace {
            file: finding.file.clone(),
            function: finding.section().to_owned(),
            line: p.line,
        }),
        proposal: proposal.map(|p| String::from_utf8_lossy(&p.hunk.to_bytes()).into_owned()),
        confidence: proposal.map(|p| confidence(p.confidence)),
        present: finding.is_present,
        history,
        fixes: fixes.collect(),
        taken: finding.is_taken,
        gone: finding.gone.clone(),
        gone_lines: finding.gone_lines[0],
        twice: finding.twice.clone(),
        half: finding.half.clone(),
        needs: needs(rehearsal, number),
    }
}

/// A file that is renamed, gets another mode, or is added or removed without any lines.
fn file(rehearsal: &Rehearsal, found: &FileFinding, outcomes: &[&'static str]) -> PortFile {
    PortFile {
        patch: rehearsal.patches[found.patch].subject.clone(),
        from: rehearsal.from[found.patch].display().to_string(),
        outcome: outcomes[found.patch],
        file: found.file.clone(),
        change: change(found.change),
        to: found.to.clone(),
        modes: found.modes.map(|(old, new)| [old, new].map(|mode| format!("{mode:06o}"))),
        obstacle: found.obstacle.map(obstacle),
        present: found.is_present,
        taken: found.is_taken,
    }
}

/// Something that the tree lacks.
pub(super) fn lacking(need: &Need) -> PortNeed {
    PortNeed {
        kind: kind(need.kind),
        name: need.name.clone(),
        of: need.of.clone(),
        lines: Some(need.lines),
        instead: Some(need.instead.clone()),
        last_in: need.last_in.clone(),
        ..PortNeed::default()
    }
}

/// Names that the tree lacks, then states that other functions change there, then commits.
fn needs(rehearsal: &Rehearsal, number: usize) -> Vec<PortNeed> {
    let lacks = rehearsal.needs[number].iter().map(lacking);
    let states = rehearsal.contract.iter().flat_map(|contract| &contract.states);
    let states = states.filter(|state| state.differs() && state.read_by.contains(&number)).map(|state| {
        let differences = state.differences.iter().map(|found| PortDifference {
            function: found.function.clone(),
            file: found.file.clone(),
            line: found.line,
            side: if found.is_in_target { "target" } else { "source" },
            does: found.does.iter().map(|does| access(*does)).collect(),
            through: found.through.clone(),
        });
        PortNeed {
            kind: "state",
            name: state.name.clone(),
            of: state.of.clone(),
            source_writers: Some(state.writers[0].clone()),
            target_writers: Some(state.writers[1].clone()),
            differences: Some(differences.collect()),
            rewritten: Some(state.rewritten),
            ..PortNeed::default()
        }
    });
    let commits = rehearsal.prerequisites.iter().flat_map(|found| found.of_hunk(number));
    lacks.chain(states).chain(commits).collect()
}
