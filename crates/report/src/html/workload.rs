//! One workload's section: pictures first, tables under them.

use super::build::{Page, escape};
use super::designs;
use super::numbers;
use crate::pictures::{Kind, Picture, of_workload};
use crate::{Input, tables, words};
use schedlab_analyze::{Findings, Role, WorkloadFindings};

pub(super) fn write(page: &mut Page, input: &Input<'_>, index: usize) {
    let findings = input.findings;
    let Some(workload) = findings.workloads.get(index) else { return };
    let pictures = of_workload(input, index);
    page.open("section", &format!("class=\"workload\" id=\"w{}\"", index + 1));
    page.element("h2", "", &words::workload_label(findings, workload));
    page.element("p", "class=\"under\"", &under(workload));
    // A spec is one long word: it may break after each comma.
    page.raw(&format!("<p class=\"spec\">{}</p>\n", escape(&workload.spec).replace(',', ",<wbr>")));
    if let Some(c) = &workload.confounded {
        page.element("p", "class=\"callout\"", &c.sentence);
    }
    certificates(page, workload);
    figures(page, &pictures, &[Kind::Forest]);
    figures(page, &pictures, &[Kind::Timeline]);
    figures(page, &pictures, &[Kind::Distribution, Kind::Latency, Kind::Placement, Kind::Variance]);
    figures(page, &pictures, &[Kind::Counters]);
    designs::main_effects(page, findings, workload);
    page.element("h3", "", "Primary metrics");
    numbers::metrics(page, findings, workload, Role::Primary);
    remarks(page, findings, workload);
    if workload.metrics.iter().any(|m| m.role == Role::Secondary) {
        page.open("details", "");
        page.element("summary", "", "All other metrics, exploratory");
        figures(page, &pictures, &[Kind::OtherMetrics]);
        numbers::metrics(page, findings, workload, Role::Secondary);
        page.list("class=\"notes\"", &contrast_notes(findings, workload, Role::Secondary));
        page.close("details");
    }
    details(page, findings, workload);
    page.close("section");
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

/// What the A/A control says of the noise, before any effect is looked at.
fn certificates(page: &mut Page, workload: &WorkloadFindings) {
    for certificate in &workload.certificates {
        let class = if certificate.includes_no_effect { "certificate" } else { "certificate broken" };
        page.open("p", &format!("class=\"{class}\""));
        page.raw("<b>Noise certificate.</b> ");
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
    let mut items: Vec<String> = Vec::new();
    items.extend(contrast_notes(findings, workload, Role::Primary));
    items.push(workload.warm_up.sentence.clone());
    items.push(workload.contamination.sentence.clone());
    items.extend(workload.contamination.blocks.iter().map(|b| match b.repeated_by {
        Some(by) => format!("Block {}: {}, repeated as block {by}.", b.block, b.what),
        None => format!("Block {}: {}, not repeated: it stays in the verdict.", b.block, b.what),
    }));
    for facts in &workload.arms {
        let arm = words::arm_name(findings, facts.arm);
        items.extend(facts.failed.iter().map(|r| format!("{arm}: failed {} ×: {}", r.count, r.text)));
        items.extend(facts.notes.iter().map(|r| format!("{arm}: {} × {}", r.count, r.text)));
        items.extend(facts.loads.iter().map(|l| tables::load(arm, l)));
    }
    items.retain(|i| !i.is_empty());
    page.list("class=\"notes\"", &items);
}

/// What explains the numbers, folded away.
fn details(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    page.open("details", "");
    page.element("summary", "", "What is behind the numbers: counters, placement, steadiness, second opinions");
    page.element("h3", "", "Counters per operation");
    numbers::per_operation(page, findings, workload);
    numbers::tier_splits(page, findings, &workload.tier_splits);
    numbers::steadiness(page, findings, workload);
    if let Some(v) = &workload.variance {
        page.element("p", "class=\"notes\"", &tables::variance(v));
    }
    numbers::views(page, findings, workload);
    let stamping = numbers::stamping(findings, workload);
    if !stamping.is_empty() {
        page.element("h3", "", "Stamping");
        page.list("class=\"notes\"", &stamping);
    }
    in_force(page, findings, workload);
    page.close("details");
}

/// Settings as read back, task groups, and the lines the workload's twin would print.
fn in_force(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let mut rows = Vec::new();
    for facts in &workload.arms {
        let arm = words::arm_name(findings, facts.arm).to_owned();
        let refused = facts.not_applied.iter().map(|r| format!("NOT APPLIED {} ×: {}", r.count, r.text));
        let settings: Vec<String> = facts.effective.iter().cloned().chain(refused).collect();
        let settings = if settings.is_empty() { "the host's default".to_owned() } else { settings.join("; ") };
        rows.push(vec![(arm, ""), (settings, ""), (facts.groups.join("; "), "aside")]);
    }
    if !rows.is_empty() {
        page.element("h3", "", "Settings in force, by read-back");
        page.table(&[("arm", ""), ("settings", ""), ("task groups of the herd", "")], &rows);
    }
    let native = workload.arms.iter().find(|f| !f.native_lines.is_empty());
    if let Some(facts) = native {
        page.element("h3", "", &format!("First trial in its twin's words: {}", words::arm_name(findings, facts.arm)));
        page.element("pre", "", &facts.native_lines.join("\n"));
    }
}
