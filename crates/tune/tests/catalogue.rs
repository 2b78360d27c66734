//! The catalogue on trees with the scheduler knobs of seven kernels: each knob has its one name, and one that is
//! missing is reported with the kernels that have it.

use schedlab_tune::{Knob, Roots, catalogue, named, of_names, toggles};
use std::fs;
use std::path::PathBuf;

struct Tree {
    root: tempfile::TempDir,
    roots: Roots,
    /// Files of knobs, relative to the root.
    files: Vec<String>,
}

fn tree(version: &str) -> Tree {
    let root = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(format!("{}/tests/trees/{version}.txt", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut files = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (file, value) = line.split_once(' ').unwrap();
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{value}\n")).unwrap();
        files.push(file.to_owned());
    }
    let roots = Roots::below(root.path());
    Tree { root, roots, files }
}

impl Tree {
    fn knob(&self, name: &str) -> Knob {
        of_names(&self.roots, &[name.to_owned()]).unwrap().remove(0)
    }
    fn setting(&self, text: &str) -> String {
        named(&self.roots, text).unwrap().setting.to_string()
    }
}

const ALL: [&str; 7] = ["5.4", "5.10", "5.15", "6.1", "6.6", "6.12", "6.18"];

#[test]
fn every_scheduler_knob_of_seven_kernels_has_a_name_and_shows_its_default() {
    for version in ALL {
        let tree = tree(version);
        let knobs = catalogue(&tree.roots);
        let undescribed: Vec<&str> = knobs.iter().filter(|k| k.family.is_empty()).map(|k| &*k.name).collect();
        assert!(undescribed.iter().all(|name| name.starts_with("feature:")), "{version}: {undescribed:?}");
        assert!(undescribed.contains(&"feature:WA_IDLE"), "{version}");
        // Every file belongs to a knob, except for those listed here; for per-CPU files the first stands for all.
        let no_knob = ["osrelease", "boot_id", "online", "domain0/flags", "sched/debug", "sched/verbose"];
        for file in tree.files.iter().filter(|file| !no_knob.iter().any(|end| file.ends_with(end))) {
            let path = tree
                .root
                .path()
                .join(file.replace("/cpu1/", "/cpu0/").replace("/cpu2/", "/cpu0/").replace("/cpu3/", "/cpu0/"));
            assert!(knobs.iter().any(|k| k.path.as_ref() == Some(&path)), "{version}: {file}");
        }
        let altered: Vec<&Knob> = knobs.iter().filter(|k| k.set == "host" && k.is_default() == Some(false)).collect();
        assert!(altered.is_empty(), "{version}: {altered:?}");
        for knob in knobs.iter().filter(|k| k.set == "host") {
            assert_eq!(knob.settable, knob.why_not.is_none(), "{knob:?}");
            assert!(knob.here.is_some() || knob.why_not.is_some(), "{knob:?}");
        }
    }
}

#[test]
fn one_name_finds_the_place_of_each_kernel() {
    for (version, place) in [
        ("5.4", "sysctl:kernel.sched_min_granularity_ns"),
        ("5.10", "sysctl:kernel.sched_min_granularity_ns"),
        ("5.15", "debugfs:sched/min_granularity_ns"),
        ("6.1", "debugfs:sched/min_granularity_ns"),
        ("6.6", "debugfs:sched/base_slice_ns"),
        ("6.12", "debugfs:sched/base_slice_ns"),
        ("6.18", "debugfs:sched/base_slice_ns"),
    ] {
        let tree = tree(version);
        for name in [
            "base_slice",
            "min_granularity",
            "sched_min_granularity_ns",
            "kernel.sched_min_granularity_ns",
            "base_slice_ns",
        ] {
            assert_eq!(tree.setting(&format!("{name}=3ms")), format!("{place}=3000000"), "{version}: {name}");
            assert_eq!(tree.knob(name).here.as_deref(), Some(place), "{version}: {name}");
        }
    }
    assert_eq!(named(&tree("6.12").roots, "min_granularity=3ms").unwrap().also_called.as_deref(), Some("base_slice"));
    assert_eq!(named(&tree("6.12").roots, "base_slice=3ms").unwrap().also_called, None);
    assert_eq!(tree("6.12").setting("boot:preempt=full"), "boot:preempt=full");
}

/// `autogroup`, a word of a SPEC, is also known by the sysctl behind it.
#[test]
fn a_word_of_a_spec_is_found_by_its_sysctl() {
    let tree = tree("6.12");
    for name in ["kernel.sched_autogroup_enabled", "sched_autogroup_enabled", "autogroup_enabled"] {
        assert_eq!(tree.setting(&format!("{name}=0")), "autogroup=off", "{name}");
        assert_eq!(tree.knob(name).name, "autogroup", "{name}");
        assert_eq!(named(&tree.roots, &format!("{name}=1")).unwrap().also_called.as_deref(), Some("autogroup"));
    }
    let spec = "sysctl:kernel.sched_autogroup_enabled=0";
    assert_eq!(tree.setting(spec), spec, "a SPEC stays as it is written");
    assert_eq!(tree.knob("sysctl:kernel.sched_autogroup_enabled").name, "autogroup");
    assert_eq!(tree.knob("kernel/mm/transparent_hugepage/enabled").name, "thp");
    for (typo, near) in [
        ("kernel.sched_autogroup_enabeld", "autogroup_enabled"),
        ("sched_autogruop_enabled", "autogroup_enabled"),
        ("net.core.somaxcon", "somaxconn"),
    ] {
        let why = of_names(&tree.roots, &[typo.to_owned()]).unwrap_err();
        assert!(why.contains(&format!("did you mean `{near}`")), "{why}");
    }
    for no_name in ["enabled", "boot:autogroup_enabled"] {
        assert!(of_names(&tree.roots, &[no_name.to_owned()]).is_err(), "{no_name}");
    }
}

#[test]
fn what_a_kernel_lacks_is_told_with_those_that_have_it() {
    let why = |version: &str, name: &str| tree(version).knob(name).why_not.unwrap_or_else(|| "it is here".into());
    let wakeup = why("6.12", "wakeup_granularity");
    assert!(
        wakeup.contains("Linux up to 6.5") && wakeup.contains("6.12.111-test") && wakeup.contains("EEVDF"),
        "{wakeup}"
    );
    assert_eq!(why("6.1", "wakeup_granularity"), "it is here");
    let server = why("6.6", "fair_server_runtime");
    assert!(server.contains("Linux 6.12 and later") && server.contains("schedlab vm run"), "{server}");
    assert!(why("5.4", "util_clamp_min_rt_default").contains("Linux 5.9 and later"));
    assert!(why("6.12", "child_runs_first").contains("Linux up to 6.6"));
    // The version has it, but this kernel was built without it.
    let tree = tree("6.1");
    fs::remove_file(tree.root.path().join("proc/sys/kernel/sched_schedstats")).unwrap();
    assert!(tree.knob("schedstats").why_not.unwrap().contains("CONFIG_SCHEDSTATS"));
    fs::write(tree.root.path().join("proc/sys/kernel/sched_energy_aware"), "").unwrap();
    let energy = tree.knob("energy_aware");
    assert!(
        energy.value.is_none() && energy.why_not.unwrap().contains("cannot do it"),
        "as 6.12 without an energy model"
    );
    assert!(
        tree.knob("governor").why_not.unwrap().contains("driver or module"),
        "the machine may lack it, not the kernel"
    );
    fs::remove_dir_all(tree.root.path().join("sys/kernel/debug/sched")).unwrap();
    let unmounted = tree.knob("base_slice").why_not.unwrap();
    assert!(unmounted.contains("debugfs is not in this tree: copy"), "not to mount it: {unmounted}");
}

#[test]
fn what_every_cpu_has_a_copy_of_is_told_with_the_kernels_that_have_it_and_its_range() {
    let why = |version: &str, text: &str| {
        let tree = tree(version);
        let setting = named(&tree.roots, text).map(|named| named.setting).or_else(|_| text.parse()).unwrap();
        let mut guard = schedlab_tune::HostGuard::open(tree.roots.clone(), &tree.root.path().join("state")).unwrap();
        guard.apply(&[setting]).unwrap()[0].not_applied.clone().unwrap_or_else(|| "it is set".into())
    };
    let server = why("6.1", "fair_server_runtime=20ms");
    assert!(server.contains("Linux 6.12 and later") && server.contains("6.1.187-test"), "{server}");
    let governor = why("6.1", "governor=performance");
    assert!(governor.contains("CONFIG_CPU_FREQ, a driver"), "{governor}");
    assert!(why("6.1", "frequency_min=1").contains("CONFIG_CPU_FREQ, a driver"));
    assert!(why("6.1", "resume_latency=0").contains("CONFIG_CPU_IDLE, a driver"));
    let period = why("6.12", "debugfs:sched/fair_server/cpu*/period=1");
    assert_eq!(period, "fair_server_period takes 100000 to 4194304000 ns, not 1");
}

/// System calls report on the running kernel, not on the one that a tree was copied from.
#[test]
fn a_tree_of_files_has_no_knobs_of_the_kernel_that_reads_it() {
    for name in ["slice", "policy", "nice", "cpus", "timer_slack", "audit"] {
        let knob = tree("6.1").knob(name);
        assert_eq!((knob.settable, &knob.here, &knob.value), (false, &None, &None), "{name}");
        assert!(knob.why_not.unwrap().contains("tree of files"), "{name}");
    }
    assert!(catalogue(&Roots::default()).iter().any(|knob| knob.name == "nice" && knob.settable));
}

#[test]
fn a_name_or_value_that_cannot_be_meant_is_told_in_a_sentence() {
    let tree = tree("6.12");
    let why = |text: &str| named(&tree.roots, text).unwrap_err();
    assert!(why("base_slise=1ms").contains("did you mean `base_slice`"), "{}", why("base_slise=1ms"));
    assert!(why("min_granularty=1ms").contains("did you mean `min_granularity`"));
    assert_eq!(why("base_slice=0"), "base_slice takes 100000 to 1000000000 ns, not 0");
    assert_eq!(why("base_slice=2s"), "base_slice takes 100000 to 1000000000 ns, not 2000000000");
    assert_eq!(why("rr_timeslice=1us"), "rr_timeslice takes whole ms, and `1us` is not one");
    assert_eq!(why("tunable_scaling=7"), "tunable_scaling takes 0, 1, 2, not `7`");
    assert!(why("base_slice").contains("base_slice=VALUE"));
    assert!(why("cpu_dma_latency=0").contains("tune catalog cpu_dma_latency"));
    assert!(why("features=WA_IDLE").contains("feature:NAME"));
    assert!(why("nice=77").contains("-20 to 19"));
    assert_eq!(why("slice=200000000"), "slice takes 100000 to 100000000 ns, not 200000000");
    assert_eq!(why("slice=1us"), "slice takes 100000 to 100000000 ns, not 1000");
    // A plain number is in the knob's unit, also for settings that are not files.
    for (plain, setting) in [
        ("slice=3000000", "slice=3ms"),
        ("slice=0", "slice=default"),
        ("slice=default", "slice=default"),
        ("timer_slack=100000", "timer_slack=100us"),
        ("halt_poll=100000", "halt_poll=100us"),
        ("nice=5", "nice=5"),
    ] {
        assert_eq!(tree.setting(plain), setting);
    }
    // The same range applies to a SPEC in an arm: debugfs itself accepts anything.
    let mut guard = schedlab_tune::HostGuard::open(tree.roots.clone(), &tree.root.path().join("state")).unwrap();
    let applied = guard.apply(&["debugfs:sched/base_slice_ns=0".parse().unwrap()]).unwrap();
    assert!(applied[0].not_applied.as_ref().unwrap().contains("takes 100000 to"), "{applied:?}");
    assert_eq!(of_names(&tree.roots, &["nosuchthing".into()]).unwrap_err().matches("did you mean").count(), 0);
}

#[test]
fn knobs_of_every_cpu_are_one_and_a_choice_is_its_word() {
    let tree = tree("6.18");
    let server = tree.knob("fair_server_runtime");
    assert_eq!((server.value.as_deref(), server.default), (Some("50000000"), vec!["50000000".to_owned()]));
    let preempt = tree.knob("preempt");
    assert_eq!(preempt.value.as_deref(), Some("voluntary"));
    let file = |cpu: u32| tree.root.path().join(format!("sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"));
    let value = |path: PathBuf| fs::read_to_string(path).unwrap().trim().to_owned();
    let mut guard = schedlab_tune::HostGuard::open(tree.roots.clone(), &tree.root.path().join("state")).unwrap();
    let settings = ["fair_server_runtime=10ms", "preempt=full"].map(|text| named(&tree.roots, text).unwrap().setting);
    let applied = guard.apply(&settings).unwrap();
    assert!(applied.iter().all(|one| one.not_applied.is_none()), "{applied:?}");
    assert_eq!(applied[0].effective, "debugfs:sched/fair_server/cpu*/runtime=10000000");
    assert_eq!((value(file(0)), value(file(3))), ("10000000".into(), "10000000".into()));
    assert_eq!(tree.knob("preempt").value.as_deref(), Some("full"));
    fs::write(file(2), "7\n").unwrap();
    assert_eq!(tree.knob("fair_server_runtime").value.as_deref(), Some("10000000 10000000 7 10000000"));
    fs::write(file(2), "10000000\n").unwrap();
    guard.restore().unwrap();
    assert_eq!((value(file(3)), tree.knob("preempt").value.as_deref()), ("50000000".into(), Some("voluntary")));
}

#[test]
fn defaults_are_scaled_as_the_kernel_scales_them() {
    let tree = tree("6.12");
    let default = |cpus: &str, scaling: &str| {
        fs::write(tree.root.path().join("sys/devices/system/cpu/online"), cpus).unwrap();
        fs::write(tree.root.path().join("sys/kernel/debug/sched/tunable_scaling"), scaling).unwrap();
        tree.knob("base_slice").default[0].parse::<u64>().unwrap()
    };
    let of = [("0", "1"), ("0-1", "1"), ("0-2", "1"), ("0-7", "1"), ("0-63", "1"), ("0-63", "2"), ("0-63", "0")];
    assert_eq!(of.map(|(cpus, scaling)| default(cpus, scaling) / 700_000), [1, 2, 2, 4, 4, 8, 1]);
}

/// net/core/sock.c, include/linux/socket.h, net/ipv4/tcp_ipv4.c, kernel/sched/{rt.c,sched.h} of 6.1 and 6.12.
#[test]
fn a_default_is_that_of_the_version_and_of_the_preemption_model() {
    for (version, rmem_max, nr_migrate) in [("6.1", "212992", "32"), ("6.18", "4194304", "32")] {
        let tree = tree(version);
        let put = |file: &str, value: &str| {
            let path = tree.root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value).unwrap();
        };
        put("proc/sys/net/core/rmem_max", "4194304\n");
        put("proc/sys/net/core/somaxconn", "128\n");
        put("proc/sys/kernel/sched_rt_runtime_us", "1000000\n");
        assert_eq!(tree.knob("rmem_max").default, [rmem_max]);
        assert_eq!(tree.knob("rmem_max").is_default(), Some(version == "6.18"));
        assert_eq!(tree.knob("somaxconn").is_default(), Some(false));
        assert_eq!(tree.knob("rt_runtime").is_default(), Some(false));
        assert_eq!(tree.knob("nr_migrate").default, [nr_migrate]);
        put("sys/kernel/realtime", "1\n");
        assert_eq!(tree.knob("nr_migrate").default, ["8"]);
    }
}

#[test]
fn this_kernel_is_listed_whole() {
    let knobs = catalogue(&Roots::default());
    let knob = |name: &str| knobs.iter().find(|k| k.name == name).unwrap();
    assert!(knob("rt_period").value.is_some());
    assert!(knob("slice").value.is_some() || knob("slice").why_not.is_some());
    let mut names: Vec<&str> = knobs.iter().map(|k| &*k.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), knobs.len());
}

#[test]
fn every_feature_bit_and_every_knob_with_a_neutral_value_is_a_toggle() {
    let toggles = toggles(&tree("6.12").roots);
    let spec = |name: &str| toggles.factors.iter().find(|f| f.name == name).map(|f| f.high.spec());
    for (name, expected) in [
        ("NO_DELAY_DEQUEUE", "feature:NO_DELAY_DEQUEUE"),
        ("NEXT_BUDDY", "feature:NEXT_BUDDY"),
        ("migration_cost=0", "debugfs:sched/migration_cost_ns=0"),
        ("preempt=full", "debugfs:sched/preempt=full"),
        ("autogroup=off", "autogroup=off"),
        ("rt_runtime=-1", "sysctl:kernel.sched_rt_runtime_us=-1"),
    ] {
        assert_eq!(spec(name).as_deref(), Some(expected), "{name}");
    }
    assert!(toggles.factors.iter().all(|factor| !factor.name.contains("WARN")), "a report is no behaviour");
    assert!(toggles.factors.len() > 25, "{}", toggles.factors.len());
    assert_eq!(toggles.left_out, [""; 0]);
}

#[test]
fn a_kernel_without_feature_bits_says_so_first() {
    let mut tree = tree("6.12");
    fs::remove_file(tree.root.path().join(tree.files.iter().find(|file| file.ends_with("sched/features")).unwrap()))
        .unwrap();
    tree.files.clear();
    let toggles = schedlab_tune::toggles(&tree.roots);
    let lacking = &toggles.left_out[0];
    assert!(lacking.starts_with("feature bits: ") && lacking.contains("sched/features does not exist"), "{lacking}");
    assert!(toggles.factors.iter().any(|factor| factor.name == "migration_cost=0"));
    fs::remove_dir_all(&tree.roots.debugfs).unwrap();
    let unmounted = schedlab_tune::toggles(&tree.roots);
    assert!(unmounted.left_out[0].contains("debugfs is not in this tree"), "{:?}", unmounted.left_out);
}
