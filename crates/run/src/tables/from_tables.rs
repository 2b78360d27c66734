//! From tables back to trial records. A row that belongs to no trial, or a word that is not a variant, is damage.

use super::columns::{OpenTable, Table};
use super::schema::{SLOW_OPERATIONS, Tables};
use crate::error::RunError;
use schedlab_plan::histogram::{BUCKETS, Histogram};
use schedlab_plan::outcome::*;
use schedlab_plan::record::{Mark, TrialRecord, TrialStatus};
use serde::de::DeserializeOwned;
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

type Row = Result<(), String>;

fn distribution(t: &Table, i: usize, o: &mut TrialOutcome) -> Row {
    let tier = t.maybe_text("tier", i).map(|_| t.variant("tier", i)).transpose()?;
    let histogram = Histogram {
        cells: Vec::new(),
        sum_ns: t.u("sum_ns", i)?,
        min_ns: t.u("min_ns", i)?,
        max_ns: t.u("max_ns", i)?,
    };
    o.histograms.push(NamedHistogram { name: t.text("name", i)?, tier, histogram });
    Ok(())
}

fn cell(t: &Table, i: usize, o: &mut TrialOutcome) -> Row {
    let index: u32 = t.small("histogram", i)?;
    let cell: u32 = t.small("cell", i)?;
    let histogram = o.histograms.get_mut(index as usize).ok_or(format!("row {i}: there is no histogram {index}"))?;
    if cell as usize >= BUCKETS {
        return Err(format!("row {i}: there is no cell {cell}"));
    }
    histogram.histogram.cells.push((cell, t.u("count", i)?));
    Ok(())
}

fn counter(t: &Table, i: usize, o: &mut TrialOutcome) -> Row {
    let count = match (t.maybe_u("value", i), t.maybe_u("running_ns", i), t.maybe_u("enabled_ns", i)) {
        (Some(value), Some(running_ns), Some(enabled_ns)) => Count::Scaled { value, running_ns, enabled_ns },
        (Some(value), ..) => Count::Exact(value),
        (None, ..) => Count::NotCounted(t.text("not_counted", i)?),
    };
    o.counters.push(Counter {
        name: t.text("name", i)?,
        scope: t.text("scope", i)?,
        source: t.text("source", i)?,
        count,
    });
    Ok(())
}

fn task(t: &Table, i: usize, o: &mut TrialOutcome) -> Row {
    o.tasks.push(TaskRecord {
        tid: t.small("tid", i)?,
        role: t.text("role", i)?,
        group: t.small("group", i)?,
        operations: t.u("operations", i)?,
        voluntary_switches: t.maybe_u("voluntary_switches", i),
        involuntary_switches: t.maybe_u("involuntary_switches", i),
        run_ns: t.maybe_u("run_ns", i),
        run_delay_ns: t.maybe_u("run_delay_ns", i),
        timeslices: t.maybe_u("timeslices", i),
        migrations: t.maybe_u("migrations", i),
        cpu_ns: t.maybe_u("cpu_ns", i),
        last_cpu: t.maybe_u("last_cpu", i).and_then(|c| c.try_into().ok()),
        same_cpu_share: t.maybe_number("same_cpu_share", i),
    });
    Ok(())
}

fn window(t: &Table, i: usize, o: &mut TrialOutcome) -> Row {
    o.windows.push(Window {
        pair: t.small("pair", i)?,
        is_b: t.u("is_b", i)? == 1,
        start_ns: t.u("start_ns", i)?,
        counted_from_ns: t.u("counted_from_ns", i)?,
        end_ns: t.u("end_ns", i)?,
        operations: t.u("operations", i)?,
    });
    Ok(())
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

fn mark(t: &Table, i: usize) -> Result<Mark, String> {
    Ok(match t.text("mark", i)?.as_str() {
        "steal" => Mark::Steal { share: t.number("share", i)? },
        "thermal" => Mark::Thermal { evidence: t.text("what", i)? },
        "foreign" => Mark::Foreign { what: t.text("what", i)? },
        other => return Err(format!("row {i}: `{other}` is not a mark")),
    })
}

fn trial(t: &Table, i: usize) -> Result<TrialRecord, String> {
    let reason = || t.text("status_reason", i);
    let status = match t.text("status", i)?.as_str() {
        "ok" => TrialStatus::Ok,
        "failed" => TrialStatus::Failed(reason()?),
        "not_applied" => TrialStatus::NotApplied(reason()?),
        other => return Err(format!("row {i}: `{other}` is not a status")),
    };
    let small = |name: &str| {
        t.maybe_u(name, i).map(|x| u32::try_from(x).map_err(|e| format!("row {i}, {name}: {e}"))).transpose()
    };
    Ok(TrialRecord {
        trial: t.u("trial", i)?,
        workload: t.small("workload", i)?,
        arm: small("arm")?,
        block: t.small("block", i)?,
        position: t.small("position", i)?,
        repeats_block: small("repeats_block")?,
        warm_up: t.u("warm_up", i)? == 1,
        status,
        marks: Vec::new(),
        started_unix_ns: t.u("started_unix_ns", i)?,
        wall_ns: t.u("wall_ns", i)?,
        boot_id: t.text("boot_id", i)?,
        outcome: t.maybe_text("workload_id", i).map(|workload| outcome(t, i, workload)).transpose()?,
    })
}

fn outcome(t: &Table, i: usize, workload: String) -> Result<TrialOutcome, String> {
    let stamping = StampingReport {
        level: t.variant("stamping", i)?,
        every: t.u("stamped_every", i)?,
        stamped: t.u("stamped", i)?,
        cost_ns: t.number("stamp_cost_ns", i)?,
        cost_share: t.number("stamp_cost_share", i)?,
    };
    Ok(TrialOutcome {
        workload,
        operations: t.u("operations", i)?,
        operation: t.text("operation", i)?,
        stamping,
        ..TrialOutcome::default()
    })
}

/// Typed access to one cell; errors name the row and the column.
impl Table {
    fn maybe_u(&self, name: &str, i: usize) -> Option<u64> {
        self.u64s(name).get(i).copied().flatten()
    }
    fn u(&self, name: &str, i: usize) -> Result<u64, String> {
        self.maybe_u(name, i).ok_or_else(|| format!("row {i} has no {name}"))
    }
    fn small(&self, name: &str, i: usize) -> Result<u32, String> {
        self.u(name, i)?.try_into().map_err(|e| format!("row {i}, {name}: {e}"))
    }
    fn number(&self, name: &str, i: usize) -> Result<f64, String> {
        self.f64s(name).get(i).copied().flatten().ok_or_else(|| format!("row {i} has no {name}"))
    }
    fn maybe_number(&self, name: &str, i: usize) -> Option<f64> {
        self.f64s(name).get(i).copied().flatten()
    }
    fn maybe_text(&self, name: &str, i: usize) -> Option<String> {
        self.texts(name).get(i).cloned().flatten()
    }
    fn text(&self, name: &str, i: usize) -> Result<String, String> {
        self.maybe_text(name, i).ok_or_else(|| format!("row {i} has no {name}"))
    }
    fn variant<V: DeserializeOwned>(&self, name: &str, i: usize) -> Result<V, String> {
        let word = self.text(name, i)?;
        serde_json::from_value(serde_json::Value::String(word)).map_err(|e| format!("row {i}, {name}: {e}"))
    }
}
