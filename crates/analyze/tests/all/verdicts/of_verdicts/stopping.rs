//! Designs: fixed, budgeted and open-ended runs, and their forecasts.

use super::super::*;

#[test]
fn a_budgeted_run_prints_the_repeated_interval_of_its_last_look() {
    let mut lab = planted(&[1.0, 1.1], 8);
    lab.budgeted(&[(6, 0.6), (8, 0.8)]);
    lab.manifest.ended = "decided".into();
    let (manifest, trials) = lab.run();
    let budgeted = compare(&manifest, &trials);
    let mut fixed = manifest.clone();
    fixed.design = Design::Fixed { blocks: 8 };
    let fixed = compare(&fixed, &trials);
    let width = |f: &Findings| primary(f).effect.map(|e| e.hi - e.lo).unwrap();
    assert!(width(&budgeted) > 1.1 * width(&fixed));
    assert_eq!(primary(&budgeted).estimator, "repeated confidence interval on block log-ratios, look 2");
    assert!(primary(&budgeted).p.unwrap() > primary(&fixed).p.unwrap());
    assert_eq!(primary(&budgeted).verdict, Verdict::Better);
    assert!(decided(&manifest, &trials, 0));
}

#[test]
fn a_fixed_run_that_ended_early_is_judged_as_one_that_may_be_stopped_at_will() {
    let (mut manifest, trials) = planted(&[1.0, 1.02], 8).run();
    let mut judged = |blocks: u32, ended: &str| {
        manifest.design = Design::Fixed { blocks };
        manifest.ended = ended.into();
        let findings = compare(&manifest, &trials);
        (primary(&findings).estimator.clone(), primary(&findings).p)
    };
    let interrupted = judged(20, "interrupted");
    assert!(interrupted.0.starts_with("t-mixture"), "{interrupted:?}");
    assert_eq!(judged(20, ""), interrupted, "killed, or still running");
    let whole = judged(8, "");
    assert!(whole.0.starts_with("t interval") && whole.1 < interrupted.1, "all planned blocks are in: {whole:?}");
}

#[test]
fn the_forecast_of_a_fixed_plan_is_that_of_its_end() {
    let (mut manifest, trials) = planted(&[1.0, 1.0], 8).run();
    (manifest.design, manifest.ended) = (Design::Fixed { blocks: 20 }, String::new());
    let fixed = forecast(&manifest, &trials, 0, 20).unwrap();
    manifest.design = Design::OpenEnded { max_blocks: 20 };
    let open_ended = forecast(&manifest, &trials, 0, 20).unwrap();
    assert!(open_ended.minimum_detectable > 1.5 * fixed.minimum_detectable);
}

#[test]
fn an_open_ended_run_has_a_wider_interval_and_is_decided_by_it() {
    let mut lab = planted(&[1.0, 1.0], 12);
    lab.manifest.design = Design::OpenEnded { max_blocks: 100 };
    let (manifest, trials) = lab.run();
    assert!(decided(&manifest, &trials, 0));
    let findings = compare(&manifest, &trials);
    let (contrast, effect) = (primary(&findings), primary(&findings).effect.unwrap());
    assert!(contrast.verdict == Verdict::Equivalent && effect.hi - effect.lo < 0.1, "{contrast:?}");
    assert!(contrast.estimator.starts_with("t-mixture"));
    assert!(!decided(&manifest, &trials[..4 * 5], 0), "never below six blocks");
}

#[test]
fn a_budget_that_ends_before_any_look_has_its_end_as_the_only_one() {
    let mut lab = planted(&[1.0, 1.1], 6);
    lab.budgeted(&[]);
    lab.manifest.ended = "budget".into();
    let (mut manifest, trials) = lab.run();
    assert_eq!(primary(&compare(&manifest, &trials)).verdict, Verdict::Better);
    manifest.environment.kernel_release.clear();
    assert!(compare(&manifest, &trials).void.unwrap().contains("names no kernel"));
}

/// A single number would be "about 1 more block", and 16 blocks later "about 4899": hence a range, and no number beyond
/// reach.
#[test]
fn a_forecast_is_a_range_and_has_an_end() {
    let more = |spread: f64, effects: [f64; 6]| {
        let mut lab = planted(&[1.0, 1.0], 6);
        lab.manifest.sesoi = 0.000_1;
        for row in lab.trials.iter_mut().filter(|row| row.arm == Some(1)) {
            let effect = spread * effects[row.block as usize];
            row.outcome.as_mut().unwrap().metrics[0].value = 100_000.0 * f64::exp(effect);
        }
        for row in lab.trials.iter_mut().filter(|row| row.arm == Some(0)) {
            row.outcome.as_mut().unwrap().metrics[0].value = 100_000.0;
        }
        let (manifest, trials) = lab.run();
        let findings = compare(&manifest, &trials);
        (primary(&findings).more_units.unwrap(), findings.claims[0].sentence.clone())
    };
    let (near, said) = more(1.0, [0.06, -0.04, 0.05, -0.03, 0.06, -0.02]);
    assert!(near.least.unwrap() >= 1 && near.most.is_none_or(|most| most > 3 * near.least.unwrap()), "{near:?}");
    assert!(said.contains(" more blocks would decide an effect of this size"), "{said}");
    let (far, said) = more(1.0, [0.05, -0.05, 0.05, -0.05, 0.05, -0.049]);
    assert_eq!((far.least, far.most, far.limit), (None, None, 60));
    let end = "an effect of this size is not within reach of this budget: it takes over 60 more blocks";
    assert!(said.ends_with(end), "{said}");
}
