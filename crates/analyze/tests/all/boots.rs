//! Blocks that share boots: the boot is the unit, whatever its number of blocks.

use crate::lab::{Lab, lab, rate};
use schedlab_analyze::*;
use schedlab_plan::manifest::Design;

const BOOTS: usize = 6;
const BLOCKS: usize = 24;

/// Two equal arms, whose difference each boot changes at random by 5 %; a trial varies by 1 %.
fn boots_that_differ(seed: u64) -> Lab {
    let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe"]);
    lab.random = schedlab_stats::Random::new(seed);
    lab.manifest.design = Design::Fixed { blocks: BLOCKS as u32 };
    lab.manifest.boots = Some(BOOTS as u32);
    let of_boots: Vec<(f64, f64)> =
        (0..BOOTS).map(|_| (0.1 * lab.random.normal(), 0.05 * lab.random.normal())).collect();
    for block in 0..BLOCKS {
        let (level, effect) = of_boots[block * BOOTS / BLOCKS];
        lab.block(0, |arm, noise| rate(1000.0 * (level + f64::from(arm) * effect + 0.01 * noise).exp()));
    }
    lab
}

fn contrast(findings: &Findings) -> &Contrast {
    &findings.workloads[0].metrics[0].contrasts[0]
}

#[test]
fn a_boot_is_one_unit_whose_number_is_the_mean_of_its_blocks() {
    let (manifest, trials) = boots_that_differ(3).run();
    assert_eq!([0, 3, 4, 23, 24].map(|block| manifest.boot_of(block)), [1, 1, 2, 6, 1].map(Some));
    let findings = compare(&manifest, &trials);
    let found = contrast(&findings);
    assert_eq!((found.units, found.unit_name.as_str(), found.unit_effects.len()), (BOOTS, "boots", BOOTS));
    assert_eq!(found.estimator, "t interval on log-ratios of boots");
    for unit in &found.unit_effects {
        let logs = |arm| {
            let of =
                trials.iter().filter(|t| t.arm == Some(arm) && manifest.boot_of(t.block) == Some(unit.unit as u32));
            let values: Vec<f64> = of.map(|t| t.outcome.as_ref().unwrap().metrics[0].value.ln()).collect();
            assert_eq!(values.len(), 2 * BLOCKS / BOOTS);
            values.iter().sum::<f64>() / values.len() as f64
        };
        assert!((unit.value.ln() - (logs(1) - logs(0))).abs() < 1e-12);
    }
    let noise = found.noise.as_ref().unwrap();
    assert!(noise.sentence.starts_with("with this scatter, 6 boots can detect"), "{}", noise.sentence);
    assert_eq!(findings.workloads[0].dispersion[0].unit_name, "boots");
    assert_eq!(findings.workloads[0].aa_comparisons[0].units, BOOTS);
    // The levels of boots differ most, those of their blocks not at all.
    let split = findings.workloads[0].variance.clone().unwrap();
    let boots = split.boot_share.unwrap();
    assert!(boots > 0.8 && split.block_share < 0.1, "{split:?}");
    assert!((boots + split.block_share + split.trial_share - 1.0).abs() < 1e-9);
}

#[test]
fn intervals_over_boots_hold_the_truth_and_those_over_their_blocks_do_not() {
    let (mut held, mut held_by_blocks) = (0, 0);
    const RUNS: u64 = 100;
    for seed in 0..RUNS {
        let mut lab = boots_that_differ(seed + 100);
        let holds = |manifest: &schedlab_plan::Manifest, trials: &[schedlab_plan::TrialRecord]| {
            let findings = compare(manifest, trials);
            let effect = contrast(&findings).effect.unwrap();
            i32::from(effect.lo <= 1.0 && 1.0 <= effect.hi)
        };
        held += holds(&lab.manifest, &lab.trials);
        lab.manifest.boots = None;
        held_by_blocks += holds(&lab.manifest, &lab.trials);
    }
    // Three standard errors below 95 %.
    assert!(held >= 88, "{held} of {RUNS}");
    assert!(held_by_blocks < 80, "{held_by_blocks} of {RUNS}");
}

#[test]
fn fewer_boots_than_a_verdict_needs_have_none_however_many_their_blocks_are() {
    let mut lab = boots_that_differ(5);
    lab.manifest.boots = Some(5);
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let Verdict::NoVerdict { why: Withheld::TooFewUnits, reason } = &contrast(&findings).verdict else {
        panic!("{:?}", contrast(&findings).verdict)
    };
    assert_eq!(reason, "only 5 boots, a verdict needs 6");
}
