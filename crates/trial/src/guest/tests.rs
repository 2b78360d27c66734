//! Guests are booted with their arms' machines, and samples pair the arms.

use super::answer::in_force;
use super::*;
use schedlab_plan::{Arm, GuestResult};
use std::sync::{Condvar, Mutex};

fn order() -> TrialOrder {
    serde_json::from_value(serde_json::json!({
        "workload": "pipe", "settings": [], "stamping": "off", "counters": "basic", "load": [],
        "load_group": "same", "net_namespace": false, "cgroup_procs": [], "workload_cgroups": [],
        "switchback": null, "seed": 1
    }))
    .unwrap()
}

fn planned(position: u32, arm: u32, settings: &[Setting]) -> Planned {
    let order = TrialOrder { workload: format!("pipe:pin=same,bytes={}", arm + 1).parse().unwrap(), ..order() };
    Planned {
        workload: 0,
        arm,
        position,
        order,
        settings: settings.to_vec(),
        timeout: Duration::from_secs(10),
        is_recorded: false,
    }
}

fn answer() -> GuestAnswer {
    GuestAnswer {
        result: GuestResult::Failed("no clock".into()),
        boot_id: String::new(),
        kernel_release: String::new(),
        cmdline: String::new(),
        topology: String::new(),
        words_without_effect: Vec::new(),
        other_machine: None,
    }
}

#[test]
fn each_trial_boots_its_arms_guest_and_samples_pair_the_arms() {
    let specs = ["kernel:debian:6.1;feature:NO_WA_IDLE", "kernel:debian:6.12", "kernel:./copy"];
    let arms = specs.map(|spec| Arm::parse(spec, spec).unwrap());
    let key = |settings: &[Setting]| settings.iter().map(Setting::to_string).collect::<Vec<_>>().join(";");
    let seen = Mutex::new(Vec::new());
    let boot = |trial: &GuestTrial| {
        let GuestTask::Trials(ordered) = &trial.task else { panic!("{trial:?}") };
        let [GuestOrder { order, settings, .. }] = ordered.as_slice() else { panic!("{trial:?}") };
        let mut seen = seen.lock().unwrap();
        seen.push(((key(&trial.booted_with), key(settings), trial.sample), order.seed));
        Ok(Ok(GuestAnswer { boot_id: format!("boot {}", seen.len()), ..answer() }))
    };
    // The second and third arm have equal guests, described in different words.
    let identities = ["6.1", "6.12", "6.12"].map(|machine| identity(machine, "")).into();
    let mut runner = guests(&boot, GuestPer::Trial, identities, Vec::new(), 1, 1, &[]);
    let order = (0..).zip([0u32, 1, 2, 2, 1, 0]);
    let block: Vec<_> = order.map(|(number, arm)| planned(number, arm, &arms[arm as usize].settings)).collect();
    runner.block(1, block.clone());
    for (number, trial) in block.iter().enumerate() {
        assert_eq!(runner.run(trial).unwrap(), Err("no clock".into()));
        assert_eq!(runner.boot_id(), Some(format!("boot {}", number + 1)));
    }
    let expected = [
        ("kernel:debian:6.1", "feature:NO_WA_IDLE", 1),
        ("kernel:debian:6.12", "", 1),
        ("kernel:./copy", "", 1_000_001),
        ("kernel:./copy", "", 1_000_002),
        ("kernel:debian:6.12", "", 2),
        ("kernel:debian:6.1", "feature:NO_WA_IDLE", 2),
    ];
    let (seen, seeds): (Vec<_>, Vec<_>) = seen.into_inner().unwrap().into_iter().unzip();
    assert_eq!(seen, expected.map(|(kernel, set, n)| (kernel.to_owned(), set.to_owned(), n)));
    assert!(seeds[0] == seeds[1] && seeds[4] == seeds[5], "equal samples draw alike: {seeds:?}");
    assert!(seeds[0] != seeds[2] && seeds[0] != seeds[4] && seeds[2] != seeds[3], "others do not: {seeds:?}");
    assert!(seeds.iter().all(|seed| seed.to_string().len() == 19));
}

fn identity(machine: &str, set: &str) -> Identity {
    Identity { machine: machine.into(), set: set.into() }
}

fn outcome(workload: &str) -> TrialOutcome {
    TrialOutcome { workload: workload.into(), ..TrialOutcome::default() }
}

#[test]
fn a_guest_of_a_block_runs_the_trials_of_its_machine_in_their_order() {
    let specs = ["kernel:a;nice=1", "kernel:a", "kernel:b"];
    let arms = specs.map(|spec| Arm::parse(spec, spec).unwrap());
    let boots = Mutex::new(Vec::new());
    let boot = |trial: &GuestTrial| {
        let GuestTask::Trials(ordered) = &trial.task else { panic!("{trial:?}") };
        let mut boots = boots.lock().unwrap();
        boots.push((ordered.clone(), trial.sample, trial.limit));
        let mut outcomes: Vec<_> = ordered.iter().map(|one| Ok(outcome(&one.order.workload.to_string()))).collect();
        // The second guest is told to end during its first trial, and does not begin its second.
        outcomes.truncate(if boots.len() == 2 { 1 } else { 9 });
        let boot_id = format!("boot {}", boots.len());
        Ok(Ok(GuestAnswer { boot_id, result: GuestResult::Measured(outcomes), ..answer() }))
    };
    let identities = ["a", "a", "b"].map(|machine| identity(machine, "")).into();
    let mut runner = guests(&boot, GuestPer::Block, identities, Vec::new(), 1, 1, &[]);
    let block = [1u32, 2, 0, 0, 2, 1];
    let planned = |(position, arm): (u32, u32)| planned(position, arm, &arms[arm as usize].settings);
    runner.block(4, (0..).zip(block).map(planned).collect());
    let mut answers = Vec::new();
    for (position, arm) in (0..).zip(block) {
        let ran = runner.run(&planned((position, arm))).unwrap();
        answers.push((ran.map(|outcome| outcome.workload), runner.boot_id().unwrap()));
        assert!(position > 1 || !runner.has_run(4) || arm == 2, "of one machine at a time");
    }
    let ok = |arm: u32, boot: &str| (Ok(format!("pipe:bytes={},pin=same", arm + 1)), boot.to_owned());
    let (first, second) = ("boot 1", "boot 2");
    assert_eq!(answers, [ok(1, first), ok(2, second), ok(0, first), ok(0, first), ok(2, "boot 3"), ok(1, first)]);
    let boots = boots.into_inner().unwrap();
    assert_eq!(boots.len(), 3);
    let again = |boot: usize| -> Vec<bool> { boots[boot].0.iter().map(|one| one.again).collect() };
    assert_eq!(
        (again(1), again(2)),
        (vec![false; 2], vec![true, false]),
        "what is known runs before what is asked for"
    );
    let (ordered, sample, limit) = &boots[0];
    assert_eq!((ordered.len(), *sample, *limit), (4, 5, Duration::from_secs(40)));
    let seeds: Vec<u64> = ordered.iter().map(|one| one.order.seed).collect();
    assert!(seeds[0] == seeds[1] && seeds[2] == seeds[3] && seeds[0] != seeds[2], "{seeds:?}");
    let set: Vec<usize> = ordered.iter().map(|one| one.settings.len()).collect();
    assert_eq!(set, [0, 1, 1, 0], "the kernel is booted, not set");
}

#[test]
fn blocks_that_share_a_boot_ask_for_it_and_samples_go_on_being_counted() {
    let seen = Mutex::new(Vec::new());
    let boot = |trial: &GuestTrial| {
        seen.lock().unwrap().push((trial.boot, trial.sample));
        Ok(Ok(answer()))
    };
    let identities = ["6.1", "6.1"].map(|machine| identity(machine, "")).into();
    let mut runner = guests(&boot, GuestPer::Trial, identities, vec![1, 1, 2], 1, 1, &[]);
    // The warm-up, the three planned blocks, and one that replaces a spoilt block.
    for number in 0..5 {
        runner.block(number, vec![planned(0, 0, &[])]);
        let _ = runner.run(&planned(0, 0, &[])).unwrap();
    }
    assert_eq!(seen.into_inner().unwrap(), [1, 1, 1, 2, 1].into_iter().map(Some).zip(1..).collect::<Vec<_>>());
}

/// A block with two kernels.
fn block_of_two() -> Vec<Planned> {
    let kernel: Setting = "kernel:debian:6.12".parse().unwrap();
    let of_arm = |(position, arm)| planned(position, arm, if arm == 0 { &[] } else { std::slice::from_ref(&kernel) });
    (0..).zip([0, 1, 1, 0]).map(of_arm).collect()
}

fn of_two_kernels() -> Vec<Identity> {
    ["6.1", "6.12"].map(|machine| identity(machine, "")).into()
}

fn sample_of(trial: &GuestTrial) -> Result<Result<GuestAnswer, String>> {
    let outcome = outcome(&format!("{} of {}", trial.sample, trial.booted_with.len()));
    Ok(Ok(GuestAnswer { result: GuestResult::Measured(vec![Ok(outcome)]), ..answer() }))
}

/// Runs the block with the trials in `recorded` already done: the outcomes of the others, and their shares of time.
fn ended(boot: Boot<'_>, at_once: usize, recorded: &[usize]) -> (Vec<String>, Vec<Option<u64>>) {
    let mut block = block_of_two();
    recorded.iter().for_each(|number| block[*number].is_recorded = true);
    let mut runner = guests(boot, GuestPer::Trial, of_two_kernels(), Vec::new(), 1, at_once, &[]);
    for number in recorded {
        *runner.trials.entry((0, block[*number].arm)).or_insert(0) += 1;
    }
    runner.block(1, block.clone());
    let mut shares = Vec::new();
    let mut run = |trial: &Planned| {
        let ended = runner.run(trial).and_then(|ran| ran.map_err(anyhow::Error::msg));
        shares.push(runner.share_ns());
        ended.map_or_else(|error| error.to_string(), |outcome| outcome.workload)
    };
    let ran = block.iter().filter(|trial| !trial.is_recorded).map(&mut run).collect();
    (ran, shares)
}

type Boot<'a> = &'a (dyn Fn(&GuestTrial) -> Result<Result<GuestAnswer, String>> + Sync);

#[test]
fn guests_side_by_side_are_the_samples_that_they_are_one_after_the_other() {
    for at_once in [1, 2, 3, 9] {
        let (ran, shares) = ended(&sample_of, at_once, &[]);
        assert_eq!(ran, ["1 of 0", "1 of 1", "2 of 1", "2 of 0"], "{at_once}");
        assert_eq!(shares.iter().all(Option::is_none), at_once == 1, "{shares:?}");
        assert!(at_once < 4 || shares.iter().all(|share| *share == shares[0]), "{shares:?}");
        // Samples that an interrupted run has are neither run again nor counted twice, wherever they are.
        assert_eq!(ended(&sample_of, at_once, &[0, 2]).0, ["1 of 1", "2 of 0"], "{at_once}");
        assert_eq!(ended(&sample_of, at_once, &[1]).0, ["1 of 0", "2 of 1", "2 of 0"], "{at_once}");
    }
}

#[test]
fn two_guests_run_at_the_same_time() {
    let (here, met) = (Mutex::new(0), Condvar::new());
    let boot = |trial: &GuestTrial| {
        let mut guests = here.lock().unwrap();
        *guests += 1;
        met.notify_all();
        // The first guest waits for the second.
        let (_guests, alone) =
            met.wait_timeout_while(guests, Duration::from_secs(60), |guests| *guests % 2 == 1).unwrap();
        assert!(!alone.timed_out(), "no guest came beside it");
        sample_of(trial)
    };
    assert_eq!(ended(&boot, 2, &[]).0.len(), 4);
}

#[test]
fn an_error_of_one_guest_loses_no_result_of_those_beside_it() {
    let boot = |trial: &GuestTrial| match (trial.booted_with.len(), trial.sample) {
        (1, 1) => anyhow::bail!("the disk is full"),
        _ => sample_of(trial),
    };
    assert_eq!(ended(&boot, 4, &[]).0[..2], ["1 of 0", "the disk is full"]);
}

#[test]
fn a_run_that_begins_further_on_shares_no_sample_and_no_boot() {
    let seen = Mutex::new(Vec::new());
    let boot = |trial: &GuestTrial| {
        seen.lock().unwrap().push((trial.boot, trial.sample));
        Ok(Ok(answer()))
    };
    let identities = ["6.1", "6.12"].map(|machine| identity(machine, "")).into();
    let mut runner = guests(&boot, GuestPer::Trial, identities, vec![1, 2], 901, 1, &[]);
    for number in 1..3 {
        runner.block(number, vec![planned(0, 0, &[])]);
        let _ = runner.run(&planned(0, 0, &[])).unwrap();
    }
    assert_eq!(seen.into_inner().unwrap(), [(Some(901), 901), (Some(902), 902)]);
}

#[test]
fn a_word_that_is_not_on_the_command_line_or_that_its_kernel_does_not_know_is_not_applied() {
    let answer = GuestAnswer {
        cmdline: "quiet preempt=full nosuch".into(),
        words_without_effect: vec!["nosuch".into()],
        other_machine: Some("1 node of 2".into()),
        ..answer()
    };
    let of = |text: &str| in_force(&text.parse().unwrap(), &answer).not_applied.is_none();
    assert!(of("boot:preempt=full") && of("kernel:debian:6.1"));
    assert!(!of("boot:preempt=none") && !of("boot:nosuch") && !of("topology:nodes=2"));
}

#[test]
fn a_guest_that_fails_fails_its_trial_and_a_host_that_cannot_boot_any_ends_the_run() {
    let identities = || vec![identity("6.1", ""), identity("6.1", "x")];
    for per in [GuestPer::Trial, GuestPer::Block] {
        let boot = |_: &GuestTrial| Ok(Err("no first word".to_owned()));
        let mut runner = guests(&boot, per, identities(), Vec::new(), 1, 1, &[]);
        runner.block(0, vec![planned(0, 0, &[])]);
        assert_eq!(runner.run(&planned(0, 0, &[])).unwrap(), Err("no first word".into()));
        let boot = |_: &GuestTrial| anyhow::bail!("the disk is full");
        let mut runner = guests(&boot, per, identities(), Vec::new(), 1, 1, &[]);
        runner.block(0, vec![planned(0, 0, &[])]);
        assert_eq!(runner.run(&planned(0, 0, &[])).unwrap_err().to_string(), "the disk is full");
    }
}
