//! One workload. Each part of its section is a file here and a row of [`PARTS`].

use super::{Subject, counters, curves, exploratory, inside, main_effects, primary, statements};
use crate::document::{Block, Section};
use crate::pictures::{Kind, Picture, of_workload};
use crate::{labels, remarks};
use schedlab_analyze::{Findings, WorkloadFindings};
use schedlab_plan::InOrder;

/// A workload of a report.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    subject: &'a Subject<'a>,
    pub(super) findings: &'a Findings,
    pub(super) workload: &'a WorkloadFindings,
    index: usize,
}

type Part = for<'a> fn(Of<'a>) -> Vec<Block<'a>>;

/// All parts of a workload, in order.
const PARTS: &[Part] = &[
    about,
    drawn,
    main_effects::blocks,
    primary::blocks,
    statements::blocks,
    curves::blocks,
    exploratory::differing,
    counters::blocks,
    sentences,
    disturbed,
    exploratory::all,
    inside::blocks,
    trials,
];

pub(super) fn sections<'a>(subject: &'a Subject<'a>) -> Vec<Section<'a>> {
    let findings = subject.input.findings;
    let one = |(index, workload)| {
        let of = Of { subject, findings, workload, index };
        let blocks = PARTS.iter().flat_map(|part| part(of)).collect();
        Section::body(&format!("w{}", index + 1), labels::workload_heading(findings, workload), blocks)
    };
    findings.workloads.iter().enumerate().map(one).collect()
}

/// What was run, how often, and the A/A comparisons.
fn about(of: Of<'_>) -> Vec<Block<'_>> {
    let Of { findings, workload, .. } = of;
    let spec = Some(labels::shared_spec(findings, workload))
        .filter(|spec| *spec != labels::workload_label(findings, workload));
    let counts = Block::Aside(format!("{}: {}.", workload.id, labels::counts(workload)));
    // A/A comparisons that exclude no effect are among the problems.
    let kept = workload.aa_comparisons.iter().filter(|c| c.includes_no_effect);
    let kept = kept.map(|c| labels::full_stop(&format!("A/A comparison: {}", c.sentence)));
    spec.map(Block::Spec).into_iter().chain([counts]).chain(Block::list(kept)).collect()
}

/// The pictures that show more than the tables; the others are drawn in cells.
fn drawn(of: Of<'_>) -> Vec<Block<'_>> {
    let pictures = move || {
        // All questions are at the head of the page; those of a factorial are its main effects.
        let has_forest = !of.findings.factors.is_empty();
        let rank = |picture: &Picture| match picture.kind {
            Kind::Forest if has_forest => Some(0),
            Kind::Timeline => Some(1),
            Kind::Distribution | Kind::Latency | Kind::Placement | Kind::Variance => Some(2),
            _ => None,
        };
        let mut all = of_workload(&of.subject.input, of.index, of.subject.rows(of.index));
        all.retain(|picture| rank(picture).is_some());
        all.in_order_by_key(rank);
        all
    };
    vec![Block::Pictures(Box::new(pictures))]
}

/// Remarks that are not in a table.
fn sentences(of: Of<'_>) -> Vec<Block<'_>> {
    let all = remarks::of_workload(of.findings, of.workload).into_iter().chain(counters::not_counted(of.workload));
    Block::list(all).into_iter().collect()
}

/// Most disturbed blocks that are listed one by one.
const MARKED_BLOCKS: usize = 60;

/// Blocks in which the machine was disturbed; a busy host has many.
fn disturbed(of: Of<'_>) -> Vec<Block<'_>> {
    let blocks = &of.workload.contamination.blocks;
    let listed = || {
        let said = blocks.iter().take(MARKED_BLOCKS).map(|b| match b.repeated_by {
            Some(by) => format!("Block {}: {}, repeated as block {by}.", b.block, b.what),
            None => format!("Block {}: {}, not repeated: it stays in the verdict.", b.block, b.what),
        });
        let more = blocks.len().saturating_sub(MARKED_BLOCKS);
        let more = (more > 0).then(|| format!("{more} more: the table of all trials below has each."));
        Block::list(said.chain(more)).into_iter().collect()
    };
    let title = format!("Blocks in which the machine was disturbed: {}", blocks.len());
    (!blocks.is_empty()).then(|| Block::More(title, Box::new(listed))).into_iter().collect()
}

fn trials(of: Of<'_>) -> Vec<Block<'_>> {
    (of.workload.counts.total > 0).then_some(Block::Trials(of.index)).into_iter().collect()
}
