//! Doctor on three made-up machines and on this one: every check gives a result, says what matters, and gives the same
//! result twice.

use schedlab_host::{FLUCTUATING, Probes, Roots, SystemAnswers, environment, environment_of, foreign_state};
use schedlab_plan::{Check, CheckState, Environment};
use schedlab_sys::audit::AuditState;
use schedlab_sys::kernel_facts::Uname;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A tree of files below a temporary directory, removed at the end.
struct Tree(PathBuf);

impl Tree {
    /// Writes `/proc/…`, `/sys/…` and `/boot/…` files.
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let root = std::env::temp_dir().join(format!("schedlab-host-{name}-{}-{number}", std::process::id()));
        let tree = Self(root);
        // The procfs root must exist for its siblings to be reached through it.
        std::fs::create_dir_all(tree.0.join("proc")).unwrap();
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let at = self.0.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, format!("{text}\n")).unwrap();
    }

    fn roots(&self) -> Roots {
        Roots { proc: self.0.join("proc"), sys: self.0.join("sys") }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(Path::new(&self.0));
    }
}

fn refused() -> Result<(), String> {
    Err("Operation not permitted (os error 1)".to_owned())
}

fn answers(release: &str, version: &str) -> SystemAnswers {
    SystemAnswers {
        uname: Uname {
            nodename: "fake".into(),
            release: release.into(),
            version: version.into(),
            machine: "x86_64".into(),
        },
        page_size_bytes: 4096,
        tick_ns: Some(4_000_000),
        perf_cpu: Ok(()),
        pmu: Ok(()),
        bpf: Ok(()),
        fifo: Ok(()),
        audit: Ok(AuditState { enabled: 0, rules: 0, task_never: false }),
    }
}

fn laptop() -> Tree {
    let cpu = "/sys/devices/system/cpu";
    let file = |path: &str| format!("{cpu}/{path}");
    let tree = Tree::new(
        "laptop",
        &[
            ("/proc/cmdline", "root=/dev/nvme0n1p2 preempt=lazy preempt=full"),
            ("/proc/cpuinfo", "processor : 0\nmodel name : 12th Gen Core\nflags : fpu vme"),
            ("/proc/stat", "cpu  100 0 50 9000 5 0 0 0 0 0"),
            ("/proc/loadavg", "1.52 0.80 0.40 2/900 4242"),
            ("/proc/self/cgroup", "0::/user.slice/user-1000.slice/session-3.scope"),
            ("/proc/self/limits", "Max processes 1000 63000 processes\nMax open files 1024 524288 files"),
            ("/proc/self/status", "Name:\tschedlab\nSeccomp:\t0\nSeccomp_filters:\t0"),
            ("/proc/self/schedstat", "1 2 3"),
            ("/proc/sys/kernel/sched_autogroup_enabled", "1"),
            ("/proc/sys/kernel/sched_schedstats", "1"),
            ("/proc/sys/kernel/numa_balancing", "0"),
            ("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9"),
            ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids"),
            ("/sys/fs/cgroup/user.slice/cpu.max", "max 100000"),
            ("/sys/kernel/debug/sched/preempt", "none voluntary (full) lazy"),
            ("/sys/kernel/debug/sched/features", "PLACE_LAG NO_HRTICK"),
            ("/sys/kernel/debug/sched/base_slice_ns", "2800000"),
            ("/sys/kernel/sched_ext/state", "enabled"),
            ("/sys/kernel/sched_ext/root/ops", "lavd"),
            ("/sys/kernel/security/lockdown", "none [integrity] confidentiality"),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"),
            ("/sys/kernel/tracing/instances/theirs/tracing_on", "1"),
            ("/sys/bus/event_source/devices/cpu/type", "4"),
        ],
    );
    for (path, text) in [
        ("online", "0-3"),
        ("smt/active", "1"),
        ("smt/control", "on"),
        ("nohz_full", "(null)"),
        ("isolated", ""),
        ("intel_pstate/no_turbo", "0"),
        ("cpufreq/policy0/scaling_governor", "powersave"),
        ("cpufreq/policy0/scaling_driver", "intel_pstate"),
        ("cpufreq/policy1/scaling_governor", "powersave"),
        ("cpuidle/current_driver", "intel_idle"),
        ("cpuidle/current_governor", "menu"),
        ("cpu0/cpuidle/state0/name", "POLL"),
        ("cpu0/cpuidle/state0/latency", "0"),
        ("cpu0/cpuidle/state1/name", "C10"),
        ("cpu0/cpuidle/state1/latency", "230"),
        ("cpu0/cpuidle/state2/name", "C11"),
        ("cpu0/cpuidle/state2/latency", "999"),
        ("cpu0/cpuidle/state2/disable", "1"),
        ("cpu0/topology/physical_package_id", "0"),
        ("cpu0/cache/index3/level", "3"),
        ("cpu0/cache/index3/shared_cpu_list", "0-3"),
        ("vulnerabilities/spectre_v2", "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional"),
        ("vulnerabilities/meltdown", "Not affected"),
    ] {
        tree.write(&file(path), text);
    }
    tree.write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
    tree.write("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm");
    tree.write("/sys/devices/system/node/node0/cpulist", "0-3");
    tree
}

/// Debian 12, seen by an ordinary user in a container with a CPU quota.
fn debian() -> (Tree, SystemAnswers) {
    let release = "6.1.0-28-amd64";
    let tree = Tree::new(
        "debian",
        &[
            ("/proc/cmdline", "quiet nohz_full=2-3"),
            ("/proc/stat", "cpu  1000 0 500 9000 5 0 0 300 0 0"),
            ("/proc/loadavg", "0.00 0.00 0.00 1/90 42"),
            ("/proc/self/cgroup", "4:memory:/\n2:cpu,cpuacct:/docker/abc\n0::/"),
            ("/proc/self/limits", "Max processes 1000 1000 processes\nMax open files 1024 1024 files"),
            ("/proc/self/status", "Seccomp:\t2\nSeccomp_filters:\t1"),
            ("/proc/self/schedstat", "1 2 3"),
            ("/proc/self/loginuid", "4294967295"),
            ("/proc/812/comm", "auditd"),
            ("/proc/sys/kernel/perf_event_paranoid", "3"),
            ("/proc/sys/kernel/sched_schedstats", "0"),
            ("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1"),
            ("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "50000"),
            ("/sys/devices/system/cpu/online", "0-3"),
            ("/sys/devices/system/cpu/nohz_full", "2-3"),
            ("/sys/devices/system/cpu/cpufreq/boost", "0"),
            ("/sys/bus/event_source/devices/cpu/type", "4"),
            (
                "/boot/config-6.1.0-28-amd64",
                "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ=250\nCONFIG_SCHED_HRTICK=y\nCONFIG_DEBUG_PREEMPT=y\nCONFIG_LOCK_STAT=y",
            ),
        ],
    );
    let answers = SystemAnswers {
        perf_cpu: refused(),
        pmu: refused(),
        bpf: refused(),
        fifo: refused(),
        audit: Err("Operation not permitted (os error 1)".into()),
        ..answers(release, "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)")
    };
    (tree, answers)
}

/// A cloud guest without PMU, debugfs or config, like the machine that this was written on.
fn guest() -> (Tree, SystemAnswers) {
    let tree = Tree::new(
        "guest",
        &[
            ("/proc/cmdline", "console=ttyS0 psi=1"),
            ("/proc/cpuinfo", "model name\t: AMD EPYC\nflags\t\t: fpu hypervisor lahf_lm"),
            ("/proc/stat", "cpu  62847 0 4099 355419 527 0 35 27 0 0"),
            ("/proc/self/cgroup", "1:cpu:/\n0::/"),
            ("/proc/self/schedstat", "0 62513 1"),
            ("/proc/self/sched", "x (1, #threads: 1)\nse.slice                :      1400000\n"),
            ("/sys/devices/system/cpu/online", "0-1"),
            ("/sys/devices/system/cpu/smt/active", "0"),
            ("/sys/devices/system/cpu/cpuidle/current_driver", "haltpoll"),
            ("/sys/devices/system/cpu/cpuidle/current_governor_ro", "haltpoll"),
            ("/sys/module/haltpoll/parameters/guest_halt_poll_ns", "0"),
            ("/sys/module/kvm/parameters/halt_poll_ns", "200000"),
            ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
            ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock"),
        ],
    );
    let no_pmu = Err("No such file or directory (os error 2)".to_owned());
    (tree, SystemAnswers { pmu: no_pmu, ..answers("6.18.44", "#1 SMP PREEMPT_DYNAMIC @0") })
}

fn find<'a>(environment: &'a Environment, id: &str) -> &'a Check {
    environment.checks.iter().find(|check| check.id == id).unwrap_or_else(|| panic!("no check {id}"))
}

fn expect(environment: &Environment, rows: &[(&str, CheckState, &str)]) {
    for (id, state, value) in rows {
        let check = find(environment, id);
        assert_eq!((check.state, check.value.as_str()), (*state, *value), "{id}: {check:?}");
    }
}

/// What holds for every check of every machine.
fn well_formed(environment: &Environment) {
    let mut ids: Vec<&str> = environment.checks.iter().map(|check| check.id.as_str()).collect();
    for check in &environment.checks {
        assert!(!check.value.is_empty() && !check.effect.is_empty() && !check.evidence.is_empty(), "{check:?}");
        assert!(!check.value.contains('\n'), "{check:?}");
        // The summary counts every check that is not unavailable as read.
        let is_unknown = ["unknown", "not visible"].contains(&check.value.as_str());
        assert!(!is_unknown || check.state == CheckState::Unavailable, "{check:?}");
        if check.state == CheckState::Warning {
            assert!(!check.fix.is_empty(), "a warning says what to do: {check:?}");
        }
    }
    assert!(FLUCTUATING.iter().all(|id| ids.contains(id)), "every fluctuating id is a check");
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids are unique");
}

#[test]
fn a_laptop_with_turbo_and_a_bpf_scheduler() {
    use CheckState::{Good, Info, Warning};
    let tree = laptop();
    let answers = answers("6.12.8", "#1 SMP PREEMPT_DYNAMIC");
    let environment = environment_of(&tree.roots(), &answers, Probes::default());
    well_formed(&environment);
    assert_eq!(environment.cpu_model, "12th Gen Core");
    let rows = [
        ("preempt_model", Info, "full"),
        ("hz", Info, "250"),
        ("hrtick", Info, "off"),
        ("default_slice", Info, "2800000 ns"),
        ("sched_ext", Warning, "enabled: lavd"),
        ("schedstats", Warning, "on"),
        ("context_tracking", Good, "off"),
        ("audit", Good, "off"),
        ("seccomp", Good, "none"),
        ("mitigations", Info, "spectre_v2 (Enhanced / Automatic IBRS)"),
        ("governor", Warning, "intel_pstate: powersave"),
        ("turbo", Warning, "on"),
        ("cpuidle", Warning, "intel_idle/menu: POLL 0 µs, C10 230 µs"),
        ("halt_polling", Good, "none"),
        ("smt", Warning, "on"),
        ("topology", Info, "CPUs 0-3, 1 socket, 1 node, 1 last-level cache"),
        ("clocksource", Good, "tsc"),
        ("hypervisor", Good, "none seen"),
        ("background_load", Warning, "load 1.52"),
        ("autogroup", Info, "on"),
        ("cgroup", Info, "v2"),
        ("cpu_quota", Good, "none"),
        ("transparent_hugepages", Info, "always"),
        ("lockdown", Warning, "integrity"),
        ("tracefs", Good, "yes"),
        ("perf", Good, "yes"),
        ("rlimits", Good, "524288 files, 63000 processes"),
    ];
    expect(&environment, &rows);
}

#[test]
fn a_debian_server_seen_by_a_user_in_a_container() {
    use CheckState::{Good, Info, Unavailable, Warning};
    let (tree, answers) = debian();
    let environment = environment_of(&tree.roots(), &answers, Probes::default());
    well_formed(&environment);
    let rows = [
        ("preempt_model", Info, "voluntary"),
        ("hrtick", Unavailable, "unknown"),
        ("debug_options", Warning, "DEBUG_PREEMPT, LOCK_STAT"),
        ("context_tracking", Warning, "nohz_full=2-3"),
        ("audit", Warning, "auditd runs"),
        ("seccomp", Warning, "1 filter"),
        ("turbo", Good, "off"),
        ("steal_rate", Warning, "16.67 %"),
        ("cgroup", Info, "v1"),
        ("cpu_quota", Warning, "50000 µs"),
        ("perf", Unavailable, "no"),
        ("pmu", Unavailable, "not permitted"),
        ("real_time", Unavailable, "no"),
        ("rlimits", Warning, "1024 files, 1000 processes"),
    ];
    expect(&environment, &rows);
    assert!(find(&environment, "perf").evidence.contains("perf_event_paranoid: 3"));
    assert!(environment.config_crc32.contains(':'), "{}", environment.config_crc32);
}

#[test]
fn a_cloud_guest_without_pmu() {
    use CheckState::{Good, Info, Unavailable, Warning};
    let (tree, answers) = guest();
    let probes = Probes { round_trip_same_ns: Some(2_700.0), round_trip_apart_ns: Some(65_000.0) };
    let environment = environment_of(&tree.roots(), &answers, probes);
    well_formed(&environment);
    let rows = [
        ("preempt_model", Info, "dynamic"),
        ("default_slice", Info, "1400000 ns"),
        ("debug_options", Unavailable, "unknown"),
        ("halt_polling", Info, "guest: 0 ns"),
        ("hypervisor", Warning, "kvm"),
        ("pmu", Unavailable, "none"),
        ("perf", Good, "yes"),
        ("tracefs", Unavailable, "not mounted"),
        ("round_trip", Warning, "2.7 µs against 65.0 µs: 24.1×"),
    ];
    expect(&environment, &rows);
}

/// Values of the checks that do not change by themselves.
fn steady(environment: &Environment) -> Vec<(&str, &str)> {
    let checks = environment.checks.iter().filter(|c| !FLUCTUATING.contains(&c.id.as_str()));
    checks.map(|c| (c.id.as_str(), c.value.as_str())).collect()
}

#[test]
fn this_machine_answers_every_check_twice_alike() {
    let probes = Probes { round_trip_same_ns: Some(3_000.0), round_trip_apart_ns: None };
    let first = environment(&Roots::default(), probes);
    well_formed(&first);
    assert!(!first.kernel_release.is_empty() && !first.online_cpus.is_empty() && !first.boot_id.is_empty());
    let second = environment(&Roots::default(), Probes::default());
    assert_eq!(steady(&first), steady(&second), "a machine does not differ from itself");
}

#[test]
fn energy_is_weighed_only_where_cpus_have_several_capacities() {
    let (tree, answers) = guest();
    tree.write("/proc/sys/kernel/sched_energy_aware", "1");
    let of = |tree: &Tree| environment_of(&tree.roots(), &answers, Probes::default());
    expect(&of(&tree), &[("energy_aware", CheckState::Good, "permitted, not active")]);
    for (cpu, capacity) in [(0, "1024"), (1, "446")] {
        tree.write(&format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), capacity);
    }
    expect(&of(&tree), &[("energy_aware", CheckState::Info, "on")]);
}

#[test]
fn two_machines_differ_in_what_matters() {
    let ((a, of_a), (b, of_b)) = (debian(), guest());
    let a = environment_of(&a.roots(), &of_a, Probes::default());
    let b = environment_of(&b.roots(), &of_b, Probes::default());
    assert!(a.kernel_release != b.kernel_release && a.online_cpus != b.online_cpus);
    let of_b = steady(&b);
    let ids: Vec<&str> = steady(&a).into_iter().filter(|check| !of_b.contains(check)).map(|(id, _)| id).collect();
    for id in ["preempt_model", "cpu_quota", "hypervisor", "pmu"] {
        assert!(ids.contains(&id), "{id} in {ids:?}");
    }
}

#[test]
fn a_change_by_others_shows_in_the_foreign_state() {
    let tree = laptop();
    let before = foreign_state(&tree.roots());
    assert_eq!(before, foreign_state(&tree.roots()));
    tree.write("/sys/devices/system/cpu/online", "0-2");
    tree.write("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance");
    let after = foreign_state(&tree.roots());
    let changed: Vec<(&str, &str)> = before
        .iter()
        .zip(&after)
        .filter(|(a, b)| a != b)
        .map(|(_, (name, now))| (name.as_str(), now.as_str()))
        .collect();
    assert_eq!(changed, [("online CPUs", "0-2"), ("frequency governor", "performance, powersave")]);
    assert_eq!(before.len(), foreign_state(&Roots { proc: "/nonexistent".into(), sys: "/nonexistent".into() }).len());
}

#[test]
fn root_is_not_told_to_become_root_and_a_list_of_no_cpu_is_said_in_words() {
    let of = |uid: &str| {
        let tree = laptop();
        tree.write("/proc/self/status", &format!("Name:\tschedlab\nUid:\t1000\t{uid}\t{uid}\t{uid}"));
        tree.write("/sys/devices/system/cpu/nohz_full", "(null)");
        std::fs::remove_dir_all(tree.0.join("sys/kernel/tracing")).unwrap();
        let barred = SystemAnswers {
            perf_cpu: refused(),
            pmu: refused(),
            bpf: refused(),
            fifo: refused(),
            ..answers("6.1", "#1")
        };
        environment_of(&tree.roots(), &barred, Probes::default())
    };
    let fixes = |environment: &Environment| -> String {
        environment.checks.iter().map(|check| format!("{}: {}\n", check.id, check.fix)).collect()
    };
    let (root, user) = (fixes(&of("0")), fixes(&of("1000")));
    assert!(!root.contains("run as root") && root.contains("perf: root is denied here"), "{root}");
    for id in ["perf", "bpf", "real_time", "tracefs"] {
        let line = user.lines().find(|line| line.starts_with(&format!("{id}: "))).unwrap();
        assert!(line.contains("as root"), "{line}");
    }
    let root = of("0");
    let nohz = root.checks.iter().find(|check| check.id == "context_tracking").unwrap();
    assert_eq!((nohz.value.as_str(), nohz.evidence.ends_with("nohz_full: no CPU")), ("off", true), "{nohz:?}");
}

#[test]
fn a_mounted_debugfs_that_is_refused_is_not_to_be_mounted() {
    let fix = |uid: &str, mounted: bool| {
        let (tree, answers) = guest();
        tree.write("/proc/self/status", &format!("Name:\tschedlab\nUid:\t{uid}\t{uid}\t{uid}\t{uid}"));
        if mounted {
            std::fs::create_dir_all(tree.0.join("sys/kernel/debug/sched")).unwrap();
        }
        find(&environment_of(&tree.roots(), &answers, Probes::default()), "hrtick").fix.clone()
    };
    assert!(fix("0", false).starts_with("mount -t debugfs"), "{}", fix("0", false));
    assert!(fix("1000", false).starts_with("as root: mount -t debugfs"), "{}", fix("1000", false));
    assert!(fix("0", true).contains("lockdown"), "{}", fix("0", true));
    assert!(fix("1000", true).starts_with("run as root"), "{}", fix("1000", true));
}

#[test]
fn forced_context_tracking_is_found_by_both_of_its_names() {
    for option in ["CONTEXT_TRACKING_FORCE", "CONTEXT_TRACKING_USER_FORCE"] {
        let (tree, answers) = debian();
        tree.write("/boot/config-6.1.0-28-amd64", &format!("CONFIG_{option}=y"));
        tree.write("/sys/devices/system/cpu/nohz_full", "(null)");
        let environment = environment_of(&tree.roots(), &answers, Probes::default());
        expect(&environment, &[("context_tracking", CheckState::Warning, "forced on")]);
        let check = find(&environment, "context_tracking");
        assert_eq!(check.evidence, format!("kernel config: CONFIG_{option}=y"));
    }
}

#[test]
fn a_seccomp_filter_is_not_ruled_out_by_a_file_that_cannot_be_read() {
    let seccomp = |status: Option<&str>| {
        let (tree, answers) = debian();
        match status {
            Some(text) => tree.write("/proc/self/status", text),
            None => std::fs::remove_file(tree.0.join("proc/self/status")).unwrap(),
        }
        find(&environment_of(&tree.roots(), &answers, Probes::default()), "seccomp").clone()
    };
    assert_eq!(seccomp(Some("Seccomp:\t0")).value, "none");
    let unknown = seccomp(None);
    assert_eq!((unknown.state, unknown.value.as_str()), (CheckState::Unavailable, "unknown"));
    assert!(!unknown.evidence.contains("Seccomp: 0"), "{unknown:?}");
    let without = seccomp(Some("Name:\tschedlab"));
    assert_eq!((without.state, without.value.as_str()), (CheckState::Good, "not built in"));
    assert_eq!(without.evidence, "/proc/self/status: no field `Seccomp`");
}
