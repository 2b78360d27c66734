use super::*;
use std::fs;
use std::path::PathBuf;

/// A v2 tree of plain files in which our own group is `a`; `controllers` are those of the root.
fn tree(controllers: &str) -> (tempfile::TempDir, HostRunner) {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let own_stat = fs::read_to_string("/proc/self/stat").unwrap();
    for (file, text) in [
        ("proc/sys/kernel/random/boot_id", "boot"),
        (&format!("proc/{}/stat", std::process::id()), &own_stat),
        ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
        ("proc/self/cgroup", "0::/a"),
        ("cgroup/cgroup.controllers", controllers),
        ("cgroup/cgroup.subtree_control", controllers),
        ("cgroup/cgroup.procs", ""),
        ("cgroup/a/cgroup.procs", "7"),
        ("cgroup/a/cgroup.subtree_control", ""),
        ("cgroup/a/cgroup.controllers", controllers),
    ] {
        fs::create_dir_all(at(file).parent().unwrap()).unwrap();
        fs::write(at(file), format!("{text}\n")).unwrap();
    }
    let roots = Roots { proc: at("proc"), sys: at("sys"), cgroup: at("cgroup"), debugfs: at("debug") };
    let guard = HostGuard::open(roots, &at("state")).unwrap();
    (root, HostRunner { guard, interrupt: None })
}

fn groups(root: &tempfile::TempDir) -> Vec<PathBuf> {
    let listing = fs::read_dir(root.path().join("cgroup")).unwrap().flatten().map(|entry| entry.path());
    listing.filter(|path| path.to_string_lossy().contains("schedlab-")).collect()
}

fn order() -> TrialOrder {
    serde_json::from_value(serde_json::json!({
        "workload": "pipe/1:loops=1,pin=same,cgroups=apart", "settings": [], "stamping": "off", "counters": "basic",
        "load": [], "load_group": "same", "net_namespace": false, "cgroup_procs": [], "workload_cgroups": [],
        "switchback": null, "seed": 1
    }))
    .unwrap()
}

/// The trial process is this test program, whose output is not an outcome. That both trials get so far shows that the
/// cgroups of the first one were gone, because they have the same names.
#[test]
fn a_workload_with_cgroups_gets_fresh_ones_for_every_trial() {
    let (root, mut host) = tree("cpu memory");
    for _ in 0..2 {
        let why = host.under(Vec::new(), order(), Duration::from_secs(60)).unwrap().unwrap_err();
        assert!(why.starts_with("the trial's output is not a valid outcome"), "{why}");
        assert!(groups(&root).is_empty(), "they go with their trial");
    }
}

#[test]
fn where_no_cgroups_can_be_made_their_trial_does_not_run() {
    let (root, mut host) = tree("memory");
    let why = host.under(Vec::new(), order(), Duration::from_secs(60)).unwrap().unwrap_err();
    assert!(why.starts_with("pipe") && why.contains("cpu"), "{why}");
    assert!(groups(&root).is_empty());
}
