//! Hand-made findings, so that the golden files change when a report changes and not when an estimate does.

use schedlab_analyze::*;
use schedlab_plan::{Manifest, Tier, TrialRecord, TrialStatus};

const ARMS: u32 = 4;

fn effect(value: f64, lo: f64, hi: f64) -> Option<Effect> {
    Some(Effect { scale: Scale::Ratio, value, lo, hi, level: 0.95 })
}

fn contrast(arm: u32, effect: Option<Effect>, p: f64, verdict: Verdict) -> Contrast {
    let units = if effect.is_some() { 6 } else { 0 };
    let spread = [0.99, 1.004, 1.0, 0.996, 1.02, 0.991];
    let unit = |(i, s): (usize, &f64)| {
        Some(UnitEffect { unit: i as u64, value: effect?.value * s, far_out: i == 4 && arm == 2 })
    };
    Contrast {
        arm,
        control: 0,
        is_aa: arm == 1,
        is_sequence: false,
        is_alone: false,
        estimator: if units > 0 { "t interval on block log-ratios".into() } else { "none".into() },
        p: effect.map(|_| p),
        p_adjusted: effect.map(|_| (2.0 * p).min(1.0)),
        adjustment: if units > 0 { "Holm over 2 primary contrasts".into() } else { String::new() },
        p_needed: effect.map(|_| 0.025),
        more_units: (verdict == Verdict::Inconclusive).then_some(MoreUnits {
            least: Some(4),
            most: Some(19),
            limit: 60,
        }),
        noise: effect.map(|e| Noise {
            scale: e.scale,
            smallest: 1.031,
            sentence: "with this scatter, 6 blocks can detect a difference of 3.1 % or more".into(),
        }),
        verdict,
        units,
        unit_name: "blocks".into(),
        shares_trials: false,
        unit_effects: spread.iter().enumerate().filter_map(unit).collect(),
        views: effect
            .map(|e| View { name: "20 % trimmed mean".into(), effect: Some(e), p: None, n: 6 })
            .into_iter()
            .collect(),
        notes: if arm == 2 { vec!["Far from the rest, kept in the verdict: blocks 4.".into()] } else { Vec::new() },
        effect,
    }
}

/// A metric with its values from the rows.
fn metric(trials: &[TrialRecord], index: usize, role: Role, contrasts: Vec<Contrast>) -> MetricFindings {
    let of = |t: &TrialRecord| t.outcome.as_ref().map(|o| o.metrics[index].clone());
    let model = trials.iter().find_map(of).expect("the made-up run measured something");
    let values = |arm: u32| {
        let rows = trials.iter().filter(|t| t.arm == Some(arm));
        let value = |t: &TrialRecord| {
            let used = !t.warm_up && t.block != 3 && t.status == TrialStatus::Ok;
            let note = match (used, t.warm_up) {
                (true, _) => None,
                (_, true) => Some("warm-up".to_owned()),
                _ => Some("block repeated as block 6".to_owned()),
            };
            Some(TrialValue { trial: t.trial, block: t.block, position: t.position, value: of(t)?.value, used, note })
        };
        let trials: Vec<TrialValue> = rows.filter_map(value).collect();
        let used: Vec<f64> = trials.iter().filter(|t| t.used).map(|t| t.value).collect();
        let n = used.len();
        let median = used.first().map(|_| schedlab_stats::median(&used));
        ArmValues { arm, n, median, geometric_mean: median, mean: median, min: median, max: median, trials }
    };
    MetricFindings {
        name: model.name,
        unit: model.unit,
        direction: model.direction,
        role,
        values: (0..ARMS).map(values).collect(),
        contrasts,
        note: (index == 2).then(|| "too few tail samples: 1500 stamped operations in a trial, 10000 needed".into()),
    }
}

fn not_applied() -> Verdict {
    Verdict::NoVerdict {
        why: Withheld::NotApplied,
        reason: "`slice 10ms` is not applied: the kernel accepts a slice and ignores it".into(),
    }
}

fn facts(arm: u32) -> ArmFacts {
    let share = |tier, share| TierShare { tier, share };
    let near = if arm == 2 { 0.82 } else { 0.55 };
    let counted = |name: &str, median: f64| PerOperation { name: name.into(), median: Some(median), not_counted: None };
    let ns = if arm == 2 { 120_000.0 } else { 340_000.0 };
    let cdf = [(0.1, 0.0), (0.8, 0.3), (1.0, 0.5), (2.0, 0.9), (9.0, 0.99), (30.0, 0.999)].map(|(x, q)| (x * ns, q));
    ArmFacts {
        arm,
        used: if arm == 3 { 0 } else { 12 },
        failed: if arm == 1 {
            vec![Reason { text: "the child ended with signal 9".into(), count: 1 }]
        } else {
            Vec::new()
        },
        not_applied: if arm == 3 {
            vec![Reason { text: "the kernel accepts a slice and ignores it".into(), count: 15 }]
        } else {
            Vec::new()
        },
        effective: if arm == 2 { vec!["policy=batch: policy=batch".into()] } else { Vec::new() },
        per_operation: vec![
            counted("voluntary_switches", if arm == 2 { 0.207 } else { 0.612 }),
            counted("run_delay_ns", 4.1e3 * near),
            PerOperation { name: "cycles".into(), median: None, not_counted: Some("no hardware PMU".into()) },
        ],
        tiers: if arm == 3 { Vec::new() } else { vec![share(Tier::SameCpu, near), share(Tier::Llc, 1.0 - near)] },
        loads: vec![LoadAchieved {
            spec: "burn:2".into(),
            cpu_s: 0.512,
            achieved_share: Some(0.64),
            died: u8::from(arm == 2).into(),
        }],
        stamping_cost_share: Some(0.0072),
        stamped_every: 7,
        distributions: vec![Distribution {
            name: "latency".into(),
            count: 18_000,
            cdf: cdf.into(),
            min_ns: 2_100,
            max_ns: (ns * 31.0) as u64,
        }],
        notes: Vec::new(),
        groups: vec!["/autogroup-77 nice 0 | 0::/user.slice".into()],
        native_lines: vec!["Running in process mode with 2 groups".into(), "Time: 0.296".into()],
    }
}

fn workload(trials: &[TrialRecord]) -> WorkloadFindings {
    let aa = effect(1.003, 0.980, 1.026);
    let primary = vec![
        contrast(1, aa, 0.78, Verdict::Equivalent),
        contrast(2, effect(2.769, 2.696, 2.844), 1e-7, Verdict::Better),
        contrast(3, None, 1.0, not_applied()),
    ];
    let cpu = vec![
        contrast(1, effect(1.012, 0.94, 1.09), 0.4, Verdict::Inconclusive),
        contrast(2, effect(0.93, 0.90, 0.96), 0.002, Verdict::Better),
        contrast(3, None, 1.0, not_applied()),
    ];
    let tier = |tier, control_share, arm_share, mean| TierRow {
        tier,
        control_share,
        arm_share,
        control_mean_ns: Some(mean),
        arm_mean_ns: Some(mean * 0.4),
    };
    WorkloadFindings {
        workload: 0,
        spec: "messaging:5x50,groups=2,transport=pipe".into(),
        id: "messaging/1".into(),
        operation: "message".into(),
        load: vec!["burn:2".into()],
        metrics: vec![metric(trials, 0, Role::Primary, primary), metric(trials, 2, Role::Secondary, cpu)],
        curves: vec![curve()],
        best: Some(BestArm {
            metric: "msgs_per_s".into(),
            arm: 2,
            effect: effect(1.31, 1.2, 1.43),
            candidates: vec![1, 2],
        }),
        statements: vec![
            statement("Batch tasks are faster.", "better", Standing::Holds, effect(1.3, 1.2, 1.4)),
            statement("Between 4 and 17 ms it is unsettled.", "less-steady", Standing::NotDecided, effect(1.1, 0.7, 1.9)),
            statement("The best is 18 ms.", "best", Standing::DoesNotHold, None),
        ],
        main_effects: Vec::new(),
        arms: (0..ARMS).map(facts).collect(),
        dispersion: vec![contrast(2, effect(0.4, 0.2, 0.8), 0.01, Verdict::Better)],
        modes: vec![ModeFindings {
            arm: 0,
            metric: "msgs_per_s".into(),
            k: 1,
            p: 0.6,
            split: None,
            modes: vec![Mode { center: 1.34e6, share: 1.0, tiers: Vec::new() }],
            sentence: "one mode".into(),
        }],
        tier_splits: vec![TierSplit {
            arm: 2,
            histogram: "latency".into(),
            between_shares_ns: -41_000.0,
            within_ns: -180_500.0,
            total_ns: -221_500.0,
            tiers: vec![tier(Tier::SameCpu, 0.55, 0.82, 210_000.0), tier(Tier::Llc, 0.45, 0.18, 498_000.0)],
            pinned: false,
            note: "Placement is free: this describes, it proves nothing.".into(),
        }],
        variance: Some(VarianceSplit {
            metric: "msgs_per_s".into(),
            trial_sd: 0.0197,
            boot_share: None,
            block_share: 0.21,
            trial_share: 0.79,
            tier_explained: Some(0.098),
            steal_explained: None,
        }),
        aa_comparisons: vec![AaComparison {
            equals: Equals::AaArm,
            units: 6,
            arm: 1,
            metric: "msgs_per_s".into(),
            effect: aa,
            includes_no_effect: true,
            sentence:
                "other again against other, which have the same settings: 0.4 % faster [1.9 % slower, 2.6 % faster] on messages per second, 6 blocks"
                    .into(),
        }],
        warm_up: WarmUp {
            flagged: 4,
            blocks_cut: 0,
            trials_cut: 0,
            sentence: "4 warm-up trials shown, not compared.".into(),
        },
        contamination: Contamination {
            blocks: vec![MarkedBlock { block: 3, what: "steal 2.1 %".into(), repeated_by: Some(6) }],
            per_arm: vec![(0, 14), (0, 14), (0, 14), (1, 14)],
            sentence: "1 disturbed block was repeated; the repeat enters the verdict.".into(),
        },
        confounded: None,
        counts: TrialCounts {
            total: 60,
            used: 36,
            warm_up: 3,
            failed: 0,
            not_applied: 15,
            contaminated: 6,
            incomplete: 0,
        },
    }
}

/// What a run over the first made-up workload could have found.
pub(crate) fn findings(manifest: &Manifest, trials: &[TrialRecord]) -> Findings {
    let row = |c: &schedlab_plan::Check| CheckRow {
        id: c.id.clone(),
        title: c.title.clone(),
        state: c.state,
        value: c.value.clone(),
        effect: c.effect.clone(),
        evidence: c.evidence.clone(),
        fix: c.fix.clone(),
    };
    let claim = |sentence: &str, arm, verdict| Claim {
        sentence: sentence.into(),
        workload: 0,
        arm,
        metric: "msgs_per_s".into(),
        verdict,
    };
    Findings {
        title: manifest.title.clone(),
        command: manifest.command.clone(),
        source: Source::OneRun,
        claims: vec![
            claim("batch makes messaging 2.8 times faster [2.7, 2.8]: 6 blocks, 95 % interval", 2, Verdict::Better),
            claim("no verdict on slice 10ms against other on messaging: `slice 10ms` is not applied", 3, not_applied()),
            claim(
                "A/A control: other again and other are within 5 % of each other on messaging: 0.3 % faster [2 % slower, 2.6 % faster]",
                1,
                Verdict::Equivalent,
            ),
        ],
        void: None,
        ended: "planned".into(),
        arms: manifest
            .arms
            .iter()
            .enumerate()
            .map(|(i, a)| ArmInfo { name: a.name.clone(), spec: a.spec(), is_aa: i == 1 })
            .collect(),
        factors: Vec::new(),
        workloads: vec![workload(trials)],
        tradeoff: Some(Tradeoff {
            objectives: ["msgs_per_s", "cpu_ns_per_op"]
                .map(|metric| TradeoffObjective { workload: 0, metric: metric.into() })
                .to_vec(),
            front: vec![2, 0],
            compared: 3,
        }),
        scalings: Vec::new(),
        rules: Rules {
            sesoi: 0.05,
            alpha: 0.05,
            design: "fixed: 6 blocks per workload".into(),
            stamping: "sampled, at most 1 % of the run time".into(),
            seed: 42,
            methods: vec![
                "Each block runs every arm twice, in a random order and its mirror; the unit is the block.".into(),
            ],
        },
        environment: EnvironmentFindings {
            facts: vec![("host".into(), "lab-7".into()), ("kernel".into(), "6.12.9-amd64".into())],
            checks: manifest.environment.checks.iter().map(row).collect(),
            changes: vec![Change { what: "governor".into(), before: "powersave".into(), after: "performance".into() }],
            warnings: manifest.warnings.clone(),
        },
        problems: vec![Problem {
            place: "messaging:5x50,groups=2,transport=pipe".into(),
            text: "`slice 10ms` is not applied: the kernel accepts a slice and ignores it".into(),
            fix: "`schedlab tune show` lists what this kernel has".into(),
        }],
    }
}

fn statement(says: &str, claim: &str, answer: Standing, effect: Option<Effect>) -> StatementFindings {
    let (than, reason) = match claim {
        "best" => (None, "best is `batch`; of 2 arms that may be the best, 0 are in this span".to_owned()),
        _ => (Some("default".to_owned()), String::new()),
    };
    StatementFindings { says: says.into(), arms: "batch".into(), claim: claim.into(), than, answer, effect, reason }
}

fn difference(value: f64, lo: f64, hi: f64) -> Option<Effect> {
    Some(Effect { scale: Scale::Difference, value, lo, hi, level: 0.95 })
}

/// Six values of a knob, two regions.
fn curve() -> Curve {
    let region = |first, last, level, trend, spread, involuntary| CurveRegion {
        first,
        last,
        level,
        trend,
        spread,
        switches_per_op: [Some(0.31), involuntary],
    };
    Curve {
        knob: "debugfs:sched/wakeup_granularity_ns".into(),
        others: "policy=batch".into(),
        metric: "msgs_per_s".into(),
        unit: "1/s".into(),
        values: ["1ms", "2ms", "4ms", "8ms", "9ms", "17ms"].map(String::from).into(),
        arms: (0..ARMS).collect(),
        regions: vec![
            region(0, 2, 18_400.0, Trend::Level, 0.041, Some(0.25)),
            region(3, 5, 24_300.0, Trend::Rises, 0.012, None),
        ],
        boundaries: vec![RegionBoundary {
            after: 2,
            earliest: 2,
            latest: 3,
            change: effect(1.32, 1.28, 1.36),
            spread: effect(0.3, 0.2, 0.45),
            switches_per_op: [difference(-0.22, -0.25, -0.19), None],
        }],
    }
}
