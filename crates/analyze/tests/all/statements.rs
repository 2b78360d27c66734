//! Statements of a plan, on runs with a known truth.

use crate::lab::lab;
use schedlab_analyze::*;
use schedlab_plan::Plan;

const PLAN: &str = "trials = 6\nsesoi = \"3%\"\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"default\"\n\
    [[grid]]\nname = \"m\"\nset = \"slice\"\nvalues = [\"1ms\", \"10ms\"]\n\
    [[grid]]\nname = \"w\"\nset = \"debugfs:w\"\nvalues = [\"1ms\", \"2ms\", \"4ms\", \"8ms\", \"16ms\", \"30ms\"]\n";

/// The answers of a run in which each arm's rate relative to the default is `rate(m, w)`, with noise of the given SD.
fn judged(statements: &str, blocks: u32, truth: fn(f64, f64) -> (f64, f64)) -> WorkloadFindings {
    judged_of(PLAN, statements, blocks, truth)
}

fn judged_of(plan: &str, statements: &str, blocks: u32, truth: fn(f64, f64) -> (f64, f64)) -> WorkloadFindings {
    let text = format!("{plan}{statements}");
    let plan = Plan::parse(&text).unwrap();
    let specs: Vec<(String, String)> = plan.arms.iter().map(|arm| (arm.name.clone(), arm.spec())).collect();
    let arms: Vec<(&str, &str)> = specs.iter().map(|(name, spec)| (name.as_str(), spec.as_str())).collect();
    let mut lab = lab(&arms, &["pipe"]);
    let at = |name: &str, axis: &str| {
        let word = name.split_whitespace().find_map(|word| word.strip_prefix(axis)?.strip_suffix("ms")).unwrap_or("3");
        word.parse::<f64>().unwrap()
    };
    for block in 0..blocks {
        lab.block(0, |arm, noise| {
            let name = &specs[arm as usize].0;
            let (rate, spread) = truth(at(name, "m="), at(name, "w="));
            crate::lab::rate((1.0 + 0.1 * f64::from(block)) * 1000.0 * rate * (spread * noise).exp())
        });
    }
    let (mut manifest, trials) = lab.run();
    manifest.plan_toml = text;
    manifest.sesoi = 0.03;
    compare(&manifest, &trials).workloads.remove(0)
}

fn said(arms: &str, than: &str, is: &str) -> String {
    let than = if than.is_empty() { String::new() } else { format!("than = \"{than}\"\n") };
    format!("[[statement]]\nsays = \"{arms} {is}\"\narms = \"{arms}\"\n{than}is = \"{is}\"\n")
}

fn answers(found: &WorkloadFindings) -> Vec<Standing> {
    found.statements.iter().map(|said| said.answer).collect()
}

use Standing::{DoesNotHold, Holds, NotDecided};

#[test]
fn a_step_is_better_rises_and_is_level_where_it_should_be() {
    let all = [
        said("w=16ms..30ms", "w=1ms..8ms", "better"),
        said("w=1ms..8ms", "w=16ms..30ms", "better"),
        said("w=1ms..8ms", "", "level"),
        said("w=4ms..30ms", "", "rising"),
        said("w=4ms..30ms", "", "level"),
        said("m=10ms w=30ms", "m=1ms w=30ms", "same"),
        said("w=16ms..30ms", "", "best"),
        said("w=1ms..2ms", "", "best"),
    ];
    let found = judged(&all.concat(), 6, |_, w| (if w > 9.0 { 1.3 } else { 1.0 }, 0.005));
    let expected = [Holds, DoesNotHold, Holds, Holds, DoesNotHold, Holds, Holds, DoesNotHold];
    assert_eq!(answers(&found), expected, "{:?}", found.statements);
    let step = found.statements[0].effect.unwrap();
    assert!(step.lo < 1.3 && 1.3 < step.hi && step.level > 0.99, "{step:?}");
    let best = found.best.unwrap();
    assert!(best.candidates.len() == 4 && best.effect.unwrap().lo > 1.2, "{best:?}");
}

/// With logarithms of some values and not of others, the line would bend.
#[test]
fn a_rise_over_values_with_a_zero_is_over_the_values_themselves() {
    let plan = PLAN.replace(
        "\"1ms\", \"2ms\", \"4ms\", \"8ms\", \"16ms\", \"30ms\"",
        "\"0ms\", \"1ms\", \"2ms\", \"3ms\", \"4ms\", \"5ms\"",
    );
    let found = judged_of(&plan, &said("w=0ms..5ms", "", "rising"), 6, |_, w| ((0.02 * w).exp(), 1e-4));
    let rise = found.statements[0].effect.expect("an effect").value;
    assert!((rise - 0.1_f64.exp()).abs() < 1e-3, "{rise}");
}

#[test]
fn a_hump_is_not_level_and_a_dip_is_no_rise_though_a_line_along_them_says_so() {
    let all = [said("w=1ms..8ms", "", "level"), said("w=1ms..8ms", "", "rising"), said("w=1ms..8ms", "", "falling")];
    let hump = judged(&all.concat(), 6, |_, w| (if w == 2.0 || w == 4.0 { 1.5 } else { 1.0 }, 0.005));
    assert_eq!(answers(&hump), [DoesNotHold; 3], "{:?}", hump.statements);
    assert!(hump.statements[0].reason.contains("against the mean of all"), "{:?}", hump.statements);
    let falls_once = |_, w: f64| ([1.0, 2.0, 1.7, 2.5][(w.log2() as usize).min(3)], 0.005);
    let dip = judged(&said("w=1ms..8ms", "", "rising"), 6, falls_once);
    assert_eq!(answers(&dip), [DoesNotHold], "{:?}", dip.statements);
    assert_eq!(dip.statements[0].reason, "w=4ms against w=2ms");
    // If the interval of one value is wide, it is not decided whether the span is level.
    let noisy = judged(&said("w=1ms..8ms", "", "level"), 6, |_, w| (1.0, if w == 4.0 { 0.2 } else { 0.002 }));
    assert_eq!(answers(&noisy), [NotDecided], "{:?}", noisy.statements);
}

#[test]
fn an_unsettled_span_is_one_whose_trials_vary_more_whatever_its_level_or_slope() {
    let all = [said("w=4ms..8ms", "w=16ms..", "less-steady"), said("w=4ms..8ms", "w=..2ms", "steadier")];
    let truth = |m: f64, w: f64| (m * (0.1 * w).exp(), if (3.0..9.0).contains(&w) { 0.1 } else { 0.02 });
    assert_eq!(answers(&judged(&all.concat(), 6, truth)), [Holds, DoesNotHold]);
    let even = judged(&all.concat(), 6, |m, w| (m * (0.1 * w).exp(), 0.02));
    assert!(even.statements.iter().all(|said| said.answer != Holds), "{:?}", even.statements);
}

#[test]
fn what_is_too_little_is_not_decided_and_says_why() {
    let better = said("m=10ms w=30ms", "", "better");
    let few = judged(&better, 5, |_, _| (1.0, 0.01));
    assert_eq!(answers(&few), [NotDecided]);
    assert_eq!(few.statements[0].reason, "only 5 blocks, a verdict needs 6");
    let wide = judged(&better, 6, |m, _| (if m > 9.0 { 1.02 } else { 1.0 }, 0.2));
    assert_eq!(answers(&wide), [NotDecided]);
    assert!(wide.statements[0].effect.is_some_and(|e| e.lo < 1.0 && e.hi > 1.03), "{:?}", wide.statements);
    assert_eq!(wide.statements[0].than.as_deref(), Some("default"));
}
