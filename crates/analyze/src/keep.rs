//! What of a trial a comparison looks at, in the least room: a report of a run of a hundred thousand trials holds a
//! kilobyte of each. [`crate::compare`] finds in packed trials what it finds in whole ones.

use schedlab_plan::packed::{Names, Packed, PackedHistogram};
use schedlab_plan::{Applied, Count, Counter, Histogram, Manifest, TrialOutcome, TrialRecord};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One trial in this many of an arm keeps what is shown once for the arm: lines of the reference, groups, what an
/// operation is.
const SHOWN_OF: usize = 50;

/// Lists of names that are compared with a trial's. Where counters come and go a run has some more; those of a trial are
/// then its own.
const MOST_NAMES: usize = 64;

/// Packs trials as they are read, in the order of time.
#[derive(Debug, Default)]
pub struct Packer {
    names: Vec<Arc<Names>>,
    /// For each workload and arm how many trials there were, and what was applied in the last.
    seen: BTreeMap<(u32, Option<u32>), (usize, Vec<Applied>)>,
}

impl Packer {
    /// The trial without what no report looks at.
    pub fn pack(&mut self, manifest: &Manifest, mut record: TrialRecord) -> TrialRecord {
        let Some(outcome) = record.outcome.take() else { return record };
        let is_swept = manifest.sweeps.iter().any(|sweep| sweep.workloads.contains(&record.workload));
        let (before, applied) = self.seen.entry((record.workload, record.arm)).or_default();
        let is_shown = before.is_multiple_of(SHOWN_OF);
        *before += 1;
        // Settings that were applied are kept once, however often they were.
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
            // For the copies of a sweep, the report shows where each ran.
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
        if self.names.len() < MOST_NAMES {
            self.names.push(names.clone());
        }
        names
    }
}

/// The counters of the workload and of its network namespace, the sums of its tasks where there is none by that name, and one
/// of the host, which says that the namespace was read.
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

/// Only count and mean of a tier's distribution are reported.
fn mean_alone(histogram: &Histogram) -> Histogram {
    let cells = histogram.cells.first().map(|&(cell, _)| (cell, histogram.count()));
    Histogram { cells: cells.into_iter().collect(), ..*histogram }
}
