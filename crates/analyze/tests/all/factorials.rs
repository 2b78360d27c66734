//! Designs with many arms or values: the main effects of factorials, full and fractional, and the scaling table of a
//! sweep.

use crate::lab::{lab, metric, outcome, rate};
use schedlab_analyze::*;
use schedlab_plan::manifest::{Factor, Factorial, Sweep};
use schedlab_plan::{Direction, Manifest, TaskRecord, TrialRecord, TrialStatus};

fn reason(contrast: &Contrast) -> &str {
    match &contrast.verdict {
        Verdict::NoVerdict { reason, .. } => reason,
        other => panic!("a verdict where none may be: {other:?}"),
    }
}

/// A factorial of three factors; the third is refused at its high level; `fraction` leaves out half of the arms.
fn factorial_run(fraction: bool, refuse: bool) -> (Manifest, Vec<TrialRecord>) {
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
                row.status = TrialStatus::NotApplied("no such file".into());
            }
        }
    }
    let factor = |name: &str| Factor {
        name: name.into(),
        low: String::new(),
        high: format!("sysctl:{name}=1"),
        not_applied: None,
    };
    lab.manifest.factorial = Some(Factorial { factors: ["a", "b", "c"].map(factor).into(), levels });
    lab.run()
}

fn factorial(fraction: bool, refuse: bool) -> Findings {
    let (manifest, trials) = factorial_run(fraction, refuse);
    compare(&manifest, &trials)
}

#[test]
fn a_boot_is_one_unit_of_a_main_effect_too() {
    let (mut manifest, trials) = factorial_run(false, false);
    manifest.boots = Some(4);
    let findings = compare(&manifest, &trials);
    let found = &findings.workloads[0].main_effects[0].contrast;
    assert_eq!((found.units, found.unit_name.as_str(), found.unit_effects.len()), (4, "boots", 4));
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
    assert_eq!(exit_status(&findings, &[FailOn::Worse]), 3, "c is worse");
    assert_eq!(exit_status(&findings, &[FailOn::Inconclusive]), 0, "every factor is decided, whatever single arms are");
}

#[test]
fn a_forecast_counts_the_trials_of_half_the_arms() {
    let (mut manifest, trials) = factorial_run(false, false);
    let of_factors = forecast(&manifest, &trials, 0, 8).unwrap();
    manifest.factorial = None;
    let of_arms = forecast(&manifest, &trials, 0, 8).unwrap();
    assert!((of_arms.sd / of_factors.sd - 2.0).abs() < 1e-9, "four arms a side: half the noise");
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
    // The fraction has no balanced half left: a and b are high together.
    let findings = factorial(true, true);
    let effects = &findings.workloads[0].main_effects;
    assert!(reason(&effects[0].contrast).contains("equally often"), "{:?}", effects[0].contrast.verdict);
}

#[test]
fn a_sweep_has_a_scaling_table() {
    let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe:copies=1", "pipe:copies=2", "pipe:copies=4"]);
    let values = ["1", "2", "4"].map(str::to_owned).into();
    lab.manifest.sweeps = vec![Sweep { option: "copies".into(), parallel: true, values, workloads: vec![0, 1, 2] }];
    for (workload, total) in [(0, 1e5), (1, 1.9e5), (2, 1.9e5)] {
        for _ in 0..6 {
            lab.block_of(workload, |_, noise| {
                let mut made = outcome(rate(total * (0.01 * noise).exp()));
                made.metrics.push(metric("fairness_jain", 0.99, "share", Direction::HigherIsBetter));
                for copy in 0..1 << workload {
                    for role in ["parent", "child"] {
                        made.tasks.push(TaskRecord {
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
    let mut loaded = findings;
    loaded.workloads[2].load = vec!["burn:1".into()];
    assert_eq!(workload_label(&loaded, &loaded.workloads[2]), "pipe:copies=4", "told apart without it");
    loaded.workloads[1].spec = loaded.workloads[2].spec.clone();
    let labels = [1, 2].map(|index| workload_label(&loaded, &loaded.workloads[index]));
    assert_eq!(labels.map(|label| label.contains("beside burn:1")), [false, true]);
}
