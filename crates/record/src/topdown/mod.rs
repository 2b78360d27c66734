//! Top-down analysis of a trial: how many slots of the cores did work, and what kept the others from it. A vendor's
//! table (`table.rs`, one file per vendor) names events and formulas. The groups are counted on every CPU over the
//! whole machine, like the other perf events, and evaluated when the trial is over. Metrics are named by their place in
//! the tree, `topdown.backend_bound.memory_bound`; the counts behind them are rows `topdown.GROUP.EVENT`.

mod amd;
mod arm;
mod evaluate;
mod formula;
mod hisi;
mod intel;
mod table;

use crate::Roots;
use crate::cpu_identity::CpuIdentity;
use crate::event_source::{self, Pmu};
use crate::per_cpu::{NO_PMU, Open, PerCpu, Total, online_cpus, open_in_kernel};
use evaluate::{Counts, Share, evaluate};
use schedlab_plan::{Count, Counter, Direction, Metric, SHARE_OF_CYCLES};
use schedlab_sys::perf_event::Event;
pub use table::Table;
use table::{Ask, Of, Slots};

/// Prefix of the metrics and counters.
pub(crate) const PREFIX: &str = "topdown";

/// All tables; the first that matches is used.
pub const TABLES: [&Table; 9] = [
    &intel::SAPPHIRE_RAPIDS,
    &intel::ICE_LAKE,
    &intel::SKYLAKE,
    &intel::SLOTS_ONLY,
    &amd::ZEN4,
    &amd::ZEN5,
    &arm::NEOVERSE,
    &arm::NEOVERSE_N2_R0P2,
    &hisi::HIP08,
];

/// The table for this machine, or why there is none.
pub fn table_of(roots: &Roots) -> Result<&'static Table, String> {
    choose(roots).map(|(table, _)| table)
}

fn choose(roots: &Roots) -> Result<(&'static Table, Pmu), String> {
    let pmu = core_pmu(roots)?;
    let cpuinfo = std::fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    let cpu = CpuIdentity::parse(&cpuinfo)?;
    let table = TABLES.into_iter().find(|table| (table.matches)(&cpu));
    let table = table.ok_or_else(|| {
        let known = TABLES.iter().map(|t| t.id).collect::<Vec<_>>().join(", ");
        format!("no top-down formulas for this CPU ({cpu}); there are tables for {known}")
    })?;
    Ok((table, pmu))
}

/// The core PMU: `cpu` on x86, `cpu_core` next to `cpu_atom` on hybrids, `armv8_*` and `armv9_*` on Arm.
fn core_pmu(roots: &Roots) -> Result<Pmu, String> {
    let is_core = |name: &str| {
        matches!(name, "cpu" | "cpu_core" | "cpu_atom") || name.starts_with("armv8_") || name.starts_with("armv9_")
    };
    let cores: Vec<String> = event_source::names(roots).into_iter().filter(|name| is_core(name)).collect();
    match cores.as_slice() {
        [] => Err(NO_PMU.to_owned()),
        [one] => Pmu::read(roots, one),
        several => {
            Err(format!("the cores are of several kinds ({}), whose slots cannot be added up", several.join(", ")))
        }
    }
}

/// The open groups of a trial.
#[derive(Debug)]
pub struct TopDown {
    state: Result<Opened, String>,
}

#[derive(Debug)]
struct Opened {
    table: &'static Table,
    slots: f64,
    groups: Vec<PerCpu>,
    /// Per group, the scale of each event.
    scales: Vec<Vec<f64>>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// One row per event, or one row with the reason.
    pub counters: Vec<Counter>,
    /// Shares, a parent before its children.
    pub metrics: Vec<Metric>,
    /// The table used, and what to distrust.
    pub notes: Vec<String>,
}

impl TopDown {
    /// Opens the groups on every online CPU, disabled.
    pub fn open(roots: &Roots) -> Self {
        Self::open_with(roots, &open_in_kernel)
    }

    pub(crate) fn open_with(roots: &Roots, open: Open<'_>) -> Self {
        Self { state: choose(roots).and_then(|(table, pmu)| Opened::new(table, &pmu, roots, open)) }
    }

    /// Whether there is a table for this machine and at least one of its groups is counted.
    pub fn is_counted(&self) -> bool {
        self.state.iter().flat_map(|s| &s.groups).any(PerCpu::is_counted)
    }

    /// Starts counting.
    pub fn enable(&mut self) {
        self.state.iter_mut().flat_map(|s| &mut s.groups).for_each(PerCpu::enable);
    }

    /// Stops counting; the totals remain readable.
    pub fn disable(&mut self) {
        self.state.iter_mut().flat_map(|s| &mut s.groups).for_each(PerCpu::disable);
    }

    /// Reads and evaluates.
    pub fn found(&mut self) -> Found {
        match &mut self.state {
            Ok(opened) => opened.found(),
            Err(why) => {
                Found { counters: vec![row(PREFIX.to_owned(), Count::NotCounted(why.clone()))], ..Found::default() }
            }
        }
    }
}

impl Opened {
    fn new(table: &'static Table, pmu: &Pmu, roots: &Roots, open: Open<'_>) -> Result<Self, String> {
        let slots = match table.slots {
            Slots::Fixed(slots) => f64::from(slots),
            Slots::OfPmu => {
                let missing = || format!("{} does not report its slots (caps/slots, since Linux 5.10)", pmu.name);
                pmu.cap("slots").filter(|&n| n > 0).ok_or_else(missing)? as f64
            }
        };
        let cpus = pmu.cpus().unwrap_or_else(|| online_cpus(roots));
        let (mut groups, mut scales) = (Vec::new(), Vec::new());
        for group in table.groups {
            let names = group.events.iter().map(|e| e.name).collect();
            match encode(group.events, pmu) {
                Ok(events) => {
                    let named: Vec<(Event, &'static str)> =
                        events.iter().zip(group.events).map(|(&(event, _), def)| (event, def.name)).collect();
                    groups.push(PerCpu::open(&named, cpus.as_slice(), roots, open));
                    scales.push(events.iter().map(|e| e.1).collect());
                }
                Err(why) => {
                    groups.push(PerCpu::refused(names, why));
                    scales.push(Vec::new());
                }
            }
        }
        Ok(Self { table, slots, groups, scales })
    }

    fn found(&mut self) -> Found {
        let mut found = Found::default();
        let mut counted = Vec::new();
        let mut least_share = 1.0_f64;
        for ((group, per_cpu), scales) in self.table.groups.iter().zip(&mut self.groups).zip(&self.scales) {
            let totals = per_cpu.totals();
            for (index, event) in group.events.iter().enumerate() {
                let count =
                    totals.as_ref().map_or_else(|why| Count::NotCounted(why.clone()), |t| Total::count(t[index]));
                found.counters.push(row(format!("{PREFIX}.{}.{}", group.name, event.name), count));
            }
            let counts = totals.ok().and_then(|totals| counts(&totals, scales));
            if let Some((_, share)) = &counts {
                least_share = least_share.min(*share);
            }
            counted.push(counts.map(|(counts, _)| counts));
        }
        let shares = evaluate(self.table, self.slots, &counted);
        found.metrics = shares.iter().map(metric).collect();
        if !shares.is_empty() {
            found.notes.push(format!("top-down by the table {}: {}", self.table.id, self.table.source));
            if !self.table.missing.is_empty() {
                found.notes.push(format!("top-down: {}", self.table.missing));
            }
            if shares.iter().any(|s| s.is_estimate) {
                let percent = least_share * 100.0;
                found.notes.push(format!(
                    "top-down: the groups took turns on the PMU, the least of them for {percent:.0} % of the time: \
                     shares are estimates"
                ));
            }
        }
        found
    }
}

/// A group's events in their PMU's encoding, with their scales.
fn encode(events: &[table::EventDef], pmu: &Pmu) -> Result<Vec<(Event, f64)>, String> {
    let one = |def: &table::EventDef| match def.is {
        Ask::Terms(terms) => Ok((Event::Raw(pmu.encode(terms)?), 1.0)),
        Ask::Alias(name) => pmu.alias(name).map(|alias| (Event::Raw(alias.event), alias.scale)),
    };
    events.iter().map(one).collect()
}

/// Values for the formulas, and the share of time that they cover; `None` if an event never got the PMU.
fn counts(totals: &[Total], scales: &[f64]) -> Option<(Counts, f64)> {
    let share = |t: &Total| if t.enabled_ns == 0 { 1.0 } else { t.running_ns as f64 / t.enabled_ns as f64 };
    let least = totals.iter().map(share).fold(1.0, f64::min);
    let values = totals.iter().zip(scales).map(|(t, scale)| t.value as f64 * scale).collect();
    (least > 0.0).then_some((Counts { values, is_estimate: least < 1.0 }, least))
}

fn row(name: String, count: Count) -> Counter {
    Counter { name, scope: "host".to_owned(), source: "perf".to_owned(), count }
}

fn metric(share: &Share) -> Metric {
    let unit = match share.of {
        Of::Slots => "share",
        Of::Cycles => SHARE_OF_CYCLES,
    };
    let name = format!("{PREFIX}.{}", share.path);
    Metric { name, value: share.value, unit: unit.to_owned(), direction: Direction::Neutral }
}

#[cfg(test)]
mod tests;
