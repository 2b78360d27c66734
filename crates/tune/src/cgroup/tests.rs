use super::*;

fn tree(mountinfo: &str, own: &str) -> (tempfile::TempDir, Roots) {
    let root = tempfile::tempdir().unwrap();
    let roots = Roots { proc: root.path().join("proc"), cgroup: root.path().join("cgroup"), ..Roots::default() };
    std::fs::create_dir_all(roots.proc.join("self")).unwrap();
    std::fs::write(roots.proc.join("self/mountinfo"), mountinfo).unwrap();
    std::fs::write(roots.proc.join("self/cgroup"), own).unwrap();
    (root, roots)
}

/// A v2 tree: for each group the controllers enabled for its children, and its processes.
fn v2(own: &str, groups: &[(&str, &str, &str)]) -> (tempfile::TempDir, Roots) {
    let (root, roots) = tree("31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", &format!("0::{own}\n"));
    for (group, handed, procs) in groups {
        let directory = roots.cgroup.join(group);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("cgroup.controllers"), "cpu memory").unwrap();
        std::fs::write(directory.join("cgroup.subtree_control"), handed).unwrap();
        std::fs::write(directory.join("cgroup.procs"), procs).unwrap();
    }
    (root, roots)
}

#[test]
fn the_hierarchy_with_the_cpu_controller_is_found_on_v1_and_v2() {
    let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let (_tree, roots) = tree(mounts, "3:memory:/m\n1:cpu,cpuacct:/a/b\n0::/c\n");
    let found = hierarchy(&roots).unwrap();
    assert_eq!((found.version, found.own), (Version::V1, roots.cgroup.join("cpu,cpuacct/a/b")));
    let (_tree, roots) = v2("/a", &[("", "", ""), ("a", "", "")]);
    assert_eq!(hierarchy(&roots).unwrap().own, roots.cgroup.join("a"));
}

#[test]
fn a_v2_group_goes_below_the_nearest_group_that_hands_cpu_down() {
    let (_tree, roots) =
        v2("/a/b/c", &[("", "cpu", "1"), ("a", "cpu memory", ""), ("a/b", "memory", ""), ("a/b/c", "", "7")]);
    let place = hierarchy(&roots).unwrap().place().unwrap();
    assert_eq!(place, GroupParent { parent: roots.cgroup.join("a"), enable: None });
}

#[test]
fn without_one_the_nearest_empty_group_starts_to_hand_it_down() {
    let (_tree, roots) = v2("/a/b", &[("", "memory", "1"), ("a", "", ""), ("a/b", "", "7")]);
    let place = hierarchy(&roots).unwrap().place().unwrap();
    let control = roots.cgroup.join("a/cgroup.subtree_control");
    assert_eq!(place, GroupParent { parent: roots.cgroup.join("a"), enable: Some(control) });
}

#[test]
fn weights_and_quotas_take_each_versions_form() {
    let hierarchy = |version| Hierarchy { version, mount: "/m".into(), own: "/m".into(), with_cpuset: false };
    let (v1, v2) = (hierarchy(Version::V1), hierarchy(Version::V2));
    let quota = (Some(50_000_000), 100_000_000);
    assert_eq!(v2.writes(200, quota), [("cpu.weight", "200".into()), ("cpu.max", "50000 100000".into())]);
    assert_eq!(v2.writes(100, DEFAULT_QUOTA)[1].1, "max 100000");
    assert_eq!(v1.writes(200, quota)[0].1, "2048");
    assert_eq!(v1.writes(200, quota)[3], ("cpu.cfs_quota_us", "50000".into()));
    assert_eq!((shares(100), shares(1)), (1024, 10));
    assert!([1, 33, 100, 1024, 10_000].iter().all(|weight| weight_of(shares(*weight)) == *weight), "as it was set");
}

#[test]
fn a_tree_without_the_controller_is_a_reason() {
    let (_tree, roots) = tree("41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "0::/\n");
    assert!(hierarchy(&roots).unwrap_err().contains("cpu controller"));
}

#[test]
fn a_file_of_proc_that_is_not_read_is_told_with_the_reason() {
    let (tree, roots) = tree("", "");
    let why = |roots: &Roots| hierarchy(roots).unwrap_err();
    std::fs::remove_file(roots.proc.join("self/cgroup")).unwrap();
    assert!(why(&roots).contains("self/cgroup is not in this tree: copy"), "{}", why(&roots));
    std::fs::write(roots.proc.join("self/mountinfo"), [0xff, 0xfe]).unwrap();
    assert!(why(&roots).contains("self/mountinfo cannot be read: "), "{}", why(&roots));
    std::fs::remove_dir_all(tree.path()).unwrap();
    assert!(why(&roots).contains("self/mountinfo is not in this tree"), "{}", why(&roots));
    // The case of the real machine, whose /proc this test cannot remove.
    let said = |path: &str, errno| not_read(&Roots::default(), Path::new(path), &io::Error::from_raw_os_error(errno));
    assert!(
        said("/proc/self/cgroup", 2).contains("has no cgroups (CONFIG_CGROUPS;"),
        "{}",
        said("/proc/self/cgroup", 2)
    );
    let denied = said("/proc/self/mountinfo", 13);
    assert!(denied.contains("cannot be read: Permission denied") && !denied.contains("kernel"), "{denied}");
}
