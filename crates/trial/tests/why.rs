//! `schedlab why`, run by the loop with its fakes: a difference that two toggles remove, and questions that are
//! refused.

mod fake;

use anyhow::Result;
use fake::{Lab, manifest};
use schedlab_plan::factorial::{PlannedFactor, Toggles};
use schedlab_plan::manifest::Design;
use schedlab_plan::plan::{Plan, Stopping};
use schedlab_plan::{Arm, Setting};
use schedlab_trial::rounds::{Ended, Measured, Round, drive};
use schedlab_trial::why::Why;
use schedlab_trial::why_kernels::WhyKernels;

const PLAN: &str = "title = \"s\"\ntrials = 8\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"nice=5\"\n";

fn toggle(name: &str) -> PlannedFactor {
    let arm = |spec: &str| Arm::parse("x", spec).unwrap();
    PlannedFactor { name: name.into(), low: arm(""), high: arm(&format!("feature:{name}")) }
}

fn toggles() -> Toggles {
    let names = ["NO_A", "NO_B", "NO_C", "NO_D", "NO_E", "NO_F", "NO_G", "NO_H", "NO_I", "NO_J", "NO_K", "NO_L"];
    Toggles { factors: names.map(toggle).into(), left_out: vec!["numa_balancing: not here".into()] }
}

fn has(settings: &[Setting], text: &str) -> bool {
    settings.iter().any(|setting| setting.to_string() == text)
}

/// Arm b is 20 % slower, unless one of two features is off: then it is as fast as a. A third one slows down both alike.
fn rate(settings: &[Setting]) -> f64 {
    let freed = has(settings, "feature:NO_C") || has(settings, "feature:NO_K");
    let slower = if has(settings, "nice=5") && !freed { 0.8 } else { 1.0 };
    slower * if has(settings, "feature:NO_E") { 0.5 } else { 1.0 }
}

fn measured(number: u32, plan: &Plan, rate: fn(&[Setting]) -> f64) -> Result<Round> {
    let Stopping::Trials { blocks } = plan.stopping else { panic!("{:?}", plan.stopping) };
    let mut manifest = manifest(Design::Fixed { blocks }, &[]);
    manifest.arms = plan.arms.clone();
    manifest.seed = plan.seed.expect("the study draws it");
    manifest.plan_toml = plan.to_toml();
    assert_eq!(&Plan::parse(&manifest.plan_toml)?, plan);
    let mut lab = Lab::new(manifest);
    (lab.rate, lab.noise) = (Some(rate), 0.02);
    let (manifest, trials) = lab.run();
    Ok(Round { number, dir: format!("rounds/{number:03}").into(), manifest, trials })
}

fn why(plan: &str) -> Result<Why> {
    Why::new(&Plan::parse(plan)?, &[toggles(), toggles()], &[], &[])
}

#[test]
fn toggles_that_change_the_difference_are_named_and_one_that_slows_both_arms_is_not() {
    let mut study = why(PLAN).unwrap();
    let (ended, rounds) = drive(&mut study, &mut |number, plan| measured(number, plan, rate)).unwrap();
    assert_eq!((ended, rounds), (Ended::Finished, 3), "the difference, each alone and all but it, the two in full");
    let found = study.findings().unwrap();
    assert_eq!(found.named, ["NO_C", "NO_K"]);
    assert!(found.difference.is_there && (found.difference.effect.value - 0.8).abs() < 0.02);
    let alone = found.cells.iter().find(|cell| cell.switched == ["NO_C"]).unwrap();
    assert!((alone.difference - 1.0).abs() < 0.05, "{alone:?}");
    assert!(found.contrasts.iter().any(|c| c.factors == ["NO_C", "NO_K"] && c.p_adjusted < 0.05), "they act together");
    assert_eq!(found.left_out, ["numa_balancing: not here"]);
}

#[test]
fn a_study_that_goes_on_from_its_rounds_asks_the_same() {
    let mut stored = Vec::new();
    let keep = |number: u32, plan: &Plan| {
        stored.push(plan.to_toml());
        measured(number, plan, rate)
    };
    drive(&mut why(PLAN).unwrap(), &mut { keep }).unwrap();
    let mut again = Vec::new();
    let check = |number: u32, plan: &Plan| {
        again.push(plan.to_toml());
        measured(number, plan, rate)
    };
    drive(&mut why(PLAN).unwrap(), &mut { check }).unwrap();
    assert_eq!(stored, again);
}

#[test]
fn without_a_difference_nothing_is_screened() {
    let mut study = why(PLAN).unwrap();
    let (ended, rounds) = drive(&mut study, &mut |number, plan| measured(number, plan, |_| 1.0)).unwrap();
    assert_eq!((ended, rounds), (Ended::Finished, 1));
    let found = study.findings().unwrap();
    assert!(!found.difference.is_there && found.stages.is_empty() && found.named.is_empty() && found.finished);
}

/// A combination with a trial that completes nothing has no ratio; mixed differences and ratios could name any toggle.
#[test]
fn a_combination_that_completes_nothing_ends_the_screen_and_names_none() {
    let stuck = |settings: &[Setting]| {
        let is_stuck = has(settings, "nice=5") && has(settings, "feature:NO_A");
        if is_stuck { 0.0 } else { rate(settings) }
    };
    let mut study = why(PLAN).unwrap();
    let (ended, rounds) = drive(&mut study, &mut |number, plan| measured(number, plan, stuck)).unwrap();
    assert_eq!((ended, rounds), (Ended::Finished, 2));
    let found = study.findings().unwrap();
    assert!(found.named.is_empty() && !found.finished && found.difference.is_there);
    let cut = found.cut.unwrap();
    assert!(cut.starts_with("round 2: a trial of `") && cut.contains("completed nothing"), "{cut}");
}

#[test]
fn a_stage_that_goes_beyond_the_budget_is_not_begun_and_a_larger_one_goes_on() {
    let within = |budget_ns: u64| {
        let mut study = why(PLAN).unwrap().within(Some(budget_ns));
        let (ended, rounds) = drive(&mut study, &mut |number, plan| measured(number, plan, rate)).unwrap();
        assert_eq!(ended, Ended::Finished);
        (rounds, study.findings().unwrap())
    };
    let (rounds, found) = within(1);
    assert_eq!((rounds, found.finished, found.named.len()), (1, false, 0), "the difference is measured all the same");
    let cut = found.cut.unwrap();
    assert!(cut.contains("combinations of both arms") && cut.contains("are used"), "{cut}");
    let (rounds, found) = within(u64::MAX);
    assert_eq!((rounds, found.cut, found.named.len()), (3, None, 2));
}

#[test]
fn what_an_arm_sets_is_no_toggle_and_what_is_no_question_is_told() {
    let set = PLAN.replace("nice=5", "feature:NO_C");
    let study = why(&set).unwrap();
    assert_eq!(study.factors().len(), 11);
    assert!(study.left_out().contains(&"NO_C: arm `b` sets it".to_owned()), "{:?}", study.left_out());
    let three = format!("{PLAN}[[arm]]\nname = \"c\"\nset = \"nice=6\"\n");
    assert!(why(&three).err().unwrap().to_string().contains("this plan has 3 arms"));
    let plan = Plan::parse(PLAN).unwrap();
    let only = |name: &str| Why::new(&plan, &[toggles(), toggles()], &[name.to_owned()], &[]);
    assert_eq!(only("NO_C").unwrap().factors().len(), 1);
    assert!(only("NO_CC").err().unwrap().to_string().contains("did you mean `NO_C`?"));
    let nothing = Toggles { factors: Vec::new(), left_out: vec!["feature bits: locked down".into()] };
    let none = Why::new(&plan, &[nothing.clone(), nothing], &[], &[]).err().unwrap().to_string();
    assert!(none.contains("feature bits: locked down") && none.contains("[guest]"), "{none}");
}

#[test]
fn a_difference_that_one_kernel_has_is_told_from_the_others() {
    let plan = PLAN.replace("[[workload]]", "[guest]\nkernel = \"debian:6.1\"\n[[workload]]");
    let kernels = ["debian:5.10", "debian:6.1", "debian:6.12"].map(str::to_owned);
    let mut study = WhyKernels::new(&Plan::parse(&plan).unwrap(), &kernels).unwrap();
    let slower: fn(&[Setting]) -> f64 = |settings| if has(settings, "nice=5") { 0.8 } else { 1.0 };
    let measure = &mut |number: u32, plan: &Plan| {
        assert_eq!(plan.guest.as_ref().unwrap().kernel.as_deref(), Some(kernels[number as usize - 1].as_str()));
        measured(number, plan, if number == 2 { slower } else { |_| 1.0 })
    };
    drive(&mut study, measure).unwrap();
    let found = study.findings();
    let there: Vec<bool> = found.kernels.iter().map(|on| on.is_there).collect();
    assert_eq!(there, [false, true, false]);
    assert_eq!(found.kernels[0].step, None);
    assert!(found.kernels[1..].iter().all(|on| on.p_adjusted.unwrap() < 0.05), "it came, and it went: {found:?}");
    assert!(found.left.is_empty());
    assert_eq!(WhyKernels::new(&Plan::parse(&plan).unwrap(), &kernels).unwrap().findings().left, kernels);
}

#[test]
fn a_kernel_without_a_difference_is_told_and_the_others_are_compared() {
    let plan = PLAN.replace("[[workload]]", "[guest]\nkernel = \"debian:6.1\"\n[[workload]]");
    let kernels = ["a:1", "b:2", "c:3", "d:4"].map(str::to_owned);
    let mut study = WhyKernels::new(&Plan::parse(&plan).unwrap(), &kernels).unwrap();
    let slower: fn(&[Setting]) -> f64 = |settings| if has(settings, "nice=5") { 0.8 } else { 1.0 };
    let idle: fn(&[Setting]) -> f64 = |_| 0.0;
    let measure = &mut |number: u32, plan: &Plan| match number {
        2 => Ok(Measured::NotBegun(anyhow::anyhow!("it panics"))),
        _ => measured(number, plan, [slower, slower, idle, |_| 1.0][number as usize - 1]).map(Measured::from),
    };
    let (ended, told) = drive(&mut study, measure).unwrap();
    assert_eq!((ended, told), (Ended::Finished, 3));
    let found = study.findings();
    let on: Vec<(&str, bool)> = found.kernels.iter().map(|on| (on.kernel.as_str(), on.is_there)).collect();
    assert_eq!(on, [("a:1", true), ("d:4", false)]);
    let without: Vec<(&str, &str)> =
        found.not_compared.iter().map(|on| (on.kernel.as_str(), on.why.as_str())).collect();
    assert!(matches!(without[..], [("b:2", "it panics"), ("c:3", why)] if why.contains("complete")), "{without:?}");
    assert!(found.kernels[1].p_adjusted.unwrap() < 0.05, "against the first one");
}

/// Like base_slice, which has another name in 6.1.
#[test]
fn one_name_is_one_toggle_however_each_kernel_writes_it() {
    let arm = |spec: &str| Arm::parse("x", spec).unwrap();
    let of = |spec: &str| Toggles {
        factors: vec![
            PlannedFactor { name: "base_slice=1".into(), low: arm(""), high: arm(spec) },
            toggle(&format!("NO_{}", spec.len())),
        ],
        left_out: Vec::new(),
    };
    let (old, new) = ("debugfs:sched/min_granularity_ns=1", "debugfs:sched/base_slice_ns=1");
    let study = Why::new(&Plan::parse(PLAN).unwrap(), &[of(old), of(new)], &[], &[]).unwrap();
    let factors = study.factors();
    assert_eq!((factors.len(), factors[0].specs.clone()), (3, [old.to_owned(), new.to_owned()]));
    assert!(factors[1].specs[1].is_empty() && factors[2].specs[0].is_empty(), "{factors:?}");
}
