use super::*;

fn tree() -> (tempfile::TempDir, Roots) {
    let root = tempfile::tempdir().unwrap();
    let roots = Roots { proc: root.path().join("proc"), debugfs: root.path().join("debug"), ..Roots::default() };
    for (path, text) in [
        ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
        ("proc/sys/net/ipv4/conf/eth0.100/rp_filter", "0"),
        ("debug/sched/base_slice_ns", "2800000"),
        ("debug/sched/features", "WA_IDLE NO_HRTICK"),
    ] {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    (root, roots)
}

fn look_up(spec: &str) -> Result<Resolved, String> {
    let (root, roots) = tree();
    let result = resolve(&roots, &spec.parse().unwrap());
    drop(root);
    result
}

#[test]
fn dots_inside_a_name_are_found() {
    let found = look_up("sysctl:net.ipv4.conf.eth0.100.rp_filter=1").unwrap();
    assert!(found.knob.path().ends_with("conf/eth0.100/rp_filter"));
}

#[test]
fn what_cannot_be_put_back_is_not_set() {
    let (root, roots) = tree();
    for name in ["drop_caches", "swappiness"] {
        let path = root.path().join("proc/sys/vm").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "0").unwrap();
    }
    let why = resolve(&roots, &"sysctl:vm.drop_caches=3".parse().unwrap()).unwrap_err();
    assert!(why.contains("could not be restored"), "{why}");
    assert!(resolve(&roots, &"sysctl:vm.swappiness=3".parse().unwrap()).is_ok());
}

#[test]
fn a_mistyped_name_gets_a_suggestion_and_the_way_to_a_guest() {
    let why = look_up("sysctl:kernel.sched_rt_runtme_us=1").unwrap_err();
    assert!(why.contains("did you mean `kernel.sched_rt_runtime_us`"), "{why}");
    assert!(why.contains("schedlab vm run"), "{why}");
    let why = look_up("sysctl:kernle.sched_rt_runtime_us=1").unwrap_err();
    assert!(why.contains("did you mean `kernel.sched_rt_runtime_us`"), "{why}");
    assert!(look_up("debugfs:sched/base_slice=1").unwrap_err().contains("`base_slice_ns`"));
    assert!(look_up("feature:WA_IDEL").unwrap_err().contains("`WA_IDLE`"));
}

#[test]
fn an_old_name_finds_the_present_place_and_says_so() {
    for old in ["sysctl:kernel.sched_min_granularity_ns=3000000", "debugfs:sched/min_granularity_ns=3000000"] {
        let found = look_up(old).unwrap();
        assert!(found.knob.path().ends_with("sched/base_slice_ns"));
        assert_eq!(found.found_as.as_deref(), Some("debugfs:sched/base_slice_ns"));
    }
    let why = look_up("debugfs:sched/wakeup_granularity_ns=1").unwrap_err();
    assert!(why.contains("EEVDF") && why.contains("Linux up to 6.5"), "{why}");
}

#[test]
fn an_unmounted_debugfs_names_the_mount() {
    let (root, roots) = tree();
    let roots = Roots { debugfs: root.path().join("nowhere"), ..roots };
    let why = |spec: &str| resolve(&roots, &spec.parse().unwrap()).unwrap_err();
    assert!(why("debugfs:sched/base_slice_ns=1").contains("mount -t debugfs"));
    std::fs::write(root.path().join("proc/sys/kernel/osrelease"), "6.18.5\n").unwrap();
    assert!(why("debugfs:sched/base_slice_ns=1").contains("mount -t debugfs"));
    let gone = why("debugfs:sched/wakeup_granularity_ns=1");
    assert!(gone.contains("EEVDF") && !gone.contains("mount"), "{gone}");
}

/// An unmounted debugfs hides every place as missing rights do, and unlike those also from root.
#[test]
fn what_is_hidden_is_told_at_the_place_of_this_version_with_what_needs_no_rights() {
    let (root, roots) = tree();
    let roots = Roots { debugfs: root.path().join("nowhere"), ..roots };
    let why = |release: &str, spec: &str| {
        std::fs::write(root.path().join("proc/sys/kernel/osrelease"), release).unwrap();
        let of_the_table = crate::catalogue::of_names(&roots, &["base_slice".into()]).unwrap().remove(0);
        [resolve(&roots, &spec.parse().unwrap()).unwrap_err(), of_the_table.why_not.unwrap()]
    };
    for spec in ["debugfs:sched/base_slice_ns=1", "debugfs:sched/min_granularity_ns=1"] {
        for told in why("6.18.5\n", spec) {
            assert!(told.contains("tune set slice=2ms --for --") && told.contains("mount"), "{spec}: {told}");
        }
        for told in why("6.1.0\n", spec) {
            assert!(!told.contains("slice=2ms") && told.contains("mount"), "{spec}: {told}");
        }
    }
}

#[test]
fn a_link_out_of_a_tree_is_neither_read_nor_set() {
    let (tree, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let roots = Roots::below(tree.path());
    let swappiness = roots.proc.join("sys/vm/swappiness");
    std::fs::create_dir_all(swappiness.parent().unwrap()).unwrap();
    let kernel = roots.proc.join("sys/kernel");
    std::fs::create_dir_all(&kernel).unwrap();
    let real = outside.path().join("real");
    for file in [&real, &kernel.join("real")] {
        std::fs::write(file, "60\n").unwrap();
    }
    for (target, name) in [(real.as_path(), "sched_rt_period_us"), (Path::new("real"), "sched_rt_runtime_us")] {
        std::os::unix::fs::symlink(target, kernel.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(&real, &swappiness).unwrap();
    for spec in ["sysctl:vm.swappiness=1", "sysctl:kernel.sched_rt_period_us=1000000"] {
        let why = resolve(&roots, &spec.parse().unwrap()).unwrap_err();
        assert!(why.contains("which is not in this tree: put a copy"), "{spec}: {why}");
    }
    let shown = crate::catalogue::of_names(&roots, &["rt_period".into(), "rt_runtime".into()]).unwrap();
    assert_eq!(shown.iter().map(|knob| knob.value.as_deref()).collect::<Vec<_>>(), [None, Some("60")]);
    assert!(shown[0].why_not.as_ref().unwrap().contains("put a copy"), "{:?}", shown[0].why_not);
}
