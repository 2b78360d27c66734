//! Scaling tables and main effects on the page.

use super::build::{Cell, Page, escape};
use crate::table::{Align, Table};
use crate::{Input, designs};
use schedlab_analyze::{Findings, WorkloadFindings};

/// The scaling tables, a section of their own.
pub(super) fn scalings(page: &mut Page, input: &Input<'_>) {
    let findings = input.findings;
    if findings.scalings.is_empty() {
        return;
    }
    page.open("section", "class=\"workload\" id=\"scaling\"");
    page.element("h2", "", "Scaling");
    for scaling in &findings.scalings {
        page.element("h3", "", &designs::scaling_title(scaling));
        page.raw(&format!("<p class=\"spec\">{}</p>\n", escape(&scaling.spec).replace(',', ",<wbr>")));
        table(page, &designs::scaling_table(Some(findings), scaling));
        table(page, &designs::copies_table(Some(findings), scaling));
    }
    page.element("p", "class=\"notes\"", designs::SCALING_KEY);
    page.close("section");
}

/// The main effects of a workload.
pub(super) fn main_effects(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    for metric in designs::metrics_with_effects(workload) {
        page.element("h3", "", &format!("Main effects on {metric}"));
        table(page, &designs::main_effects_table(findings, workload, metric));
    }
    if !workload.main_effects.is_empty() {
        page.list("class=\"notes\"", &designs::factor_lines(findings));
    }
}

/// A table of the terminal as one of the page.
fn table(page: &mut Page, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    let class = |column: usize| if table.align.get(column) == Some(&Align::Right) { "n" } else { "" };
    let header: Vec<(&str, &str)> = table.header.iter().enumerate().map(|(i, h)| (h.as_str(), class(i))).collect();
    let row = |cells: &Vec<crate::table::Cell>| -> Vec<Cell> {
        cells.iter().enumerate().map(|(i, cell)| (cell.text.clone(), class(i))).collect()
    };
    page.table(&header, &table.rows.iter().map(row).collect::<Vec<_>>());
}
