//! Plans with a `[guest]` table: their trials run in guests booted for them. A guest takes a few seconds.

mod program;

use program::guests::{KERNEL, can_boot, from};
use program::{Lab, trials_in};
use schedlab_plan::TrialRecord;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn a_dry_run_of_a_plan_with_guests_shows_them_and_finds_what_cannot_boot() {
    let test = "a_dry_run_of_a_plan_with_guests_shows_them_and_finds_what_cannot_boot";
    if !can_boot(test) {
        return;
    }
    let lab = Lab::new("vm-dry");
    let dry = |guest: &str, b: &str| {
        let plan = format!(
            "trials = 6\n[guest]\nkernel = \"{KERNEL}\"\n{guest}\n[[workload]]\nrun = \"pipe:pin=same\"\n\
             [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"{b}\"\n"
        );
        std::fs::write(lab.path("plan.toml"), plan).unwrap();
        from(&lab, &["run", "plan.toml", "--dry-run"])
    };
    let printed = dry("cpus = 1", "boot:preempt=full").success().stdout;
    let lines: Vec<&str> = printed.lines().filter(|line| line.contains("qemu-system-x86_64 ")).collect();
    let [a, b] = &lines[..] else { panic!("{printed}") };
    assert!(a.starts_with("# `a`: ") && !a.contains("preempt=full"), "{a}");
    assert!(b.starts_with("# `b`: ") && b.contains("preempt=full"), "{b}");
    assert!(printed.contains("#   block 0: ") && printed.contains(" s or more"), "{printed}");
    for (guest, b, needle) in [
        ("cpus = 1", "kernel:debian:1.0", "`b`: debian:1.0 is not in the cache"),
        ("cpus = 200", "policy=batch", "--lane virtual"),
        ("cpus = 1", "topology:core=2", "unknown key `core`"),
        ("cpus = 1", "option:mode=fibre", "mode=fibre: must be one of process, thread"),
        ("cpus = 1", "option:loops=5", "give loops or duration, not both"),
    ] {
        let ran = dry(guest, b).failure();
        assert!(ran.stderr.contains(needle), "{guest} {b}: {}", ran.stderr);
    }
    // Arms of a factorial with the same command line share a guest.
    let factors = format!(
        "trials = 6\n[guest]\nkernel = \"{KERNEL}\"\ncpus = 1\n[[workload]]\nrun = \"pipe:pin=same\"\n\
         [[factor]]\nname = \"audit\"\nhigh = \"boot:audit=1\"\n[[factor]]\nname = \"nice\"\nhigh = \"nice=1\"\n"
    );
    std::fs::write(lab.path("plan.toml"), factors).unwrap();
    let printed = from(&lab, &["run", "plan.toml", "--dry-run"]).success().stdout;
    assert!(printed.contains("# `all low`, `nice`: ") && printed.contains("# `audit`, `audit + nice`: "), "{printed}");
    assert!(printed.contains("6 blocks of 8 trials, 56 boots") && printed.contains("[[factor]]"), "{printed}");
    // The knobs of a search are those of the guest, not of this host.
    let search = format!(
        "strategy = \"halving\"\nbudget = \"1h\"\n[guest]\nkernel = \"{KERNEL}\"\nlane = \"virtual\"\nboots = 2\n\
         [[workload]]\nrun = \"pipe:pin=same,loops=50\"\n\
         [[knob]]\nset = \"debugfs:sched/min_granularity_ns\"\nvalues = [\"1ms\", \"9ms\", \"30ms\"]\n"
    );
    std::fs::write(lab.path("plan.toml"), search).unwrap();
    let printed = from(&lab, &["run", "plan.toml", "--dry-run"]).success().stdout;
    assert!(printed.contains("# 3 points of 1 knob\n") && printed.contains("#   block 0: "), "{printed}");
    assert!(printed.contains(" qemu-system-x86_64 ") && !printed.contains("needs root"), "{printed}");
    // What only the guest can know is checked in the guest.
    let plan = format!(
        "trials = 6\n[guest]\nkernel = \"{KERNEL}\"\nadd = [\"/bin/true:/added\"]\n[[workload]]\nrun = \"exec\"\n\
         command = [\"/added\"]\nload = [\"exec:/added\"]\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\n"
    );
    std::fs::write(lab.path("plan.toml"), plan).unwrap();
    from(&lab, &["run", "plan.toml", "--dry-run"]).success();
}

#[test]
fn what_a_plan_says_of_its_guest_is_asked_of_the_guest() {
    if !can_boot("what_a_plan_says_of_its_guest_is_asked_of_the_guest") {
        return;
    }
    let lab = Lab::new("vm-asserts");
    for (guest, b, require, needle) in [
        ("cpus = 2\nsd_llc_size = 1", "policy=batch", "", "the plan says sd_llc_size 1, its guest has 2"),
        (
            "cpus = 1",
            "boot:sched.nosuch=1",
            "",
            "boot:sched.nosuch=1, does not take its value, or shows no such parameter",
        ),
        ("cpus = 1", "boot:mitigations=nonsense", "", "does not know boot:mitigations=nonsense"),
        (
            "cpus = 2\ncmdline = \"nosmp\"",
            "topology:sockets=2",
            "",
            "topology:sockets=2: its kernel runs 1 CPU, 1 socket, 1 node of the 2 CPUs, 2 sockets, 1 node",
        ),
        (
            "cpus = 1",
            "policy=batch",
            "[[require]]\ncounter = \"calls.wake_wide\"\nabove = 0\n",
            "`wake_wide` has no symbol in this kernel: it is inlined",
        ),
    ] {
        let plan = format!(
            "trials = 6\n[guest]\nkernel = \"{KERNEL}\"\n{guest}\n[[workload]]\nrun = \"pipe:pin=same\"\n\
             [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"{b}\"\n{require}"
        );
        std::fs::write(lab.path("plan.toml"), plan).unwrap();
        let ran = from(&lab, &["run", "plan.toml"]).failure();
        assert!(ran.stderr.contains(needle), "{guest} {b}: {}", ran.stderr);
        assert!(!Path::new(&lab.path("out/plan/trials")).exists(), "nothing was measured");
    }
}

/// Runs `schedlab run plan.toml` until it has this many trials; the rest would only take time.
fn stop_after(lab: &Lab, count: usize) {
    let mut child = program::command()
        .args(["run", "plan.toml"])
        .current_dir(lab.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(600);
    while trials_in(&lab.path("out/plan")) < count && Instant::now() < deadline && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(50));
    }
    schedlab_sys::process::kill(child.id(), 2).unwrap();
    child.wait().unwrap();
}

#[test]
fn each_trial_of_a_plan_with_guests_has_a_boot_of_its_own() {
    if !can_boot("each_trial_of_a_plan_with_guests_has_a_boot_of_its_own") {
        return;
    }
    let lab = Lab::new("vm-plan");
    let plan = "title = \"boots\"\ntrials = 6\ntrial = \"20ms\"\nlatency = \"off\"\ncounters = \"basic\"\n\
                [guest]\nkernel = \"debian:6.1\"\ncpus = 1\n[[workload]]\nrun = \"pipe:pin=same\"\n\
                [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"boot:quiet;feature:NO_WA_IDLE\"\n";
    std::fs::write(lab.path("plan.toml"), plan).unwrap();
    stop_after(&lab, 3);
    let run = schedlab_run::RunReader::open(Path::new(&lab.path("out/plan"))).unwrap();
    assert!(run.trials.len() >= 3, "{:?}", run.problems);
    assert!(run.manifest.environment.kernel_release.starts_with("6.1."), "the control's guest is the environment");
    let note = run.manifest.warnings.iter().find(|w| w.contains("`b` ran in guests with Linux 6.1."));
    assert!(note.is_some_and(|note| note.contains("sd_llc_size")), "{:?}", run.manifest.warnings);
    let boots: BTreeSet<&str> = run.trials.iter().map(|t| t.boot_id.as_str()).collect();
    assert_eq!(boots.len(), run.trials.len(), "every trial has another boot");
    let of_b = run.trials.iter().filter(|t| t.arm == Some(1)).filter_map(|t| t.outcome.as_ref());
    assert!(of_b.clone().count() > 0);
    for outcome in of_b {
        let in_force =
            |spec: &str| outcome.applied.iter().any(|a| a.setting.to_string() == spec && a.not_applied.is_none());
        assert!(in_force("boot:quiet") && in_force("feature:NO_WA_IDLE"), "{:?}", outcome.applied);
    }
}

#[test]
fn a_guest_of_a_block_takes_each_arms_settings_in_turn_and_gives_them_back() {
    let test = "a_guest_of_a_block_takes_each_arms_settings_in_turn_and_gives_them_back";
    if !can_boot(test) {
        return;
    }
    let lab = Lab::new("vm-block");
    let knob = "debugfs:sched/wakeup_granularity_ns";
    // The measured value is the knob itself.
    let plan = format!(
        "trials = 6\nlatency = \"off\"\ncounters = \"basic\"\nseed = 7\n\
         [guest]\nkernel = \"{KERNEL}\"\ncpus = 1\nper = \"block\"\n\
         [[workload]]\nrun = \"exec\"\ncommand = [\"/bin/schedlab\", \"tune\", \"show\"]\n\
         options = {{ metric = 'wakeup_granularity = ([0-9.]+)', name = \"granularity\", direction = \"neutral\" }}\n\
         [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"{knob}=20000000\"\n\
         [[arm]]\nname = \"c\"\nset = \"{knob}=7000000;boot:sched_verbose\"\n"
    );
    std::fs::write(lab.path("plan.toml"), plan).unwrap();
    stop_after(&lab, 12);
    let run = schedlab_run::RunReader::open(Path::new(&lab.path("out/plan"))).unwrap();
    // The signal may have interrupted a later one.
    let whole = run.trials.iter().filter(|t| t.trial < 12);
    assert!(whole.clone().all(|t| t.status == schedlab_plan::TrialStatus::Ok), "{:?}", run.problems);
    let boots = |arms: &[u32]| -> BTreeSet<&str> {
        let of = |t: &&TrialRecord| arms.contains(&t.arm.unwrap()) && t.trial < 12;
        run.trials.iter().filter(of).map(|t| t.boot_id.as_str()).collect()
    };
    let counts = [&[0, 1][..], &[2], &[0, 1, 2]].map(|arms| boots(arms).len());
    assert_eq!(counts, [2, 2, 4], "a guest for each machine, in the warm-up and in the block after it");
    for trial in whole.clone() {
        let applied = &trial.outcome.as_ref().unwrap().applied;
        let knobs = applied.iter().filter(|a| a.setting.to_string().starts_with("debugfs"));
        let expected: &[&str] = [&[][..], &["20000000"], &["7000000"]][trial.arm.unwrap() as usize];
        let set: Vec<bool> = knobs.zip(expected).map(|(a, value)| a.effective.contains(value)).collect();
        assert_eq!(set, vec![true; expected.len()], "{applied:?}");
    }
    // A value that was not restored would show in the control. On one CPU the default is 1 ms.
    for (arm, expected) in [(0, "1000000"), (1, "20000000"), (2, "7000000")] {
        let of_arm = whole.clone().filter(|t| t.arm == Some(arm)).filter_map(|t| t.outcome.as_ref());
        let shown: BTreeSet<String> =
            of_arm.flat_map(|o| &o.metrics).filter(|m| m.name == "granularity").map(|m| m.value.to_string()).collect();
        assert_eq!(shown, [expected.to_owned()].into(), "arm {arm}");
    }
}
