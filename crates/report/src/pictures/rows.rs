//! Every trial of a workload once, in drawing order: shared by the pictures of trials and the page's script.

use super::Subject;
use crate::Input;
use crate::chart::PointState;
use crate::number::unit_for;
use schedlab_analyze::{MetricFindings, Role, Source, TrialValue, WorkloadFindings};
use schedlab_plan::{InOrder, Mark, OneByOne, TrialRecord, TrialStatus};
use std::collections::{BTreeMap, BTreeSet};

/// One trial, or one arm's half of a switchback trial.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Running number in the run.
    pub(crate) trial: u64,
    pub(crate) arm: u32,
    /// `None` before block 0.
    pub(crate) block: Option<u32>,
    /// Position in the block.
    pub(crate) position: u32,
    /// Anything unusual about it, otherwise empty.
    pub(crate) note: String,
}

/// A primary metric over all rows.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Divisor that converts a value of the findings to `unit`; the same for the whole column.
    pub(crate) scale: f64,
    pub(crate) unit: String,
    /// Value and state of each row.
    pub(crate) values: Vec<(Option<f64>, PointState)>,
}

/// The trials of a workload.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<Row>,
    /// Number of trials: a switchback trial has a row for each arm.
    pub(crate) trials: usize,
    pub(crate) columns: Vec<Column>,
}

impl Rows {
    /// Rows by time, or arm after arm for two runs, whose trials have the same numbers.
    pub(crate) fn of(place: &Subject<'_>, input: &Input<'_>) -> Self {
        let two_runs = matches!(place.findings.source, Source::TwoRuns { .. });
        // The trials of two runs have the same numbers, so records of the first would be mistaken for those of the
        // second.
        let records: BTreeMap<u64, &TrialRecord> = match two_runs {
            true => BTreeMap::new(),
            false => {
                input.trials.iter().filter(|t| t.workload == place.workload.workload).map(|t| (t.trial, t)).one_by_one()
            }
        };
        let mut rows = BTreeMap::new();
        let key = |trial: u64, arm: u32| if two_runs { (u64::from(arm), trial) } else { (trial, u64::from(arm)) };
        for (arm, value) in primaries(place.workload).flat_map(values) {
            let record = records.get(&value.trial).copied();
            let row = rows.entry(key(value.trial, arm)).or_insert_with(|| measured(arm, value, record));
            if row.note.is_empty() {
                row.note = note(value, record);
            }
        }
        let seen: BTreeSet<u64> = rows.values().map(|r: &Row| r.trial).collect();
        let missing = records.values().filter(|r| !seen.contains(&r.trial));
        let missing: Vec<Row> = missing.map(|r| without_value(r)).collect();
        rows.extend(missing.into_iter().map(|row| (key(row.trial, row.arm), row)));
        let place_of: BTreeMap<(u64, u32), usize> =
            rows.values().enumerate().map(|(i, r)| ((r.trial, r.arm), i)).one_by_one();
        let columns = primaries(place.workload).map(|m| column(m, &place_of, &records)).collect();
        let trials = if two_runs { rows.len() } else { rows.values().map(|r| r.trial).collect::<BTreeSet<_>>().len() };
        Self { rows: rows.into_values().collect(), trials, columns }
    }
}

fn primaries(workload: &WorkloadFindings) -> impl Iterator<Item = &MetricFindings> {
    workload.metrics.iter().filter(|m| m.role == Role::Primary)
}

fn values(metric: &MetricFindings) -> impl Iterator<Item = (u32, &TrialValue)> {
    metric.values.iter().flat_map(|v| v.trials.iter().map(move |t| (v.arm, t)))
}

fn column(
    metric: &MetricFindings,
    place_of: &BTreeMap<(u64, u32), usize>,
    records: &BTreeMap<u64, &TrialRecord>,
) -> Column {
    let mut column = vec![(None, PointState::Failed); place_of.len()];
    for (arm, trial) in values(metric) {
        let marked = records.get(&trial.trial).is_some_and(|r| !r.marks.is_empty());
        let state = match (trial.used, marked) {
            (_, true) => PointState::Marked,
            (true, _) => PointState::Used,
            _ => PointState::Unused,
        };
        if let Some(slot) = place_of.get(&(trial.trial, arm)).and_then(|i| column.get_mut(*i)) {
            *slot = (Some(trial.value), state);
        }
    }
    let mut sizes: Vec<f64> = column.iter().filter_map(|(v, _)| *v).filter(|v| v.is_finite()).map(f64::abs).collect();
    sizes.in_order_by(f64::total_cmp);
    let (scale, unit) = unit_for(sizes.get(sizes.len() / 2).copied().unwrap_or(0.0), &metric.unit);
    Column { name: metric.name.clone(), scale, unit, values: column }
}

fn measured(arm: u32, value: &TrialValue, record: Option<&TrialRecord>) -> Row {
    let block = record.is_none_or(|r| !r.warm_up).then_some(value.block);
    Row { trial: value.trial, arm, block, position: value.position, note: String::new() }
}

/// Why a trial is not used for the verdict, or how the machine was disturbed.
fn note(value: &TrialValue, record: Option<&TrialRecord>) -> String {
    let marks = || record.iter().flat_map(|r| &r.marks).map(mark).collect::<Vec<_>>().join(", ");
    value.note.clone().unwrap_or_else(marks)
}

/// A row without a value of any primary metric.
fn without_value(record: &TrialRecord) -> Row {
    let note = match &record.status {
        TrialStatus::Failed(why) => format!("failed: {why}"),
        TrialStatus::NotApplied(why) => format!("not applied: {why}"),
        TrialStatus::Ok => "this metric was not measured".to_owned(),
    };
    Row {
        trial: record.trial,
        arm: record.arm.unwrap_or(0),
        block: (!record.warm_up).then_some(record.block),
        position: record.position,
        note,
    }
}

fn mark(mark: &Mark) -> String {
    match mark {
        Mark::Steal { share } => format!("steal {}", crate::number::percent(*share)),
        Mark::Thermal { evidence } => format!("thermal: {evidence}"),
        Mark::Pause { evidence } => format!("a pause of {evidence} before it"),
        Mark::Foreign { what } => format!("changed by somebody else: {what}"),
    }
}
