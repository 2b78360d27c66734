//! A search, run by the loop with its fakes: rounds become gains, and gains become findings; given the same rounds
//! again, the findings are the same.

mod fake;

use anyhow::Result;
use fake::{Lab, manifest};
use schedlab_analyze::{SearchFindings, Verdict};
use schedlab_plan::Plan;
use schedlab_plan::manifest::Design;
use schedlab_plan::plan::Stopping;
use schedlab_trial::rounds::{Ended, Round, Study, drive};
use schedlab_trial::search::SearchStudy;

fn plan(strategy: &str, budget: &str) -> Plan {
    let text = format!(
        "seed = 7\nstrategy = \"{strategy}\"\nbudget = \"{budget}\"\ntrial = \"100ms\"\n[[workload]]\nrun = \"pipe:pin=same\"\n\
         [[knob]]\nset = \"nice\"\nrange = [\"1\", \"8\"]\n[[knob]]\nset = \"slice\"\nvalues = [\"1ms\", \"9ms\", \"30ms\"]\n"
    );
    Plan::parse(&text).unwrap()
}

/// Every point is as fast as `lab` says, relative to the default.
fn measured(number: u32, plan: &Plan, change: &dyn Fn(&mut Lab)) -> Result<Round> {
    let Stopping::Trials { blocks } = plan.stopping else { panic!("a round has its blocks") };
    let specs: Vec<String> = plan.arms.iter().map(|arm| arm.spec()).collect();
    let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
    let mut manifest = manifest(Design::Fixed { blocks }, &specs);
    (manifest.seed, manifest.plan_toml) = (plan.seed.unwrap(), plan.to_toml());
    let mut lab = Lab::new(manifest);
    (lab.effect, lab.noise) = (1.05, 0.02);
    change(&mut lab);
    let (manifest, trials) = lab.run();
    Ok(Round { number, dir: format!("rounds/{number:03}").into(), manifest, trials })
}

fn search(strategy: &str, change: &dyn Fn(&mut Lab)) -> SearchFindings {
    let mut study = SearchStudy::new(&plan(strategy, "60s")).unwrap();
    let (ended, _) = drive(&mut study, &mut |number, plan| measured(number, plan, change)).unwrap();
    study.findings(&ended)
}

#[test]
fn a_search_ends_with_fresh_trials_of_a_winner() {
    for strategy in ["surrogate", "halving"] {
        let found = search(strategy, &|_| {});
        assert_eq!((found.ended.as_str(), &found.verdict), ("finished", &Some(Verdict::Better)), "{strategy}");
        let fresh = found.confirmed[0].fresh[0].unwrap();
        assert!((fresh.value - 1.05).abs() < 0.03 && fresh.hi - fresh.lo < 0.1, "{fresh:?}");
        assert_eq!((found.confirmed.len(), found.confirmed[0].fresh_units), (3, 6));
        assert!(found.claim().contains("faster") && found.claim().contains("6 fresh blocks"), "{}", found.claim());
        assert_eq!(found.objectives[0].metric, "round_trips_per_s");
        assert!(found.seconds > 1.0 && found.trials > 100, "{} trials", found.trials);
        assert_eq!(found, search(strategy, &|_| {}), "told again, it is the same");
    }
}

#[test]
fn intervals_are_at_the_level_of_the_plan() {
    let with_alpha = |alpha: f64| {
        let plan = Plan { alpha, ..plan("halving", "60s") };
        let mut study = SearchStudy::new(&plan).unwrap();
        let (ended, _) = drive(&mut study, &mut |number, plan| measured(number, plan, &|_| {})).unwrap();
        study.findings(&ended)
    };
    let (usual, strict) = (with_alpha(0.05), with_alpha(0.001));
    let fresh = |found: &SearchFindings| found.confirmed[0].fresh[0].unwrap();
    let width = |found: &SearchFindings| fresh(found).hi - fresh(found).lo;
    assert!((fresh(&strict).level - 0.999).abs() < 1e-12 && width(&strict) > 2.0 * width(&usual), "{strict:?}");
    assert!(strict.claim().contains("99.9 % interval"), "{}", strict.claim());
    // One block gives no interval, and none is invented.
    let alone = usual.measured.iter().find(|point| point.units == 1).unwrap();
    assert_eq!((alone.search[0].lo, alone.search[0].hi), (None, None));
    assert!(usual.confirmed[1].over_winner.is_some() && usual.confirmed[0].over_winner.is_none());
}

#[test]
fn a_value_that_is_refused_is_left_out_with_its_reason() {
    let found = search("surrogate", &|lab| lab.refuse = Some("slice"));
    assert!(found.confirmed.is_empty() && found.claim().starts_with("No point"), "{}", found.claim());
    let [only] = found.left_out.as_slice() else { panic!("{:?}", found.left_out) };
    assert_eq!(only.why, "this kernel ignores it");
    assert!(only.points[0].starts_with("nice="), "{only:?}");
}

#[test]
fn a_point_that_does_nothing_is_on_the_scale_of_the_others() {
    let nothing = |lab: &mut Lab| {
        lab.rate = Some(|settings| match settings.iter().any(|s| s.to_string() == "slice=30ms") {
            true => 0.0,
            false => 1.0 + 0.05 * settings.len() as f64,
        });
    };
    let found = search("surrogate", &nothing);
    assert_eq!(found.verdict, Some(Verdict::Better), "{}", found.claim());
    assert!(!found.confirmed[0].name.contains("slice=30ms"), "{}", found.claim());
    let worst = found.measured.iter().find(|point| point.name.contains("slice=30ms")).unwrap();
    assert!((1e-4..0.01).contains(&worst.search[0].value), "{worst:?}");
}

#[test]
fn a_round_that_was_cut_is_not_told_and_what_was_seen_stands() {
    let mut study = SearchStudy::new(&plan("surrogate", "60s")).unwrap();
    let cut_second = |number: u32| move |lab: &mut Lab| lab.interrupt_after = (number == 2).then_some(4);
    let (ended, _) = drive(&mut study, &mut |number, plan| measured(number, plan, &cut_second(number))).unwrap();
    let found = study.findings(&ended);
    assert_eq!((ended, found.rounds, found.ended.as_str()), (Ended::Interrupted, 1, "interrupted"));
    assert!(found.confirmed.is_empty() && !found.measured.is_empty());
}

#[test]
fn a_budget_that_holds_no_search_says_what_it_takes() {
    let said = SearchStudy::new(&plan("grid", "30s")).err().unwrap().to_string();
    // 30 s / (100 ms + 21.4 ms + 1 s / 40).
    assert!(said.contains("some 204 trials of 100ms, each with 21.4ms of set-up"), "{said}");
    assert!(said.contains("over 18 points needs") && said.contains("give at least"), "{said}");
}

/// A trial by loops may be much shorter than is assumed for it.
#[test]
fn a_budget_is_not_refused_for_an_assumed_length_but_warned_of() {
    let text = plan("grid", "30s").to_toml().replace("trial = \"100ms\"\n", "");
    let mut study = SearchStudy::new(&Plan::parse(&text.replace("pin=same", "pin=same,loops=500")).unwrap()).unwrap();
    let said = study.budget_warning().unwrap();
    assert!(said.contains("the budget of 30s may be too small") && said.contains("the assumed 1s"), "{said}");
    assert_eq!(study.forecast().last(), Some(&said));
    let (ended, _) = drive(&mut study, &mut |number, plan| measured(number, plan, &|_| {})).unwrap();
    let found = study.findings(&ended);
    assert!(ended == Ended::Finished && !found.confirmed.is_empty(), "{}", found.stopped);
    assert_eq!(SearchStudy::new(&plan("surrogate", "1h")).unwrap().budget_warning(), None);
}

#[test]
fn a_workload_that_says_its_length_keeps_it_and_a_sample_of_a_guest_takes_longer() {
    let of = |run: &str, guest: &str| {
        let text = plan("surrogate", "1h").to_toml().replace("trial = \"100ms\"\n", "");
        let text = text.replace("[[workload]]", &format!("{guest}[[workload]]"));
        let plan = Plan::parse(&text.replace("pipe:pin=same", run)).unwrap();
        let mut study = SearchStudy::new(&plan).unwrap();
        (study.forecast().join("\n"), study.ask().unwrap().unwrap())
    };
    let (said, round) = of("pipe:pin=same", "");
    assert!(
        said.contains("trials of 200ms, each with 21.4ms of set-up, and 1s of checks for every 40")
            && round.trial_ns == Some(200_000_000),
        "{said}"
    );
    let (said, round) = of("pipe:pin=same,loops=500", "");
    assert!(
        said.contains("trials of 1s (assumed: one by `loops`")
            && said.contains(", each with 21.4ms of set-up")
            && round.trial_ns.is_none(),
        "{said}"
    );
    const GUEST: &str = "[guest]\nkernel = \"debian:6.1\"\nlane = \"virtual\"\n";
    let (said, _) = of("pipe:pin=same,loops=500", GUEST);
    assert!(
        said.contains("trials of 1s (assumed") && said.contains(", each with 3s for its boot"),
        "a boot for each: {said}"
    );
    let (said, round) = of("pipe:pin=same", &format!("{GUEST}boots = 6\n"));
    assert!(said.contains("trials of 500ms, and 3s of checks"), "{said}");
    assert!(round.guest.unwrap().boots.is_some_and(|boots| boots <= 6));
}

/// The number of its rungs depends only on its points; only the surrogate continues while time is left.
#[test]
fn a_budget_that_halving_cannot_use_is_told() {
    let said = |strategy: &str, budget: &str| {
        let text = plan(strategy, budget).to_toml();
        SearchStudy::new(&Plan::parse(&text).unwrap()).unwrap().forecast().join("\n")
    };
    let long = said("halving", "1h");
    let trials: u64 = long.split("takes ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let study = |number, plan: &Plan| measured(number, plan, &|_| {});
    let mut search = SearchStudy::new(&plan("halving", "1h")).unwrap();
    let (ended, _) = drive(&mut search, &mut { study }).unwrap();
    let found = search.findings(&ended);
    assert_eq!(found.trials, trials, "{long}");
    assert!(found.stopped.ends_with("of the budget of 3600s were not used"), "{}", found.stopped);
    assert!(long.contains("of the budget stay unused"), "{long}");
    assert!(!said("surrogate", "1h").contains("unused"));
}
