//! One workload's section: pictures first, tables under them.

use super::build::Page;
use super::{blocks, inside, numbers};
use crate::document::Block;
use crate::pictures::{Kind, Picture, Rows, of_workload};
use crate::{Input, designs, remarks, words};
use schedlab_analyze::{Findings, Role, WorkloadFindings};
use schedlab_run::counted;

pub(super) fn write(page: &mut Page, input: &Input<'_>, index: usize, rows: &Rows) {
    let findings = input.findings;
    let Some(workload) = findings.workloads.get(index) else { return };
    let pictures = of_workload(input, index, rows);
    page.open("section", &format!("class=\"workload\" id=\"w{}\"", index + 1));
    page.element("h2", "", &words::workload_label(findings, workload));
    page.element("p", "class=\"under\"", &under(workload));
    if workload.spec != words::workload_label(findings, workload) {
        blocks::print(page, &[Block::Spec(workload.spec.clone())]);
    }
    blocks::print(page, Block::warnings(workload.confounded.iter().map(|c| c.sentence.clone())).as_slice());
    certificates(page, workload);
    // All of them are at the head of the page.
    if !findings.factors.is_empty() {
        figures(page, &pictures, &[Kind::Forest]);
    }
    figures(page, &pictures, &[Kind::Timeline]);
    figures(page, &pictures, &[Kind::Distribution, Kind::Latency, Kind::Placement, Kind::Variance]);
    inside::per_operation(page, findings, workload);
    blocks::print(page, &designs::main_effects(findings, workload));
    page.element("h3", "", "Primary metrics");
    numbers::primary(page, findings, workload);
    remarks(page, findings, workload);
    if workload.metrics.iter().any(|m| m.role == Role::Secondary) {
        page.open("details", "");
        page.element("summary", "", "All other metrics, exploratory");
        numbers::exploratory(page, findings, workload);
        // What is no difference after the correction is open there: it needs no sentence for each.
        let mut notes = contrast_notes(findings, workload, Role::Secondary);
        notes.retain(|n| !n.contains("A difference alone"));
        page.list("class=\"notes\"", &notes);
        page.close("details");
    }
    details(page, findings, workload);
    every_trial(page, index, rows);
    page.close("section");
}

/// Filled by the script when it is opened: without one it would be empty, so it is hidden.
fn every_trial(page: &mut Page, index: usize, rows: &Rows) {
    if !rows.rows.is_empty() {
        page.open("details", &format!("data-trials=\"{index}\" hidden"));
        page.element("summary", "", "Every trial as a table");
        page.close("details");
    }
}

fn under(workload: &WorkloadFindings) -> String {
    let mut parts = vec![workload.id.clone()];
    if !workload.load.is_empty() {
        parts.push(format!("beside {}", workload.load.join(", ")));
    }
    parts.push(words::counts(workload));
    parts.retain(|p| !p.is_empty());
    parts.join(" · ")
}

/// How far apart equals were measured, before any effect is looked at.
fn certificates(page: &mut Page, workload: &WorkloadFindings) {
    for certificate in &workload.certificates {
        let class = if certificate.includes_no_effect { "certificate" } else { "certificate broken" };
        page.open("p", &format!("class=\"{class}\""));
        page.raw("<b>A/A comparison.</b> ");
        page.say(&certificate.sentence);
        page.raw(".");
        page.close("p");
    }
}

fn figures(page: &mut Page, pictures: &[Picture], kinds: &[Kind]) {
    let wanted: Vec<&Picture> = pictures.iter().filter(|p| kinds.contains(&p.kind)).collect();
    if wanted.is_empty() {
        return;
    }
    page.open("div", "class=\"figures\"");
    for picture in wanted {
        page.figure(picture);
    }
    page.close("div");
}

/// So many disturbed blocks are listed one by one.
const MARKED_BLOCKS: usize = 60;

/// Anything odd about single contrasts.
fn contrast_notes(findings: &Findings, workload: &WorkloadFindings, role: Role) -> Vec<String> {
    let contrasts =
        workload.metrics.iter().filter(|m| m.role == role).flat_map(|m| m.contrasts.iter().map(move |c| (m, c)));
    contrasts
        .flat_map(|(m, c)| {
            c.notes.iter().map(move |n| format!("{}, {}: {n}", words::arm_name(findings, c.arm), m.name))
        })
        .collect()
}

/// Sentences about this workload that no table holds.
fn remarks(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let mut items = numbers::rests_on(workload, Role::Primary);
    items.extend(remarks::noise(findings, workload));
    items.extend(contrast_notes(findings, workload, Role::Primary));
    items.push(workload.warm_up.sentence.clone());
    items.push(workload.contamination.sentence.clone());
    for facts in &workload.arms {
        let arm = words::arm_name(findings, facts.arm);
        items.extend(facts.failed.iter().map(|r| format!("{arm}: {} failed: {}", counted(r.count, "trials"), r.text)));
        items.extend(facts.notes.iter().map(|r| format!("{arm}: {}: {}", counted(r.count, "trials"), r.text)));
    }
    items.extend(remarks::placed(workload));
    items.extend(remarks::loads(findings, workload));
    items.retain(|i| !i.is_empty());
    page.list("class=\"notes\"", &items);
    marked_blocks(page, workload);
}

/// Disturbed blocks, folded away: on a busy host they are many.
fn marked_blocks(page: &mut Page, workload: &WorkloadFindings) {
    let blocks = &workload.contamination.blocks;
    if blocks.is_empty() {
        return;
    }
    let said = blocks.iter().take(MARKED_BLOCKS).map(|b| match b.repeated_by {
        Some(by) => format!("Block {}: {}, repeated as block {by}.", b.block, b.what),
        None => format!("Block {}: {}, not repeated: it stays in the verdict.", b.block, b.what),
    });
    let mut items: Vec<String> = said.collect();
    if blocks.len() > MARKED_BLOCKS {
        items.push(format!("{} more: the table of all trials below has each.", blocks.len() - MARKED_BLOCKS));
    }
    page.open("details", "");
    page.element("summary", "", &format!("Blocks in which the machine was disturbed: {}", blocks.len()));
    page.list("class=\"notes\"", &items);
    page.close("details");
}

/// What explains the numbers, folded away.
fn details(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    page.open("details", "");
    page.element(
        "summary",
        "",
        "What is behind the numbers: placement, steadiness, second opinions, settings in force",
    );
    inside::placement(page, findings, workload);
    inside::tier_splits(page, findings, &workload.tier_splits);
    inside::steadiness(page, findings, workload);
    if let Some(v) = &workload.variance {
        page.element("p", "class=\"notes\"", &remarks::variance(v));
    }
    numbers::views(page, findings, workload);
    let stamping = inside::stamping(findings, workload);
    if !stamping.is_empty() {
        page.element("h3", "", "Stamping");
        page.list("class=\"notes\"", &stamping);
    }
    in_force(page, findings, workload);
    page.close("details");
}

/// Settings as read back, task groups, and the lines the workload's reference tool would print.
fn in_force(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let mut rows = Vec::new();
    for facts in &workload.arms {
        let arm = words::arm_name(findings, facts.arm).to_owned();
        let refused = facts.not_applied.iter().map(|r| format!("NOT APPLIED {} ×: {}", r.count, r.text));
        let settings: Vec<String> = facts.effective.iter().cloned().chain(refused).collect();
        let settings = if settings.is_empty() { words::spec(findings, "").to_owned() } else { settings.join("; ") };
        rows.push(vec![(arm, ""), (settings, ""), (facts.groups.join("; "), "aside")]);
    }
    if !rows.is_empty() {
        page.element("h3", "", "Settings in force, by read-back");
        let header = [("arm", ""), ("settings", ""), ("task groups of the workload", "")];
        page.table("Settings in force", &header, &rows);
    }
    let native = workload.arms.iter().find(|f| !f.native_lines.is_empty());
    if let Some(facts) = native {
        page.element(
            "h3",
            "",
            &format!("First trial as the reference tool prints it: {}", words::arm_name(findings, facts.arm)),
        );
        page.element("pre", "", &facts.native_lines.join("\n"));
    }
}
