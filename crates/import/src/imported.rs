//! Converts a table of arms and numbers to a manifest and trials, in the same way for every kind of file.

use crate::table::{Measured, Table};
use crate::{ImportError, Options};
use schedlab_plan::manifest::{Design, FORMAT_VERSION, OrderKnown};
use schedlab_plan::{
    Arm, CounterLevel, Direction, Environment, LoadGroup, Manifest, Stamping, StampingReport, TrialOutcome,
    TrialRecord, TrialStatus,
};
use std::collections::{BTreeMap, BTreeSet};

/// A run that was measured elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Marked [`OrderKnown::Unknown`]; the caller fills in the command and the creation time.
    pub manifest: Manifest,
    /// In the order of the files. They contain only what the files report; the rest is empty.
    pub trials: Vec<TrialRecord>,
}

pub(crate) fn build(mut table: Table, options: &Options) -> Result<Imported, ImportError> {
    choose_primary(&mut table, options)?;
    let ids: Vec<String> = table.workloads.iter().map(|w| format!("imported/{}", w.spec.name)).collect();
    let mut positions: BTreeMap<u32, u32> = BTreeMap::new();
    let rows = std::mem::take(&mut table.rows);
    let trials = rows.into_iter().enumerate().map(|(number, row)| {
        let position = positions.entry(row.block).or_default();
        let trial = TrialRecord {
            trial: number as u64,
            workload: row.workload,
            arm: Some(row.arm),
            block: row.block,
            position: *position,
            repeats_block: None,
            warm_up: false,
            status: row.result.as_ref().map_or_else(|why| TrialStatus::Failed(why.clone()), |_| TrialStatus::Ok),
            marks: Vec::new(),
            started_unix_ns: 0,
            wall_ns: 0,
            boot_id: String::new(),
            outcome: row.result.ok().map(|measured| outcome(measured, &ids[row.workload as usize])),
        };
        *position += 1;
        trial
    });
    let trials: Vec<TrialRecord> = trials.collect();
    let mut manifest = manifest(table, ids, options);
    manifest.design = Design::Fixed { blocks: positions.len() as u32 };
    Ok(Imported { manifest, trials })
}

/// Replaces the tool's primary metric by the requested one, and sets the requested direction on the primary metrics.
fn choose_primary(table: &mut Table, options: &Options) -> Result<(), ImportError> {
    let measured = |table: &Table, workload: usize| -> BTreeSet<String> {
        let rows = table.rows.iter().filter(|r| r.workload as usize == workload);
        rows.flat_map(|r| r.result.iter().flat_map(|m| &m.metrics)).map(|m| m.name.clone()).collect()
    };
    if let Some(metric) = &options.metric {
        let has: Vec<BTreeSet<String>> = (0..table.workloads.len()).map(|w| measured(table, w)).collect();
        if !has.iter().any(|names| names.contains(metric)) {
            let names: BTreeSet<String> = has.into_iter().flatten().collect();
            let has = names.into_iter().collect::<Vec<_>>().join(", ");
            return Err(ImportError::NoMetric { metric: metric.clone(), has });
        }
        for (workload, _) in table.workloads.iter_mut().zip(has).filter(|(_, names)| names.contains(metric)) {
            workload.primary.clone_from(metric);
        }
    }
    let workloads = &table.workloads;
    for row in table.rows.iter_mut().filter(|_| options.direction != Direction::Neutral) {
        let primary = &workloads[row.workload as usize].primary;
        let metrics = row.result.iter_mut().flat_map(|m| &mut m.metrics);
        metrics.filter(|m| m.name == *primary).for_each(|m| m.direction = options.direction);
    }
    warn_of_neutral_primaries(table);
    Ok(())
}

fn warn_of_neutral_primaries(table: &mut Table) {
    for index in 0..table.workloads.len() {
        let primary = table.workloads[index].primary.clone();
        let rows = table.rows.iter().filter(|r| r.workload as usize == index);
        let mut stated = rows.flat_map(|r| r.result.iter().flat_map(|m| &m.metrics)).filter(|m| m.name == primary);
        if stated.any(|m| m.direction == Direction::Neutral) {
            table.warn(format!(
                "it is not known which way is good for `{primary}`; it is compared and not judged (--lower-is-better, \
                 --higher-is-better)"
            ));
        }
    }
}

fn outcome(measured: Measured, id: &str) -> TrialOutcome {
    TrialOutcome {
        packed: None,
        workload: id.to_owned(),
        operations: measured.operations,
        operation: measured.operation,
        metrics: measured.metrics,
        phases: Vec::new(),
        histograms: measured.histograms,
        slowest: Vec::new(),
        tiers: Vec::new(),
        counters: measured.counters,
        series: measured.series,
        tasks: measured.tasks,
        groups: Vec::new(),
        windows: Vec::new(),
        applied: Vec::new(),
        stamping: StampingReport { level: Stamping::Off, every: 0, stamped: 0, cost_ns: 0.0, cost_share: 0.0 },
        loads: Vec::new(),
        native_lines: Vec::new(),
        notes: measured.notes,
    }
}

fn manifest(table: Table, workload_ids: Vec<String>, options: &Options) -> Manifest {
    let count = table.workloads.len();
    let (workloads, primary) = table.workloads.into_iter().map(|w| (w.spec, vec![w.primary])).unzip();
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
        primary,
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
        warnings: table.warnings,
        sweeps: Vec::new(),
        factorial: None,
        boots: None,
        kernels: Vec::new(),
    }
}
