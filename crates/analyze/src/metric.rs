//! The metrics of a workload and their value in one trial. Quantiles come from the trial's own histogram, if at least
//! ten samples are expected beyond the quantile. If a trial has no value, the result is an error with a reason, never a
//! number.

use crate::findings::Role;
use schedlab_plan::{Direction, InOrder, Manifest, TrialOutcome};

/// Quantiles derived from every whole histogram: the share, and how it is written.
const QUANTILES: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p999")];

/// Counts of the whole machine, divided by the operations of the workload: they include whatever else ran.
pub(crate) const OF_MACHINE: [&str; 6] = [
    "page_faults_per_op",
    "machine_migrations_per_op",
    "cycles_per_op",
    "instructions_per_op",
    "cache_misses_per_op",
    "branch_misses_per_op",
];

/// A metric to be compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetricKey {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) direction: Direction,
    pub(crate) role: Role,
    /// Histogram and share, for quantile metrics.
    pub(crate) quantile: Option<(String, f64)>,
    /// Whether the count of a whole trial is wanted, not that of an operation.
    pub(crate) undivided: bool,
}

/// Why a metric has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoValue {
    TooFew { count: u64, needed: u64 },
    NotMeasured,
    NoOutcome,
}

impl From<NoValue> for String {
    fn from(why: NoValue) -> Self {
        match why {
            NoValue::TooFew { count, needed } => {
                format!("too few tail samples: {count} stamped operations in a trial, {needed} needed")
            }
            NoValue::NotMeasured => "not measured in every trial".into(),
            NoValue::NoOutcome => "a trial without outcome".into(),
        }
    }
}

impl MetricKey {
    /// The value in one trial.
    pub(crate) fn value(&self, outcome: &TrialOutcome) -> Result<f64, NoValue> {
        let stated = outcome.stated().find(|m| m.name == self.name).map(|m| m.value);
        if let Some((name, q)) = &self.quantile
            && let Some(histogram) = outcome.distribution(name)
        {
            let count = histogram.count();
            if !schedlab_stats::enough_tail(count, *q) {
                let needed = (10.0 / q.min(1.0 - q)).ceil() as u64;
                return Err(NoValue::TooFew { count, needed });
            }
            return stated.or_else(|| histogram.quantile_ns(*q)).filter(|v| v.is_finite()).ok_or(NoValue::NotMeasured);
        }
        let times = if self.undivided { outcome.operations as f64 } else { 1.0 };
        stated.map(|v| v * times).filter(|v| v.is_finite()).ok_or(NoValue::NotMeasured)
    }

    /// Whether it is a number of events per operation. Cycles are a time: a task that never sleeps uses the same number
    /// in each trial, and the cycles per operation are the result.
    pub(crate) fn is_event_count(&self) -> bool {
        self.unit == "1/op" && self.name != "cycles_per_op"
    }

    /// Whether it is a count of the whole machine among the exploratory metrics. As a primary metric, the user asked
    /// for it.
    pub(crate) fn is_background(&self) -> bool {
        self.role == Role::Secondary && OF_MACHINE.contains(&self.name.as_str())
    }

    /// The same count, not divided by the operations.
    pub(crate) fn per_trial(&self) -> Self {
        Self { undivided: true, ..self.clone() }
    }
}

/// All metrics of the workload's good trials, primaries first, in the order the workload states them.
pub(crate) fn metric_keys<'t>(
    manifest: &Manifest,
    workload: u32,
    outcomes: impl Iterator<Item = &'t TrialOutcome>,
) -> Vec<MetricKey> {
    let mut keys: Vec<MetricKey> = Vec::new();
    for outcome in outcomes {
        for metric in outcome.stated() {
            if keys.iter().all(|k| k.name != metric.name) {
                keys.push(MetricKey {
                    name: metric.name.to_owned(),
                    unit: metric.unit.to_owned(),
                    direction: metric.direction,
                    role: Role::Secondary,
                    quantile: quantile_of(metric.name, outcome),
                    undivided: false,
                });
            }
        }
        let whole = outcome.distributions().filter(|(_, tier, histogram)| tier.is_none() && histogram.count() > 0);
        for (histogram, ..) in whole {
            for (q, written) in QUANTILES {
                let key = Some((histogram.to_owned(), q));
                if keys.iter().all(|k| k.quantile != key) {
                    keys.push(MetricKey {
                        name: format!("{histogram}_{written}_ns"),
                        unit: "ns".into(),
                        direction: Direction::LowerIsBetter,
                        role: Role::Secondary,
                        quantile: key,
                        undivided: false,
                    });
                }
            }
        }
    }
    let primaries = primary_names(manifest, workload, keys.first());
    for key in &mut keys {
        if primaries.contains(&key.name) {
            key.role = Role::Primary;
        }
    }
    keys.in_order_by_key(|k| primaries.iter().position(|p| *p == k.name).unwrap_or(usize::MAX));
    keys
}

/// The plan's primary metrics; a workload without any is judged by the first metric that it reports.
pub(crate) fn primary_names(manifest: &Manifest, workload: u32, first: Option<&MetricKey>) -> Vec<String> {
    match manifest.primary.get(workload as usize) {
        Some(names) if !names.is_empty() => names.clone(),
        _ => first.map(|k| k.name.clone()).into_iter().collect(),
    }
}

/// Parses `latency_p99_ns`, `latency_p999_ns` or `latency_p99.9_ns` into histogram and share, if that histogram exists.
fn quantile_of(name: &str, outcome: &TrialOutcome) -> Option<(String, f64)> {
    let (histogram, digits) = name.strip_suffix("_ns")?.rsplit_once("_p")?;
    outcome.has_distribution(histogram).then_some(())?;
    let q = match digits.replace('.', "").as_str() {
        "50" => 0.5,
        "90" => 0.9,
        "99" => 0.99,
        "999" => 0.999,
        "9999" => 0.9999,
        _ => return None,
    };
    Some((histogram.to_owned(), q))
}
