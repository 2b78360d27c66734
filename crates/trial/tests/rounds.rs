//! Studies in rounds, run by the loop with its fakes.

mod fake;

use anyhow::Result;
use fake::{Lab, manifest};
use schedlab_analyze::{ArmEffects, Lacking, Scale, arm_effects};
use schedlab_plan::Plan;
use schedlab_plan::manifest::Design;
use schedlab_trial::rounds::{Ended, Measured, Round, Study, drive};

/// Adds blocks until the standard error is small, as a study might.
struct UntilSure {
    told: Vec<ArmEffects>,
    asked: Vec<u32>,
}

const BLOCKS: u32 = 4;

fn base() -> Plan {
    let arms = "[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"nice=5\"\n";
    Plan::parse(&format!("title = \"s\"\n[[workload]]\nrun = \"pipe\"\n{arms}")).unwrap()
}

impl UntilSure {
    fn new() -> Self {
        Self { told: Vec::new(), asked: Vec::new() }
    }

    fn gains(&self) -> Vec<f64> {
        self.told.iter().flat_map(ArmEffects::gains).collect()
    }
}

impl Study for UntilSure {
    fn ask(&mut self) -> Result<Option<Plan>> {
        let error = schedlab_stats::t_estimate(&self.gains(), 0.95).map(|e| e.interval.half_width());
        if error.is_some_and(|error| error < 0.01) {
            return Ok(None);
        }
        let seed = self.asked.len() as u32 + 1;
        self.asked.push(seed);
        Ok(Some(base().round(seed, base().arms, BLOCKS, u64::from(seed))))
    }

    fn tell(&mut self, round: &Round) -> Result<()> {
        self.told.extend(arm_effects(&round.manifest, &round.trials, 0).map_err(anyhow::Error::msg)?);
        Ok(())
    }
}

fn measured(number: u32, plan: &Plan, change: &dyn Fn(&mut Lab)) -> Result<Round> {
    let mut manifest = manifest(Design::Fixed { blocks: BLOCKS }, &["", "nice=5"]);
    manifest.seed = plan.seed.expect("the study draws it");
    manifest.plan_toml = plan.to_toml();
    let mut lab = Lab::new(manifest);
    (lab.effect, lab.noise) = (1.05, 0.02);
    change(&mut lab);
    let (manifest, trials) = lab.run();
    Ok(Round { number, dir: format!("rounds/{number:03}").into(), manifest, trials })
}

#[test]
fn a_study_is_told_each_round_until_it_asks_for_none() {
    let mut study = UntilSure::new();
    let ended = drive(&mut study, &mut |number, plan| measured(number, plan, &|_| {})).unwrap();
    let rounds = study.told.len() as u32;
    assert_eq!((ended, &study.asked), ((Ended::Finished, rounds), &(1..=rounds).collect()));
    assert!(rounds > 1, "{rounds}");
    let gains = study.gains();
    assert_eq!(gains.len() as u32, rounds * BLOCKS);
    let mean = gains.iter().sum::<f64>() / gains.len() as f64;
    assert!((mean - 1.05_f64.ln()).abs() < 0.02, "{mean}");
    let first = &study.told[0];
    assert_eq!((first.arm, first.scale, first.unit_name, &first.lacking), (1, Scale::Ratio, "blocks", &None));
    assert!((first.arm_mean / first.control_mean - 1.05).abs() < 0.05, "{first:?}");
}

#[test]
fn a_study_asked_again_asks_the_same() {
    let run = || {
        let mut study = UntilSure::new();
        drive(&mut study, &mut |number, plan| measured(number, plan, &|_| {})).unwrap();
        (study.asked, study.told)
    };
    assert_eq!(run(), run());
}

#[test]
fn a_round_that_was_interrupted_or_is_void_is_not_told() {
    let mut study = UntilSure::new();
    let cut = &|lab: &mut Lab| lab.interrupt_after = Some(6);
    let ended = drive(&mut study, &mut |number, plan| measured(number, plan, cut)).unwrap();
    assert_eq!((ended, study.told.len()), ((Ended::Interrupted, 0), 0));
    let foreign = &|lab: &mut Lab| lab.foreign_at = Some(6);
    let (ended, told) = drive(&mut study, &mut |number, plan| measured(number, plan, foreign)).unwrap();
    assert!(matches!(ended, Ended::Void(why) if why.contains("kernel.x")), "{told}");
    assert_eq!(told, 0);
}

#[test]
fn a_run_that_cannot_begin_ends_a_study_that_cannot_do_without_it() {
    let mut refused = |_: u32, _: &Plan| Ok(Measured::NotBegun(anyhow::anyhow!("no such kernel")));
    let why = drive(&mut UntilSure::new(), &mut refused).unwrap_err();
    assert_eq!(why.to_string(), "no such kernel");
    let mut interrupted = |_: u32, _: &Plan| Ok(Measured::Interrupted);
    assert_eq!(drive(&mut UntilSure::new(), &mut interrupted).unwrap(), (Ended::Interrupted, 0));
}

#[test]
fn an_arm_without_effects_says_why() {
    let refused = measured(1, &UntilSure::new().ask().unwrap().unwrap(), &|lab| lab.refuse = Some("nice")).unwrap();
    let effects = arm_effects(&refused.manifest, &refused.trials, 0).unwrap();
    let [only] = effects.as_slice() else { panic!("{effects:?}") };
    let why = "not applied: nice=5: this kernel ignores it".into();
    assert_eq!(only.lacking, Some(Lacking { arm: 1, why }));
    assert!(only.effects.is_empty());
}
