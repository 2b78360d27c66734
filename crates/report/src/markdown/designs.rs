//! Scaling tables and main effects in a mail.

use super::{NAME, list, paragraph, print};
use crate::escape::markdown as escape;
use crate::{designs, words};
use schedlab_analyze::{Findings, WorkloadFindings};
use std::io::{self, Write};

pub(super) fn scalings(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let arms = words::cut(words::arms(findings), NAME);
    for scaling in &findings.scalings {
        writeln!(out, "## {}\n", escape(&designs::scaling_title(scaling, &findings.workloads)))?;
        paragraph(&scaling.spec, out)?;
        print(designs::scaling_table(scaling, &arms), out)?;
        paragraph(designs::SCALING_KEY, out)?;
        let copies = designs::copies(scaling, &arms);
        if !copies.is_empty() {
            list(&copies.iter().map(|(of, said)| format!("{of}: {said}")).collect::<Vec<_>>(), out)?;
            paragraph(designs::COPIES_KEY, out)?;
        }
    }
    Ok(())
}

pub(super) fn main_effects(findings: &Findings, workload: &WorkloadFindings, out: &mut dyn Write) -> io::Result<()> {
    for on_metric in designs::main_effects(findings, workload) {
        paragraph(&format!("{}:", on_metric.title), out)?;
        print(on_metric.table, out)?;
        list(&on_metric.notes, out)?;
    }
    if workload.main_effects.is_empty() { Ok(()) } else { list(&designs::factors(findings), out) }
}
