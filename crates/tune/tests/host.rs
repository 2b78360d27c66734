//! The guard on the real kernel and on temporary trees: set, read back, alternate, restore, foreign writes, reasons.

use schedlab_plan::{Applied, Arm, Setting};
use schedlab_tune::{HostGuard, RestoreOutcome, Roots, TuneError};
use std::fs;
use std::path::PathBuf;

fn settings(spec: &str) -> Vec<Setting> {
    Arm::parse("arm", spec).unwrap().settings
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skip(why: &str) {
    eprintln!("schedlab-skip: {why}");
}

/// A tree of plain files instead of the kernel's; our own pid is alive in it.
struct Tree {
    root: tempfile::TempDir,
    roots: Roots,
}

impl Tree {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), cgroup: at("cgroup"), debugfs: at("debug") };
        let tree = Self { root, roots };
        tree.write("proc/sys/kernel/random/boot_id", "boot");
        let pid = std::process::id();
        tree.write(&format!("proc/{pid}/stat"), &fs::read_to_string("/proc/self/stat").unwrap());
        for (file, text) in [
            ("kernel/sched_rt_runtime_us", "950000"),
            ("kernel/sched_rt_period_us", "1000000"),
            ("kernel/sched_autogroup_enabled", "1"),
            ("vm/dirty_bytes", "0"),
            ("vm/dirty_ratio", "20"),
            ("net/ipv4/tcp_autocorking", "1"),
        ] {
            tree.write(&format!("proc/sys/{file}"), text);
        }
        tree.write("debug/sched/features", "WA_IDLE NO_HRTICK");
        tree.write("debug/sched/base_slice_ns", "2800000");
        tree.write("debug/sched/tunable_scaling", "1");
        tree
    }
    fn path(&self, file: &str) -> PathBuf {
        self.root.path().join(file)
    }
    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }
    fn value(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap().trim().to_owned()
    }
    fn state(&self) -> PathBuf {
        self.path("state")
    }
    fn guard(&self) -> HostGuard {
        HostGuard::open(self.roots.clone(), &self.state()).unwrap()
    }
    fn journals(&self) -> usize {
        let listing = fs::read_dir(self.state()).into_iter().flatten().flatten();
        listing.filter(|i| i.file_name().to_string_lossy().starts_with("journal-")).count()
    }
}

fn reason(applied: &[Applied]) -> &str {
    applied[0].not_applied.as_deref().unwrap_or("in force")
}

const RT: &str = "proc/sys/kernel/sched_rt_runtime_us";

#[test]
fn influences_beside_the_scheduler_are_set_and_restored_like_any_knob() {
    let tree = Tree::new();
    let thp = "sys/kernel/mm/transparent_hugepage/enabled";
    tree.write(thp, "always [madvise] never");
    tree.write("sys/module/kvm/parameters/halt_poll_ns", "200000");
    let idle = |cpu: u32, state: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable");
    // The owner of the machine has disabled the deepest state of CPU 1.
    for (cpu, state, disabled) in [(0, 0, "0"), (0, 1, "0"), (0, 2, "0"), (1, 0, "0"), (1, 1, "0"), (1, 2, "1")] {
        tree.write(&idle(cpu, state), disabled);
    }
    let mut guard = tree.guard();
    let applied = guard.apply(&settings("thp=never;halt_poll=0ns;cpuidle=poll")).unwrap();
    assert!(applied.iter().all(|a| a.not_applied.is_none()), "{applied:?}");
    assert_eq!(applied[2].effective, "cpuidle=poll");
    assert!(applied[1].effective.starts_with("halt_poll=0ns (on this kernel: sysfs:module/kvm"), "{applied:?}");
    assert_eq!((tree.value(thp).as_str(), tree.value(&idle(0, 2)).as_str()), ("always madvise [never]", "1"));
    guard.apply(&settings("cpuidle=all")).unwrap();
    assert_eq!(
        (tree.value(thp).as_str(), tree.value(&idle(1, 2)).as_str()),
        ("always [madvise] never", "0"),
        "back, and all enabled"
    );
    tree.write(&idle(0, 1), "1");
    assert!(guard.foreign_changes()[0].starts_with("cpuidle: `0 1 0 0 0 0` now"), "{:?}", guard.foreign_changes());
    tree.write(&idle(0, 1), "0");
    guard.restore().unwrap();
    assert_eq!((tree.value(&idle(1, 2)).as_str(), tree.value(&idle(0, 2)).as_str()), ("1", "0"), "as its owner had it");
    let missing = guard.apply(&settings("sysfs:kernel/mm/no_such=1")).unwrap();
    assert!(reason(&missing).contains("does not exist"), "{missing:?}");
}

#[test]
fn arms_alternate_and_each_leaves_nothing_to_the_other() {
    let tree = Tree::new();
    let mut guard = tree.guard();
    let arms = [
        settings("sysctl:kernel.sched_rt_runtime_us=900000;autogroup=off"),
        settings("debugfs:sched/base_slice_ns=3000000"),
    ];
    for _ in 0..3 {
        assert!(guard.apply(&arms[0]).unwrap().iter().all(|a| a.not_applied.is_none()));
        assert_eq!(
            (tree.value(RT), tree.value("proc/sys/kernel/sched_autogroup_enabled")),
            ("900000".into(), "0".into())
        );
        assert_eq!(tree.value("debug/sched/base_slice_ns"), "2800000");
        let applied = guard.apply(&arms[1]).unwrap();
        assert_eq!(applied[0].effective, "debugfs:sched/base_slice_ns=3000000");
        assert_eq!((tree.value(RT), tree.value("debug/sched/base_slice_ns")), ("950000".into(), "3000000".into()));
        assert_eq!(guard.foreign_changes(), Vec::<String>::new());
    }
    assert_eq!(tree.journals(), 1);
    drop(guard);
    assert_eq!((tree.value("debug/sched/base_slice_ns"), tree.journals()), ("2800000".into(), 0));
}

#[test]
fn a_run_without_host_settings_keeps_no_state() {
    let tree = Tree::new();
    let mut guard = tree.guard();
    assert_eq!(guard.apply(&settings("policy=batch;nice=1")).unwrap(), []);
    // A value that is already there counts as applied without a write.
    assert!(guard.apply(&settings("autogroup=on")).unwrap()[0].not_applied.is_none());
    assert!(!tree.state().exists());
}

#[test]
fn a_foreign_write_is_seen_and_respected() {
    let tree = Tree::new();
    let mut guard = tree.guard();
    guard.apply(&settings("sysctl:kernel.sched_rt_runtime_us=900000")).unwrap();
    tree.write(RT, "123456");
    let seen = guard.foreign_changes();
    assert!(seen[0].contains("123456") && seen[0].contains("900000"), "{seen:?}");
    let restored = guard.restore().unwrap();
    assert_eq!(restored[0].outcome, RestoreOutcome::LeftForeign("123456".into()));
    assert_eq!(tree.value(RT), "123456");
}

#[test]
fn covered_values_are_ours_whoever_of_our_children_writes_them() {
    let tree = Tree::new();
    let mut guard = tree.guard();
    let both =
        [settings("sysctl:kernel.sched_rt_runtime_us=900000"), settings("sysctl:kernel.sched_rt_runtime_us=950000")];
    let applied = guard.cover(&both.concat()).unwrap();
    assert!(applied.iter().all(|a| a.not_applied.is_none()));
    assert_eq!(tree.value(RT), "950000", "covering ends where it began");
    guard.apply(&[]).unwrap();
    schedlab_tune::write_sysctl(&tree.roots, &both[0][0]).unwrap();
    assert_eq!(guard.foreign_changes(), Vec::<String>::new());
    assert_eq!(guard.restore().unwrap()[0].outcome, RestoreOutcome::Restored);
    assert_eq!(tree.value(RT), "950000");
}

#[test]
fn granularity_of_cfs_says_what_it_makes_of_the_latency() {
    let tree = Tree::new();
    fs::remove_file(tree.path("debug/sched/base_slice_ns")).unwrap();
    for (file, value) in [("latency_ns", "18000000"), ("min_granularity_ns", "2250000")] {
        tree.write(&format!("debug/sched/{file}"), value);
    }
    let mut guard = tree.guard();
    let both = "debugfs:sched/min_granularity_ns=3000000;debugfs:sched/latency_ns=24000000";
    let said: Vec<String> = guard.apply(&settings(both)).unwrap().into_iter().map(|a| a.effective).collect();
    assert_eq!(
        said,
        ["debugfs:sched/min_granularity_ns=3000000, nr_latency 8", "debugfs:sched/latency_ns=24000000, nr_latency 8"]
    );
    assert!(guard.restore().unwrap().iter().all(schedlab_tune::Restored::is_done));
    assert_eq!(tree.value("debug/sched/min_granularity_ns"), "2250000");
}

#[test]
fn what_cannot_be_set_says_why_and_changes_nothing() {
    let tree = Tree::new();
    let mut guard = tree.guard();
    let why = |guard: &mut HostGuard, spec: &str| reason(&guard.apply(&settings(spec)).unwrap()).to_owned();
    assert!(why(&mut guard, "sysctl:kernel.sched_rt_runtme_us=1").contains("did you mean"));
    assert!(why(&mut guard, "sysctl:net.ipv4.tcp_autocorking=0").contains("namespace"));
    assert!(why(&mut guard, "kernel:debian:6.1").contains("schedlab vm run"));
    assert!(why(&mut guard, "cpu_weight=200").contains("self/mountinfo"));
    assert!(why(&mut guard, "feature:WA_IDEL").contains("WA_IDLE"));
    assert_eq!(tree.value("proc/sys/net/ipv4/tcp_autocorking"), "1");
    let twice = guard.apply(&settings("autogroup=off;sysctl:kernel.sched_autogroup_enabled=0")).unwrap_err();
    assert!(matches!(twice, TuneError::SameKnob { .. }), "{twice}");
    assert!(!tree.state().exists());
}

#[test]
fn a_state_directory_that_cannot_be_made_leaves_the_host_alone() {
    let tree = Tree::new();
    tree.write("state", "a file in its place");
    let error = tree.guard().apply(&settings("autogroup=off")).unwrap_err();
    assert!(error.to_string().contains("journal"), "{error}");
    assert_eq!(tree.value("proc/sys/kernel/sched_autogroup_enabled"), "1");
}

fn writable(path: &str) -> bool {
    fs::OpenOptions::new().write(true).open(path).is_ok()
}

/// The limits of deadline periods depend on each other: the minimum may not exceed the maximum. Neither the given order
/// nor its reverse works without a second pass.
#[test]
fn bound_values_are_set_and_restored_in_an_order_that_works() {
    const LEAST: &str = "/proc/sys/kernel/sched_deadline_period_min_us";
    const MOST: &str = "/proc/sys/kernel/sched_deadline_period_max_us";
    if !writable(LEAST) {
        return skip("bound_values_are_set_and_restored_in_an_order_that_works: needs root and Linux 5.8");
    }
    let read = |path: &str| fs::read_to_string(path).unwrap().trim().to_owned();
    let before = (read(LEAST), read(MOST));
    let state = tempfile::tempdir().unwrap();
    let mut guard = HostGuard::open(Roots::default(), state.path()).unwrap();
    let arm = "sysctl:kernel.sched_deadline_period_min_us=5000000;sysctl:kernel.sched_deadline_period_max_us=6000000";
    let applied = guard.apply(&settings(arm)).unwrap();
    assert!(applied.iter().all(|a| a.not_applied.is_none()), "{applied:?}");
    assert_eq!((read(LEAST), read(MOST)), ("5000000".into(), "6000000".into()));
    let restored = guard.restore().unwrap();
    assert!(restored.iter().all(|r| r.outcome == RestoreOutcome::Restored), "{restored:?}");
    assert_eq!((read(LEAST), read(MOST)), before);
}

/// Bytes and ratio are one value: writing one clears the other, and 0 bytes is refused, so only the right one of the
/// two restores both.
#[test]
fn a_value_that_displaced_its_partner_brings_both_back() {
    const BYTES: &str = "/proc/sys/vm/dirty_bytes";
    const RATIO: &str = "/proc/sys/vm/dirty_ratio";
    if !writable(BYTES) {
        return skip("a_value_that_displaced_its_partner_brings_both_back: needs root");
    }
    let read = |path: &str| fs::read_to_string(path).unwrap().trim().to_owned();
    let before = (read(BYTES), read(RATIO));
    let state = tempfile::tempdir().unwrap();
    let mut guard = HostGuard::open(Roots::default(), state.path()).unwrap();
    for arm in ["sysctl:vm.dirty_bytes=1073741824", "", "sysctl:vm.dirty_bytes=1073741824"] {
        let applied = guard.apply(&settings(arm)).unwrap();
        assert!(applied.iter().all(|a| a.not_applied.is_none()), "{applied:?}");
        assert_eq!(read(BYTES) == "1073741824", !arm.is_empty());
        assert_eq!(guard.foreign_changes(), Vec::<String>::new());
        if arm.is_empty() {
            assert_eq!((read(BYTES), read(RATIO)), before);
        }
    }
    let restored = guard.restore().unwrap();
    assert!(restored.iter().all(|r| r.outcome == RestoreOutcome::Restored), "{restored:?}");
    assert_eq!((read(BYTES), read(RATIO)), before);
}

#[test]
fn a_value_the_kernel_refuses_is_not_applied() {
    if !writable("/proc/sys/kernel/sched_rt_runtime_us") {
        return skip("a_value_the_kernel_refuses_is_not_applied: needs root");
    }
    let state = tempfile::tempdir().unwrap();
    let mut guard = HostGuard::open(Roots::default(), state.path()).unwrap();
    let applied = guard.apply(&settings("sysctl:kernel.sched_deadline_period_min_us=banana")).unwrap();
    assert!(reason(&applied).contains("refuses `banana`"), "{applied:?}");
}

/// A v2 tree of directories in which our own group is `a`, and `cpu` is enabled from the top down.
fn v2_tree() -> Tree {
    let tree = Tree::new();
    tree.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    tree.write("proc/self/cgroup", "0::/a");
    for (file, text) in [
        ("cgroup.controllers", "cpu memory"),
        ("cgroup.subtree_control", "cpu"),
        ("cgroup.procs", ""),
        ("a/cgroup.procs", "7"),
        ("a/cgroup.subtree_control", ""),
        ("a/cgroup.controllers", "cpu"),
    ] {
        tree.write(&format!("cgroup/{file}"), text);
    }
    tree
}

fn groups_of(tree: &Tree) -> usize {
    let listing = fs::read_dir(tree.path("cgroup")).unwrap().flatten();
    listing.filter(|i| i.file_name().to_string_lossy().starts_with("schedlab-")).count()
}

#[test]
fn groups_of_a_trial_are_journalled_before_they_exist_and_go_with_it() {
    let tree = v2_tree();
    let mut guard = tree.guard();
    for _ in 0..2 {
        let procs = guard.make_trial_groups(&["parent", "child"]).unwrap().unwrap();
        let pid = std::process::id();
        assert_eq!(procs[1], tree.path(&format!("cgroup/schedlab-{pid}-child/cgroup.procs")));
        assert_eq!((groups_of(&tree), tree.journals()), (2, 1));
        guard.remove_trial_groups().unwrap();
        assert_eq!(groups_of(&tree), 0);
    }
    guard.make_trial_groups(&["parent", "child"]).unwrap().unwrap();
    drop(guard);
    assert_eq!((groups_of(&tree), tree.journals()), (0, 0), "the guard takes them along");
}

/// One group for both tasks, and one for each, several levels down.
#[test]
fn groups_within_groups_are_made_from_the_top_and_removed_from_the_bottom() {
    let tree = Tree::new();
    tree.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup cgroup rw,cpu\n");
    tree.write("proc/self/cgroup", "1:cpu:/\n");
    tree.write("cgroup/cgroup.procs", "");
    let mut guard = tree.guard();
    let pid = std::process::id();
    let procs = guard.make_trial_groups(&["both/2/3", "both/2/other"]).unwrap().unwrap();
    let of = |path: &str| tree.path(&format!("cgroup/schedlab-{pid}-both/2/{path}/cgroup.procs"));
    assert_eq!(procs, [of("3"), of("other")]);
    assert!(procs.iter().all(|procs| procs.parent().unwrap().is_dir()));
    guard.remove_trial_groups().unwrap();
    assert_eq!((groups_of(&tree), tree.journals()), (0, 1));
}

#[test]
fn groups_of_a_killed_trial_are_removed_at_the_next_start() {
    let tree = v2_tree();
    let mut guard = tree.guard();
    let procs = guard.make_trial_groups(&["parent", "child"]).unwrap().unwrap();
    let journal = fs::read_dir(tree.state()).unwrap().flatten().find(|i| i.file_name() != "lock").unwrap();
    let as_it_was = fs::read(journal.path()).unwrap();
    drop(guard);
    // As after a SIGKILL of trial and parent: the groups and the journal exist, and no process has that pid.
    procs.iter().for_each(|procs| fs::create_dir(procs.parent().unwrap()).unwrap());
    fs::write(journal.path(), as_it_was).unwrap();
    fs::remove_file(tree.path(&format!("proc/{}/stat", std::process::id()))).unwrap();
    let restored =
        schedlab_tune::restore_leftovers(schedlab_tune::Leftovers::Killed, &tree.roots, &tree.state()).unwrap();
    assert_eq!((restored.len(), groups_of(&tree), tree.journals()), (2, 0, 0), "{restored:?}");
}

#[test]
fn on_v2_an_arm_with_a_group_and_a_workload_with_groups_exclude_each_other() {
    let tree = v2_tree();
    let why = schedlab_tune::check_groups(&tree.roots, &settings("cpu_weight=200")).unwrap_err().to_string();
    assert!(why.contains("cpu_weight") && why.contains("leave out one"), "{why}");
    schedlab_tune::check_groups(&tree.roots, &settings("nice=1")).unwrap();
    let bare = Tree::new();
    let why = schedlab_tune::check_groups(&bare.roots, &[]).unwrap_err().to_string();
    assert!(why.contains("self/mountinfo"), "{why}");
}

/// The cpu controller of this machine, v1 or v2: values applied, a process inside, the group removed afterwards.
#[test]
fn a_cgroup_is_made_filled_and_removed() {
    let name = "a_cgroup_is_made_filled_and_removed";
    let state = tempfile::tempdir().unwrap();
    let mut guard = HostGuard::open(Roots::default(), state.path()).unwrap();
    let applied = guard.apply(&settings("cpu_weight=200;cpu_quota=50ms/100ms")).unwrap();
    if let Some(why) = &applied[0].not_applied {
        return skip(&format!("{name}: needs root and the cpu controller: {why}"));
    }
    assert!(applied[1].not_applied.is_none(), "{applied:?}");
    let procs = guard.cgroup_procs();
    let group = procs[0].parent().unwrap().to_owned();
    let shows = |file: &str| fs::read_to_string(group.join(file)).ok().map(|t| t.trim().to_owned());
    match shows("cpu.shares") {
        Some(shares) => assert_eq!((shares, shows("cpu.cfs_quota_us").unwrap()), ("2048".into(), "50000".into())),
        None => {
            assert_eq!((shows("cpu.weight").unwrap(), shows("cpu.max").unwrap()), ("200".into(), "50000 100000".into()))
        }
    }
    let mut tenant = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    fs::write(&procs[0], tenant.id().to_string()).unwrap();
    assert!(guard.foreign_changes().is_empty());
    // The other arm names only one of the two: the other returns to its default.
    guard.apply(&settings("cpu_weight=50")).unwrap();
    assert!(matches!(shows("cpu.cfs_quota_us").or(shows("cpu.max")).as_deref(), Some("-1" | "max 100000")));
    guard.apply(&[]).unwrap();
    assert!(guard.cgroup_procs().is_empty());
    guard.restore().unwrap();
    assert!(!group.exists());
    assert!(tenant.try_wait().unwrap().is_none());
    tenant.kill().unwrap();
    tenant.wait().unwrap();
}

/// debugfs of the real kernel, mounted in a private mount namespace of this thread. Under lockdown even root is
/// refused.
#[test]
fn debugfs_is_set_for_real_or_the_lockdown_is_named() {
    std::thread::spawn(|| {
        let root = tempfile::tempdir().unwrap();
        let debugfs = root.path().join("debug");
        fs::create_dir(&debugfs).unwrap();
        let mounted = schedlab_sys::namespace::enter_new_mount()
            .and_then(|()| schedlab_sys::namespace::mount("debugfs", &debugfs, "debugfs"));
        if let Err(e) = mounted {
            return skip(&format!("debugfs_is_set_for_real_or_the_lockdown_is_named: needs root: {e}"));
        }
        let roots = Roots { debugfs: debugfs.clone(), ..Roots::default() };
        let mut guard = HostGuard::open(roots, &root.path().join("state")).unwrap();
        let applied = guard.apply(&settings("debugfs:sched/migration_cost_ns=500001")).unwrap();
        match &applied[0].not_applied {
            None => {
                assert_eq!(applied[0].effective, "debugfs:sched/migration_cost_ns=500001");
                assert!(guard.restore().unwrap().iter().all(schedlab_tune::Restored::is_done));
            }
            Some(why) => {
                assert!(why.contains("locked down") || why.contains("does not exist"), "{why}");
                assert!(why.contains("schedlab vm run"), "{why}");
            }
        }
    })
    .join()
    .unwrap();
}

/// `net.*` of the real kernel, in the network namespace of a forked child.
#[test]
fn a_net_sysctl_changes_in_its_own_namespace_only() {
    let name = "/proc/sys/net/ipv4/tcp_autocorking";
    let Ok(before) = fs::read_to_string(name) else { return skip("a_net_sysctl…: needs net.ipv4.tcp_autocorking") };
    let asked: Setting =
        format!("sysctl:net.ipv4.tcp_autocorking={}", 1 - before.trim().parse::<i32>().unwrap()).parse().unwrap();
    let pid = schedlab_sys::process::fork_child(|| {
        if schedlab_sys::namespace::enter_new_net().is_err() {
            return 2;
        }
        i32::from(schedlab_tune::net_sysctl(&Roots::default(), &asked).not_applied.is_some())
    });
    let status = schedlab_sys::process::wait_for(pid.unwrap()).unwrap().status;
    if status == schedlab_sys::process::ExitStatus::Exited(2) {
        return skip("a_net_sysctl_changes_in_its_own_namespace_only: needs root or user namespaces");
    }
    assert!(status.success(), "{status:?}");
    assert_eq!(fs::read_to_string(name).unwrap(), before);
}
