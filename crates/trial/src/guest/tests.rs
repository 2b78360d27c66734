//! Guests are booted with their arms' machines, and samples pair the arms.

use super::*;
use schedlab_plan::Arm;

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
    Planned { workload: 0, arm, position, order, settings: settings.to_vec(), timeout: Duration::from_secs(10) }
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
    let (mut seen, mut seeds) = (Vec::new(), Vec::new());
    let mut boot = |trial: &GuestTrial| {
        let GuestTask::Trials(ordered) = &trial.task else { panic!("{trial:?}") };
        let [GuestOrder { order, settings, .. }] = ordered.as_slice() else { panic!("{trial:?}") };
        seen.push((key(&trial.booted_with), key(settings), trial.sample));
        seeds.push(order.seed);
        Ok(Ok(GuestAnswer { boot_id: format!("boot {}", seen.len()), ..answer() }))
    };
    // The second arm's guests are equal to the third's, which describes them in other words.
    let identities = ["6.1", "6.12", "6.12"].map(|machine| identity(machine, "")).into();
    let mut runner = guests(&mut boot, GuestPer::Trial, identities, Vec::new(), 1, &[]);
    for (number, arm) in [0u32, 1, 2, 2, 1, 0].into_iter().enumerate() {
        let trial = planned(number as u32, arm, &arms[arm as usize].settings);
        assert_eq!(runner.run(&trial).unwrap(), Err("no clock".into()));
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
    let mut boots = Vec::new();
    let mut boot = |trial: &GuestTrial| {
        let GuestTask::Trials(ordered) = &trial.task else { panic!("{trial:?}") };
        boots.push((ordered.clone(), trial.sample, trial.limit));
        let mut outcomes: Vec<_> = ordered.iter().map(|one| Ok(outcome(&one.order.workload.to_string()))).collect();
        // The second guest is told to end during its first trial, and does not begin its second.
        outcomes.truncate(if boots.len() == 2 { 1 } else { 9 });
        let boot_id = format!("boot {}", boots.len());
        Ok(Ok(GuestAnswer { boot_id, result: GuestResult::Measured(outcomes), ..answer() }))
    };
    let identities = ["a", "a", "b"].map(|machine| identity(machine, "")).into();
    let mut runner = guests(&mut boot, GuestPer::Block, identities, Vec::new(), 1, &[]);
    assert!(runner.wants_blocks() && !runner.has_run(0));
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
    let mut seen = Vec::new();
    let mut boot = |trial: &GuestTrial| {
        seen.push((trial.boot, trial.sample));
        Ok(Ok(answer()))
    };
    let identities = ["6.1", "6.1"].map(|machine| identity(machine, "")).into();
    let mut runner = guests(&mut boot, GuestPer::Trial, identities, vec![1, 1, 2], 1, &[]);
    assert!(runner.wants_blocks());
    // The warm-up, the three planned blocks, and one that replaces a spoilt block.
    for number in 0..5 {
        runner.block(number, Vec::new());
        let _ = runner.run(&planned(0, 0, &[])).unwrap();
    }
    assert_eq!(seen, [1, 1, 1, 2, 1].into_iter().map(Some).zip(1..).collect::<Vec<_>>());
}

#[test]
fn a_run_that_begins_further_on_shares_no_sample_and_no_boot() {
    let mut seen = Vec::new();
    let mut boot = |trial: &GuestTrial| {
        seen.push((trial.boot, trial.sample));
        Ok(Ok(answer()))
    };
    let identities = ["6.1", "6.12"].map(|machine| identity(machine, "")).into();
    let mut runner = guests(&mut boot, GuestPer::Trial, identities, vec![1, 2], 901, &[]);
    for number in 1..3 {
        runner.block(number, Vec::new());
        let _ = runner.run(&planned(0, 0, &[])).unwrap();
    }
    assert_eq!(seen, [(Some(901), 901), (Some(902), 902)]);
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
        let mut boot = |_: &GuestTrial| Ok(Err("no first word".to_owned()));
        let mut runner = guests(&mut boot, per, identities(), Vec::new(), 1, &[]);
        runner.block(0, vec![planned(0, 0, &[])]);
        assert_eq!(runner.run(&planned(0, 0, &[])).unwrap(), Err("no first word".into()));
        let mut boot = |_: &GuestTrial| anyhow::bail!("the disk is full");
        let mut runner = guests(&mut boot, per, identities(), Vec::new(), 1, &[]);
        runner.block(0, vec![planned(0, 0, &[])]);
        assert_eq!(runner.run(&planned(0, 0, &[])).unwrap_err().to_string(), "the disk is full");
    }
}
