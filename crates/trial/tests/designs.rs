//! Designs beyond two arms, run with fakes: sweeps with interleaved blocks, factorials whose factors are tried first,
//! arms that differ in an option of the workload; and their dry run.

mod fake;

use fake::{Lab, manifest};
use schedlab_plan::manifest::{Design, Sweep};
use schedlab_plan::{Applied, Manifest, Plan, Setting, TrialRecord, TrialStatus};
use schedlab_trial::factors;
use schedlab_tune::Roots;

/// Three values of an option, two arms.
fn swept(design: Design) -> Manifest {
    let mut plan = manifest(design, &["", "nice=5"]);
    let spec = |copies: u32| format!("pipe/1:copies={copies},duration=100ms,pin=same").parse().unwrap();
    plan.workloads = [1, 2, 4].map(spec).into();
    plan.workload_ids = vec!["pipe/1".into(); 3];
    plan.primary = vec![vec!["round_trips_per_s".into()]; 3];
    plan.load = vec![Vec::new(); 3];
    let values = ["1", "2", "4"].map(str::to_owned).into();
    plan.sweeps = vec![Sweep { option: "copies".into(), parallel: true, values, workloads: vec![0, 1, 2] }];
    plan
}

#[test]
fn the_blocks_of_a_sweep_take_turns_also_after_an_interrupt() {
    let plan = swept(Design::Fixed { blocks: 12 });
    let (ended, whole) = Lab::new(plan.clone()).run();
    assert_eq!((ended.ended.as_str(), whole.len()), ("planned", 3 * 13 * 4));
    let mut begun = [0i64; 3];
    let mut firsts = std::collections::BTreeSet::new();
    for row in whole.iter().filter(|t| !t.warm_up && t.position == 0) {
        if begun.iter().all(|&n| n == begun[0]) {
            firsts.insert(row.workload);
        }
        begun[row.workload as usize] += 1;
        assert!(begun.iter().max().unwrap() - begun.iter().min().unwrap() <= 1, "{begun:?}");
    }
    assert_eq!((begun, firsts.len()), ([12, 12, 12], 3), "no value is always first");
    let mut first = Lab::new(plan.clone());
    first.interrupt_after = Some(31);
    let (_, rows) = first.run();
    let mut second = Lab::new(plan);
    second.rows = rows;
    let (_, rows) = second.run();
    let order =
        |rows: &[TrialRecord]| -> Vec<_> { rows.iter().map(|t| (t.workload, t.arm, t.block, t.position)).collect() };
    assert_eq!(order(&rows), order(&whole));
}

#[test]
fn each_value_of_a_sweep_has_its_own_budget() {
    let budget_ns = 5_000_000_000;
    let mut lab = Lab::new(swept(Design::Budgeted { budget_ns, looks: 1 }));
    lab.noise = 0.5;
    let (manifest, trials) = lab.run();
    assert_eq!(manifest.ended, "budget");
    for workload in 0..3 {
        let spent: u64 = trials.iter().filter(|t| t.workload == workload).map(|t| t.wall_ns).sum();
        assert!(spent <= budget_ns && spent > budget_ns / 2, "workload {workload}: {spent}");
    }
}

#[test]
fn an_option_of_an_arm_is_ordered_with_the_workload_and_reaches_no_host() {
    let mut lab =
        Lab::new(manifest(Design::Fixed { blocks: 6 }, &["option:pin=same", "option:pin=apart;autogroup=off"]));
    let (_, trials) = lab.run();
    let order = lab.last_order.unwrap();
    assert!(order.settings.is_empty() && ["same", "apart"].contains(&order.workload.args["pin"].as_str()), "{order:?}");
    let of_b = trials.iter().find(|t| t.arm == Some(1)).unwrap();
    let applied: Vec<String> = of_b.outcome.as_ref().unwrap().applied.iter().map(|a| a.setting.to_string()).collect();
    assert_eq!(applied, ["autogroup=off", "option:pin=apart"], "the option is in the row too");
    assert_eq!(lab.host_settings, Some(Vec::new()));
}

const FACTORS: &str = "trials = 6\n[[workload]]\nrun = \"pipe:pin=same\"\n\
    [[factor]]\nname = \"thp\"\nlow = \"thp=never\"\nhigh = \"thp=always\"\n\
    [[factor]]\nname = \"group\"\nhigh = \"autogroup=off;nice=1\"\n\
    [[factor]]\nname = \"bytes\"\nlow = \"option:bytes=8\"\nhigh = \"option:bytes=64\"\n\
    [[factor]]\nname = \"nice\"\nhigh = \"nice=-19\"\n";

/// The files that a user without rights would see, or root.
fn user(uid: u32) -> (tempfile::TempDir, Roots) {
    let tree = tempfile::tempdir().unwrap();
    let own = tree.path().join("proc/self");
    std::fs::create_dir_all(&own).unwrap();
    let capabilities = if uid == 0 { "ffffffffffffffff" } else { "0" };
    let status = format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{capabilities}\n");
    std::fs::write(own.join("status"), status).unwrap();
    std::fs::write(own.join("limits"), "Max nice priority         0                    0\n").unwrap();
    let knob = tree.path().join("proc/sys/kernel/sched_autogroup_enabled");
    std::fs::create_dir_all(knob.parent().unwrap()).unwrap();
    std::fs::write(knob, "1\n").unwrap();
    let roots = Roots { proc: tree.path().join("proc"), sys: tree.path().join("sys"), ..Roots::default() };
    (tree, roots)
}

#[test]
fn factors_are_tried_on_the_host_and_taken_back_before_the_run() {
    let plan = Plan::parse(&FACTORS.replace("nice=1", "timer_slack=1us")).unwrap();
    let (_tree, roots) = user(1000);
    let mut asked = Vec::new();
    let mut apply = |settings: &[Setting]| {
        asked.push(settings.iter().map(ToString::to_string).collect::<Vec<_>>());
        let applied = |setting: &Setting| Applied {
            setting: setting.clone(),
            effective: String::new(),
            not_applied: setting.to_string().ends_with("never").then(|| "this kernel has none".to_owned()),
        };
        Ok(settings.iter().map(applied).collect())
    };
    let refused = factors::refused(&plan, &roots, &mut apply).unwrap();
    assert_eq!(refused[0].as_deref(), Some("thp=never: this kernel has none"));
    assert_eq!((refused[1].clone(), refused[2].clone()), (None, None), "an option needs no host");
    assert!(refused[3].as_ref().unwrap().starts_with("nice=-19 needs CAP_SYS_NICE"), "{refused:?}");
    assert_eq!(asked, [vec!["thp=never".to_owned()], vec!["autogroup=off".to_owned()], Vec::new()]);
    let settled = plan.settle(&refused).unwrap();
    assert_eq!(
        settled.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(),
        ["all low", "group", "bytes", "group + bytes"]
    );
}

#[test]
fn a_dry_run_of_a_plan_with_guests_says_order_and_least_time_within_80_columns() {
    let told = |guest: &str, kinds: usize, at_once: usize| {
        let text = format!(
            "trials = 6\nseed = 1\n[guest]\nkernel = \"debian:6.1\"\n{guest}\n[[workload]]\nrun = \"pipe:loops=9\"\n[[arm]]\nname = \"a\"\n\
             [[grid]]\nname = \"nice\"\nset = \"nice\"\nvalues = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
        );
        let plan = Plan::parse(&text).unwrap();
        let text = schedlab_trial::describe_guests(&plan, plan.guest.as_ref().unwrap(), kinds, at_once);
        assert!(text.lines().all(|line| line.starts_with("# ") && line.chars().count() <= 80), "{text}");
        text.replace("\n#", "").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // A warm-up and six blocks of ten arms, each arm twice: 140 trials of at least half a second, because trials with a
    // number of loops take an unknown time.
    let each = told("", 1, 1);
    assert!(each.contains("6 blocks of 20 trials, 140 boots: 490 s or more, 4270 s if each boot takes 30 s"), "{each}");
    assert!(each.contains("block 0: ") && each.contains("block 1: ") && each.matches(" · ").count() == 38, "{each}");
    let kept = told("lane = \"virtual\"\nboots = 6", 2, 2);
    assert!(kept.contains("12 boots, 2 guests at a time: 53 s or more"), "{kept}");
    let on_four = told("lane = \"virtual\"\nboots = 6", 2, 4);
    assert!(on_four.contains("12 boots, 4 guests at a time: 36 s or more, 198 s if"), "{on_four}");
    let of_blocks = told("lane = \"virtual\"\nper = \"block\"", 1, 8);
    assert!(of_blocks.contains("7 boots: 91 s or more"), "one machine, one guest at a time: {of_blocks}");
}

#[test]
fn a_dry_run_of_a_factorial_says_what_its_factors_need_and_which_arms_they_make() {
    let plan = Plan::parse(FACTORS.split("[[factor]]\nname = \"nice\"").next().unwrap()).unwrap();
    let plan = Plan { sesoi: 0.05, ..plan };
    let (_tree, roots) = user(0);
    let settled = plan.settle(&factors::lacking(&plan, &roots)).unwrap();
    let mut manifest = manifest(Design::Fixed { blocks: 6 }, &[""]);
    (manifest.arms, manifest.factorial) = (settled.arms.clone(), settled.factorial.clone());
    let text = schedlab_trial::describe(&manifest, &settled, &roots);
    for line in [
        "# factor `thp`, low: thp=never: needs root and a knob: this kernel has no transparent huge pages",
        "# factor `group`, low: the host as it is, needs nothing",
        "# factor `group`, high: autogroup=off: needs root, to write ",
        "# factor `bytes`, high: option:bytes=64: needs nothing",
        "# factor `thp` is left out: thp=never needs ",
        "# arm `all low`: option:bytes=8",
        "# arm `group + bytes`: autogroup=off;nice=1;option:bytes=64",
    ] {
        // Continuation lines of 80 columns are indented.
        let whole = text.replace("\n#   ", " ");
        assert!(whole.lines().any(|l| l.starts_with(line)), "`{line}` is not in:\n{text}");
    }
    assert_eq!(Plan::parse(&text).unwrap(), plan, "what is printed is a plan that can be run");
}

/// Tasks and traces take time beside the trial; an arm that lacks its knob takes none.
#[test]
fn a_dry_run_counts_the_tasks_of_a_workload_and_not_the_arms_that_cannot_run() {
    let plan = "trials = 6\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\n";
    let (plan, (_tree, roots)) = (Plan::parse(plan).unwrap(), user(0));
    let takes = |workload: &str, arms: &[&str]| {
        let mut manifest = manifest(Design::Fixed { blocks: 6 }, arms);
        manifest.workloads[0] = workload.parse().unwrap();
        let text = schedlab_trial::describe(&manifest, &plan, &roots).replace("\n#   ", " ");
        text.split_once("a block takes about ").unwrap().1.split([' ', '\n']).next().unwrap().to_owned()
    };
    assert_eq!(takes("pipe:duration=100ms", &["", "nice=1"]), "485ms");
    assert_eq!(takes("pipe:duration=100ms", &["", "nice=1", "sysctl:kernel.no_such=1"]), "485ms");
    assert_eq!(takes("pipe:duration=100ms", &["", "option:copies=100"]), "762ms");
    assert_eq!(takes("messaging:100x100,groups=10,duration=100ms", &["", "nice=1"]), "6.08s");
}

#[test]
fn a_factorial_goes_on_without_its_first_arm() {
    let mut made = manifest(Design::Fixed { blocks: 6 }, &["slice=1ms", "slice=1ms;nice=5", "", "nice=5"]);
    let factor = |name: &str, low: &str, high: &str| schedlab_plan::manifest::Factor {
        name: name.into(),
        low: low.into(),
        high: high.into(),
        not_applied: None,
    };
    made.factorial = Some(schedlab_plan::manifest::Factorial {
        factors: vec![factor("nice", "", "nice=5"), factor("slice", "slice=1ms", "")],
        levels: vec![vec![false, false], vec![true, false], vec![false, true], vec![true, true]],
    });
    let mut lab = Lab::new(made);
    lab.refuse = Some("slice");
    let (manifest, trials) = lab.run();
    assert_eq!(manifest.ended, "planned");
    let measured = |arm: u32| trials.iter().filter(|t| t.arm == Some(arm) && t.status == TrialStatus::Ok).count();
    assert_eq!([0, 1, 2, 3].map(measured), [0, 0, 14, 14]);
    assert_eq!(lab.stored.len(), trials.len());
}
