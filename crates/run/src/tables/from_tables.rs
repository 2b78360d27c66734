//! From tables back to trial records. A row that belongs to no trial, or a word that is not a variant, is damage.

mod row;

use super::columns::{OpenTable, Table};
use super::schema::{SLOW_OPERATIONS, Tables};
use crate::error::RunError;
use row::{Row, cell, counter, distribution, mark, task, trial, window};
use schedlab_plan::outcome::*;
use schedlab_plan::record::TrialRecord;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

/// Reads a directory of tables, and passes each trial to `take`. Our row groups contain whole trials, so one group of
/// each table is read at a time; if tables are grouped otherwise, all groups are read at once.
pub(super) fn read(
    dir: &Path,
    take: &mut dyn FnMut(TrialRecord) -> Option<TrialRecord>,
) -> Result<Vec<TrialRecord>, RunError> {
    // Runs of versions before 3 have no such table, and nothing shows that it is missing.
    let has_slow_operations = dir.join(format!("{SLOW_OPERATIONS}.parquet")).exists();
    let mut files = Vec::new();
    for table in Tables::empty().all() {
        if has_slow_operations || table.name != SLOW_OPERATIONS {
            files.push(table.open(dir)?);
        }
    }
    let groups = files.first().map_or(0, OpenTable::groups);
    let in_step = files.iter().all(|file| file.groups() == groups);
    let (pieces, each) = if in_step { (groups, 1) } else { (1, usize::MAX) };
    let (mut kept, mut numbers) = (Vec::new(), BTreeSet::new());
    for first in 0..pieces {
        for record in read_groups(&files, first..first.saturating_add(each))? {
            if !numbers.insert(record.trial) {
                let why = format!("trial {} is there twice; restore it from a copy of the run", record.trial);
                return Err(RunError::Damaged { path: dir.join("trials.parquet"), why });
            }
            kept.extend(take(record));
        }
    }
    kept.shrink_to_fit();
    Ok(kept)
}

/// The trials of these row groups.
fn read_groups(files: &[OpenTable], groups: Range<usize>) -> Result<Vec<TrialRecord>, RunError> {
    let mut records = Records { files, groups, rows: Vec::new(), index: HashMap::new() };
    let tables = Tables::empty();
    records.trials(tables.trials)?;
    records.marks(tables.marks)?;
    records.fill(tables.metrics, |t, i, o| {
        let (name, unit) = (t.text("name", i)?, t.text("unit", i)?);
        o.metrics.push(Metric { name, value: t.number("value", i)?, unit, direction: t.variant("direction", i)? });
        Ok(())
    })?;
    records.fill(tables.phases, |t, i, o| {
        o.phases.push(Phase { name: t.text("name", i)?, start_ns: t.u("start_ns", i)?, end_ns: t.u("end_ns", i)? });
        Ok(())
    })?;
    if files.iter().any(|file| file.name() == SLOW_OPERATIONS) {
        records.fill(tables.slow_operations, |t, i, o| {
            let (tid, group) = (t.small("tid", i)?, t.small("group", i)?);
            let (start_ns, end_ns) = (t.u("start_ns", i)?, t.u("end_ns", i)?);
            o.slowest.push(SlowOperation { name: t.text("name", i)?, start_ns, end_ns, tid, group });
            Ok(())
        })?;
    }
    records.fill(tables.distributions, distribution)?;
    records.fill(tables.cells, cell)?;
    records.fill(tables.tiers, |t, i, o| {
        o.tiers.push(TierCount { tier: t.variant("tier", i)?, operations: t.u("operations", i)? });
        Ok(())
    })?;
    records.fill(tables.counters, counter)?;
    records.fill(tables.series, |t, i, o| {
        let (name, scope) = (t.text("name", i)?, t.text("scope", i)?);
        o.series.push(SeriesPoint { t_ns: t.u("t_ns", i)?, name, scope, delta: t.number("delta", i)? });
        Ok(())
    })?;
    records.fill(tables.tasks, task)?;
    records.fill(tables.groups, |t, i, o| {
        let (autogroup, cgroup) = (t.text("autogroup", i)?, t.text("cgroup", i)?);
        o.groups.push(TaskGroup { autogroup, cgroup, tasks: t.small("tasks", i)? });
        Ok(())
    })?;
    records.fill(tables.windows, window)?;
    records.fill(tables.applied, |t, i, o| {
        let setting = t.text("setting", i)?.parse().map_err(|e| format!("row {i}: {e}"))?;
        o.applied.push(Applied {
            setting,
            effective: t.text("effective", i)?,
            not_applied: t.maybe_text("not_applied", i),
        });
        Ok(())
    })?;
    records.fill(tables.loads, |t, i, o| {
        let (asked_cpu_ns, achieved_cpu_ns) = (t.u("asked_cpu_ns", i)?, t.u("achieved_cpu_ns", i)?);
        o.loads.push(LoadReport {
            spec: t.text("spec", i)?,
            asked_cpu_ns,
            achieved_cpu_ns,
            alive: t.u("alive", i)? == 1,
        });
        Ok(())
    })?;
    records.fill(tables.lines, |t, i, o| {
        let lines = if t.text("kind", i)? == "native" { &mut o.native_lines } else { &mut o.notes };
        lines.push(t.text("text", i)?);
        Ok(())
    })?;
    Ok(records.rows)
}

/// The open file of a table.
fn of<'a>(files: &'a [OpenTable], table: &Table) -> &'a OpenTable {
    files.iter().find(|file| file.name() == table.name).expect("every table that is read was opened")
}

/// The records being rebuilt.
struct Records<'a> {
    files: &'a [OpenTable],
    groups: Range<usize>,
    rows: Vec<TrialRecord>,
    index: HashMap<u64, usize>,
}

impl Records<'_> {
    fn trials(&mut self, table: Table) -> Result<(), RunError> {
        of(self.files, &table).read(table, self.groups.clone(), |t| {
            for i in 0..t.rows() {
                let record = trial(t, i)?;
                if self.index.insert(record.trial, self.rows.len()).is_some() {
                    return Err(format!("row {i}: trial {} is there twice", record.trial));
                }
                self.rows.push(record);
            }
            Ok(())
        })
    }

    fn record(&mut self, t: &Table, i: usize) -> Result<&mut TrialRecord, String> {
        let number = t.u("trial", i)?;
        let index = self.index.get(&number).copied();
        let index = index.ok_or(format!("row {i} belongs to trial {number}, which is not there"))?;
        Ok(&mut self.rows[index])
    }

    fn marks(&mut self, table: Table) -> Result<(), RunError> {
        of(self.files, &table).read(table, self.groups.clone(), |t| {
            for i in 0..t.rows() {
                let mark = mark(t, i)?;
                self.record(t, i)?.marks.push(mark);
            }
            Ok(())
        })
    }

    fn fill(&mut self, table: Table, put: impl Fn(&Table, usize, &mut TrialOutcome) -> Row) -> Result<(), RunError> {
        of(self.files, &table).read(table, self.groups.clone(), |t| {
            for i in 0..t.rows() {
                let outcome = self.record(t, i)?.outcome.as_mut();
                put(t, i, outcome.ok_or(format!("row {i} belongs to a trial that measured nothing"))?)?;
            }
            Ok(())
        })
    }
}
