//! Dense histograms in shared memory, faulted in before the release. They are pooled rather than one per task: 400
//! receivers with 67 kB each would have to fault in 27 MB in every trial. With a pool of a few shards, chosen by group,
//! only stamped operations (one in k) pay for a relaxed atomic add, and different groups rarely touch the same cell.

use crate::observer::RunOrder;
use crate::slowest::Slowest;
use schedlab_plan::histogram::{BUCKETS, bucket_of};
use schedlab_plan::{Histogram, NamedHistogram, SlowOperation, Tier};
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::shared_memory::{SharedWords, WORDS_PER_TASK_LINE};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Sum, minimum (complemented, so that a zeroed word is the largest value) and maximum, on their own line.
const HEAD: usize = WORDS_PER_TASK_LINE;
const SUM: usize = 0;
const MIN_COMPLEMENT: usize = 1;
const MAX: usize = 2;
const HISTOGRAM_WORDS: usize = HEAD + BUCKETS.next_multiple_of(WORDS_PER_TASK_LINE);

/// More shards than this gain nothing, because only one operation in k is sampled.
const MAX_SHARDS: usize = 4;

/// Histograms of several named series, each by tier.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    shared: Arc<SharedWords>,
    names: &'static [&'static str],
    /// `None` for values without a tier: the only entry if tiers are unknown, the last if [`Self::with_untiered`] asked
    /// for it.
    tiers: Arc<[Option<Tier>]>,
    slot_of_tier: [u8; Tier::ALL.len()],
    shards: usize,
    slowest: Slowest,
}

impl Recorder {
    /// One histogram for each name, tier and shard; an empty `tiers` means that tiers are unknown.
    pub(crate) fn new(names: &'static [&'static str], tiers: &[Tier], groups: usize) -> io::Result<Self> {
        let shards = groups.clamp(1, MAX_SHARDS);
        let slots = if tiers.is_empty() { vec![None] } else { tiers.iter().copied().map(Some).collect() };
        Self::with_slots(names, slots, shards)
    }

    /// The same, with room for values without a tier: these are in the whole distribution only.
    pub(crate) fn with_untiered(names: &'static [&'static str], tiers: &[Tier], groups: usize) -> io::Result<Self> {
        let slots = tiers.iter().copied().map(Some).chain([None]).collect();
        Self::with_slots(names, slots, groups.clamp(1, MAX_SHARDS))
    }

    fn with_slots(names: &'static [&'static str], slots: Vec<Option<Tier>>, shards: usize) -> io::Result<Self> {
        let slot = |tier| slots.iter().position(|&t| t == Some(tier)).unwrap_or(0) as u8;
        let slot_of_tier = Tier::ALL.map(slot);
        let words = names.len() * slots.len() * shards * HISTOGRAM_WORDS;
        let (shared, slowest) = (Arc::new(SharedWords::new(words)?), Slowest::new()?);
        Ok(Self { shared, names, tiers: slots.into(), slot_of_tier, shards, slowest })
    }

    /// Also keeps the slowest operations if the order asks for them.
    pub(crate) fn beside(self, order: &RunOrder) -> Self {
        if order.keep_slowest {
            self.slowest.keep();
        }
        self
    }

    fn start(&self, series: usize, slot: usize, shard: usize) -> usize {
        ((shard * self.names.len() + series) * self.tiers.len() + slot) * HISTOGRAM_WORDS
    }

    /// Maps the histograms of a group into the calling process, before the release.
    pub(crate) fn fault_in(&self, group: usize) {
        let shard = group % self.shards;
        let start = self.start(0, 0, shard);
        self.shared.fault_in(start..start + self.names.len() * self.tiers.len() * HISTOGRAM_WORDS, false);
        self.slowest.fault_in();
    }

    /// Counts one value of a series.
    #[inline]
    pub(crate) fn record(&self, series: usize, tier: Tier, group: usize, ns: u64) {
        self.count(series, self.slot_of_tier[tier as usize] as usize, group, ns);
    }

    /// Counts a whole operation, which ended at `end_ns`, and keeps it if it is among the slowest of a traced trial.
    #[inline]
    pub(crate) fn record_operation(&self, series: usize, tier: Tier, group: usize, ns: u64, end_ns: u64) {
        self.record(series, tier, group, ns);
        self.keep_slow(series, group, ns, end_ns, 0);
    }

    /// Keeps a whole operation of thread `tid` (0: the calling thread) if it is among the slowest of a traced trial.
    #[inline]
    pub(crate) fn keep_slow(&self, series: usize, group: usize, ns: u64, end_ns: u64, tid: u32) {
        self.slowest.offer((series, group), ns, end_ns, tid);
    }

    /// The slowest operations, the slowest first.
    pub(crate) fn slowest(&self) -> Vec<SlowOperation> {
        self.slowest.operations(self.names)
    }

    /// Counts one value without a tier, in a recorder made by [`Self::with_untiered`].
    pub(crate) fn record_untiered(&self, series: usize, group: usize, ns: u64) {
        self.count(series, self.tiers.len() - 1, group, ns);
    }

    #[inline(always)]
    fn count(&self, series: usize, slot: usize, group: usize, ns: u64) {
        let start = self.start(series, slot, group % self.shards);
        let words = &self.shared.words()[start..start + HISTOGRAM_WORDS];
        words[HEAD + bucket_of(ns)].fetch_add(1, Relaxed);
        words[SUM].fetch_add(ns, Relaxed);
        // Load first: the extremes seldom change, and a load leaves the line shared with other CPUs.
        if !ns > words[MIN_COMPLEMENT].load(Relaxed) {
            words[MIN_COMPLEMENT].fetch_max(!ns, Relaxed);
        }
        if ns > words[MAX].load(Relaxed) {
            words[MAX].fetch_max(ns, Relaxed);
        }
    }

    /// Cost of one [`Self::record`], ns; leaves the histograms empty. Only before the fork.
    pub(crate) fn cost_ns(&self) -> f64 {
        const TIMES: u64 = 256;
        let tier = self.tiers[0].unwrap_or(Tier::SameCpu);
        let batch = || {
            let t0 = monotonic_ns();
            for i in 0..TIMES {
                self.record(0, tier, 0, 3_000 + i);
            }
            monotonic_ns() - t0
        };
        let cost = (0..5).map(|_| batch()).min().unwrap_or(0) as f64 / TIMES as f64;
        let start = self.start(0, self.slot_of_tier[tier as usize] as usize, 0);
        self.shared.words()[start..start + HISTOGRAM_WORDS].iter().for_each(|word| word.store(0, Relaxed));
        cost
    }

    fn histogram(&self, series: usize, slot: usize) -> Histogram {
        let mut all = Histogram::default();
        for shard in 0..self.shards {
            let start = self.start(series, slot, shard);
            let words: Vec<u64> =
                self.shared.words()[start..start + HISTOGRAM_WORDS].iter().map(|w| w.load(Relaxed)).collect();
            let cells = &words[HEAD..HEAD + BUCKETS];
            all.merge(&Histogram::from_dense(cells, words[SUM], !words[MIN_COMPLEMENT], words[MAX]));
        }
        all
    }

    /// One series over all tiers.
    pub(crate) fn series(&self, series: usize) -> Histogram {
        let mut whole = Histogram::default();
        (0..self.tiers.len()).for_each(|slot| whole.merge(&self.histogram(series, slot)));
        whole
    }

    /// Each series as a whole and, if more than one tier was seen, by tier; without empty ones.
    pub(crate) fn histograms(&self) -> Vec<NamedHistogram> {
        let mut found = Vec::new();
        for (series, name) in self.names.iter().enumerate() {
            let parts: Vec<(Option<Tier>, Histogram)> =
                self.tiers.iter().enumerate().map(|(slot, &tier)| (tier, self.histogram(series, slot))).collect();
            let mut whole = Histogram::default();
            parts.iter().for_each(|(_, part)| whole.merge(part));
            if whole.count() == 0 {
                continue;
            }
            found.push(NamedHistogram { name: (*name).to_owned(), tier: None, histogram: whole });
            for (tier, histogram) in parts {
                if tier.is_some() && histogram.count() > 0 {
                    found.push(NamedHistogram { name: (*name).to_owned(), tier, histogram });
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_without_a_tier_is_in_the_whole_alone() {
        let recorder = Recorder::with_untiered(&["latency"], &[Tier::SameCpu], 2).unwrap();
        recorder.record(0, Tier::SameCpu, 0, 10);
        recorder.record_untiered(0, 1, 7_000);
        let found = recorder.histograms();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].tier, found[0].histogram.count(), found[0].histogram.max_ns), (None, 2, 7_000));
        assert_eq!(
            (found[1].tier, found[1].histogram.count(), found[1].histogram.max_ns),
            (Some(Tier::SameCpu), 1, 10)
        );
    }

    #[test]
    fn values_of_all_groups_meet_in_one_distribution_and_stay_apart_by_tier() {
        let recorder = Recorder::new(&["latency", "other"], &[Tier::SameCpu, Tier::Llc], 3).unwrap();
        assert!(recorder.cost_ns() >= 0.0);
        recorder.record(0, Tier::SameCpu, 0, 0);
        recorder.record(0, Tier::Llc, 1, 5_000);
        recorder.record(0, Tier::Llc, 2, 90);
        let found = recorder.histograms();
        assert_eq!(found.len(), 3, "nothing of the empty series: {found:?}");
        let whole = &found[0].histogram;
        assert_eq!((whole.count(), whole.min_ns, whole.max_ns, whole.sum_ns), (3, 0, 5_000, 5_090));
        assert_eq!((found[1].tier, found[1].histogram.max_ns), (Some(Tier::SameCpu), 0));
        assert_eq!((found[2].tier, found[2].histogram.min_ns), (Some(Tier::Llc), 90));
    }

    #[test]
    fn without_tiers_every_value_is_kept_once() {
        let recorder = Recorder::new(&["latency"], &[], 1).unwrap();
        recorder.record(0, Tier::Remote, 0, 7);
        let found = recorder.histograms();
        assert_eq!((found.len(), found[0].tier, found[0].histogram.count()), (1, None, 1));
    }
}
