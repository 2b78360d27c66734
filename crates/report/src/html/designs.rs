//! Scaling tables and main effects on the page.

use super::build::{Cell, Page, escape};
use crate::table::{Align, Table};
use crate::{Input, designs, pictures};
use schedlab_analyze::{Findings, WorkloadFindings};

/// The scaling tables, a section of their own.
pub(super) fn scalings(page: &mut Page, input: &Input<'_>) {
    let findings = input.findings;
    if findings.scalings.is_empty() {
        return;
    }
    page.open("section", "class=\"workload\" id=\"scaling\"");
    page.element("h2", "", "Scaling");
    for (number, scaling) in findings.scalings.iter().enumerate() {
        page.element("h3", "", &designs::scaling_title(scaling));
        // A spec is one long word: it may break after each comma.
        page.raw(&format!("<p class=\"spec\">{}</p>\n", escape(&scaling.spec).replace(',', ",<wbr>")));
        if let Some(picture) = pictures::scaling(findings, number) {
            page.figure(&picture);
        }
        table(page, &designs::scaling_title(scaling), &designs::scaling_table(Some(findings), scaling));
        let copies = designs::copies(Some(findings), scaling);
        if !copies.is_empty() {
            page.list("class=\"notes\"", &copies.iter().map(|(of, said)| format!("{of}: {said}")).collect::<Vec<_>>());
            page.element("p", "class=\"notes\"", designs::COPIES_KEY);
        }
    }
    page.element("p", "class=\"notes\"", designs::SCALING_KEY);
    page.close("section");
}

/// The main effects of a workload.
pub(super) fn main_effects(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    for on_metric in designs::main_effects(findings, workload) {
        page.element("h3", "", &on_metric.title);
        table(page, &on_metric.title, &on_metric.table);
        page.list("class=\"notes\"", &on_metric.notes);
    }
    if !workload.main_effects.is_empty() {
        page.list("class=\"notes\"", &designs::factors(findings));
    }
}

/// A table of the terminal as one of the page.
fn table(page: &mut Page, name: &str, table: &Table) {
    let class = |column: usize| if table.align.get(column) == Some(&Align::Right) { "n" } else { "" };
    let header: Vec<(&str, &str)> = table.header.iter().enumerate().map(|(i, h)| (h.as_str(), class(i))).collect();
    let row = |cells: &Vec<crate::table::Cell>| -> Vec<Cell> {
        cells.iter().enumerate().map(|(i, cell)| (cell.text.clone(), class(i))).collect()
    };
    page.table(name, &header, &table.rows.iter().map(row).collect::<Vec<_>>());
}
