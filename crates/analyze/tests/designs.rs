//! Designs besides blocks: switchback trials and imported rows, with the published netperf study as the worked example.

mod lab;

use lab::{lab, metric, outcome, rate};
use schedlab_analyze::*;
use schedlab_run::manifest::OrderKnown;
use schedlab_run::{Direction, Window};

fn primary(findings: &Findings) -> &Contrast {
    &findings.workloads[0].metrics[0].contrasts[0]
}

fn reason(contrast: &Contrast) -> &str {
    match &contrast.verdict {
        Verdict::NoVerdict { reason } => reason,
        other => panic!("a verdict where none may be: {other:?}"),
    }
}

/// Trials of 20 pairs of 50 ms windows in which B does `factor` times the operations.
fn switchback(factor: f64, carry: f64) -> Findings {
    let mut lab = lab(&[("a", ""), ("b", "policy=batch")], &["pipe"]);
    lab.manifest.switchback_window_ns = Some(50_000_000);
    for block in 0..8 {
        let mut made = outcome(rate(1e6));
        let mut after_b = false;
        for pair in 0..20u32 {
            let b_first = lab.random.uniform() < 0.5;
            for (half, is_b) in [b_first, !b_first].into_iter().enumerate() {
                let start_ns = u64::from(2 * pair + half as u32) * 50_000_000;
                let noise = (0.01 * lab.random.normal()).exp();
                let own = if is_b { factor } else { 1.0 };
                let left = if after_b { carry } else { 1.0 };
                let operations = (40_000.0 * own * left * noise) as u64;
                let (counted_from_ns, end_ns) = (start_ns + 10_000_000, start_ns + 50_000_000);
                made.windows.push(Window { pair, is_b, start_ns, counted_from_ns, end_ns, operations });
                after_b = is_b;
            }
        }
        lab.push(0, None, block, 0, Some(made));
    }
    let (manifest, trials) = lab.run();
    compare(&manifest, &trials)
}

#[test]
fn switchback_trials_are_the_unit_and_carry_over_is_tested() {
    let findings = switchback(1.03, 1.0);
    let contrast = primary(&findings);
    let effect = contrast.effect.unwrap();
    assert_eq!((contrast.units, contrast.unit_name.as_str()), (8, "switchback trials"));
    assert!(effect.lo < 1.03 && 1.03 < effect.hi && effect.lo > 1.0, "{effect:?}");
    assert_eq!(contrast.verdict, Verdict::Equivalent, "real, but smaller than the 5 % that matter");
    assert!(contrast.notes.iter().any(|n| n.starts_with("Carry-over")));
    assert!(findings.workloads[0].metrics[0].values.iter().all(|v| v.n == 8));
    assert!(reason(primary(&switchback(1.2, 1.1))).contains("window before still acts"));
}

/// A factorial of three factors, the third refused where it is high; `fraction` leaves out half of the arms.
fn factorial(fraction: bool, refuse: bool) -> Findings {
    let all = (0..8u32).map(|bits| vec![bits & 1 != 0, bits & 2 != 0, bits & 4 != 0]);
    let levels: Vec<Vec<bool>> = all.filter(|l| !fraction || l[2] == (l[0] ^ l[1])).collect();
    let names: Vec<String> = (0..levels.len()).map(|arm| format!("arm {arm}")).collect();
    let specs: Vec<String> = (0..levels.len()).map(|arm| format!("nice={arm}")).collect();
    let arms: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(specs.iter().map(String::as_str)).collect();
    let mut lab = lab(&arms, &["pipe"]);
    for _ in 0..8 {
        lab.block(0, |arm, noise| {
            let level = &levels[arm as usize];
            let effect = if level[0] { 1.10 } else { 1.0 } * if level[2] { 0.80 } else { 1.0 };
            rate(1e5 * effect * (0.01 * noise).exp())
        });
    }
    if refuse {
        for row in &mut lab.trials {
            if row.arm.is_some_and(|arm| levels[arm as usize][2]) {
                row.status = schedlab_run::TrialStatus::NotApplied("no such file".into());
            }
        }
    }
    let factor = |name: &str| schedlab_run::manifest::Factor {
        name: name.into(),
        low: String::new(),
        high: format!("sysctl:{name}=1"),
        not_applied: None,
    };
    lab.manifest.factorial =
        Some(schedlab_run::manifest::Factorial { factors: ["a", "b", "c"].map(factor).into(), levels });
    let (manifest, trials) = lab.run();
    compare(&manifest, &trials)
}

#[test]
fn a_main_effect_is_the_mean_over_all_other_levels() {
    let findings = factorial(false, false);
    let effects = &findings.workloads[0].main_effects;
    let value = |factor: usize| effects[factor].contrast.effect.unwrap();
    assert!(value(0).lo < 1.10 && 1.10 < value(0).hi && value(0).hi - value(0).lo < 0.02, "{:?}", value(0));
    assert!((value(2).value - 0.80).abs() < 0.01);
    let verdicts: Vec<&Verdict> = effects.iter().map(|e| &e.contrast.verdict).collect();
    assert_eq!(verdicts, [&Verdict::Better, &Verdict::Equivalent, &Verdict::Worse]);
    assert_eq!((effects[0].low_arms.len(), effects[0].high_arms.len(), effects[0].contrast.units), (4, 4, 8));
    assert!(
        effects.iter().all(|e| e.aliases.is_empty()) && effects[0].contrast.adjustment == "Holm over 3 main effects"
    );
    let first = &findings.claims[0].sentence;
    assert!(first.starts_with("sysctl:") && first.contains("main effect over 8 arms"), "{first}");
    assert_eq!(findings.claims.len(), 3, "a single arm of a factorial is no claim");
}

#[test]
fn a_fraction_says_what_it_cannot_tell_apart() {
    let findings = factorial(true, false);
    let effects = &findings.workloads[0].main_effects;
    assert_eq!(effects[0].aliases, ["b × c"]);
    assert_eq!(effects[2].aliases, ["a × b"]);
    assert_eq!(effects[0].contrast.verdict, Verdict::Better);
}

#[test]
fn a_level_that_cannot_be_set_costs_its_own_factor_only() {
    let findings = factorial(false, true);
    let effects = &findings.workloads[0].main_effects;
    assert!(reason(&effects[2].contrast).contains("no such file"), "{:?}", effects[2].contrast.verdict);
    assert_eq!(effects[0].contrast.verdict, Verdict::Better, "the other half is a factorial of its own");
    // Of the fraction no balanced half is left: a and b are high together.
    let findings = factorial(true, true);
    let effects = &findings.workloads[0].main_effects;
    assert!(reason(&effects[0].contrast).contains("equally often"), "{:?}", effects[0].contrast.verdict);
}

#[test]
fn a_sweep_has_a_scaling_table() {
    let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe:copies=1", "pipe:copies=2", "pipe:copies=4"]);
    let values = ["1", "2", "4"].map(str::to_owned).into();
    lab.manifest.sweeps =
        vec![schedlab_run::manifest::Sweep { option: "copies".into(), values, workloads: vec![0, 1, 2] }];
    for (workload, total) in [(0, 1e5), (1, 1.9e5), (2, 1.9e5)] {
        for _ in 0..6 {
            lab.block_of(workload, |_, noise| {
                let mut made = outcome(rate(total * (0.01 * noise).exp()));
                made.metrics.push(metric("fairness_jain", 0.99, "share", Direction::HigherIsBetter));
                for copy in 0..1 << workload {
                    for role in ["parent", "child"] {
                        made.tasks.push(schedlab_run::TaskRecord {
                            role: role.into(),
                            group: copy,
                            operations: 1000 + u64::from(copy),
                            last_cpu: Some(copy),
                            same_cpu_share: Some(0.5),
                            ..Default::default()
                        });
                    }
                }
                made
            });
        }
    }
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let scaling = &findings.scalings[0];
    assert_eq!((scaling.option.as_str(), scaling.metric.as_str(), scaling.rows.len()), ("copies", "rate_per_s", 6));
    assert_eq!(scaling.spec, "pipe");
    let row = &scaling.rows[1];
    let linearity = row.linearity.unwrap();
    assert!(linearity.lo < 0.95 && 0.95 < linearity.hi && (linearity.value - 0.95).abs() < 0.02, "{linearity:?}");
    assert_eq!((row.n, row.value.as_str(), row.fairness, row.copies.len()), (12, "2", Some(0.99), 2));
    assert!(row.spread.unwrap() > 0.0 && row.min < row.score && row.score < row.max);
    let copy = &row.copies[1];
    assert_eq!(
        (copy.operations, copy.same_cpu_share, copy.places[0].parent_cpu, copy.places[0].runs),
        (1001.0, Some(0.5), 1, 12)
    );
    assert!((scaling.rows[2].linearity.unwrap().value - 0.475).abs() < 0.02);
    assert_eq!(workload_label(&findings, &findings.workloads[2]), "pipe:copies=4");
}

/// The published study of design's issue 2: CPU use of five netperf streams before and after a kernel patch.
const NETPERF: [(f64, f64); 22] = [
    (0.089, 0.085),
    (0.093, 0.079),
    (0.083, 0.070),
    (0.079, 0.085),
    (0.050, 0.078),
    (0.082, 0.062),
    (0.094, 0.082),
    (0.111, 0.079),
    (0.097, 0.080),
    (0.110, 0.096),
    (0.084, 0.084),
    (0.081, 0.042),
    (0.099, 0.102),
    (0.096, 0.092),
    (0.096, 0.082),
    (0.077, 0.066),
    (0.101, 0.075),
    (0.074, 0.063),
    (0.076, 0.076),
    (0.104, 0.089),
    (0.098, 0.080),
    (0.053, 0.109),
];

fn netperf(rows: &[(f64, f64)], paired: bool) -> Findings {
    let mut lab = lab(&[("before", ""), ("after", "")], &["netperf"]);
    lab.manifest.order = OrderKnown::Unknown;
    lab.manifest.primary = vec![vec!["cpu".into()]];
    for (i, &(before, after)) in rows.iter().enumerate() {
        for (arm, value) in [(0, before), (1, after)] {
            let block = if paired { i } else { 2 * i + arm as usize } as u32;
            let made = outcome(vec![metric("cpu", value, "share", Direction::LowerIsBetter)]);
            lab.push(0, Some(arm), block, arm, Some(made));
        }
    }
    let (manifest, trials) = lab.run();
    compare(&manifest, &trials)
}

#[test]
fn the_netperf_study_keeps_its_outliers_and_shows_what_dropping_them_would_claim() {
    let findings = netperf(&NETPERF, true);
    let contrast = primary(&findings);
    assert_eq!((contrast.units, contrast.unit_name.as_str(), contrast.is_aa), (22, "pairs", false));
    let far: Vec<u64> = contrast.unit_effects.iter().filter(|u| u.far_out).map(|u| u.unit).collect();
    assert!(far.contains(&4) && far.contains(&21), "{far:?}");
    assert_eq!(contrast.verdict, Verdict::Inconclusive);
    let view = |name: &str| contrast.views.iter().find(|v| v.name.contains(name)).unwrap();
    assert!(view("without the").effect.unwrap().hi < 1.0);
    assert!(view("Hodges").effect.unwrap().value < contrast.effect.unwrap().value);
    assert!(view("Welch").effect.is_some() && view("Wilcoxon").p.is_some());
    let dropped: Vec<(f64, f64)> =
        NETPERF.into_iter().enumerate().filter(|(i, _)| ![4, 21].contains(i)).map(|(_, row)| row).collect();
    let trimmed = netperf(&dropped, true);
    assert_eq!((primary(&trimmed).units, primary(&trimmed).verdict.clone()), (20, Verdict::Better));
    let unpaired = netperf(&NETPERF, false);
    assert_eq!((primary(&unpaired).estimator.as_str(), primary(&unpaired).units), ("Welch's t on trials", 44));
}
