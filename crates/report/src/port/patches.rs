//! The outcome of each patch of a series: one row per patch, for the terminal.

use super::Rehearsal;
use super::labels::{outcome, reason};
use schedlab_kernel::Outcome;
use std::io::{self, Write};

/// A row for each patch, if there are several, and the number of patches with each outcome.
pub(super) fn write(rehearsal: &Rehearsal, out: &mut dyn Write) -> io::Result<()> {
    let outcomes = rehearsal.port.outcomes(&rehearsal.patches);
    if outcomes.len() < 2 {
        return Ok(());
    }
    writeln!(out, "\n{:>5} {:<8}  {:>5} {:>7} {:>8}  patch", "patch", "is", "taken", "present", "left out")?;
    for (number, (found, reasons)) in outcomes.iter().enumerate() {
        let of_patch = || rehearsal.port.findings.iter().filter(|finding| finding.patch == number);
        let taken = of_patch().filter(|finding| finding.is_taken).count();
        let present = of_patch().filter(|finding| finding.is_present && !finding.is_taken).count();
        let left: usize = reasons.iter().map(|(_, count)| count).sum();
        let subject = rehearsal.subject(number);
        writeln!(out, "{:>5} {:<8}  {taken:>5} {present:>7} {left:>8}  {subject}", number + 1, outcome(*found))?;
        let why: Vec<String> = reasons.iter().map(|(why, count)| format!("{count} {}", reason(*why))).collect();
        if !why.is_empty() {
            writeln!(out, "{:>41}{}", "", why.join(", "))?;
        }
    }
    let all = [Outcome::Present, Outcome::Clean, Outcome::Adapted, Outcome::Part, Outcome::LeftOut];
    let sums =
        all.map(|one| format!("{} {}", outcomes.iter().filter(|(found, _)| *found == one).count(), outcome(one)));
    writeln!(out, "patches: {}", sums.join(", "))
}
