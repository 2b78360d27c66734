//! Fakes that need no kernel: trials take 100 ms of a clock that only the fake runner advances.

#![allow(unreachable_pub, missing_docs)]
// Each test file uses a part of it.
#![allow(dead_code)]

use anyhow::Result;
use schedlab_plan::manifest::{Design, OrderKnown};
use schedlab_plan::*;
use schedlab_trial::{Experiment, Planned, Runner, Store};
use std::cell::Cell;

pub struct Lab {
    pub manifest: Manifest,
    pub rows: Vec<TrialRecord>,
    pub fail_trial: Option<u64>,
    pub steal_every: Option<u64>,
    pub refuse: Option<&'static str>,
    pub interrupt_after: Option<u64>,
    pub foreign_at: Option<u64>,
    /// Corks counted in a trial of every arm but the first, and in one of the first.
    pub corks: [u64; 2],
    /// Rate of every arm but the first, relative to the first.
    pub effect: f64,
    /// Rate by the settings of the arm; replaces `effect`.
    pub rate: Option<fn(&[Setting]) -> f64>,
    /// SD of a trial's log-rate.
    pub noise: f64,
    pub stored: Vec<TrialRecord>,
    pub host_settings: Option<Vec<Setting>>,
    pub last_order: Option<TrialOrder>,
    /// Number of rows of a task, a counter and a series that each trial returns besides its rate.
    pub rows_beside: u32,
    /// Start of its clock, ns.
    pub begins_ns: u64,
}

impl Lab {
    pub fn new(manifest: Manifest) -> Self {
        Self {
            manifest,
            rows: Vec::new(),
            fail_trial: None,
            steal_every: None,
            refuse: None,
            interrupt_after: None,
            foreign_at: None,
            corks: [0, 0],
            effect: 1.0,
            rate: None,
            noise: 0.01,
            stored: Vec::new(),
            host_settings: None,
            last_order: None,
            rows_beside: 0,
            begins_ns: 1_000,
        }
    }

    pub fn run(&mut self) -> (Manifest, Vec<TrialRecord>) {
        let (clock, count) = (Cell::new(self.begins_ns), Cell::new(self.rows.len() as u64));
        let mut runner = FakeRunner { lab: self, clock: &clock, count: &count, last: None, in_force: None };
        let (manifest, trials) = (runner.lab.manifest.clone(), runner.lab.rows.clone());
        let mut store = FakeStore(Vec::new());
        let stop_after = runner.lab.interrupt_after;
        let mut experiment = Experiment {
            manifest,
            trials,
            runner: &mut runner,
            watch: None,
            store: &mut store,
            traces: "traces".into(),
            events: &mut |_| {},
            interrupted: &|| stop_after.is_some_and(|n| count.get() >= n),
            clock: &|| clock.get(),
            wall_clock: &|| clock.get(),
            known: Default::default(),
        };
        experiment.run().unwrap();
        let (manifest, trials) = (experiment.manifest, experiment.trials);
        let FakeRunner { last, in_force, .. } = runner;
        (self.last_order, self.host_settings) = (last, in_force);
        self.stored = store.0;
        (manifest, trials)
    }
}

struct FakeRunner<'a> {
    lab: &'a Lab,
    clock: &'a Cell<u64>,
    count: &'a Cell<u64>,
    last: Option<TrialOrder>,
    /// The settings in force on the whole machine.
    in_force: Option<Vec<Setting>>,
}

impl Runner for FakeRunner<'_> {
    fn run(&mut self, trial: &Planned) -> Result<Result<TrialOutcome, String>> {
        self.in_force = Some(trial.settings.clone());
        Ok(self.ran(trial))
    }

    fn try_settings(&mut self, trial: &Planned) -> Result<Vec<Applied>> {
        Ok(trial.order.settings.iter().map(|s| self.applied(s)).collect())
    }

    fn restore(&mut self) -> Result<()> {
        self.in_force = Some(Vec::new());
        Ok(())
    }

    fn foreign_changes(&self) -> Vec<String> {
        let changed = self.lab.foreign_at.is_some_and(|n| self.count.get() > n);
        if changed { vec!["kernel.x is 2, not the 1 we wrote".into()] } else { Vec::new() }
    }
}

impl FakeRunner<'_> {
    fn ran(&mut self, Planned { order, arm, settings, .. }: &Planned) -> Result<TrialOutcome, String> {
        self.last = Some(order.clone());
        let trial = self.count.get();
        self.count.set(trial + 1);
        self.clock.set(self.clock.get() + 100_000_000);
        if self.lab.fail_trial == Some(trial) {
            return Err("the herd hung".into());
        }
        // A sum of uniform numbers from the order's own seed: close enough to normal, and the same in every run.
        let mut coins = schedlab_trial::schedule::Coins::new(order.seed, &[]);
        let normal: f64 = (0..12).map(|_| coins.next() as f64 / u64::MAX as f64).sum::<f64>() - 6.0;
        let arms = &self.lab.manifest.arms;
        let control = arms[0].settings.iter().filter(|s| s.is_per_task()).eq(&order.settings);
        let of_settings = self.lab.rate.map(|rate| rate(&arms[*arm as usize].settings));
        let of_arm = of_settings.unwrap_or(if control { 1.0 } else { self.lab.effect });
        let rate = 1e6 * of_arm * (self.lab.noise * normal).exp();
        let mut outcome = outcome(rate);
        let on_machine = |s: &Setting| Applied { setting: s.clone(), effective: String::new(), not_applied: None };
        outcome.applied = settings.iter().map(on_machine).collect();
        outcome.applied.extend(order.settings.iter().map(|s| self.applied(s)));
        if self.lab.steal_every.is_some_and(|n| trial.is_multiple_of(n)) {
            let ticks = |name: &str, value| Counter {
                name: name.into(),
                scope: "host".into(),
                source: "/proc/stat".into(),
                count: Count::Exact(value),
            };
            outcome.counters = vec![ticks("user_ns", 90_000_000), ticks("steal_ns", 30_000_000)];
        }
        // As in real trials, counters that are 0 have no row.
        let corks = Some(self.lab.corks[usize::from(control)]).filter(|&corks| corks > 0);
        outcome.counters.extend(corks.map(|corks| Counter {
            name: "TcpExt.TCPAutoCorking".into(),
            scope: "netns".into(),
            source: "/proc/thread-self/net/netstat".into(),
            count: Count::Exact(corks),
        }));
        for row in 0..self.lab.rows_beside {
            let name = format!("counter_{row}");
            outcome.tasks.push(TaskRecord { tid: row, role: "child".into(), ..TaskRecord::default() });
            outcome.series.push(SeriesPoint { t_ns: 1, name: name.clone(), scope: "host".into(), delta: 1.0 });
            outcome.counters.push(Counter {
                name,
                scope: "host".into(),
                source: "fake".into(),
                count: Count::Exact(1),
            });
        }
        Ok(outcome)
    }

    fn applied(&self, setting: &Setting) -> Applied {
        let refused = self.lab.refuse.is_some_and(|key| setting.key() == key);
        Applied {
            setting: setting.clone(),
            effective: String::new(),
            not_applied: refused.then(|| "this kernel ignores it".to_owned()),
        }
    }
}

struct FakeStore(Vec<TrialRecord>);

impl Store for FakeStore {
    fn trial(&mut self, record: &TrialRecord) -> Result<()> {
        self.0.push(record.clone());
        Ok(())
    }
    fn manifest(&mut self, _manifest: &Manifest) -> Result<()> {
        Ok(())
    }
}

/// A plan of one workload, 100 ms a trial; the first arm is the control.
pub fn manifest(design: Design, specs: &[&str]) -> Manifest {
    let arms = specs.iter().enumerate().map(|(i, spec)| Arm::parse(&format!("arm{i}"), spec).unwrap()).collect();
    Manifest {
        format_version: schedlab_plan::manifest::FORMAT_VERSION,
        schedlab_version: "test".into(),
        command: Vec::new(),
        title: "fake".into(),
        created_unix_s: 0,
        plan_toml: String::new(),
        arms,
        workloads: vec!["pipe/1:duration=100ms,pin=same".parse().unwrap()],
        workload_ids: vec!["pipe/1".into()],
        primary: vec![vec!["round_trips_per_s".into()]],
        sesoi: 0.05,
        alpha: 0.05,
        design,
        switchback_window_ns: None,
        stamping: Stamping::Off,
        counters: CounterLevel::Basic,
        load: vec![Vec::new()],
        load_group: LoadGroup::Same,
        seed: 42,
        order: OrderKnown::Randomized,
        environment: Environment { boot_id: "boot".into(), kernel_release: "6.18".into(), ..Environment::default() },
        environment_end: None,
        looks: Vec::new(),
        ended: String::new(),
        warnings: Vec::new(),
        sweeps: Vec::new(),
        factorial: None,
        boots: None,
        kernels: Vec::new(),
    }
}

fn outcome(rate: f64) -> TrialOutcome {
    TrialOutcome {
        workload: "pipe/1".into(),
        operations: 1000,
        operation: "round trip".into(),
        metrics: vec![Metric {
            name: "round_trips_per_s".into(),
            value: rate,
            unit: "1/s".into(),
            direction: Direction::HigherIsBetter,
        }],
        stamping: StampingReport { level: Stamping::Off, every: 0, stamped: 0, cost_ns: 0.0, cost_share: 0.0 },
        ..TrialOutcome::default()
    }
}
