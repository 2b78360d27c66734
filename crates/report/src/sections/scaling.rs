//! How a swept option scales.

use super::Subject;
use crate::document::{Block, Make, Section};
use crate::number::{NONE, count, maybe_quantity, percent};
use crate::pictures::{self, Picture};
use crate::table::{Align, Cell, Names, Table};
use crate::{labels, tables};
use schedlab_analyze::{CopyRow, Scaling, ScalingRow, WorkloadFindings, beside};

/// Arms by index with their names.
type Arms = [(u32, String)];

/// Most copies of one row that are printed one by one; the JSON has all.
const COPIES_SHOWN: usize = 16;

/// What the columns of a scaling table mean.
const SCALING_KEY: &str = "linearity: score against the first value's times the values' ratio, 1 is linear; \
                                      spread: standard deviation over runs against the mean; Jain: fairness over the \
                                      copies, 1 is fair. Descriptive: verdicts are between arms.";

/// What follows each copy in [`copies`].
const COPIES_KEY: &str = "Each copy: its operations, the share of them with both partners on one CPU, the CPUs they were last seen on \
     (parent→child; … where runs differ).";

pub(super) fn sections<'a>(subject: &'a Subject<'a>) -> Vec<Section<'a>> {
    let findings = subject.input.findings;
    let arms = labels::arms(findings);
    let one = |(number, scaling)| {
        let picture: Make<'a, Picture> = Box::new(move || Vec::from_iter(pictures::scaling(findings, number)));
        let section = section(scaling, &arms, &findings.workloads, Some(picture));
        Section { id: format!("scaling{}", number + 1), ..section }
    };
    findings.scalings.iter().enumerate().map(one).collect()
}

/// How an option scales; `workloads` are all workloads of the findings.
pub(crate) fn section<'a>(
    scaling: &Scaling,
    arms: &Arms,
    workloads: &[WorkloadFindings],
    picture: Option<Make<'a, Picture>>,
) -> Section<'a> {
    let first = scaling.workloads.first().and_then(|index| workloads.iter().find(|w| w.workload == *index));
    let load = first.map(|workload| beside(&workload.load)).unwrap_or_default();
    let title = format!("Scaling: {} over {}{load}", labels::metric_name(&scaling.metric), scaling.option);
    let mut all = vec![Block::Spec(scaling.spec.clone())];
    all.extend(picture.map(Block::Pictures));
    all.extend([Block::Table(scaling_table(scaling, arms)), Block::Aside(SCALING_KEY.into())]);
    let copies = copies(scaling, arms);
    if !copies.is_empty() {
        all.extend([Block::Terms(copies), Block::Aside(COPIES_KEY.into())]);
    }
    Section::body("scaling", title, all)
}

/// Score, linearity, spread over runs and fairness: a row for each value and arm. With a single arm there is no column
/// for it.
fn scaling_table(scaling: &Scaling, arms: &Arms) -> Table {
    let mut header = vec![(scaling.option.as_str(), Align::Left)];
    header.extend(arms.get(1).map(|_| ("arm", Align::Left)));
    header.extend([
        ("score", Align::Right),
        ("linearity", Align::Left),
        ("spread", Align::Right),
        ("runs", Align::Right),
        ("Jain", Align::Right),
    ]);
    let mut table = Table { names: arms.get(1).map(|_| Names::Column(1)), ..Table::new(&header) };
    for row in &scaling.rows {
        let mut cells: Vec<Cell> = vec![row.value.as_str().into()];
        cells.extend(arm_of(row, arms).map(Cell::from));
        cells.extend([
            maybe_quantity(row.score, &scaling.unit).into(),
            linearity(row).into(),
            row.spread.map_or_else(|| NONE.to_owned(), percent).into(),
            row.n.to_string().into(),
            row.fairness.map_or_else(|| NONE.to_owned(), |jain| format!("{jain:.3}")).into(),
        ]);
        table.push(cells);
    }
    table
}

/// The arm's name, if there are several arms.
fn arm_of<'n>(row: &ScalingRow, arms: &'n Arms) -> Option<&'n str> {
    arms.get(1).map(|_| tables::name_of(arms, row.arm))
}

/// `0.98 [0.95, 1.01]`; a single trial has no interval.
fn linearity(row: &ScalingRow) -> String {
    match row.linearity {
        None => NONE.to_owned(),
        Some(e) if e.lo == e.hi => format!("{:.2}", e.value),
        Some(e) => format!("{:.2} [{:.2}, {:.2}]", e.value, e.lo, e.hi),
    }
}

/// For each row with copies, its label (`copies 4, free`), and its copies one by one.
fn copies(scaling: &Scaling, arms: &Arms) -> Vec<(String, String)> {
    let of_row = |row: &ScalingRow| {
        let arm = arm_of(row, arms).map(|name| format!(", {name}")).unwrap_or_default();
        let mut said: Vec<String> = row.copies.iter().take(COPIES_SHOWN).map(copy).collect();
        if row.copies.len() > COPIES_SHOWN {
            said.push(format!("and {} more", row.copies.len() - COPIES_SHOWN));
        }
        (format!("{} {}{arm}", scaling.option, row.value), said.join(" · "))
    };
    scaling.rows.iter().filter(|row| !row.copies.is_empty()).map(of_row).collect()
}

/// `41 234, 53 %, 0→1`.
fn copy(copy: &CopyRow) -> String {
    let mut parts = vec![count(copy.operations.round() as u64)];
    parts.extend(copy.same_cpu_share.map(percent));
    parts.extend(copy.places.first().map(|place| {
        let others = if copy.places.len() > 1 { "…" } else { "" };
        format!("{}→{}{others}", place.parent_cpu, place.child_cpu)
    }));
    parts.join(", ")
}
