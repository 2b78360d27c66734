//! Writes the adapted series: patches in order, a quilt `series` file, and the rejected hunks of each patch.

use crate::output::say;
use anyhow::{Context, Result, bail};
use schedlab_kernel::{FilePatch, Finding, Patch};
use schedlab_plan::counted;
use schedlab_report::port::{Rehearsal, confidence};
use schedlab_sys::places;
use std::path::Path;

/// Longest part of a subject in a file's name, as in git format-patch.
const LONGEST_NAME: usize = 52;

/// Requires a directory that is new or empty, so that edits in an old one are not lost.
pub(super) fn check(dir: &Path) -> Result<()> {
    if dir.exists() && !dir.is_dir() {
        bail!("--write {}: it is not a directory", dir.display());
    }
    let is_used = dir.is_dir()
        && std::fs::read_dir(dir).with_context(|| format!("{} cannot be read", dir.display()))?.next().is_some();
    if is_used {
        bail!("--write {}: it is not empty, and edited patches may be in it; name a new directory", dir.display());
    }
    Ok(())
}

/// Prints what would be written.
pub(super) fn plan(rehearsal: &Rehearsal, dir: &Path) {
    let of = |patches: &[Vec<FilePatch>]| patches.iter().filter(|files| !files.is_empty()).count();
    say(format_args!(
        "would write {} of {}, the file `series` and {} into {}",
        of(&rehearsal.port.adapted),
        counted(rehearsal.patches.len(), "patches"),
        counted(of(&rehearsal.port.left_out), "*.rej files"),
        dir.display()
    ));
    say_of_cr(&rehearsal.port.adapted);
}

/// `git am` removes the CRs of a mail, unless it is asked to keep them.
fn say_of_cr(adapted: &[Vec<FilePatch>]) {
    let has_cr =
        |file: &&FilePatch| file.hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| line.text().ends_with(b"\r\n"));
    if let Some(file) = adapted.iter().flatten().find(has_cr) {
        say(format_args!("lines of {} end in CRLF: git am needs --keep-cr, or it refuses the patch", file.path()));
    }
}

/// Writes the whole series. File names contain only numbers and letters from the subject or from the patch's own file
/// name.
pub(super) fn write(rehearsal: &Rehearsal, dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    let put = |name: &str, bytes: &[u8]| {
        let file = dir.join(name);
        places::write_whole(&file, 0o666, bytes).with_context(|| format!("{} cannot be written", file.display()))
    };
    let (mut series, mut written, mut rejected) = (String::new(), 0, 0);
    for (number, patch) in rehearsal.patches.iter().enumerate() {
        let (adapted, left_out) = (&rehearsal.port.adapted[number], &rehearsal.port.left_out[number]);
        let stem = rehearsal.from[number].file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{:04}-{}", number + 1, slug(if patch.subject.is_empty() { &stem } else { &patch.subject }));
        let rest = format!("{name}.rej");
        if adapted.is_empty() {
            let why =
                if left_out.is_empty() { "nothing is left of it".into() } else { format!("left out, see {rest}") };
            series += &format!("# {name}: {why}\n");
        } else {
            let name = format!("{name}.patch");
            put(&name, &mail(patch, &notes(rehearsal, number, &rest), adapted))?;
            series += &format!("{name}\n");
            written += 1;
        }
        if !left_out.is_empty() {
            put(&rest, &diff(left_out))?;
            rejected += 1;
        }
    }
    put("series", series.as_bytes())?;
    say(format_args!(
        "{} of {} in {}, to be applied in the order of its file `series`; {} with hunks that were left out",
        written,
        counted(rehearsal.patches.len(), "patches"),
        dir.display(),
        counted(rejected, "*.rej files"),
    ));
    say_of_cr(&rehearsal.port.adapted);
    Ok(())
}

fn diff(files: &[FilePatch]) -> Vec<u8> {
    files.iter().flat_map(FilePatch::to_bytes).collect()
}

/// The original message, with notes on what was done to the patch below its `---`, where git am drops them.
fn mail(patch: &Patch, notes: &str, files: &[FilePatch]) -> Vec<u8> {
    let mut out = patch.message.clone();
    if out.last().is_some_and(|&byte| byte != b'\n') {
        out.push(b'\n');
    }
    if !(out.is_empty() && notes.is_empty()) {
        out.extend([b"---\n", notes.as_bytes(), b"\n"].concat());
    }
    out.extend(diff(files));
    out
}

/// A line for each hunk that differs from the original patch.
fn notes(rehearsal: &Rehearsal, patch: usize, rest: &str) -> String {
    let of_patch = |found: &(usize, &Finding)| found.1.patch == patch;
    let note = |(number, found): (usize, &Finding)| {
        let seen = found.rehearsed.as_ref();
        let proposal = seen.and_then(|seen| seen.proposal.as_ref());
        let what = match (found.is_taken, proposal) {
            (true, Some(proposal)) => {
                format!("{} proposal, not the hunk itself", confidence(proposal.confidence))
            }
            (true, None) => return None,
            (false, _) if found.is_present => "present already".into(),
            (false, _) => {
                let why = found.half.as_ref().map(|half| format!("; {half}")).unwrap_or_default();
                format!("left out, see {rest}{why}")
            }
        };
        Some(format!("# schedlab: hunk {} of the series, {}: {what}\n", number + 1, found.file))
    };
    rehearsal.port.findings.iter().enumerate().filter(of_patch).filter_map(note).collect()
}

/// Letters, digits, dots and hyphens of a subject.
fn slug(subject: &str) -> String {
    let mut out = String::new();
    for c in subject.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            '.' if !out.ends_with('.') => out.push('.'),
            _ if !out.ends_with('-') && !out.is_empty() => out.push('-'),
            _ => {}
        }
        if out.len() == LONGEST_NAME {
            break;
        }
    }
    let name = out.trim_matches(['-', '.']);
    if name.is_empty() { "patch".into() } else { name.into() }
}
