//! Scaling tables and main effects on a terminal.

use super::{NAME, Page};
use crate::tables::Names;
use crate::{designs, words};
use schedlab_analyze::{Findings, Scaling, WorkloadFindings};
use std::io::{self, Write};

pub(super) fn scalings(page: &mut Page<'_>, findings: &Findings) -> io::Result<()> {
    let arms = words::cut(words::arms(findings), NAME);
    findings.scalings.iter().try_for_each(|of_option| scaling(page, of_option, &arms, &findings.workloads))
}

/// A scaling table of single trials, as `bench` has it for a list.
pub fn scaling_text(of_option: &Scaling, width: usize, out: &mut dyn Write) -> io::Result<()> {
    scaling(&mut Page { out, width: width.clamp(40, 240), colour: false }, of_option, &[], &[])
}

fn scaling(page: &mut Page<'_>, scaling: &Scaling, arms: &Names, workloads: &[WorkloadFindings]) -> io::Result<()> {
    page.heading(&designs::scaling_title(scaling, workloads))?;
    page.item("  ", &scaling.spec, Some("2"))?;
    page.table(&designs::scaling_table(scaling, arms))?;
    page.item("  ", designs::SCALING_KEY, Some("2"))?;
    let copies = designs::copies(scaling, arms);
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
        page.items(&on_metric.notes)?;
    }
    if !workload.main_effects.is_empty() {
        page.line("")?;
        page.items(&designs::factors(findings))?;
    }
    Ok(())
}
