//! The measurements of a finished run, by pair and class, and their sum: the basis of the summaries.

use super::Run;
use super::config::Config;
use super::inheritance::{Circumstances, Inheritance};
use super::report::{Account, Class, FirstMiss, Kept, Tally};
use crate::recorder::Recorder;
use crate::transport::binder_inherits_real_time;
use schedlab_plan::{Histogram, InOrder, NamedHistogram, SlowOperation};

/// One class of one pair, or of all.
#[derive(Debug, Clone, Default)]
pub(super) struct ClassMeasured {
    pub(super) tally: Tally,
    pub(super) histogram: Histogram,
}

impl ClassMeasured {
    fn add(&mut self, other: &Self) {
        self.tally = self.tally.plus(other.tally);
        self.histogram.merge(&other.histogram);
    }

    /// Share of the transactions that met the deadline; `None` if none was timed.
    pub(super) fn met_share(&self) -> Option<f64> {
        let timed = self.histogram.count();
        (timed > 0).then(|| 1.0 - self.tally.misses as f64 / timed as f64)
    }
}

/// One pair, or the sum of all.
#[derive(Debug, Clone, Default)]
pub(super) struct PairMeasured {
    /// By [`Class`]; a class that was not permitted has no counts.
    pub(super) classes: [ClassMeasured; 2],
    /// Every transaction by class, if they are kept; empty in the sum.
    pub(super) kept: [Vec<Kept>; 2],
}

impl PairMeasured {
    pub(super) fn class(&self, class: Class) -> &ClassMeasured {
        &self.classes[class as usize]
    }

    /// Both classes together.
    pub(super) fn both(&self) -> Tally {
        self.classes[0].tally.plus(self.classes[1].tally)
    }
}

/// A whole run.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) pairs: Vec<PairMeasured>,
    pub(super) all: PairMeasured,
    pub(super) inheritance: Inheritance,
    pub(super) first_miss: Option<(usize, FirstMiss)>,
    /// Why there is no FIFO class, if there is none.
    pub(super) fifo_refused: Option<String>,
}

impl Measured {
    /// From what the clients left.
    pub(super) fn collect(run: &Run<'_>) -> Self {
        let accounts: Vec<Account> = (0..run.config.pairs as usize).map(|pair| run.reports.account(pair)).collect();
        let pairs = accounts.iter().enumerate().map(|(pair, account)| PairMeasured {
            classes: Class::ALL.map(|class| ClassMeasured {
                tally: account.tallies[class as usize],
                histogram: run.recorders.get(pair).map(|r| r.series(class as usize)).unwrap_or_default(),
            }),
            kept: Class::ALL.map(|class| {
                let done = account.tallies[class as usize].transactions;
                run.reports.kept(pair, class, done)
            }),
        });
        let nice = accounts.iter().fold((0, 0), |(n, differs), a| (n + a.nice_probes, differs + a.nice_differs));
        let misses = accounts.iter().enumerate().filter_map(|(pair, a)| a.first_miss.map(|miss| (pair, miss)));
        let first_miss = misses.min_by_key(|(_, miss)| miss.at_ns);
        let transport = run.config.transport;
        let circumstances = Circumstances {
            transport,
            fifo_refused: run.fifo_refused.clone(),
            kernel_inherits_real_time: transport.inherits() && binder_inherits_real_time(),
        };
        Self::new(pairs.collect(), nice, first_miss, circumstances)
    }

    pub(super) fn new(
        pairs: Vec<PairMeasured>,
        nice: (u64, u64),
        first_miss: Option<(usize, FirstMiss)>,
        circumstances: Circumstances,
    ) -> Self {
        let mut all = PairMeasured::default();
        for pair in &pairs {
            all.classes.iter_mut().zip(&pair.classes).for_each(|(sum, one)| sum.add(one));
        }
        let inheritance = Inheritance::judge(&circumstances, all.class(Class::Fifo).tally, nice);
        Self { pairs, all, inheritance, first_miss, fifo_refused: circumstances.fifo_refused }
    }

    /// Iterations ordered; in a run by duration, those of the busiest pair.
    pub(super) fn iterations(&self, config: &Config) -> u64 {
        let done = self.pairs.iter().map(|pair| pair.class(Class::Other).tally.transactions);
        config.length.loops().unwrap_or_else(|| done.max().unwrap_or(0))
    }
}

/// The slowest transactions of all pairs, the slowest first.
pub(super) fn slowest(run: &Run<'_>) -> Vec<SlowOperation> {
    let mut all: Vec<SlowOperation> = run.recorders.iter().flat_map(Recorder::slowest).collect();
    all.in_order_by_key(|operation| (std::cmp::Reverse(operation.ns()), operation.start_ns));
    all
}

/// The histograms of all pairs, for each class as a whole and by tier.
pub(super) fn histograms(run: &Run<'_>) -> Vec<NamedHistogram> {
    let mut all: Vec<NamedHistogram> = Vec::new();
    for named in run.recorders.iter().flat_map(|recorder| recorder.histograms()) {
        match all.iter_mut().find(|seen| seen.name == named.name && seen.tier == named.tier) {
            Some(seen) => seen.histogram.merge(&named.histogram),
            None => all.push(named),
        }
    }
    let order = |named: &NamedHistogram| (named.name == Class::Fifo.name(), named.tier);
    all.in_order_by_key(order);
    all
}
