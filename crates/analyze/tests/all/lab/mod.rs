//! Hand-made runs: a manifest, mirrored blocks of trials, and values from a seeded generator.
#![allow(dead_code, unreachable_pub)]

use schedlab_plan::manifest::{Design, FORMAT_VERSION, LookRecord, OrderKnown};
use schedlab_plan::*;
use schedlab_stats::Random;

/// A run under construction.
pub struct Lab {
    pub manifest: Manifest,
    pub trials: Vec<TrialRecord>,
    pub random: Random,
    blocks: Vec<u32>,
}

/// A run of these `(name, SPEC)` arms over these workloads; the primary metric is `rate_per_s`.
pub fn lab(arms: &[(&str, &str)], workloads: &[&str]) -> Lab {
    let manifest = Manifest {
        format_version: FORMAT_VERSION,
        schedlab_version: "0.1.0".into(),
        command: vec!["schedlab".into(), "ab".into()],
        title: "test".into(),
        created_unix_s: 1_700_000_000,
        plan_toml: String::new(),
        arms: arms.iter().map(|(name, spec)| Arm::parse(name, spec).unwrap()).collect(),
        workloads: workloads.iter().map(|w| w.parse().unwrap()).collect(),
        workload_ids: workloads.iter().map(|w| format!("{}/1", w.split(':').next().unwrap())).collect(),
        primary: workloads.iter().map(|_| vec!["rate_per_s".into()]).collect(),
        sesoi: 0.05,
        alpha: 0.05,
        design: Design::Fixed { blocks: 8 },
        switchback_window_ns: None,
        stamping: Stamping::Sampled,
        counters: CounterLevel::Basic,
        load: workloads.iter().map(|_| Vec::new()).collect(),
        load_group: LoadGroup::Same,
        seed: 1,
        order: OrderKnown::Randomized,
        environment: Environment {
            hostname: "bench1".into(),
            kernel_release: "6.1.0".into(),
            boot_id: "boot-1".into(),
            ..Environment::default()
        },
        environment_end: None,
        looks: Vec::new(),
        ended: "planned".into(),
        warnings: Vec::new(),
        sweeps: Vec::new(),
        factorial: None,
        boots: None,
        kernels: Vec::new(),
    };
    Lab { manifest, trials: Vec::new(), random: Random::new(7), blocks: vec![0; workloads.len()] }
}

pub fn metric(name: &str, value: f64, unit: &str, direction: Direction) -> Metric {
    Metric { name: name.into(), value, unit: unit.into(), direction }
}

pub fn rate(value: f64) -> Vec<Metric> {
    vec![metric("rate_per_s", value, "1/s", Direction::HigherIsBetter)]
}

pub fn outcome(metrics: Vec<Metric>) -> TrialOutcome {
    TrialOutcome {
        workload: "pipe/1".into(),
        operations: 1000,
        operation: "round trip".into(),
        metrics,
        stamping: StampingReport { level: Stamping::Sampled, every: 64, stamped: 10, cost_ns: 20.0, cost_share: 0.004 },
        ..TrialOutcome::default()
    }
}

impl Lab {
    /// One mirrored block; `metrics(arm, noise)` with unit normal noise gives each trial's numbers.
    pub fn block(&mut self, workload: u32, mut metrics: impl FnMut(u32, f64) -> Vec<Metric>) -> u32 {
        self.block_of(workload, |arm, noise| outcome(metrics(arm, noise)))
    }

    /// The same with complete outcomes.
    pub fn block_of(&mut self, workload: u32, mut make: impl FnMut(u32, f64) -> TrialOutcome) -> u32 {
        let block = self.blocks[workload as usize];
        self.blocks[workload as usize] += 1;
        let forward: Vec<u32> = (0..self.manifest.arms.len() as u32).collect();
        let order: Vec<u32> = forward.iter().chain(forward.iter().rev()).copied().collect();
        for (position, arm) in order.into_iter().enumerate() {
            let noise = self.random.normal();
            let made = make(arm, noise);
            self.push(workload, Some(arm), block, position as u32, Some(made));
        }
        block
    }

    /// One row.
    pub fn push(&mut self, workload: u32, arm: Option<u32>, block: u32, position: u32, made: Option<TrialOutcome>) {
        let trial = self.trials.len() as u64;
        self.trials.push(TrialRecord {
            trial,
            workload,
            arm,
            block,
            position,
            repeats_block: None,
            warm_up: false,
            status: TrialStatus::Ok,
            marks: Vec::new(),
            started_unix_ns: (1_700_000_000 + trial) * 1_000_000_000,
            wall_ns: 500_000_000,
            boot_id: self.manifest.environment.boot_id.clone(),
            outcome: made,
        });
    }

    /// Rows of a block.
    pub fn rows(&mut self, workload: u32, block: u32) -> impl Iterator<Item = &mut TrialRecord> {
        self.trials.iter_mut().filter(move |t| t.workload == workload && t.block == block)
    }

    /// Makes it budgeted over all trials so far, with looks at these block counts.
    pub fn budgeted(&mut self, looks: &[(u32, f64)]) {
        self.manifest.design = Design::Budgeted { budget_ns: 60_000_000_000, looks: 5 };
        self.manifest.looks = looks
            .iter()
            .map(|&(blocks, fraction)| LookRecord { workload: 0, blocks, fraction, decided: false })
            .collect();
    }

    pub fn run(self) -> (Manifest, Vec<TrialRecord>) {
        (self.manifest, self.trials)
    }
}

/// `blocks` blocks of pipe in which arm `i` has `factors[i]` times the rate, with 1 % of noise.
pub fn planted(factors: &[f64], blocks: usize) -> Lab {
    let names = ["other", "b", "c", "d", "e"];
    let specs = ["", "policy=batch", "nice=1", "nice=2", "nice=3"];
    let arms: Vec<(&str, &str)> = names.into_iter().zip(specs).take(factors.len()).collect();
    let mut lab = lab(&arms, &["pipe:pin=same"]);
    for _ in 0..blocks {
        lab.block(0, |arm, noise| rate(100_000.0 * factors[arm as usize] * (0.01 * noise).exp()));
    }
    lab
}
