//! Scaling tables and main effects on a terminal.

use super::Page;
use crate::designs;
use schedlab_analyze::{Findings, Scaling, WorkloadFindings};
use std::io::{self, Write};

pub(super) fn scalings(page: &mut Page<'_>, findings: &Findings) -> io::Result<()> {
    findings.scalings.iter().try_for_each(|of_option| scaling(page, Some(findings), of_option))
}

/// A scaling table of single trials, as `bench` has it for a list.
pub fn scaling_text(of_option: &Scaling, width: usize, out: &mut dyn Write) -> io::Result<()> {
    scaling(&mut Page { out, width: width.clamp(40, 240), colour: false }, None, of_option)
}

fn scaling(page: &mut Page<'_>, findings: Option<&Findings>, scaling: &Scaling) -> io::Result<()> {
    page.heading(&designs::scaling_title(scaling))?;
    page.item("  ", &scaling.spec, Some("2"))?;
    page.table(&designs::scaling_table(findings, scaling))?;
    page.item("  ", designs::SCALING_KEY, Some("2"))?;
    let copies = designs::copies(findings, scaling);
    if !copies.is_empty() {
        page.line("")?;
        copies.iter().try_for_each(|(of, said)| page.item(&format!("  {of}: "), said, None))?;
        page.item("  ", designs::COPIES_KEY, Some("2"))?;
    }
    Ok(())
}

pub(super) fn main_effects(page: &mut Page<'_>, findings: &Findings, workload: &WorkloadFindings) -> io::Result<()> {
    for on_metric in designs::main_effects(findings, workload) {
        page.line("")?;
        page.item("  ", &on_metric.title, None)?;
        page.table(&on_metric.table)?;
        on_metric.notes.iter().try_for_each(|note| page.item("  - ", note, None))?;
    }
    if !workload.main_effects.is_empty() {
        page.line("")?;
        designs::factors(findings).iter().try_for_each(|factor| page.item("  - ", factor, Some("2")))?;
    }
    Ok(())
}
