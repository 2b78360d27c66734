//! From arms and numbers to a manifest and trials, the same for every kind of file.

use crate::{ImportError, Options};
use schedlab_run::manifest::{Design, FORMAT_VERSION, OrderKnown};
use schedlab_run::{
    Arm, CounterLevel, Direction, Environment, LoadGroup, Manifest, Metric, Stamping, StampingReport, TrialOutcome,
    TrialRecord, TrialStatus, WorkloadSpec,
};
use std::collections::BTreeMap;

/// A run that nobody here measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Marked [`OrderKnown::Unknown`]; the command and the time of creation are the caller's to fill in.
    pub manifest: Manifest,
    /// In the order of the file, each with one metric.
    pub trials: Vec<TrialRecord>,
}

/// One number of one arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Row {
    pub(crate) workload: u32,
    pub(crate) arm: u32,
    /// Shared by the numbers of a pair, and by nothing else.
    pub(crate) block: u32,
    pub(crate) value: f64,
}

/// What a file holds, whatever its kind.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: String,
    /// Names as they go into the manifest: `hackbench:groups=10`, or the file's.
    pub(crate) workloads: Vec<String>,
    pub(crate) metric: String,
    pub(crate) unit: String,
    pub(crate) direction: Direction,
    pub(crate) arms: Vec<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) warnings: Vec<String>,
}

impl Table {
    /// A block no row has yet: rows that share none are compared as independent samples.
    pub(crate) fn next_block(&self) -> u32 {
        self.rows.last().map_or(0, |r| r.block + 1)
    }
}

pub(crate) fn build(table: Table, options: &Options) -> Result<Imported, ImportError> {
    let workloads: Vec<WorkloadSpec> = table.workloads.iter().map(|name| spec(name)).collect();
    let ids: Vec<String> = workloads.iter().map(|w| format!("imported/{}", w.name)).collect();
    let mut positions: BTreeMap<u32, u32> = BTreeMap::new();
    let trials: Vec<TrialRecord> = table
        .rows
        .iter()
        .enumerate()
        .map(|(number, row)| {
            let position = positions.entry(row.block).or_default();
            let trial = trial(number as u64, row, *position, &ids[row.workload as usize], &table);
            *position += 1;
            trial
        })
        .collect();
    let blocks = positions.len() as u32;
    let mut manifest = manifest(table, workloads, ids, options);
    manifest.design = Design::Fixed { blocks };
    Ok(Imported { manifest, trials })
}

/// A file's name is no workload specification; what would be syntax in one is replaced.
fn spec(name: &str) -> WorkloadSpec {
    let plain = |name: &str| name.replace([':', '/', ','], "-");
    let fallback = || WorkloadSpec {
        name: if name.trim().is_empty() { "imported".into() } else { plain(name.trim()) },
        version: None,
        shorthand: None,
        args: BTreeMap::new(),
    };
    match name.split_once(':') {
        Some(("hackbench", _)) => name.parse().unwrap_or_else(|_| fallback()),
        _ => fallback(),
    }
}

fn trial(number: u64, row: &Row, position: u32, id: &str, table: &Table) -> TrialRecord {
    let metric =
        Metric { name: table.metric.clone(), value: row.value, unit: table.unit.clone(), direction: table.direction };
    TrialRecord {
        trial: number,
        workload: row.workload,
        arm: Some(row.arm),
        block: row.block,
        position,
        repeats_block: None,
        warm_up: false,
        status: TrialStatus::Ok,
        marks: Vec::new(),
        started_unix_ns: 0,
        wall_ns: 0,
        boot_id: String::new(),
        outcome: Some(TrialOutcome {
            workload: id.to_owned(),
            operations: 0,
            operation: String::new(),
            metrics: vec![metric],
            phases: Vec::new(),
            histograms: Vec::new(),
            tiers: Vec::new(),
            counters: Vec::new(),
            series: Vec::new(),
            tasks: Vec::new(),
            groups: Vec::new(),
            windows: Vec::new(),
            applied: Vec::new(),
            stamping: StampingReport { level: Stamping::Off, every: 0, stamped: 0, cost_ns: 0.0, cost_share: 0.0 },
            loads: Vec::new(),
            native_lines: Vec::new(),
            notes: Vec::new(),
        }),
    }
}

fn manifest(table: Table, workloads: Vec<WorkloadSpec>, workload_ids: Vec<String>, options: &Options) -> Manifest {
    let count = workloads.len();
    let mut warnings = table.warnings;
    if table.direction == Direction::Neutral {
        warnings.push(format!(
            "nobody said which way is good for `{}`; it is compared and not judged (--lower-is-better, --higher-is-better)",
            table.metric
        ));
    }
    Manifest {
        format_version: FORMAT_VERSION,
        schedlab_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: Vec::new(),
        title: table.title,
        created_unix_s: 0,
        plan_toml: String::new(),
        arms: table.arms.into_iter().map(|name| Arm { name, settings: Vec::new() }).collect(),
        workloads,
        workload_ids,
        primary: vec![vec![table.metric]; count],
        sesoi: options.sesoi,
        alpha: 0.05,
        design: Design::Fixed { blocks: 0 },
        switchback_window_ns: None,
        stamping: Stamping::Off,
        counters: CounterLevel::Basic,
        load: vec![Vec::new(); count],
        load_group: LoadGroup::Same,
        seed: 0,
        order: OrderKnown::Unknown,
        environment: Environment::default(),
        environment_end: None,
        looks: Vec::new(),
        ended: "imported".into(),
        warnings,
        sweeps: Vec::new(),
        factorial: None,
    }
}
