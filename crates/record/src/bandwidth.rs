//! Memory bandwidth per socket and die, from the counters of the memory controllers (uncore PMUs): Intel's
//! `uncore_imc`, Kunpeng's `hisi_sccl*_ddrc*`, AMD's `amd_umc`. Each counts the traffic of all users of the memory, so
//! it includes that of other work on the machine. A controller is opened on the CPU that its `cpumask` names for each
//! socket or die.

use crate::Roots;
use crate::event_source::{self, Pmu};
use crate::per_cpu::{Open, PerCpu, Total, open_in_kernel};
use schedlab_plan::{Count, Counter, Direction, Metric};
use schedlab_sys::perf_event::{Event, RawEvent};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const NAMES: [&str; 2] = ["dram_read_bytes", "dram_write_bytes"];

/// A kind of memory controller.
struct Kind {
    is_one: fn(&str) -> bool,
    /// The events that count reads and writes.
    events: [&'static str; 2],
    bytes: Bytes,
    /// The die, taken from the PMU's name if only the name has it.
    die: fn(&str) -> Option<String>,
}

/// What a count stands for.
enum Bytes {
    /// `events/NAME.scale` in MiB; the events are names that the kernel defines.
    OfAlias,
    /// This many bytes each; the events are names that the kernel defines.
    EachAlias(f64),
    /// This many bytes each; the events are terms.
    EachTerms(f64),
}

/// Sources: Intel's scale is in sysfs. HiSilicon's unit is 32 bytes (A-Tune, collection/collect/perf-memBW.sh); the
/// second version of that PMU (`identifier` 0x30) is left out until its unit is published. AMD's CAS commands move a
/// burst of 64 bytes (tools/perf/pmu-events/arch/x86/amdzen4/memory-controller.json).
const KINDS: [Kind; 4] = [
    Kind { is_one: is_imc, events: ["cas_count_read", "cas_count_write"], bytes: Bytes::OfAlias, die: |_| None },
    Kind { is_one: is_imc, events: ["data_reads", "data_writes"], bytes: Bytes::OfAlias, die: |_| None },
    Kind {
        is_one: |name| name.starts_with("hisi_sccl") && name.contains("_ddrc"),
        events: ["flux_rd", "flux_wr"],
        bytes: Bytes::EachAlias(32.0),
        die: |name| name.strip_prefix("hisi_").and_then(|n| n.split('_').next()).map(str::to_owned),
    },
    Kind {
        is_one: |name| name.strip_prefix("amd_umc_").is_some_and(is_number),
        events: ["event=0xa,rdwrmask=0x1", "event=0xa,rdwrmask=0x2"],
        bytes: Bytes::EachTerms(64.0),
        die: |_| None,
    },
];

/// `uncore_imc` or `uncore_imc_3`, and not `uncore_imc_free_running_0`, which counts the same traffic again.
fn is_imc(name: &str) -> bool {
    let rest = name.strip_prefix("uncore_imc");
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('_').is_some_and(is_number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A controller, opened on the CPU of one socket or die.
#[derive(Debug)]
struct Controller {
    /// `socket0`, `socket0.die1`, `socket0.sccl3`.
    scope: String,
    pmu: String,
    counters: PerCpu,
    /// Bytes per count of reads and of writes.
    bytes: [f64; 2],
}

/// The open controllers of a trial.
#[derive(Debug)]
pub struct Bandwidth {
    controllers: Vec<Controller>,
    /// Why there is none.
    absent: String,
}

impl Bandwidth {
    /// Opens all memory controllers, disabled.
    pub fn open(roots: &Roots) -> Self {
        Self::open_with(roots, &open_in_kernel)
    }

    pub(crate) fn open_with(roots: &Roots, open: Open<'_>) -> Self {
        let mut absent =
            "no PMU of a memory controller in /sys/bus/event_source (uncore_imc, hisi_sccl*_ddrc, amd_umc); \
                          a VM has none, and on the host the module must be loaded"
                .to_owned();
        let has_dies = has_dies(roots);
        let mut controllers = Vec::new();
        for name in event_source::names(roots) {
            if !KINDS.iter().any(|kind| (kind.is_one)(&name)) {
                continue;
            }
            match controllers_of(roots, &name, has_dies, open) {
                Ok(found) => controllers.extend(found),
                Err(why) => absent = why,
            }
        }
        Self { controllers, absent }
    }

    /// Starts counting.
    pub fn enable(&mut self) {
        self.controllers.iter_mut().for_each(|c| c.counters.enable());
    }

    /// Stops counting; the totals remain readable.
    pub fn disable(&mut self) {
        self.controllers.iter_mut().for_each(|c| c.counters.disable());
    }

    /// Bytes per socket and die as rows, and bytes per second over `elapsed_ns` as metrics.
    pub fn found(&mut self, elapsed_ns: u64) -> (Vec<Counter>, Vec<Metric>) {
        if self.controllers.is_empty() {
            let row = |name: &str| counter(name, "host", "perf", Count::NotCounted(self.absent.clone()));
            return (NAMES.map(row).into(), Vec::new());
        }
        let mut rows = Vec::new();
        for (scope, sums) in self.sums() {
            for (name, sum) in NAMES.iter().zip(sums.totals) {
                let count = sums.missing.clone().map_or_else(|| sum.count(), Count::NotCounted);
                rows.push(counter(name, &scope, &sums.source, count));
            }
        }
        let metrics = rates(&rows, elapsed_ns);
        (rows, metrics)
    }

    /// Sums over the controllers of one socket or die; if one is missing, the sum would be wrong.
    fn sums(&mut self) -> BTreeMap<String, Sums> {
        let mut scopes: BTreeMap<String, Sums> = BTreeMap::new();
        for controller in &mut self.controllers {
            let sums = scopes.entry(controller.scope.clone()).or_default();
            sums.source = format!("perf {}", kind_of(&controller.pmu));
            match controller.counters.totals() {
                Ok(totals) => {
                    for ((sum, total), bytes) in sums.totals.iter_mut().zip(totals).zip(controller.bytes) {
                        sum.value = sum.value.saturating_add((total.value as f64 * bytes).round() as u64);
                        sum.running_ns += total.running_ns;
                        sum.enabled_ns += total.enabled_ns;
                    }
                }
                Err(why) => sums.missing = Some(format!("{}: {why}", controller.pmu)),
            }
        }
        scopes
    }
}

#[derive(Debug, Default)]
struct Sums {
    totals: [Total; 2],
    source: String,
    missing: Option<String>,
}

/// The PMU's name without its number: `uncore_imc_3` is `uncore_imc`.
fn kind_of(pmu: &str) -> &str {
    pmu.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_')
}

/// One controller per CPU in the PMU's `cpumask`.
fn controllers_of(roots: &Roots, name: &str, has_dies: bool, open: Open<'_>) -> Result<Vec<Controller>, String> {
    let pmu = Pmu::read(roots, name)?;
    if name.starts_with("hisi_") && pmu.identifier().is_some_and(|version| version == "0x00000030") {
        return Err(format!("{name} is a second version of that PMU (identifier 0x30), whose unit is not published"));
    }
    let cpus = pmu.cpus().ok_or_else(|| format!("{name} names no CPU to open it on (cpumask)"))?;
    let mut why = String::new();
    for kind in KINDS.iter().filter(|kind| (kind.is_one)(name)) {
        match ask(kind, &pmu) {
            Ok((events, bytes)) => {
                let one = |&cpu: &u32| Controller {
                    scope: scope(roots, cpu, has_dies, (kind.die)(name)),
                    pmu: name.to_owned(),
                    counters: PerCpu::open(&[(events[0], NAMES[0]), (events[1], NAMES[1])], &[cpu], roots, open),
                    bytes,
                };
                return Ok(cpus.as_slice().iter().map(one).collect());
            }
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

/// The two events of a controller, and the bytes per count of each.
fn ask(kind: &Kind, pmu: &Pmu) -> Result<([Event; 2], [f64; 2]), String> {
    let mut events = [Event::Raw(RawEvent::default()); 2];
    let mut bytes = [0.0; 2];
    for (at, event) in kind.events.iter().enumerate() {
        let (raw, each) = match kind.bytes {
            Bytes::EachTerms(each) => (pmu.encode(event)?, each),
            Bytes::EachAlias(each) => (pmu.alias(event)?.event, each),
            Bytes::OfAlias => {
                let alias = pmu.alias(event)?;
                if !alias.is_mib {
                    return Err(format!("{} gives no MiB for its event `{event}`", pmu.name));
                }
                (alias.event, alias.scale * f64::from(1 << 20))
            }
        };
        (events[at], bytes[at]) = (Event::Raw(raw), each);
    }
    Ok((events, bytes))
}

/// `socket0`, with the die if a socket has several.
fn scope(roots: &Roots, cpu: u32, has_dies: bool, named_die: Option<String>) -> String {
    let topology = |what: &str| topology(roots, cpu, what);
    let socket = format!("socket{}", topology("physical_package_id").unwrap_or(0));
    match (named_die, topology("die_id")) {
        (Some(die), _) => format!("{socket}.{die}"),
        (None, Some(die)) if has_dies => format!("{socket}.die{die}"),
        _ => socket,
    }
}

fn topology(roots: &Roots, cpu: u32, what: &str) -> Option<i64> {
    let file = roots.sys.join(format!("devices/system/cpu/cpu{cpu}/topology/{what}"));
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn has_dies(roots: &Roots) -> bool {
    let dies = |cpu: &u32| topology(roots, *cpu, "die_id");
    let online = crate::per_cpu::online_cpus(roots);
    online.as_slice().iter().filter_map(dies).collect::<BTreeSet<_>>().len() > 1
}

fn counter(name: &str, scope: &str, source: &str, count: Count) -> Counter {
    Counter { name: name.into(), scope: scope.into(), source: source.into(), count }
}

/// Bytes per second of the machine, and of each socket or die if there are several.
fn rates(rows: &[Counter], elapsed_ns: u64) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let seconds = elapsed_ns as f64 / 1e9;
    let mut metric = |name: String, bytes: u64| {
        if seconds > 0.0 {
            let value = bytes as f64 / seconds;
            metrics.push(Metric { name, value, unit: "B/s".into(), direction: Direction::Neutral });
        }
    };
    for name in NAMES {
        let of_name: Vec<&Counter> = rows.iter().filter(|r| r.name == name).collect();
        let values: Option<Vec<u64>> = of_name.iter().map(|r| r.count.value()).collect();
        if let Some(values) = values {
            metric(format!("{name}_per_s"), values.iter().sum());
        }
        for row in of_name.iter().filter(|_| of_name.len() > 1) {
            if let Some(bytes) = row.count.value() {
                metric(format!("{name}_per_s.{}", row.scope), bytes);
            }
        }
    }
    metrics
}

#[cfg(test)]
mod tests;
