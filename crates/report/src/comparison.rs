//! The whole of a comparison, in the order in which it is read: claims and what weakens them, arms, then for each workload
//! the verdicts, the exploratory metrics that differ, what the scheduler did, and remarks; machine, rules and command last.

use crate::document::{Block, Room};
use crate::{Input, designs, remarks, tables, words};
use schedlab_analyze::{Findings, MetricFindings, Role, Source, WorkloadFindings};

/// Longest and shortest name of an arm in a table, characters: a name cut shorter tells nothing.
const NAMES: std::ops::RangeInclusive<usize> = 8..=20;

/// Everything but the pictures.
pub(crate) fn whole(input: &Input<'_>, room: Room) -> Vec<Block> {
    let findings = input.findings;
    let mut all = opening(findings);
    let arms = words::cut(words::arms(findings), *NAMES.end());
    all.extend(findings.scalings.iter().flat_map(|s| designs::scaling(s, &arms, &findings.workloads, None)));
    all.extend(findings.workloads.iter().flat_map(|w| of_workload(findings, w, room)));
    all.extend(closing(input));
    all
}

fn opening(findings: &Findings) -> Vec<Block> {
    let mut all = Vec::from_iter(Block::warnings(findings.void.iter().map(|why| format!("VOID: {why}"))));
    let (head, more) = remarks::claims(findings);
    if head.is_empty() {
        all.push(Block::Text("No claim: there is nothing to compare.".into()));
    } else {
        all.push(Block::Claims(head.iter().map(|c| (c.sentence.clone(), c.verdict.clone())).collect()));
    }
    if !more.is_empty() {
        all.push(Block::Text(format!("{}; see the tables.", remarks::more_claims(more.len()))));
    }
    if let Source::TwoRuns { a, b, refused } = &findings.source {
        all.push(Block::Text(format!("Two runs that were not interleaved: A is {a}, B is {b}.")));
        all.extend(Block::warnings(refused.iter().map(|why| format!("Not compared: {why}"))));
    }
    if let Some(problems) = Block::warnings(remarks::problems(findings)) {
        all.extend([Block::Heading("Before you read on".into()), problems]);
    }
    if !findings.arms.is_empty() {
        let term = |(arm, name): (u32, String)| {
            let spec = findings.arms.get(arm as usize).map_or("", |a| a.spec.as_str());
            (name, format!("{}{}", words::spec(findings, spec), words::arm_role(findings, arm)))
        };
        all.push(Block::Heading("Arms".into()));
        all.push(Block::Terms(words::arms(findings).into_iter().map(term).collect()));
    }
    all
}

fn of_workload(findings: &Findings, workload: &WorkloadFindings, room: Room) -> Vec<Block> {
    let mut all = vec![
        Block::Heading(words::workload_heading(findings, workload)),
        Block::Spec(workload.spec.clone()),
        Block::Aside(format!("{}: {}.", workload.id, words::counts(workload))),
    ];
    all.extend(designs::main_effects(findings, workload));
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        all.extend(of_metric(findings, metric, room));
    }
    let names = words::cut(words::arms(findings), *NAMES.end());
    let others = tables::others_tables(workload, &names);
    if !others.is_empty() {
        all.push(Block::Lead(tables::OTHERS.into()));
    }
    all.extend(others.into_iter().map(Block::Table));
    all.extend(tables::others_untold(workload).into_iter().map(Block::Text));
    let arms = words::cut(words::fact_arms(findings, workload), *NAMES.end());
    all.extend(Block::table(tables::per_operation_table(workload, &arms)));
    all.extend(Block::table(tables::tiers_table(workload, &arms)));
    let not_counted = tables::not_counted(workload);
    all.extend(Block::list(remarks::of_workload(findings, workload).into_iter().chain(not_counted).collect()));
    all
}

fn of_metric(findings: &Findings, metric: &MetricFindings, room: Room) -> Vec<Block> {
    // Names are cut to the room that the numbers leave.
    let table = |limit| tables::metric_table(metric, &words::cut(words::arms(findings), limit));
    let fitting = NAMES.rev().map(table).find(|table| room.holds(table));
    let mut all = vec![
        Block::Lead(format!("{} ({})", words::metric_name(&metric.name), words::metric_aside(metric))),
        Block::Table(fitting.unwrap_or_else(|| table(*NAMES.start()))),
    ];
    all.extend(words::meaning_of_change(findings, metric).map(Block::Aside));
    let reason = |c: &schedlab_analyze::Contrast| {
        let reason = words::full_stop(words::reason(&c.verdict)?);
        Some(Block::Text(format!("{}: no verdict: {reason}", words::arm_name(findings, c.arm))))
    };
    all.extend(metric.contrasts.iter().filter_map(reason));
    all
}

fn closing(input: &Input<'_>) -> Vec<Block> {
    let findings = input.findings;
    let environment = &findings.environment;
    let shown = |name: &str| matches!(name, "host" | "kernel" | "CPU" | "online CPUs");
    let facts = environment.facts.iter().filter(|(name, value)| shown(name) && !value.is_empty());
    let mut machine: Vec<String> = facts.map(|(name, value)| format!("{name}: {value}")).collect();
    machine.extend(remarks::warnings(findings).into_iter().map(|w| format!("Warning: {w}")));
    machine.extend(environment.changes.iter().map(|c| format!("{} changed: {} → {}.", c.what, c.before, c.after)));
    let rules = remarks::rules(findings).into_iter().chain(findings.rules.methods.iter().cloned());
    let mut all = Vec::new();
    if !machine.is_empty() {
        all.extend([Block::Heading("Machine".into()), Block::List(machine)]);
    }
    all.extend([Block::Heading("Run".into()), Block::List(rules.collect())]);
    all.push(Block::Text(format!("schedlab {}:", input.manifest.schedlab_version)));
    all.push(Block::Command(words::shell(&findings.command)));
    all
}
