//! Findings for a terminal: a line per hunk, then the proposals, then the totals.

use super::labels::{access, confidence, kind, obstacle, sign, verdict};
use super::{Rehearsal, labels};
use schedlab_kernel::contract::{Contract, Difference, State};
use schedlab_kernel::needs::Need;
use schedlab_kernel::{Change, Confidence, FileFinding, Finding, Verdict, abbreviated};
use schedlab_plan::counted;
use std::io::{self, Write};

/// What the tree lacks, on one line; longer lists are in the JSON.
pub(super) fn lacks(needs: &[Need]) -> String {
    const SHOWN: usize = 6;
    let one = |need: &Need| {
        let of = need.of.as_ref().map(|of| format!(" of struct {of}")).unwrap_or_default();
        let near: Vec<&str> = need.instead.iter().take(3).map(String::as_str).collect();
        let near = if near.is_empty() { String::new() } else { format!(" (there is {})", near.join(", ")) };
        let last = need.last_in.as_ref().map(|release| format!(" (last in {release})")).unwrap_or_default();
        format!("{} {}{of}{near}{last}", kind(need.kind), need.name)
    };
    let mut said: Vec<String> = needs.iter().take(SHOWN).map(one).collect();
    said.extend((needs.len() > SHOWN).then(|| format!("{} more", needs.len() - SHOWN)));
    said.join(", ")
}

/// `calls skb_orphan, which clears it`.
fn deed(difference: &Difference) -> String {
    let does = difference.does.iter().map(|found| access(*found)).collect::<Vec<_>>().join(" and ");
    if difference.through.is_empty() {
        return format!("{does} it");
    }
    format!("calls {}, which {does} it", difference.through.join(", "))
}

/// The states that the two trees handle differently.
fn states(contract: &Contract, out: &mut dyn Write) -> io::Result<()> {
    const SHOWN: usize = 8;
    for state in contract.states.iter().filter(|state| state.differs()) {
        let of = state.of.as_ref().map(|of| format!(" of struct {of}")).unwrap_or_default();
        let hunks =
            state.read_by.iter().take(SHOWN).map(|number| (number + 1).to_string()).collect::<Vec<_>>().join(", ");
        writeln!(out, "\nstate {}{of}, which hunk {hunks} of the series reads:", state.name)?;
        if state.is_dead() {
            writeln!(out, "  nothing in the target changes it; there: {}", list(&state.writers[0]))?;
        }
        for found in state.differences.iter().take(SHOWN) {
            let only = if found.is_in_target { "only in the target" } else { "not in the target" };
            writeln!(out, "  {only}: {} ({}:{}) {}", found.function, found.file, found.line, deed(found))?;
        }
        if state.differences.len() > SHOWN {
            writeln!(out, "  {} more in the JSON", state.differences.len() - SHOWN)?;
        }
    }
    let differ = contract.states.iter().filter(|state: &&State| state.differs()).count();
    writeln!(
        out,
        "\nstate contract: {} followed, {differ} of them changed by other functions in the target; {} not distinguishable by name",
        counted(contract.states.len(), "states"),
        contract.ambiguous.len()
    )
}

fn list(names: &[String]) -> String {
    let more = names.len().saturating_sub(5);
    let shown = names.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// What the target's history says about a patch.
fn history(rehearsal: &Rehearsal, patch: usize, out: &mut dyn Write) -> io::Result<()> {
    let history = &rehearsal.history;
    if let Some(found) = history.of(patch) {
        let (commit, sign) = (abbreviated(&found.commit), sign(found.by));
        match &found.reverted_by {
            None => writeln!(out, "  in the tree already: {commit} ({sign})")?,
            Some(by) => {
                let by = abbreviated(by);
                let mut of_patch = rehearsal.port.findings.iter().filter(|finding| finding.patch == patch).peekable();
                let is_back = of_patch.peek().is_some() && of_patch.all(|finding| finding.is_present);
                let but = if is_back { "; its text is there all the same" } else { "" };
                writeln!(out, "  was in the tree: {commit} ({sign}), reverted by {by}{but}")?;
            }
        }
    }
    for fixed in history.fixed.get(patch).into_iter().flatten().filter(|fixed| fixed.there.is_none()) {
        let read =
            if history.is_whole { "the history of its files" } else { "what was read of the history of its files" };
        writeln!(out, "  fixes {} ({}): not in {read}; it may not be needed", fixed.commit, fixed.subject)?;
    }
    Ok(())
}

/// A remark on a hunk in addition to patch's result.
fn remark(finding: &Finding) -> String {
    let mut said = Vec::new();
    said.extend(finding.is_present.then(|| "present already".to_owned()));
    said.extend(finding.obstacle.map(|found| obstacle(found).to_owned()));
    if let Some(seen) = &finding.rehearsed {
        said.extend(seen.flagged.clone());
        said.extend(finding.doubt.clone());
        said.extend(seen.proposal.as_ref().map(|p| format!("proposal: {}", confidence(p.confidence))));
        if seen.place.is_none() && finding.obstacle.is_none() && !finding.is_present {
            said.push("nothing like it in the file".into());
        }
    }
    if !finding.twice.is_empty() {
        let but = if finding.is_taken { "" } else { ", so the proposal is left out" };
        said.push(format!("defines {} again: the file has it already{but}", finding.twice.join(", ")));
    }
    said.extend(finding.half.clone());
    if finding.is_crossed() {
        said.push("left out: another hunk that is taken changes the same lines".into());
    }
    let [gone, all] = finding.gone_lines;
    if !finding.gone.is_empty() {
        let names = finding.gone.join(", ");
        said.push(format!("the tree has no {names}, which it changes: drop it, or find what took its place"));
    } else if gone > 0 {
        said.push(match (gone, all) {
            (1, 1) => "the line that it changes is not in the file".into(),
            _ if gone == all => format!("none of the {all} lines that it changes is in the file"),
            _ => format!("{gone} of the {all} lines that it changes are not in the file"),
        });
    }
    said.join("; ")
}

/// `renamed: a.c to b.c; mode 100644 to 100755`, and why that is not possible.
fn of_file(found: &FileFinding) -> String {
    let mut said = match (found.change, &found.to, found.modes) {
        (Change::Modified, ..) => found.file.clone(),
        (change, Some(to), _) => format!("{} to {to}: {}", found.file, labels::change(change)),
        (change, None, _) => format!("{}: {}", found.file, labels::change(change)),
    };
    said += &found.modes.map(|(old, new)| format!("; mode {old:06o} to {new:06o}")).unwrap_or_default();
    let remark = match found.obstacle {
        Some(found) => format!("  {}", obstacle(found)),
        None if found.is_present => "  present already".into(),
        None => String::new(),
    };
    said + &remark
}

pub(super) fn write(rehearsal: &Rehearsal, out: &mut dyn Write) -> io::Result<()> {
    for patch in 0..rehearsal.patches.len() {
        let of_patch = |(_, finding): &(usize, &Finding)| finding.patch == patch;
        let mut hunks = rehearsal.port.findings.iter().enumerate().filter(of_patch).peekable();
        let mut files = rehearsal.port.files.iter().filter(|found| found.patch == patch).peekable();
        if hunks.peek().is_none() && files.peek().is_none() {
            continue;
        }
        writeln!(out, "\npatch {}: {} ({})", patch + 1, rehearsal.subject(patch), rehearsal.from[patch].display())?;
        history(rehearsal, patch, out)?;
        files.try_for_each(|found| writeln!(out, "  file {:<13} {}", "", of_file(found)))?;
        hunks.try_for_each(|(number, finding)| hunk(rehearsal, number, finding, out))?;
    }
    proposals(rehearsal, out)?;
    rehearsal.contract.as_ref().map_or(Ok(()), |contract| states(contract, out))?;
    for (patch, from) in rehearsal.patches.iter().zip(&rehearsal.from) {
        for refused in &patch.refused {
            writeln!(out, "skipped: {} {refused}", from.display())?;
        }
    }
    Ok(())
}

fn hunk(rehearsal: &Rehearsal, number: usize, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let place = finding.rehearsed.as_ref().and_then(|seen| seen.place.as_ref());
    let place = place.map_or(finding.file.clone(), |p| {
        let (line, section) = (p.line, finding.section());
        let gap = if section.is_empty() { "" } else { " " };
        format!("{}:{line}{gap}{section}", finding.file)
    });
    let remark = remark(finding);
    let gap = if remark.is_empty() { "" } else { "  " };
    writeln!(out, "  hunk {:<4} {:<8} {place}{gap}{remark}", number + 1, verdict(finding.verdict))?;
    let needs = lacks(&rehearsal.needs[number]);
    if needs.is_empty() { Ok(()) } else { writeln!(out, "            the tree lacks: {needs}") }
}

fn proposals(rehearsal: &Rehearsal, out: &mut dyn Write) -> io::Result<()> {
    for (number, finding) in rehearsal.port.findings.iter().enumerate() {
        let Some(proposal) = finding.rehearsed.as_ref().and_then(|seen| seen.proposal.as_ref()) else { continue };
        writeln!(
            out,
            "\nproposal for hunk {} ({}), against the file as the patches before leave it:",
            number + 1,
            confidence(proposal.confidence)
        )?;
        writeln!(out, "--- a/{0}\n+++ b/{0}", finding.file)?;
        write!(out, "{}", String::from_utf8_lossy(&proposal.hunk.to_bytes()))?;
    }
    Ok(())
}

pub(super) fn sums(rehearsal: &Rehearsal, out: &mut dyn Write) -> io::Result<()> {
    let all = &rehearsal.port.findings;
    let of = |wanted: Verdict| all.iter().filter(|f| f.verdict == wanted).count();
    let seen = || all.iter().filter_map(|f| f.rehearsed.as_ref());
    let proposed =
        |wanted: Confidence| seen().filter(|s| s.proposal.as_ref().is_some_and(|p| p.confidence == wanted)).count();
    let skipped: usize = rehearsal.patches.iter().map(|patch| patch.refused.len()).sum();
    let files = match &rehearsal.port.files[..] {
        [] => String::new(),
        files => format!(" and {} as a whole", counted(files.len(), "files")),
    };
    writeln!(
        out,
        "\n{}{files} of {}: {} apply, {} with offset, {} with fuzz, {} fail, as GNU patch has it; {} flagged, {} present already",
        counted(all.len(), "hunks"),
        counted(rehearsal.patches.len(), "patches"),
        of(Verdict::Applies),
        of(Verdict::Offset),
        of(Verdict::Fuzz),
        of(Verdict::Fails),
        seen().filter(|s| s.flagged.is_some()).count() + all.iter().filter(|f| f.doubt.is_some()).count(),
        all.iter().filter(|f| f.is_present).count(),
    )?;
    writeln!(
        out,
        "proposals: {} sure, {} likely, {} guess; {} with names that the tree lacks; {skipped} skipped{}",
        proposed(Confidence::Sure),
        proposed(Confidence::Likely),
        proposed(Confidence::Guess),
        counted(rehearsal.needs.iter().filter(|needs| !needs.is_empty()).count(), "hunks"),
        if rehearsal.build.is_none() { "; nothing built (docs/kernel.md)" } else { "" },
    )
}
