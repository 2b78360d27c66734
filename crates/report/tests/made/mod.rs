//! A made-up run with one of everything that a report must show: an A/A control, an arm that wins, one that could not
//! be applied, warm-up, a disturbed block and its repeat, a failed trial, placement that differs, checks that warn.

#![allow(dead_code)]

pub(crate) mod crowd;
pub(crate) mod findings;

use schedlab_plan::manifest::{Design, FORMAT_VERSION, OrderKnown};
use schedlab_plan::*;

/// A generator of noise with the same sequence each time.
pub(crate) struct Coin(pub(crate) u64);

impl Coin {
    /// Uniform in 0…1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64) / f64::from(1u32 << 31)
    }

    /// Approximately normal, SD 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

fn check(id: &str, title: &str, state: CheckState, value: &str, effect: &str, fix: &str) -> Check {
    Check {
        id: id.into(),
        title: title.into(),
        state,
        value: value.into(),
        effect: effect.into(),
        evidence: format!("/sys/made/up/{id}"),
        fix: fix.into(),
    }
}

/// The machine at the start.
pub(crate) fn environment() -> Environment {
    use CheckState::*;
    Environment {
        hostname: "lab-7".into(),
        kernel_release: "6.12.9-amd64".into(),
        kernel_version: "#1 SMP PREEMPT_DYNAMIC Debian 6.12.9-1".into(),
        machine: "x86_64".into(),
        cpu_model: "AMD EPYC 7543 32-Core Processor".into(),
        online_cpus: "0-3".into(),
        cmdline: "BOOT_IMAGE=/vmlinuz root=/dev/vda1 quiet mitigations=off".into(),
        config_crc32: "245113:9f3c0a21".into(),
        boot_id: "f3b1c2d4-0000-4000-8000-000000000001".into(),
        cgroup: "0::/user.slice".into(),
        autogroup: "/autogroup-77 nice 0".into(),
        allowed_cpus: String::new(),
        program_crc32: String::new(),
        sd_llc_size: None,
        knobs: Default::default(),
        checks: vec![
            check("preempt_model", "Preemption model", Info, "voluntary", "decides how soon a wakeup preempts", ""),
            check(
                "steal",
                "Hypervisor and steal",
                Warning,
                "KVM, 0.8 % stolen",
                "stolen time lands on whichever arm is running",
                "measure on bare metal, or trust the marks",
            ),
            check(
                "governor",
                "Frequency governor",
                Warning,
                "powersave",
                "the first trials of a block run slower",
                "cpupower frequency-set -g performance",
            ),
            check(
                "pmu",
                "Hardware counters",
                Unavailable,
                "none",
                "cycles and cache misses are not counted",
                "pass the PMU through to the guest",
            ),
            check("clocksource", "Clock source", Good, "tsc", "a clock read costs 26 ns", ""),
            check("smt", "SMT", Info, "on, 2 threads a core", "siblings share a core's time", ""),
        ],
    }
}

fn arms() -> Vec<Arm> {
    [("other", ""), ("other again", ""), ("batch", "policy=batch"), ("slice 10ms", "slice=10ms")]
        .map(|(name, spec)| Arm::parse(name, spec).expect("the arms are well formed"))
        .into()
}

/// The plan and the machine of the made-up run.
pub(crate) fn manifest() -> Manifest {
    let mut end = environment();
    end.checks[2].value = "performance".into();
    Manifest {
        format_version: FORMAT_VERSION,
        schedlab_version: "0.1.0".into(),
        command: ["schedlab", "run", "experiments/quickstart.toml", "--out", "out/it's here"].map(String::from).into(),
        title: "Policies under a herd & <beside> load".into(),
        created_unix_s: 1_795_259_075,
        plan_toml: "title = \"Policies under a herd & <beside> load\"\nsesoi = \"5%\"\n".into(),
        arms: arms(),
        workloads: vec!["messaging:5x50,groups=2,transport=pipe".parse().unwrap(), "pipe:pin=same".parse().unwrap()],
        workload_ids: vec!["messaging/1".into(), "pipe/1".into()],
        primary: vec![vec!["msgs_per_s".into()], vec!["round_trips_per_s".into()]],
        sesoi: 0.05,
        alpha: 0.05,
        design: Design::Fixed { blocks: 6 },
        switchback_window_ns: None,
        stamping: Stamping::Sampled,
        counters: CounterLevel::Basic,
        load: vec![Vec::new(), vec!["burn:2".parse().unwrap()]],
        load_group: LoadGroup::Same,
        seed: 42,
        order: OrderKnown::Randomized,
        environment: environment(),
        environment_end: Some(end),
        looks: Vec::new(),
        ended: "planned".into(),
        warnings: vec!["autogroup is on: the session is a task group of its own".into()],
        sweeps: Vec::new(),
        factorial: None,
        boots: None,
        kernels: Vec::new(),
    }
}

/// What one trial of an arm measures.
fn outcome(coin: &mut Coin, workload: usize, arm: usize) -> TrialOutcome {
    let (rate, latency, speed) = match workload {
        0 => (1_350_000.0, 340_000.0, [1.0, 1.0, 2.75, 1.01][arm]),
        _ => (182_000.0, 5_400.0, [1.0, 1.0, 0.91, 1.0][arm]),
    };
    let rate = rate * speed * (0.018 * coin.normal()).exp();
    let mut cells = vec![0u64; histogram::BUCKETS];
    let (mut sum, mut min, mut max) = (0u64, u64::MAX, 0u64);
    for _ in 0..1500 {
        let tail = if coin.uniform() < 0.03 { 12.0 * coin.uniform() } else { 0.0 };
        let ns = (latency / speed * (0.5 * coin.normal() + tail * 0.3).exp()) as u64;
        cells[histogram::bucket_of(ns)] += 1;
        (sum, min, max) = (sum + ns, min.min(ns), max.max(ns));
    }
    let histogram = Histogram::from_dense(&cells, sum, min, max);
    let metric = |name: &str, value: f64, unit: &str, direction| Metric {
        name: name.into(),
        value,
        unit: unit.into(),
        direction,
    };
    let switches = [0.62, 0.62, 0.21, 0.60][arm] * (0.05 * coin.normal()).exp();
    let near = [0.55, 0.55, 0.82, 0.5][arm] + 0.02 * coin.normal();
    let name = ["msgs_per_s", "round_trips_per_s"][workload];
    let operations = 400_000u64;
    let counter = |name: &str, count: Count| Counter {
        name: name.into(),
        scope: "workload".into(),
        source: "rusage".into(),
        count,
    };
    let total = |per: f64| Count::Exact((per * operations as f64) as u64);
    TrialOutcome {
        packed: None,
        workload: ["messaging/1", "pipe/1"][workload].into(),
        operations,
        operation: ["message", "round trip"][workload].into(),
        metrics: vec![
            metric(name, rate, "1/s", Direction::HigherIsBetter),
            metric("time_s", operations as f64 / rate, "s", Direction::LowerIsBetter),
            metric("cpu_ns_per_op", 1e9 / rate * 1.9, "ns/op", Direction::LowerIsBetter),
            metric("voluntary_switches_per_op", switches, "1/op", Direction::Neutral),
        ],
        phases: vec![
            Phase { name: "setup".into(), start_ns: 0, end_ns: 12_000_000 },
            Phase { name: "steady".into(), start_ns: 12_000_000, end_ns: 380_000_000 },
        ],
        histograms: vec![NamedHistogram { name: "latency".into(), tier: None, histogram }],
        slowest: Vec::new(),
        tiers: vec![
            TierCount { tier: Tier::SameCpu, operations: (near * 1e5) as u64 },
            TierCount { tier: Tier::Smt, operations: ((1.0 - near) * 0.3e5) as u64 },
            TierCount { tier: Tier::Llc, operations: ((1.0 - near) * 0.7e5) as u64 },
        ],
        counters: vec![
            counter("voluntary_switches", total(switches)),
            counter("involuntary_switches", total(0.08 * [1.0, 1.0, 0.1, 0.9][arm])),
            counter("migrations", total(0.011 * [1.0, 1.0, 0.4, 1.1][arm])),
            counter("run_delay_ns", total(4100.0 / speed)),
            counter("cycles", Count::NotCounted("no hardware PMU on this machine".into())),
        ],
        series: Vec::new(),
        tasks: Vec::new(),
        groups: vec![TaskGroup {
            autogroup: "/autogroup-77 nice 0".into(),
            cgroup: "0::/user.slice".into(),
            tasks: 110,
        }],
        windows: Vec::new(),
        applied: if arm == 2 {
            vec![Applied {
                setting: "policy=batch".parse().unwrap(),
                effective: "policy=batch".into(),
                not_applied: None,
            }]
        } else {
            Vec::new()
        },
        stamping: StampingReport {
            level: Stamping::Sampled,
            every: 7,
            stamped: 1500,
            cost_ns: 54.0,
            cost_share: 0.0072,
        },
        loads: if workload == 1 {
            vec![LoadReport {
                spec: "burn:2".into(),
                asked_cpu_ns: 800_000_000,
                achieved_cpu_ns: 512_000_000,
                alive: true,
            }]
        } else {
            Vec::new()
        },
        native_lines: if workload == 0 {
            vec![
                "Running in process mode with 2 groups using 100 file descriptors each (== 110 tasks)".into(),
                "Time: 0.296".into(),
            ]
        } else {
            Vec::new()
        },
        notes: Vec::new(),
    }
}

/// The rows: warm-up, six mirrored blocks per workload, one of them disturbed and repeated, one trial failed in another.
pub(crate) fn trials() -> Vec<TrialRecord> {
    let mut coin = Coin(7);
    let mut rows = Vec::new();
    for workload in 0..2usize {
        for arm in 0..4usize {
            push(&mut rows, &mut coin, (workload, arm), (0, arm as u32), None, true);
        }
        for block in 0..7u32 {
            let mut order = [0usize, 1, 2, 3];
            order.rotate_left((coin.uniform() * 4.0) as usize);
            let repeats = (block == 6).then_some(3);
            for (position, arm) in order.into_iter().chain(order.into_iter().rev()).enumerate() {
                push(&mut rows, &mut coin, (workload, arm), (block, position as u32), repeats, false);
            }
        }
    }
    rows
}

fn push(
    rows: &mut Vec<TrialRecord>,
    coin: &mut Coin,
    (workload, arm): (usize, usize),
    (block, position): (u32, u32),
    repeats_block: Option<u32>,
    warm_up: bool,
) {
    let trial = rows.len() as u64;
    let mut outcome = outcome(coin, workload, arm);
    let disturbed = block == 3 && position == 2;
    if disturbed || warm_up {
        outcome.metrics[0].value *= 0.86;
        outcome.metrics[1].value /= 0.86;
    }
    let lost = workload == 1 && block == 3 && position == 5;
    let status = match arm {
        _ if lost => TrialStatus::Failed("the child ended with signal 9".into()),
        3 => TrialStatus::NotApplied("this 6.1 kernel accepts a slice and ignores it: read back 0 ns".into()),
        _ => TrialStatus::Ok,
    };
    rows.push(TrialRecord {
        trial,
        workload: workload as u32,
        arm: Some(arm as u32),
        block,
        position,
        repeats_block,
        warm_up,
        status,
        marks: if disturbed { vec![Mark::Steal { share: 0.021 }] } else { Vec::new() },
        started_unix_ns: 1_795_259_075_000_000_000 + trial * 420_000_000,
        wall_ns: 400_000_000,
        boot_id: environment().boot_id,
        outcome: (!lost).then_some(outcome),
    });
}
