//! What a client process stores for the control process in shared memory: the counts of each class, the result of the
//! nice probe, what its FIFO threads used, the first miss and, if asked for, every transaction.

use super::message::{Attributes, Reply};
use schedlab_sys::shared_memory::SharedWords;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The scheduling class of the calling thread; the index of its histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Other,
    Fifo,
}

impl Class {
    pub(super) const ALL: [Self; 2] = [Self::Other, Self::Fifo];
    /// Names of the histograms and metrics, by class.
    pub(super) const NAMES: &'static [&'static str] = &["other", "fifo"];

    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Counts of one class of one pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) transactions: u64,
    pub(super) misses: u64,
    /// Transactions whose server ran on another CPU than the caller's before the call.
    pub(super) not_sync: u64,
    /// Only those of them whose server ran at the highest FIFO priority: what schd-dbg counts.
    pub(super) not_sync_at_fifo: u64,
    pub(super) policy_differs: u64,
    pub(super) priority_differs: u64,
}

impl Tally {
    const WORDS: usize = 6;

    fn to_words(self) -> [u64; Self::WORDS] {
        let Self { transactions, misses, not_sync, not_sync_at_fifo, policy_differs, priority_differs } = self;
        [transactions, misses, not_sync, not_sync_at_fifo, policy_differs, priority_differs]
    }

    fn from_words(words: [u64; Self::WORDS]) -> Self {
        let [transactions, misses, not_sync, not_sync_at_fifo, policy_differs, priority_differs] = words;
        Self { transactions, misses, not_sync, not_sync_at_fifo, policy_differs, priority_differs }
    }

    /// The sum of both.
    pub(super) fn plus(self, other: Self) -> Self {
        let (a, b) = (self.to_words(), other.to_words());
        Self::from_words(std::array::from_fn(|i| a[i] + b[i]))
    }
}

/// What the FIFO threads of a client used, in total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FifoUse {
    /// The last one's thread id.
    pub(super) tid: u32,
    pub(super) cpu_ns: u64,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
}

impl FifoUse {
    /// Adds a later thread's.
    pub(super) fn add(&mut self, later: Self) {
        self.tid = later.tid;
        self.cpu_ns += later.cpu_ns;
        self.voluntary_switches += later.voluntary_switches;
        self.involuntary_switches += later.involuntary_switches;
    }
}

/// The transaction that ended the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstMiss {
    pub(super) class: Class,
    pub(super) iteration: u64,
    pub(super) took_ns: u64,
    /// CLOCK_MONOTONIC.
    pub(super) at_ns: u64,
}

/// What a pair's client recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Account {
    /// By class.
    pub(super) tallies: [Tally; 2],
    /// Number of transactions with a raised nice value, and of those whose server did not adopt it.
    pub(super) nice_probes: u64,
    pub(super) nice_differs: u64,
    pub(super) fifo_use: FifoUse,
    pub(super) first_miss: Option<FirstMiss>,
}

impl Account {
    const WORDS: usize = 2 * Tally::WORDS + 10;

    fn to_words(self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        words[..Tally::WORDS].copy_from_slice(&self.tallies[0].to_words());
        words[Tally::WORDS..2 * Tally::WORDS].copy_from_slice(&self.tallies[1].to_words());
        let FifoUse { tid, cpu_ns, voluntary_switches, involuntary_switches } = self.fifo_use;
        let rest = [self.nice_probes, self.nice_differs, tid.into(), cpu_ns, voluntary_switches, involuntary_switches];
        words[2 * Tally::WORDS..2 * Tally::WORDS + 6].copy_from_slice(&rest);
        if let Some(miss) = self.first_miss {
            // The instant is never 0, so it shows that there was a miss.
            let miss = [miss.at_ns.max(1), miss.class as u64, miss.iteration, miss.took_ns];
            words[2 * Tally::WORDS + 6..].copy_from_slice(&miss);
        }
        words
    }

    fn from_words(words: [u64; Self::WORDS]) -> Self {
        let tally = |at: usize| Tally::from_words(std::array::from_fn(|i| words[at + i]));
        let rest = &words[2 * Tally::WORDS..];
        let class = if rest[7] == 0 { Class::Other } else { Class::Fifo };
        let miss = FirstMiss { class, iteration: rest[8], took_ns: rest[9], at_ns: rest[6] };
        Self {
            tallies: [tally(0), tally(Tally::WORDS)],
            nice_probes: rest[0],
            nice_differs: rest[1],
            fifo_use: FifoUse {
                tid: rest[2] as u32,
                cpu_ns: rest[3],
                voluntary_switches: rest[4],
                involuntary_switches: rest[5],
            },
            first_miss: (rest[6] != 0).then_some(miss),
        }
    }
}

/// One transaction, kept for `raw-data` and `verbose`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) ns: u64,
    pub(super) caller_tid: u32,
    pub(super) caller_cpu: u32,
    pub(super) server_cpu: u32,
    pub(super) server: Attributes,
}

const KEPT_WORDS: usize = 3;

/// The shared memory of all pairs.
#[derive(Debug, Clone)]
pub(super) struct Reports {
    shared: Arc<SharedWords>,
    pairs: usize,
    /// Number of iterations whose transactions are all kept; 0: none.
    kept: usize,
}

impl Reports {
    pub(super) fn new(pairs: usize, kept_iterations: u64) -> io::Result<Self> {
        let kept = kept_iterations as usize;
        let words = pairs * (Account::WORDS + 2 * kept * KEPT_WORDS);
        Ok(Self { shared: Arc::new(SharedWords::new(words)?), pairs, kept })
    }

    /// Called in the client, after its last transaction.
    pub(super) fn store(&self, pair: usize, account: Account) {
        let start = pair * Account::WORDS;
        for (word, value) in self.shared.words()[start..].iter().zip(account.to_words()) {
            word.store(value, Release);
        }
    }

    /// Called in the control process, once the client has ended.
    pub(super) fn account(&self, pair: usize) -> Account {
        let words = &self.shared.words()[pair * Account::WORDS..];
        Account::from_words(std::array::from_fn(|i| words[i].load(Acquire)))
    }

    fn kept_at(&self, pair: usize, class: Class, iteration: usize) -> usize {
        let before = (pair * 2 + class as usize) * self.kept + iteration;
        self.pairs * Account::WORDS + before * KEPT_WORDS
    }

    /// Maps the pair's share into the client, before the gate.
    pub(super) fn fault_in(&self, pair: usize) {
        if self.kept > 0 {
            self.shared.fault_in(self.kept_at(pair, Class::Other, 0)..self.kept_at(pair + 1, Class::Other, 0), true);
        }
    }

    /// Keeps one transaction, if they are kept.
    pub(super) fn keep(&self, pair: usize, class: Class, iteration: u64, kept: &Kept) {
        if iteration as usize >= self.kept {
            return;
        }
        let at = self.kept_at(pair, class, iteration as usize);
        let reply = Reply { number: 0, cpu: kept.server_cpu, server: kept.server };
        let words = [
            kept.ns,
            u64::from(kept.caller_tid) << 32 | u64::from(kept.caller_cpu),
            u64::from_ne_bytes(reply.to_bytes()),
        ];
        for (word, value) in self.shared.words()[at..].iter().zip(words) {
            word.store(value, Relaxed);
        }
    }

    /// The transactions of a class in their order; `done` is how many there were.
    pub(super) fn kept(&self, pair: usize, class: Class, done: u64) -> Vec<Kept> {
        let one = |iteration: usize| {
            let at = self.kept_at(pair, class, iteration);
            let word = |i: usize| self.shared.words()[at + i].load(Relaxed);
            let reply = Reply::from_bytes(word(2).to_ne_bytes());
            Kept {
                ns: word(0),
                caller_tid: (word(1) >> 32) as u32,
                caller_cpu: word(1) as u32,
                server_cpu: reply.cpu,
                server: reply.server,
            }
        };
        (0..self.kept.min(done as usize)).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_kept_transactions_of_every_pair_come_back_apart() {
        let reports = Reports::new(2, 3).unwrap();
        let tally = |n: u64| Tally::from_words(std::array::from_fn(|i| n + i as u64));
        let account = |n: u64, miss| Account {
            tallies: [tally(n), tally(n + 10)],
            nice_probes: n + 20,
            nice_differs: n + 21,
            fifo_use: FifoUse { tid: 7, cpu_ns: n + 22, voluntary_switches: n + 23, involuntary_switches: n + 24 },
            first_miss: miss,
        };
        let miss = FirstMiss { class: Class::Fifo, iteration: 0, took_ns: 3_000_000, at_ns: 99 };
        let accounts = [account(100, None), account(200, Some(miss))];
        (0..2).for_each(|pair| reports.store(pair, accounts[pair]));
        assert_eq!([reports.account(0), reports.account(1)], accounts);

        let server = Attributes { policy: 1, priority: 99, nice: -3 };
        let kept = |ns: u64| Kept { ns, caller_tid: 70_000, caller_cpu: 3, server_cpu: 2, server };
        for (pair, class, base) in [(0, Class::Other, 10), (0, Class::Fifo, 20), (1, Class::Other, 30)] {
            (0..4).for_each(|i| reports.keep(pair, class, i, &kept(base + i)));
        }
        let ns = |pair, class, done| reports.kept(pair, class, done).iter().map(|k| k.ns).collect::<Vec<_>>();
        assert_eq!(ns(0, Class::Other, 3), [10, 11, 12], "the fourth has no room and is not kept");
        assert_eq!((ns(0, Class::Fifo, 2), ns(1, Class::Other, 9)), (vec![20, 21], vec![30, 31, 32]));
        assert_eq!(reports.kept(1, Class::Other, 1), [kept(30)]);
        assert_eq!(reports.account(1), accounts[1], "kept transactions do not touch accounts");
    }

    #[test]
    fn tallies_and_thread_use_add_up() {
        let one = Tally { transactions: 5, misses: 1, not_sync: 2, ..Tally::default() };
        assert_eq!(one.plus(one), Tally { transactions: 10, misses: 2, not_sync: 4, ..Tally::default() });
        let mut used = FifoUse { tid: 1, cpu_ns: 10, voluntary_switches: 1, involuntary_switches: 0 };
        used.add(FifoUse { tid: 2, cpu_ns: 5, voluntary_switches: 1, involuntary_switches: 3 });
        assert_eq!(used, FifoUse { tid: 2, cpu_ns: 15, voluntary_switches: 2, involuntary_switches: 3 });
    }
}
