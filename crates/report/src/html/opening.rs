//! The head of the page: the claim with its uncertainty, the other claims, what voids or weakens them, and the arms.

use super::blocks;
use super::build::{Page, escape};
use crate::document::Block;
use crate::{Input, pictures, remarks, words};
use schedlab_analyze::{Claim, Findings, Source};
use schedlab_run::CheckState;

/// Remarks above the fold; the others are a click away.
const SHOWN: usize = 4;

/// The first claim, which is also the page's title.
pub(super) fn headline(findings: &Findings) -> String {
    match (&findings.void, findings.claims.first()) {
        (Some(why), _) => format!("Nothing of this run is judged: {why}"),
        (None, Some(claim)) => capitalised(&claim.sentence),
        (None, None) => "No claim: there is nothing to compare".to_owned(),
    }
}

fn capitalised(sentence: &str) -> String {
    // Names of arms keep their case: only a sentence of our own words begins with a capital.
    match sentence.strip_prefix("no verdict") {
        Some(rest) => format!("No verdict{rest}"),
        None => sentence.to_owned(),
    }
}

pub(super) fn write(page: &mut Page, input: &Input<'_>) {
    let findings = input.findings;
    page.open("header", "");
    page.element("p", "class=\"kicker\"", &findings.title);
    write_headline(page, findings);
    if let Some(picture) = pictures::all_questions(input) {
        page.figure(&picture);
    }
    let (head, more) = remarks::claims(findings);
    // The first is the headline, unless that says that nothing is judged.
    claims(page, head.get(usize::from(findings.void.is_none())..).unwrap_or_default());
    if !more.is_empty() {
        page.open("details", "class=\"more\"");
        page.element("summary", "", &remarks::more_claims(more.len()));
        claims(page, &more);
        page.close("details");
    }
    page.element("p", "class=\"byline\"", &byline(input));
    page.close("header");
    callouts(page, findings);
    arms(page, findings);
    contents(page, findings);
}

fn claims(page: &mut Page, claims: &[&Claim]) {
    if !claims.is_empty() {
        let claims = claims.iter().map(|c| (c.sentence.clone(), c.verdict.clone())).collect();
        blocks::print(page, &[Block::Claims(claims)]);
    }
}

/// The claim, and in a lighter hand what it rests on.
fn write_headline(page: &mut Page, findings: &Findings) {
    let text = escape(&headline(findings));
    let (claim, evidence) = text
        .split_once(": ")
        .filter(|(head, _)| findings.void.is_none() && *head != "A/A control")
        .unwrap_or((&text, ""));
    page.raw("<h1>");
    page.raw(claim);
    if !evidence.is_empty() {
        page.raw(&format!("<span class=\"evidence\">: {evidence}</span>"));
    }
    page.raw("</h1>\n");
}

fn byline(input: &Input<'_>) -> String {
    let (manifest, findings) = (input.manifest, input.findings);
    let mut parts = vec![words::place(manifest)];
    parts.retain(|place| !place.is_empty());
    if !findings.rules.design.is_empty() {
        parts.push(findings.rules.design.clone());
    }
    match findings.ended.as_str() {
        "" => parts.push("the run is not finished".to_owned()),
        "planned" | "imported" => {}
        "budget" => parts.push("ended when the budget was spent".to_owned()),
        "decided" => parts.push("ended when the evidence decided".to_owned()),
        ended => parts.push(format!("ended: {ended}")),
    }
    parts.push(format!("schedlab {}", manifest.schedlab_version));
    parts.join(" · ")
}

/// What must be known before a number is read.
fn callouts(page: &mut Page, findings: &Findings) {
    let mut lines: Vec<String> = Vec::new();
    match &findings.source {
        Source::OneRun => {}
        Source::Imported => lines.push("Imported rows: nobody knows the order in which they were measured.".to_owned()),
        Source::TwoRuns { a, b, refused } => {
            lines.push(format!("Two runs that were not interleaved. A: {a}. B: {b}."));
            lines.extend(refused.iter().map(|why| format!("They are not compared: {why}")));
        }
    }
    lines.extend(remarks::problems(findings));
    let warnings = findings.environment.checks.iter().filter(|c| c.state == CheckState::Warning).count();
    if lines.is_empty() && warnings == 0 {
        return;
    }
    page.open("aside", "class=\"callout\" aria-label=\"Before you read on\"");
    let (first, more) = lines.split_at(lines.len().min(SHOWN));
    page.list("", first);
    if !more.is_empty() {
        page.open("details", "");
        page.element("summary", "", &format!("{} more", more.len()));
        page.list("", more);
        page.close("details");
    }
    if warnings > 0 {
        let plural = if warnings == 1 { "check warns" } else { "checks warn" };
        page.raw(&format!(
            "<p><a href=\"#machine\">{warnings} environment {plural}</a> of what distorts or widens results here.</p>\n"
        ));
    }
    page.close("aside");
}

/// The arms as a legend: sign, name, settings, what was in force. A click lights one up in every picture.
fn arms(page: &mut Page, findings: &Findings) {
    if findings.arms.is_empty() {
        return;
    }
    page.open("section", "class=\"arms\" aria-label=\"Arms\"");
    for (index, arm) in findings.arms.iter().enumerate() {
        let index = index as u32;
        page.open("button", &format!("type=\"button\" class=\"arm\" data-pick=\"{index}\" aria-pressed=\"false\""));
        page.sign(index);
        page.element("b", "", &arm.name);
        let role = words::arm_role(findings, index).trim().trim_matches(['(', ')']);
        let what = [role, words::spec(findings, &arm.spec)];
        page.element("span", "", &what.into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" · "));
        let refused = not_applied(findings, index);
        if !refused.is_empty() {
            page.element("em", "class=\"bad\"", &format!("not applied: {refused}"));
        }
        page.close("button");
    }
    page.close("section");
}

/// Why an arm's settings did not take, each reason once.
fn not_applied(findings: &Findings, arm: u32) -> String {
    let facts = findings.workloads.iter().flat_map(|w| &w.arms).filter(|f| f.arm == arm);
    let mut reasons: Vec<&str> = facts.flat_map(|f| &f.not_applied).map(|r| r.text.as_str()).collect();
    reasons.dedup();
    let mut seen: Vec<&str> = Vec::new();
    reasons.retain(|r| {
        !seen.contains(r) && {
            seen.push(r);
            true
        }
    });
    reasons.join("; ")
}

fn contents(page: &mut Page, findings: &Findings) {
    page.open("nav", "aria-label=\"Contents\"");
    for (index, workload) in findings.workloads.iter().enumerate() {
        page.element("a", &format!("href=\"#w{}\"", index + 1), &words::workload_label(findings, workload));
    }
    for (anchor, name) in [("machine", "machine"), ("methods", "methods"), ("repeat", "repeat it")] {
        page.element("a", &format!("href=\"#{anchor}\""), name);
    }
    page.close("nav");
}
