//! The parts of a trial that a comparison reads, in the least memory: a report of a run of a hundred thousand trials
//! keeps a kilobyte of each. [`crate::compare`] finds the same in packed trials as in complete ones.

use schedlab_plan::packed::{Names, Packed, PackedHistogram};
use schedlab_plan::{Applied, Count, Counter, Histogram, Manifest, TrialOutcome, TrialRecord};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One trial in this many of an arm keeps what is shown once per arm: the reference tool's lines, the groups, and what
/// an operation is.
const SHOWN_OF: usize = 50;

/// Most lists of names that a trial's names are compared with. A run in which counters come and go has more lists; then
/// each trial keeps its own.
const MAX_NAMES: usize = 64;

/// Packs trials as they are read, in the order of time.
#[derive(Debug, Default)]
pub struct Packer {
    names: Vec<Arc<Names>>,
    /// For each workload and arm, the number of trials so far, and the settings that were applied in the last one.
    seen: BTreeMap<(u32, Option<u32>), (usize, Vec<Applied>)>,
}

impl Packer {
    /// The trial without the parts that no report reads.
    pub fn pack(&mut self, manifest: &Manifest, mut record: TrialRecord) -> TrialRecord {
        let Some(outcome) = record.outcome.take() else { return record };
        let is_swept = manifest.sweeps.iter().any(|sweep| sweep.workloads.contains(&record.workload));
        let (before, applied) = self.seen.entry((record.workload, record.arm)).or_default();
        let is_shown = before.is_multiple_of(SHOWN_OF);
        *before += 1;
        // Applied settings that do not change from trial to trial are kept only once.
        let is_news = *applied != outcome.applied;
        if is_news {
            applied.clone_from(&outcome.applied);
        }
        let packed = self.packed(&outcome);
        let TrialOutcome { workload, operations, operation, mut tiers, mut windows, mut loads, .. } = outcome;
        let (mut groups, mut native_lines, mut applied) = (outcome.groups, outcome.native_lines, outcome.applied);
        tiers.shrink_to_fit();
        windows.shrink_to_fit();
        loads.shrink_to_fit();
        if !is_news {
            applied = Vec::new();
        }
        if !is_shown {
            (groups, native_lines) = (Vec::new(), Vec::new());
        }
        let shown = |text: String| if is_shown { text } else { String::new() };
        record.marks.shrink_to_fit();
        record.outcome = Some(TrialOutcome {
            workload: shown(workload),
            operation: shown(operation),
            operations,
            tiers,
            windows,
            loads,
            groups,
            native_lines,
            applied,
            stamping: outcome.stamping,
            // The report shows where each copy of a sweep ran.
            tasks: if is_swept { outcome.tasks } else { Vec::new() },
            packed: Some(Box::new(packed)),
            ..TrialOutcome::default()
        });
        record
    }

    fn packed(&mut self, outcome: &TrialOutcome) -> Packed {
        let counters = counters(outcome);
        let names = Names {
            metrics: outcome.metrics.iter().map(|m| (m.name.clone(), m.unit.clone(), m.direction)).collect(),
            counters: counters.iter().map(|c| (c.0.to_owned(), c.1.to_owned(), c.2.err().map(str::to_owned))).collect(),
            histograms: outcome.histograms.iter().map(|h| (h.name.clone(), h.tier)).collect(),
            notes: outcome.notes.clone(),
        };
        let histogram = |named: &schedlab_plan::NamedHistogram| match named.tier {
            None => PackedHistogram::new(&named.histogram),
            Some(_) => PackedHistogram::new(&mean_alone(&named.histogram)),
        };
        Packed {
            names: self.shared(names),
            metrics: outcome.metrics.iter().map(|m| m.value).collect(),
            counters: counters.iter().map(|c| c.2.unwrap_or(0)).collect(),
            histograms: outcome.histograms.iter().map(histogram).collect(),
        }
    }

    fn shared(&mut self, names: Names) -> Arc<Names> {
        if let Some(known) = self.names.iter().find(|known| ***known == names) {
            return known.clone();
        }
        let names = Arc::new(names);
        if self.names.len() < MAX_NAMES {
            self.names.push(names.clone());
        }
        names
    }
}

/// The counters of the workload and of its network namespace, the sums of its tasks if there is no counter of that
/// name, and one counter of the host, which shows that the namespace was read.
fn counters(outcome: &TrialOutcome) -> Vec<(&str, &str, Result<u64, &str>)> {
    let of_host = outcome.counters.iter().find(|c| c.scope == "host");
    let own = outcome.counters.iter().filter(|c| c.scope == "workload" || crate::facts::is_netns(&c.scope));
    let one = |counter| {
        let Counter { name, scope, count, .. }: &Counter = counter;
        let value = match count {
            Count::NotCounted(why) => Err(why.as_str()),
            count => count.value().ok_or(""),
        };
        (name.as_str(), scope.as_str(), value)
    };
    let mut all: Vec<_> = own.chain(of_host).map(one).collect();
    for (name, sum) in crate::facts::task_sums(outcome) {
        if !all.iter().any(|c| (c.0, c.1) == (name, "workload")) {
            all.push((name, "workload", Ok(sum)));
        }
    }
    all
}

/// A histogram that keeps only count and mean: nothing else of a tier's distribution is reported.
fn mean_alone(histogram: &Histogram) -> Histogram {
    let cells = histogram.cells.first().map(|&(cell, _)| (cell, histogram.count()));
    Histogram { cells: cells.into_iter().collect(), ..*histogram }
}
