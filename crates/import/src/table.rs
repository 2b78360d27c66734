//! The content of files of any kind: numbers of arms, not yet a run. Importers fill a [`Table`], which `imported.rs`
//! converts to a run.

use crate::{ImportError, Kind, Source};
use schedlab_plan::{Counter, Direction, Metric, NamedHistogram, SeriesPoint, TaskRecord, WorkloadSpec};
use std::collections::BTreeMap;

/// What was run, and the metric that decides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Workload {
    pub(crate) spec: WorkloadSpec,
    pub(crate) primary: String,
}

/// One result of one arm.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) workload: u32,
    pub(crate) arm: u32,
    /// Shared by the two numbers of a pair, otherwise unique.
    pub(crate) block: u32,
    /// What was measured, or why that run failed.
    pub(crate) result: Result<Measured, String>,
}

/// The part of a trial's outcome that another tool can report.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) operations: u64,
    pub(crate) operation: String,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) counters: Vec<Counter>,
    pub(crate) series: Vec<SeriesPoint>,
    pub(crate) histograms: Vec<NamedHistogram>,
    pub(crate) tasks: Vec<TaskRecord>,
    pub(crate) notes: Vec<String>,
}

impl Measured {
    /// Adds a metric; a second one with the same name would be ambiguous and is left out.
    pub(crate) fn metric(&mut self, name: &str, value: f64, unit: &str, direction: Direction) {
        if self.metrics.iter().all(|m| m.name != name) {
            self.metrics.push(Metric { name: name.into(), value, unit: unit.into(), direction });
        }
    }
}

/// The content of all files of an import.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) arms: Vec<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) warnings: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: String) -> Self {
        Self { title, workloads: Vec::new(), arms: Vec::new(), rows: Vec::new(), warnings: Vec::new() }
    }

    /// A new block: rows that share no block are compared as independent samples.
    pub(crate) fn next_block(&self) -> u32 {
        self.rows.last().map_or(0, |r| r.block + 1)
    }

    /// The index of a workload; new ones are appended. Its first result decides the primary metric.
    pub(crate) fn workload(&mut self, spec: WorkloadSpec, primary: &str) -> u32 {
        let known = self.workloads.iter().position(|w| w.spec == spec);
        known.unwrap_or_else(|| {
            self.workloads.push(Workload { spec, primary: primary.into() });
            self.workloads.len() - 1
        }) as u32
    }

    /// Adds a result that is not part of a pair.
    pub(crate) fn push(&mut self, workload: u32, arm: u32, result: Result<Measured, String>) {
        let block = self.next_block();
        self.rows.push(Row { workload, arm, block, result });
    }

    /// Adds a warning, unless it is there already.
    pub(crate) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// Reads one log of an arm into the table; adds at least one row, or fails.
pub(crate) type ReadLog = fn(&Source, u32, &mut Table) -> Result<(), ImportError>;

/// One arm per log; the first is the control.
pub(crate) fn read_logs(kind: Kind, sources: &[Source], read: ReadLog) -> Result<Table, ImportError> {
    let mut table = Table::new(sources.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(" against "));
    for source in sources {
        let arm = table.arms.len() as u32;
        table.arms.push(distinct(&table.arms, &source.name));
        read(source, arm, &mut table)?;
    }
    // After reading the logs, because "not a log" is the more useful error.
    if sources.len() < 2 {
        return Err(ImportError::OneLog(kind));
    }
    warn_of_missing_workloads(&mut table);
    Ok(table)
}

/// Results with different options are never compared. A log without a counterpart is named in a warning, because it has
/// no other effect.
fn warn_of_missing_workloads(table: &mut Table) {
    if table.workloads.len() < 2 {
        return;
    }
    for workload in 0..table.workloads.len() as u32 {
        for arm in 0..table.arms.len() as u32 {
            if !table.rows.iter().any(|r| r.workload == workload && r.arm == arm) {
                let spec = &table.workloads[workload as usize].spec;
                table.warn(format!("{} has no run of {spec}", table.arms[arm as usize]));
            }
        }
    }
}

/// Two logs with the same name, from two directories, are still two arms.
fn distinct(taken: &[String], name: &str) -> String {
    let numbered = (2..).map(|n| format!("{name} ({n})"));
    std::iter::once(name.to_owned()).chain(numbered).find(|n| !taken.contains(n)).unwrap_or_default()
}

/// A workload that has only a name, such as that of a file; characters that are syntax are replaced.
pub(crate) fn named(name: &str) -> WorkloadSpec {
    let name = name.replace([':', '/', ','], "-");
    let name = if name.trim().is_empty() { "imported" } else { name.trim() };
    WorkloadSpec { name: name.into(), version: None, shorthand: None, args: BTreeMap::new() }
}

/// A tool and its arguments; arguments without a value are left out.
pub(crate) fn tool(name: &str, args: &[(&str, &str)]) -> WorkloadSpec {
    let value = |value: &str| value.replace(',', " ").trim().to_owned();
    let args = args.iter().map(|(key, v)| ((*key).to_owned(), value(v))).filter(|(_, v)| !v.is_empty());
    WorkloadSpec { name: name.into(), version: None, shorthand: None, args: args.collect() }
}
