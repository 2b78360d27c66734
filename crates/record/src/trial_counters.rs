//! The counters of one trial, driven by the control process at these points: before the tasks are forked, at their
//! release, while they run, and when they have stopped. Nothing here makes a trial fail: what cannot be counted becomes
//! a row with the reason.

use crate::Roots;
use crate::bandwidth::Bandwidth;
use crate::calls::Calls;
use crate::net_sampler::NetSampler;
use crate::perf_counters::PerfCounters;
use crate::series_sampler::SeriesSampler;
use crate::tables::{self, Tables};
use crate::task_totals;
use crate::topdown::TopDown;
use schedlab_plan::{Counter, CounterLevel, Metric, SeriesPoint, TaskRecord};
use schedlab_sys::{clock, kernel_facts};

/// What was counted.
#[derive(Debug, Default)]
pub struct Counted {
    /// Totals from release to stop; counts of 0 are left out.
    pub counters: Vec<Counter>,
    /// The series, every 100 ms and for TCP every second; empty at level `Basic`.
    pub series: Vec<SeriesPoint>,
    /// Machine-wide counts per operation (the tasks' own come from the workload), top-down shares, and where the trial
    /// has a network namespace of its own rates of TCP counters and the CPUs that the machine kept busy.
    pub metrics: Vec<Metric>,
    /// What a reader should know about them.
    pub notes: Vec<String>,
}

/// The counters while they count.
pub struct TrialCounters {
    level: CounterLevel,
    roots: Roots,
    tick_ns: u64,
    perf: Option<PerfCounters>,
    called: Vec<String>,
    calls: Calls,
    topdown: Option<(TopDown, Bandwidth)>,
    period_ns: (u64, u64),
    before: Option<Tables>,
    after: Option<Tables>,
    series: Option<SeriesSampler>,
    own_net: bool,
    net_series: Option<NetSampler>,
}

impl TrialCounters {
    /// Opens nothing yet.
    pub fn new(level: CounterLevel, roots: Roots) -> Self {
        let tick_ns = 1_000_000_000 / kernel_facts::user_hz();
        Self {
            level,
            roots,
            tick_ns,
            perf: None,
            called: Vec::new(),
            calls: Calls::default(),
            topdown: None,
            period_ns: (0, 0),
            before: None,
            after: None,
            series: None,
            own_net: false,
            net_series: None,
        }
    }

    /// Sets whether the caller's network namespace is the trial's own, so that its TCP activity is the workload's.
    pub fn in_own_net(mut self, own: bool) -> Self {
        self.own_net = own;
        self
    }

    /// Adds kernel functions whose calls are counted.
    pub fn with_calls(mut self, functions: &[String]) -> Self {
        self.called = functions.to_vec();
        self
    }

    /// Opens the perf events (from level `Full` on); they do not count yet.
    pub fn before_fork(&mut self) {
        self.calls = Calls::open(&self.roots, &self.called);
        match self.level {
            CounterLevel::Basic => {}
            CounterLevel::Full => self.perf = Some(PerfCounters::open(&self.roots)),
            CounterLevel::TopDown => {
                let topdown = TopDown::open(&self.roots);
                let beside = topdown.is_counted();
                let perf = if beside { PerfCounters::open_beside_topdown } else { PerfCounters::open };
                self.perf = Some(perf(&self.roots));
                self.topdown = Some((topdown, Bandwidth::open(&self.roots)));
            }
        }
    }

    /// The tasks are about to be released: takes the first reading and enables the events.
    pub fn releasing(&mut self) {
        self.before = Some(Tables::read(&self.roots));
        self.calls.enable();
        if let Some((topdown, bandwidth)) = &mut self.topdown {
            topdown.enable();
            bandwidth.enable();
        }
        if let Some(perf) = &mut self.perf {
            perf.enable();
        }
    }

    /// The tasks were released at `t0_ns` (CLOCK_MONOTONIC): starts the series.
    pub fn released(&mut self, t0_ns: u64) {
        self.period_ns.0 = t0_ns;
        if let Some(perf) = &mut self.perf {
            self.series = Some(SeriesSampler::start(&self.roots, t0_ns, self.tick_ns, perf));
            self.net_series = Some(NetSampler::start(&self.roots, t0_ns, clock::monotonic_ns()));
        }
    }

    /// Takes a sample if one is due. Returns the instant of the next one; `u64::MAX` at level `Basic`.
    pub fn sample_if_due(&mut self, now_ns: u64) -> u64 {
        let net_ns = self.net_series.as_mut().map_or(u64::MAX, |sampler| sampler.sample_if_due(now_ns));
        match (&mut self.series, &mut self.perf) {
            (Some(sampler), Some(perf)) => sampler.sample_if_due(now_ns, perf).min(net_ns),
            _ => net_ns,
        }
    }

    /// The measured part ended at `t1_ns`: takes the second reading.
    pub fn stopped(&mut self, t1_ns: u64) {
        self.period_ns.1 = t1_ns;
        self.calls.disable();
        if let Some((topdown, bandwidth)) = &mut self.topdown {
            topdown.disable();
            bandwidth.disable();
        }
        if let Some(perf) = &mut self.perf {
            perf.disable();
            if let Some(sampler) = &mut self.series {
                sampler.stop(t1_ns, perf);
            }
        }
        if let Some(sampler) = &mut self.net_series {
            sampler.stop(t1_ns);
        }
        self.after = Some(Tables::read(&self.roots));
    }

    /// The rows: task totals, perf, tables; and the metrics per operation.
    pub fn finish(mut self, tasks: &[TaskRecord], operations: u64) -> Counted {
        let mut counters = task_totals::totals(tasks);
        if let Some(perf) = &mut self.perf {
            counters.extend(perf.counters());
        }
        counters.extend(self.calls.counters());
        if let (Some(before), Some(after)) = (&self.before, &self.after) {
            counters.extend(before.until(after, &tables::nodes(&self.roots), self.tick_ns));
        }
        let mut metrics = task_totals::per_operation(&counters, operations);
        let mut notes = Vec::new();
        if let Some((topdown, bandwidth)) = &mut self.topdown {
            let found = topdown.found();
            let (bytes, rates) = bandwidth.found(self.period_ns.1.saturating_sub(self.period_ns.0));
            counters.extend(found.counters.into_iter().chain(bytes));
            metrics.extend(found.metrics.into_iter().chain(rates));
            notes = found.notes;
        }
        let mut series = self.series.as_ref().map(SeriesSampler::series).unwrap_or_default();
        if let Some(sampler) = &self.net_series {
            series.extend(sampler.series());
            metrics.extend(self.own_net.then(|| sampler.rates()).into_iter().flatten());
        }
        if self.own_net {
            metrics.extend(task_totals::machine_cpus(&counters, self.period_ns.1.saturating_sub(self.period_ns.0)));
        }
        Counted { counters, series, metrics, notes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::Count;
    use schedlab_sys::clock;

    fn trial(level: CounterLevel) -> Counted {
        let mut counters = TrialCounters::new(level, Roots::default());
        counters.before_fork();
        let t0 = clock::monotonic_ns();
        counters.releasing();
        counters.released(t0);
        let mut wanted = counters.sample_if_due(t0);
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(60));
            wanted = counters.sample_if_due(clock::monotonic_ns());
        }
        assert_eq!(wanted == u64::MAX, level == CounterLevel::Basic);
        counters.stopped(clock::monotonic_ns());
        let task = TaskRecord { voluntary_switches: Some(30), ..TaskRecord::default() };
        counters.finish(&[task], 10)
    }

    #[test]
    fn a_topdown_trial_says_what_this_machine_lacks_or_has_a_tree() {
        let counted = trial(CounterLevel::TopDown);
        let reason = |name: &str| {
            counted.counters.iter().find(|c| c.name == name).map(|c| match &c.count {
                Count::NotCounted(why) => why.clone(),
                count => panic!("{name}: {count:?}"),
            })
        };
        // On a VM without a PMU there is a reason instead of the tree; on a machine with one there are shares, and the
        // top-down groups have the PMU.
        if counted.metrics.iter().any(|m| m.name == "topdown.retiring") {
            assert!(reason("cycles").unwrap().contains("--counters topdown"));
        } else {
            assert!(reason("topdown").is_some_and(|why| !why.is_empty()), "{:?}", counted.counters);
        }
        let moved = counted.counters.iter().any(|c| c.name == "dram_read_bytes");
        assert!(moved, "bytes, or the reason why not");
        assert!(!counted.series.is_empty(), "all that full has");
    }

    #[test]
    fn a_full_trial_on_this_machine_has_totals_series_and_metrics() {
        let counted = trial(CounterLevel::Full);
        let host = |name: &str| counted.counters.iter().find(|c| c.name == name && c.scope == "host");
        assert!(host("context_switches").unwrap().count.value() >= Some(3));
        assert!(host("interrupts").is_some() && host("cycles").is_some());
        let samples: Vec<u64> =
            counted.series.iter().filter(|p| p.name == "context_switches").map(|p| p.t_ns).collect();
        assert!(samples.len() >= 2 && samples.is_sorted(), "{samples:?}");
        let sum: f64 = counted.series.iter().filter(|p| p.name == "context_switches").map(|p| p.delta).sum();
        let total = host("context_switches").and_then(|c| c.count.value()).unwrap() as f64;
        assert!(sum > 0.0 && sum <= total, "series {sum}, total {total}: it lies within the tables' period");
        let switches = counted.counters.iter().find(|c| c.name == "voluntary_switches").unwrap();
        assert_eq!((switches.scope.as_str(), switches.count.value()), ("workload", Some(30)));
        let counted_by_perf = host("page_faults").and_then(|c| c.count.value());
        let metric = counted.metrics.iter().find(|m| m.name == "page_faults_per_op").map(|m| m.value);
        assert_eq!(metric, counted_by_perf.map(|total| total as f64 / 10.0));
    }

    #[test]
    fn a_basic_trial_has_no_series_and_no_perf() {
        let counted = trial(CounterLevel::Basic);
        assert!(counted.series.is_empty());
        assert!(counted.counters.iter().all(|c| c.source != "perf"));
        assert!(counted.counters.iter().any(|c| c.source == "/proc/stat"));
    }

    #[test]
    fn a_tree_without_tables_gives_rows_that_say_so() {
        let roots = Roots { proc: "/nonexistent/proc".into(), sys: "/nonexistent/sys".into() };
        let mut counters = TrialCounters::new(CounterLevel::Full, roots);
        counters.before_fork();
        counters.releasing();
        counters.released(0);
        counters.stopped(1);
        let counted = counters.finish(&[], 0);
        assert!(counted.counters.iter().all(|c| c.count.value().is_none()));
        assert!(counted.counters.iter().any(|c| c.name == "psi.cpu"));
        assert!(counted.metrics.is_empty());
    }
}
