//! Scaling tables and main effects on the page.

use super::build::{Page, escape};
use super::inside::set;
use crate::{Input, designs, pictures, words};
use schedlab_analyze::{Findings, WorkloadFindings};

/// The scaling tables, a section of their own.
pub(super) fn scalings(page: &mut Page, input: &Input<'_>) {
    let findings = input.findings;
    if findings.scalings.is_empty() {
        return;
    }
    let arms = words::arms(findings);
    page.open("section", "class=\"workload\" id=\"scaling\"");
    page.element("h2", "", "Scaling");
    for (number, scaling) in findings.scalings.iter().enumerate() {
        let title = designs::scaling_title(scaling, &findings.workloads);
        page.element("h3", "", &title);
        // A spec is one long word: it may break after each comma.
        page.raw(&format!("<p class=\"spec\">{}</p>\n", escape(&scaling.spec).replace(',', ",<wbr>")));
        if let Some(picture) = pictures::scaling(findings, number) {
            page.figure(&picture);
        }
        set(page, &title, &designs::scaling_table(scaling, &arms));
        let copies = designs::copies(scaling, &arms);
        if !copies.is_empty() {
            page.list("class=\"notes\"", &copies.iter().map(|(of, said)| format!("{of}: {said}")).collect::<Vec<_>>());
            page.element("p", "class=\"caption\"", designs::COPIES_KEY);
        }
    }
    page.element("p", "class=\"caption\"", designs::SCALING_KEY);
    page.close("section");
}

/// The main effects of a workload.
pub(super) fn main_effects(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    for on_metric in designs::main_effects(findings, workload) {
        page.element("h3", "", &on_metric.title);
        set(page, &on_metric.title, &on_metric.table);
        page.list("class=\"notes\"", &on_metric.notes);
    }
    if !workload.main_effects.is_empty() {
        page.list("class=\"notes\"", &designs::factors(findings));
    }
}
