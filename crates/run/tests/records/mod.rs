//! Random trial records: every field takes ordinary and extreme values. They come from a seed, so a failure can be
//! repeated.
#![allow(dead_code, reason = "each test binary uses a part")]

use schedlab_plan::manifest::{Design, FORMAT_VERSION, Factor, Factorial, OrderKnown, Sweep};
use schedlab_plan::*;
use schedlab_run::*;
use schedlab_stats::Random;
use std::path::PathBuf;

/// Draws the values that tests use.
pub(crate) struct Draw(Random);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub(crate) fn u64(&mut self) -> u64 {
        let extreme = [0, 1, u64::from(u32::MAX), i64::MAX as u64, u64::MAX, u64::MAX - 1];
        if self.below(4) == 0 { extreme[self.below(6) as usize] } else { self.next() >> self.below(64) }
    }
    pub(crate) fn u32(&mut self) -> u32 {
        self.u64() as u32
    }
    /// A finite number; the others are tested separately.
    pub(crate) fn f64(&mut self) -> f64 {
        let extreme = [0.0, -0.0, 0.1 + 0.2, f64::MAX, f64::MIN_POSITIVE, 5e-324, -1.5, 1e300];
        if self.below(2) == 0 { extreme[self.below(8) as usize] } else { self.next() as f64 / 1e6 }
    }
    pub(crate) fn bool(&mut self) -> bool {
        self.below(2) == 0
    }
    pub(crate) fn text(&mut self) -> String {
        let words =
            ["", "ok", "a b", "µs \"quoted\"", "line\nbreak", "null", "\u{0}", "🦀", "latency_p99_ns", "same_cpu"];
        words[self.below(words.len() as u64) as usize].to_owned()
    }
    pub(crate) fn maybe<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.bool().then(|| draw(self))
    }
    pub(crate) fn list<T>(&mut self, mut draw: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| draw(self)).collect()
    }
    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    pub(crate) fn histogram(&mut self) -> Histogram {
        let cells = (0..self.below(5)).map(|i| ((i * 37 + self.below(37)) as u32, 1 + self.below(1 << 40))).collect();
        Histogram { cells, sum_ns: self.u64(), min_ns: self.u64(), max_ns: self.u64() }
    }

    fn count(&mut self) -> Count {
        match self.below(3) {
            0 => Count::Exact(self.u64()),
            1 => Count::Scaled { value: self.u64(), running_ns: self.u64(), enabled_ns: self.u64() },
            _ => Count::NotCounted(self.text()),
        }
    }

    fn task(&mut self) -> TaskRecord {
        TaskRecord {
            tid: self.u32(),
            role: self.text(),
            group: self.u32(),
            operations: self.u64(),
            voluntary_switches: self.maybe(Self::u64),
            involuntary_switches: self.maybe(Self::u64),
            run_ns: self.maybe(Self::u64),
            run_delay_ns: self.maybe(Self::u64),
            timeslices: self.maybe(Self::u64),
            migrations: self.maybe(Self::u64),
            cpu_ns: self.maybe(Self::u64),
            last_cpu: self.maybe(Self::u32),
            same_cpu_share: self.maybe(Self::f64),
        }
    }

    fn metric(&mut self) -> Metric {
        let directions = [Direction::HigherIsBetter, Direction::LowerIsBetter, Direction::Neutral];
        Metric { name: self.text(), value: self.f64(), unit: self.text(), direction: self.of(&directions) }
    }

    fn window(&mut self) -> Window {
        Window {
            pair: self.u32(),
            is_b: self.bool(),
            start_ns: self.u64(),
            counted_from_ns: self.u64(),
            end_ns: self.u64(),
            operations: self.u64(),
        }
    }

    /// Any duration down to the nanosecond: the value stored must be the value that was in force.
    pub(crate) fn setting(&mut self) -> Setting {
        let ns = self.below(100_000_000_000);
        match self.below(6) {
            0 => Setting::Slice { ns },
            1 => Setting::Policy(Policy::Fifo(1 + self.below(99) as u8)),
            2 => Setting::Nice(self.below(40) as i32 - 20),
            3 => Setting::TimerSlack { ns },
            4 => Setting::Sysctl { name: "net.ipv4.tcp_rmem".into(), value: "4096 131072 6291456".into() },
            _ => Setting::CpuQuota { quota_ns: Some(1_000_000 + ns), period_ns: 1_000_000 + ns % 999_000_000 },
        }
    }

    fn outcome(&mut self) -> TrialOutcome {
        TrialOutcome {
            packed: None,
            workload: "messaging/1".into(),
            operations: self.u64(),
            operation: self.text(),
            metrics: self.list(Self::metric),
            phases: self.list(|d| Phase { name: d.text(), start_ns: d.u64(), end_ns: d.u64() }),
            histograms: self.list(|d| NamedHistogram {
                name: d.text(),
                tier: d.maybe(|d| d.of(&Tier::ALL)),
                histogram: d.histogram(),
            }),
            slowest: self.list(|d| SlowOperation {
                name: d.text(),
                start_ns: d.u64(),
                end_ns: d.u64(),
                tid: d.u32(),
                group: d.u32(),
            }),
            tiers: self.list(|d| TierCount { tier: d.of(&Tier::ALL), operations: d.u64() }),
            counters: self.list(|d| Counter { name: d.text(), scope: d.text(), source: d.text(), count: d.count() }),
            series: self.list(|d| SeriesPoint { t_ns: d.u64(), name: d.text(), scope: d.text(), delta: d.f64() }),
            tasks: self.list(Self::task),
            groups: self.list(|d| TaskGroup { autogroup: d.text(), cgroup: d.text(), tasks: d.u32() }),
            windows: self.list(Self::window),
            applied: self.list(|d| Applied {
                setting: d.setting(),
                effective: d.text(),
                not_applied: d.maybe(Self::text),
            }),
            stamping: StampingReport {
                level: self.of(&[Stamping::Off, Stamping::Sampled, Stamping::All]),
                every: self.u64(),
                stamped: self.u64(),
                cost_ns: self.f64(),
                cost_share: self.f64(),
            },
            loads: self.list(|d| LoadReport {
                spec: d.text(),
                asked_cpu_ns: d.u64(),
                achieved_cpu_ns: d.u64(),
                alive: d.bool(),
            }),
            native_lines: self.list(Self::text),
            notes: self.list(Self::text),
        }
    }

    /// A record of a run with two arms and one workload.
    pub(crate) fn record(&mut self, trial: u64) -> TrialRecord {
        TrialRecord {
            trial,
            workload: 0,
            arm: self.maybe(|d| d.below(2) as u32),
            block: self.u32(),
            position: self.u32(),
            repeats_block: self.maybe(Self::u32),
            warm_up: self.bool(),
            status: match self.below(3) {
                0 => TrialStatus::Ok,
                1 => TrialStatus::Failed(self.text()),
                _ => TrialStatus::NotApplied(self.text()),
            },
            marks: self.list(|d| match d.below(3) {
                0 => Mark::Steal { share: d.f64() },
                1 => Mark::Thermal { evidence: d.text() },
                _ => Mark::Foreign { what: d.text() },
            }),
            started_unix_ns: self.u64(),
            wall_ns: self.u64(),
            boot_id: self.text(),
            outcome: self.maybe(Self::outcome),
        }
    }
}

/// A run's worth of records.
pub(crate) fn records(seed: u64, count: u64) -> Vec<TrialRecord> {
    let mut draw = Draw::new(seed);
    (0..count).map(|trial| draw.record(trial)).collect()
}

/// A manifest of two arms and one workload.
pub(crate) fn manifest() -> Manifest {
    Manifest {
        format_version: FORMAT_VERSION,
        schedlab_version: "0.1.0".into(),
        command: vec!["schedlab".into(), "ab".into()],
        title: "drawn".into(),
        created_unix_s: 1_700_000_000,
        plan_toml: String::new(),
        arms: vec![Arm::parse("A", "").unwrap(), Arm::parse("B", "slice=2.800001ms").unwrap()],
        workloads: vec!["pipe:pin=same".parse().unwrap()],
        workload_ids: vec!["pipe/1".into()],
        primary: vec![vec!["round_trips_per_s".into()]],
        sesoi: 0.01,
        alpha: 0.05,
        design: Design::Fixed { blocks: 6 },
        switchback_window_ns: None,
        stamping: Stamping::Sampled,
        counters: CounterLevel::Full,
        load: vec![Vec::new()],
        load_group: LoadGroup::Same,
        seed: 7,
        order: OrderKnown::Randomized,
        environment: Environment::default(),
        environment_end: None,
        looks: Vec::new(),
        ended: "planned".into(),
        warnings: Vec::new(),
        boots: Some(3),
        kernels: Vec::new(),
        sweeps: vec![Sweep { option: "pin".into(), parallel: false, values: vec!["same".into()], workloads: vec![0] }],
        factorial: Some(Factorial {
            factors: vec![Factor {
                name: "slice".into(),
                low: String::new(),
                high: "slice=2.800001ms".into(),
                not_applied: None,
            }],
            levels: vec![vec![false], vec![true]],
        }),
    }
}

/// A run directory that is removed when the test ends, and the records in it.
pub(crate) struct Lab {
    _temp: tempfile::TempDir,
    pub(crate) dir: PathBuf,
    pub(crate) records: Vec<TrialRecord>,
}

impl Lab {
    /// Written and, if asked, sealed.
    pub(crate) fn new(seed: u64, count: u64, seal: bool) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("run");
        let mut writer = RunWriter::create(&dir, &manifest()).unwrap();
        let records = records(seed, count);
        for record in &records {
            writer.append(record).unwrap();
        }
        if seal {
            writer.seal().unwrap();
        }
        Self { _temp: temp, dir, records }
    }
}
