//! Packs of hand-made runs, and the results of runs that repeat them.

use crate::lab::{lab, planted};
use schedlab_analyze::{Answer, Repetition, compare, pack, repetition};
use schedlab_plan::pack::{Pack, Said};
use schedlab_plan::{Manifest, Plan, TrialRecord};

const PLAN: &str = "trials = 8\nsesoi = \"5%\"\n[[workload]]\nrun = \"pipe:pin=same\"\n[[arm]]\nname = \"other\"\n\
                    [[arm]]\nname = \"b\"\nset = \"policy=batch\"\n";

/// A run with its plan, on a machine of two CPUs.
fn run(factor: f64, blocks: usize) -> (Manifest, Vec<TrialRecord>) {
    let (mut manifest, trials) = planted(&[1.0, factor], blocks).run();
    manifest.plan_toml = Plan::parse(PLAN).unwrap().to_toml();
    (manifest.environment.allowed_cpus, manifest.environment.machine) = ("0-1".into(), "x86_64".into());
    manifest.design = schedlab_plan::manifest::Design::Fixed { blocks: blocks as u32 };
    (manifest, trials)
}

fn packed(factor: f64) -> Pack {
    let (manifest, trials) = run(factor, 12);
    let pack = pack(&manifest, &compare(&manifest, &trials)).unwrap();
    Pack::parse(&pack.to_bytes().unwrap()).unwrap()
}

fn repeated(pack: &Pack, (manifest, trials): (Manifest, Vec<TrialRecord>)) -> Repetition {
    repetition(pack, &manifest, &compare(&manifest, &trials))
}

#[test]
fn an_effect_is_found_again_contradicted_or_open() {
    let pack = packed(0.9);
    assert_eq!(pack.effects[0].said, Said::Differs);
    let answer = |factor| repeated(&pack, run(factor, 12)).answer;
    assert_eq!(answer(0.9), Answer::Reproduced);
    assert_eq!(answer(0.8), Answer::Reproduced, "more is there, too");
    assert_eq!(answer(1.0), Answer::Contradicted);
    assert_eq!(answer(1.1), Answer::Contradicted);
    let near = repeated(&pack, run(0.95, 6));
    assert_eq!(near.answer, Answer::CannotTell, "{near:?}");
    assert!(near.because.contains("6 blocks") && near.because.contains("--trials"), "{}", near.because);
}

#[test]
fn a_trial_in_which_nothing_ended_is_compared_by_differences() {
    let pack = packed(0.5);
    let (manifest, mut trials) = run(0.5, 12);
    let last = trials.iter_mut().rev().find(|trial| trial.arm == Some(1)).unwrap();
    last.outcome.as_mut().unwrap().metrics[0].value = 0.0;
    let found = repeated(&pack, (manifest, trials));
    assert_eq!(found.effects[0].here.unwrap().scale, schedlab_analyze::Scale::Difference);
    assert_eq!(found.answer, Answer::Reproduced, "{found:?}");
}

#[test]
fn that_nothing_is_there_is_found_again_too() {
    let pack = packed(1.0);
    assert_eq!(pack.effects[0].said, Said::Equivalent);
    assert_eq!(repeated(&pack, run(1.0, 12)).answer, Answer::Reproduced);
    assert_eq!(repeated(&pack, run(0.8, 12)).answer, Answer::Contradicted);
}

#[test]
fn what_an_effect_may_need_is_no_contradiction_where_it_is_missing() {
    let pack = packed(0.9);
    let (mut manifest, trials) = run(1.0, 12);
    manifest.environment.allowed_cpus = "0".into();
    let found = repeated(&pack, (manifest, trials));
    assert_eq!(found.answer, Answer::CannotTell);
    assert!(found.because.contains("1 CPU here and there were 2"), "{}", found.because);
    assert!(found.differences.iter().any(|change| change.what == "allowed CPUs"), "{:?}", found.differences);
    let (mut void, trials) = run(0.9, 12);
    void.ended = "void: somebody wrote a knob".into();
    let found = repeated(&pack, (void, trials));
    assert!(found.is_void && found.answer == Answer::CannotTell, "{found:?}");
}

#[test]
fn a_pack_names_no_host_and_no_count_that_follows_one() {
    let (mut manifest, trials) = run(0.9, 12);
    manifest.plan_toml = manifest.plan_toml.replace("pipe:pin=same", "pipe:copies=ncpu,pin=same");
    manifest.plan_toml = manifest.plan_toml.replace("Untitled", "on bench1");
    manifest.command = vec!["schedlab".into(), "run".into(), "/home/me/plan.toml".into()];
    let pack = pack(&manifest, &compare(&manifest, &trials)).unwrap();
    let text = String::from_utf8(pack.to_bytes().unwrap()).unwrap();
    for named in ["bench1", "/home/me", "boot-1", "ncpu"] {
        assert!(!text.contains(named), "{named}: {text}");
    }
    assert!(pack.plan().unwrap().seed.is_none());
}

#[test]
fn a_run_without_an_answer_is_no_pack() {
    let refused = |(manifest, trials): (Manifest, Vec<TrialRecord>)| {
        pack(&manifest, &compare(&manifest, &trials)).unwrap_err().to_string()
    };
    let mut void = run(0.9, 12);
    void.0.ended = "void: somebody wrote a knob".into();
    assert!(refused(void).contains("the run is void"));
    assert!(refused(run(0.9, 3)).contains("no primary metric of the run has a verdict"));
    let (manifest, _) = lab(&[("a", ""), ("b", "nice=1")], &["pipe:pin=same"]).run();
    assert!(refused((manifest, Vec::new())).contains("it has no plan to run again"));
    let mut of_guests = run(0.9, 12);
    of_guests.0.plan_toml =
        of_guests.0.plan_toml.replace("\n\n[[workload]]", "\n[guest]\nkernel = \"debian:6.1\"\n\n[[workload]]");
    assert!(refused(of_guests).contains("format 6"));
}
