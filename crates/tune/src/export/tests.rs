use super::*;

fn made(settings: &str) -> Exports {
    let tree = tempfile::tempdir().unwrap();
    let put = |file: &str, text: &str| {
        let path = tree.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("proc/sys/kernel/sched_autogroup_enabled", "1\n");
    put("sys/kernel/debug/sched/base_slice_ns", "2800000\n");
    put("sys/kernel/debug/sched/tunable_scaling", "1\n");
    put("sys/kernel/debug/sched/features", "PLACE_LAG NO_HRTICK WA_IDLE\n");
    put("sys/kernel/debug/sched/preempt", "none voluntary (full)\n");
    put("proc/sys/net/ipv4/tcp_congestion_control", "cubic\n");
    put("proc/sys/net/ipv4/tcp_allowed_congestion_control", "reno cubic\n");
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    let settings: Vec<Setting> = settings.split(';').map(|text| text.parse().unwrap()).collect();
    let made = exports(&Roots::below(tree.path()), &settings, &["5 % faster [4, 6]\nrm -rf /".into()]);
    let root = tree.path().display().to_string();
    assert!(made.files.iter().all(|export| !export.text.contains(&root)), "paths of the machine: {made:?}");
    made
}

fn text<'e>(made: &'e Exports, file: &str) -> &'e str {
    &made.files.iter().find(|export| export.file == file).unwrap().text
}

#[test]
fn a_sysctl_becomes_a_file_with_its_evidence_and_undo() {
    let made = made("autogroup=off");
    let lines: Vec<&str> = text(&made, SYSCTL).lines().collect();
    assert!(lines[0].starts_with("# 5 % faster [4, 6]") && lines[0].contains("rm -rf"), "one line: {lines:?}");
    assert!(lines[1].starts_with("# Undo: rm /etc/sysctl.d/90-schedlab.conf && sysctl -w"), "{lines:?}");
    assert!(lines[1].ends_with("kernel.sched_autogroup_enabled=1"), "{lines:?}");
    assert_eq!(lines[2..], ["kernel.sched_autogroup_enabled = 0"]);
    assert!(text(&made, TUNED).ends_with("[sysctl]\nkernel.sched_autogroup_enabled=0\n"));
    assert_eq!(made.files.len(), 2);
}

#[test]
fn what_changes_along_with_a_sysctl_is_put_back_after_it() {
    let made = made("sysctl:net.ipv4.tcp_congestion_control=bbr");
    let undo = &made.files[0].undo;
    let back = "sysctl -w net.ipv4.tcp_congestion_control=cubic 'net.ipv4.tcp_allowed_congestion_control=reno cubic'";
    assert!(undo.ends_with(back), "{undo}");
}

#[test]
fn files_of_debugfs_become_a_unit_that_puts_them_back() {
    let made = made("debugfs:sched/base_slice_ns=5000000;feature:NO_WA_IDLE;thp=never");
    let unit = text(&made, UNIT);
    for line in [
        "ExecStart=/bin/sh -c \"echo 5000000 > /sys/kernel/debug/sched/base_slice_ns\"\n",
        "ExecStart=/bin/sh -c \"echo NO_WA_IDLE > /sys/kernel/debug/sched/features\"\n",
        "ExecStopPost=-/bin/sh -c \"echo 2800000 > /sys/kernel/debug/sched/base_slice_ns\"\n",
        "ExecStopPost=-/bin/sh -c \"echo WA_IDLE > /sys/kernel/debug/sched/features\"\n",
        "ExecStopPost=-/bin/sh -c \"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled\"\n",
        "v=$$(cat /sys/kernel/debug/sched/tunable_scaling) && echo $$v > /sys/kernel/debug/sched/tunable_scaling",
    ] {
        assert!(unit.contains(line), "{line} in {unit}");
    }
    assert!(text(&made, TUNED).contains("[sysfs]\n/sys/kernel/debug/sched/base_slice_ns=5000000\n"));
}

#[test]
fn what_tuned_could_not_put_back_is_left_to_the_unit() {
    let made = made("feature:NO_WA_IDLE;debugfs:sched/preempt=none;thp=never");
    let profile = text(&made, TUNED);
    assert!(profile.ends_with("[sysfs]\n/sys/kernel/mm/transparent_hugepage/enabled=never\n"), "{profile}");
    assert!(profile.contains("not in this file: feature:NO_WA_IDLE; debugfs:sched/preempt=none"), "{profile}");
    assert!(text(&made, UNIT).contains("ExecStopPost=-/bin/sh -c \"echo full > /sys/kernel/debug/sched/preempt\""));
    let unit_alone = self::made("feature:NO_WA_IDLE").files;
    assert_eq!(unit_alone.iter().map(|export| export.file).collect::<Vec<_>>(), [UNIT]);
}

/// tuned writes only files that are named in the profile.
#[test]
fn a_slice_of_a_profile_outlives_a_hot_plug() {
    let sysfs = |settings: &str| {
        let made = made(settings);
        text(&made, TUNED).split_once("[sysfs]\n").unwrap().1.replace("/sys/kernel/debug/sched/", "")
    };
    assert_eq!(sysfs("debugfs:sched/base_slice_ns=5"), "base_slice_ns=5\ntunable_scaling=1\n");
    let asked = sysfs("debugfs:sched/tunable_scaling=0;debugfs:sched/base_slice_ns=5;debugfs:sched/nr_migrate=8");
    assert_eq!(asked, "base_slice_ns=5\nnr_migrate=8\ntunable_scaling=0\n");
    assert_eq!(sysfs("debugfs:sched/nr_migrate=8"), "nr_migrate=8\n");
}

#[test]
fn a_knob_of_each_cpu_is_written_for_each() {
    let made = made("sysfs:devices/system/cpu/cpu*/power/pm_qos_resume_latency_us=n/a");
    let file = "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us";
    let line = format!("for file in {file}; do echo n/a > \"$file\"; done");
    assert!(text(&made, UNIT).contains(&format!("ExecStart={}\n", shell(&line))), "{}", text(&made, UNIT));
    assert!(!text(&made, UNIT).contains(&format!("'{file}'")));
}

#[test]
fn the_undo_of_copies_writes_each_of_them() {
    let tree = tempfile::tempdir().unwrap();
    let policy = |number: u32, file: &str| format!("/sys/devices/system/cpu/cpufreq/policy{number}/scaling_{file}");
    for (number, least) in [(0, "400000"), (2, "800000"), (10, "400000")] {
        for (file, text) in [("governor", "schedutil"), ("min_freq", least)] {
            let path = tree.path().join(&policy(number, file)[1..]);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
    }
    let place = |file: &str| format!("sysfs:devices/system/cpu/cpufreq/policy*/scaling_{file}");
    let settings =
        [place("governor") + "=performance", place("min_freq") + "=900000"].map(|text| text.parse().unwrap());
    let made = exports(&Roots::below(tree.path()), &settings, &[]);
    let unit = text(&made, UNIT);
    assert!(!unit.contains("stays until a reboot"), "{unit}");
    let stops: Vec<&str> = unit.lines().filter(|line| line.starts_with("ExecStopPost=-")).collect();
    let [all, others, second] = [
        format!(
            "for file in {}; do echo schedutil > \"$file\"; done",
            "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
        ),
        format!("for file in {} {}; do echo 400000 > \"$file\"; done", policy(0, "min_freq"), policy(10, "min_freq")),
        format!("echo 800000 > {}", policy(2, "min_freq")),
    ];
    assert_eq!(stops, [others, second, all].map(|line| format!("ExecStopPost=-{}", shell(&line))));
}

/// The file may not exist, or may not contain the word.
#[test]
fn no_undo_is_promised_where_the_value_before_is_not_known() {
    let made = made("sysctl:kernel.no_such=1;autogroup=off;debugfs:sched/no_such_ns=1;feature:NO_WA_IDLE");
    let sysctl = text(&made, SYSCTL);
    assert!(
        sysctl.contains("&& sysctl -w kernel.sched_autogroup_enabled=1; /proc/sys/kernel/no_such stays until"),
        "{sysctl}"
    );
    let unit = text(&made, UNIT);
    assert!(unit.contains("; /sys/kernel/debug/sched/no_such_ns stays until a reboot"), "{unit}");
    assert!(!unit.contains("WA_IDLE stays") && unit.matches("ExecStopPost=-").count() == 2, "{unit}");
}

/// The evidence is for all settings of a point; a file with only some of them says so.
#[test]
fn a_file_names_the_settings_it_does_not_hold() {
    let made = made("autogroup=off;slice=3ms;cpu_weight=200");
    let part = |file| text(&made, file).lines().find(|line| line.contains("not in this file")).unwrap().to_owned();
    assert!(part(SYSCTL).ends_with("not in this file: slice=3ms; cpu_weight=200"), "{}", part(SYSCTL));
    assert!(part(SCRIPT).ends_with("not in this file: autogroup=off; cpu_weight=200"), "{}", part(SCRIPT));
    assert!(!text(&self::made("autogroup=off"), SYSCTL).contains("not in this file"));
}

#[test]
fn what_belongs_to_tasks_becomes_a_script_and_the_rest_says_where_it_belongs() {
    let made = made("slice=3ms;policy=batch;cpu_weight=200;boot:preempt=full");
    assert!(text(&made, SCRIPT).ends_with("exec --slice=3ms --policy=batch -- \"$@\"\n"));
    assert_eq!(made.files.len(), 1);
    assert!(made.without[0].contains("CPUWeight=") && made.without[1].contains("boot loader"), "{:?}", made.without);
}
