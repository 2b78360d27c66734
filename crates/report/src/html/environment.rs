//! The end of the page: machine and checks, what changed, settings that did not take, methods, and how to repeat it.

use super::build::{Cell, Page};
use crate::{Input, number, words};
use schedlab_analyze::{CheckRow, Findings};
use schedlab_run::CheckState;

pub(super) fn write(page: &mut Page, input: &Input<'_>) {
    let findings = input.findings;
    not_applied(page, findings);
    machine(page, findings);
    methods(page, findings);
    repeat(page, input);
}

/// Settings that did not take: the arm has no verdict, and here is why.
fn not_applied(page: &mut Page, findings: &Findings) {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for workload in &findings.workloads {
        for facts in &workload.arms {
            for reason in &facts.not_applied {
                let arm = words::arm_name(findings, facts.arm).to_owned();
                let count = (reason.count.to_string(), "n");
                let workload = words::workload_label(findings, workload);
                rows.push(vec![(arm, ""), (workload, ""), count, (reason.text.clone(), "")]);
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    page.open("section", "id=\"not-applied\"");
    page.element("h2", "", "Settings that did not take");
    page.element("p", "class=\"under\"", "Asked for, read back, not in force: such an arm never gets a verdict.");
    let header = [("arm", ""), ("workload", ""), ("trials", "n"), ("why", "")];
    page.table("Settings that did not take", &header, &rows);
    page.close("section");
}

fn machine(page: &mut Page, findings: &Findings) {
    let environment = &findings.environment;
    page.open("section", "id=\"machine\"");
    page.element("h2", "", "Machine");
    if environment.facts.iter().all(|(_, v)| v.is_empty()) && environment.checks.is_empty() {
        page.element("p", "class=\"notes\"", "Nothing is known of the machine the rows were measured on.");
        page.close("section");
        return;
    }
    page.open("dl", "");
    for (name, value) in environment.facts.iter().filter(|(_, v)| !v.is_empty()) {
        page.element("dt", "", name);
        page.element("dd", "", value);
    }
    page.close("dl");
    let mut checks: Vec<&CheckRow> = environment.checks.iter().collect();
    checks.sort_by_key(|c| words::check_rank(c.state));
    let (calm, mind): (Vec<&CheckRow>, Vec<&CheckRow>) =
        checks.into_iter().partition(|c| matches!(c.state, CheckState::Good | CheckState::Info));
    if !mind.is_empty() {
        page.element("h3", "", "Checks that warn, or could not be made");
        check_table(page, &mind);
    }
    if !calm.is_empty() {
        page.open("details", "");
        page.element("summary", "", &format!("{} checks that are good or only worth knowing", calm.len()));
        check_table(page, &calm);
        page.close("details");
    }
    let two_runs = matches!(findings.source, schedlab_analyze::Source::TwoRuns { .. });
    page.element("h3", "", if two_runs { "What differs between the two runs" } else { "What changed while it ran" });
    if environment.changes.is_empty() {
        let nothing = if two_runs { "Nothing that is checked differs." } else { "Nothing that is checked changed." };
        page.element("p", "class=\"notes\"", nothing);
    } else {
        let rows: Vec<Vec<Cell>> = environment
            .changes
            .iter()
            .map(|c| vec![(c.what.clone(), ""), (c.before.clone(), ""), (c.after.clone(), "")])
            .collect();
        let header = match two_runs {
            true => [("what", ""), ("run A", ""), ("run B", "")],
            false => [("what", ""), ("before", ""), ("after", "")],
        };
        page.table("Changes", &header, &rows);
    }
    page.close("section");
}

fn check_table(page: &mut Page, checks: &[&CheckRow]) {
    let rows: Vec<Vec<Cell>> = checks
        .iter()
        .map(|c| {
            let tone = match c.state {
                CheckState::Warning => "bad",
                CheckState::Unavailable => "none",
                CheckState::Info => "same",
                CheckState::Good => "good",
            };
            let state = (words::check_state(c.state).to_owned(), tone);
            vec![
                state,
                (c.title.clone(), ""),
                (c.value.clone(), ""),
                (c.effect.clone(), ""),
                (c.mend.clone(), ""),
                (c.evidence.clone(), "aside"),
            ]
        })
        .collect();
    let header = [
        ("state", ""),
        ("check", ""),
        ("value", ""),
        ("what it does to results", ""),
        ("what to do", ""),
        ("read at", ""),
    ];
    page.table("Checks", &header, &rows);
}

fn methods(page: &mut Page, findings: &Findings) {
    let rules = &findings.rules;
    page.open("section", "id=\"methods\"");
    page.element("h2", "", "Methods");
    let mut items = vec![
        format!("Design: {}.", rules.design),
        format!(
            "Smallest effect of interest {}, two-sided error rate {}, seed {}.",
            number::given(rules.sesoi),
            number::given(rules.alpha),
            rules.seed
        ),
        format!("Stamping: {}.", rules.stamping),
    ];
    items.extend(rules.methods.iter().cloned());
    page.list("", &items);
    page.close("section");
}

fn repeat(page: &mut Page, input: &Input<'_>) {
    let (manifest, findings) = (input.manifest, input.findings);
    page.open("section", "id=\"repeat\"");
    page.element("h2", "", "Repeat it");
    page.open("div", "class=\"command\"");
    page.element("pre", "id=\"command\"", &words::shell(&findings.command));
    page.element("button", "type=\"button\" data-copy=\"command\"", "Copy");
    page.close("div");
    if !manifest.plan_toml.is_empty() {
        page.open("details", "");
        page.element("summary", "", "The whole plan, as run");
        page.element("pre", "", &manifest.plan_toml);
        page.close("details");
    }
    let text = format!(
        "Raw data: the run directory, format {}: manifest.json, and tables/ in Parquet (trials, metrics, histograms, counters, \
         tasks), which pandas, Polars and DuckDB read as they are. The same findings as JSON: schedlab report RUN --json.",
        manifest.format_version
    );
    page.element("p", "class=\"notes\"", &text);
    page.close("section");
}
