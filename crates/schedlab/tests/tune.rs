//! `schedlab tune` end to end: on a tree of files that represents a machine, and on this machine.

mod program;

use program::{Lab, Ran, json, schedlab};
use std::fs;
use std::process::Command;

/// A tree with the knobs of Linux 6.12.
struct Machine {
    lab: Lab,
}

impl Machine {
    fn new(name: &str) -> Self {
        let lab = Lab::new(name);
        let text = concat!(env!("CARGO_MANIFEST_DIR"), "/../tune/tests/trees/6.12.txt");
        for line in fs::read_to_string(text).unwrap().lines().filter(|line| !line.starts_with('#')) {
            let (file, value) = line.split_once(' ').unwrap();
            let path = lab.path(file);
            fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
            fs::write(path, format!("{value}\n")).unwrap();
        }
        Self { lab }
    }
    fn tune(&self, arguments: &[&str]) -> Ran {
        let root = self.lab.path("");
        schedlab(&[&["tune", arguments[0], "--root", &root], &arguments[1..]].concat())
    }
    fn value(&self, file: &str) -> String {
        fs::read_to_string(self.lab.path(file)).unwrap().trim().to_owned()
    }
}

const SLICE: &str = "sys/kernel/debug/sched/base_slice_ns";
const RUNTIME: &str = "proc/sys/kernel/sched_rt_runtime_us";

#[test]
fn what_is_set_stays_until_it_is_asked_back() {
    let machine = Machine::new("tune-set");
    let set = machine.tune(&["set", "min_granularity=5ms", "rt_runtime=-1"]).success();
    assert!(set.stderr.contains("one knob with base_slice"), "{}", set.stderr);
    assert!(set.stdout.contains("base_slice_ns=5000000"), "{}", set.stdout);
    assert!(set.stdout.contains("(was 2100000)") && set.stdout.contains("(was 950000)"), "{}", set.stdout);
    assert!(set.stderr.contains("`schedlab tune restore --root "), "{}", set.stderr);
    assert_eq!((machine.value(SLICE), machine.value(RUNTIME)), ("5000000".into(), "-1".into()));
    let shown = machine.tune(&["show", "base_slice"]).success();
    assert_eq!(shown.stdout, "base_slice = 5000000 ns (default 2100000 or 2250000)\n");
    assert!(shown.stderr.contains("2 settings were changed by `tune set` or a killed run"), "{}", shown.stderr);
    machine.tune(&["set", "base_slice=6ms"]).success();
    let left = machine.tune(&["restore", "--dry-run"]).success().stdout;
    assert!(left.contains("by `tune set`") && left.contains("3 settings would be restored\n"), "{left}");
    assert_eq!(machine.value(SLICE), "6000000", "no start and no preview took it back");
    machine.tune(&["restore"]).success();
    assert_eq!((machine.value(SLICE), machine.value(RUNTIME)), ("2100000".into(), "950000".into()));
    assert!(machine.tune(&["restore"]).success().stdout.starts_with("0 settings restored\n"));
}

#[test]
fn for_a_command_is_for_its_length_and_its_code_is_told() {
    let machine = Machine::new("tune-for");
    let file = machine.lab.path(SLICE);
    let ran = machine.tune(&[
        "set",
        "base_slice=5ms",
        "nice=5",
        "--for",
        "--",
        "sh",
        "-c",
        &format!("cat {file}; nice; exit 7"),
    ]);
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    assert!(ran.stdout.ends_with("5000000\n5\n"), "{}", ran.stdout);
    assert_eq!(machine.value(SLICE), "2100000");
    let foreign =
        machine.tune(&["set", "base_slice=5ms", "--for", "--", "sh", "-c", &format!("echo 9000000 > {file}")]);
    assert_eq!(foreign.code, 5, "void: {}", foreign.stderr);
    assert!(foreign.stderr.contains("`9000000` now, `5000000` when we wrote it"), "{}", foreign.stderr);
    assert_eq!(machine.value(SLICE), "9000000", "somebody else's decision stands");
    assert!(foreign.stderr.contains(&format!("(to put that back: echo '2100000' > {file})")), "{}", foreign.stderr);
    let missing = machine.tune(&["set", "nr_migrate=8", "--for", "--", "/no/such/program"]).failure();
    assert!(missing.stderr.contains("cannot be run"), "{}", missing.stderr);
    assert_eq!(machine.value("sys/kernel/debug/sched/nr_migrate"), "32");
}

#[test]
fn what_cannot_be_set_is_one_sentence_and_nothing_is() {
    let machine = Machine::new("tune-refused");
    fs::create_dir_all(machine.lab.path("proc/sys/vm")).unwrap();
    fs::write(machine.lab.path("proc/sys/vm/dirty_bytes"), "0\n").unwrap();
    for (value, code, seen) in [
        ("vm.dirty_bytes=4096", 2, "write sysctl:vm.dirty_bytes=4096\n"),
        ("dirty_bytes=4096", 2, "write sysctl:vm.dirty_bytes=4096\n"),
        ("vm.dirty_byte=4096", 2, "no knob is called `vm.dirty_byte`"),
        ("NO_WA_IDLE", 2, "write feature:WA_IDLE or feature:NO_WA_IDLE"),
        ("base_slice=1e6", 2, "not `1e6`: the kernel reads whole numbers in digits"),
        ("base_slise=1ms", 2, "did you mean `base_slice`"),
        ("base_slice=1us", 2, "takes 100000 to 1000000000 ns"),
        ("wakeup_granularity=1ms", 1, "Linux up to 6.5"),
        ("rt_period=", 2, "has no value: write rt_period=VALUE"),
        ("slice=1ms", 2, "schedlab exec --slice=1ms -- COMMAND"),
        ("cpu_weight=50", 2, "bench exec --set"),
        ("kernel:debian:6.1", 2, "not a knob of this host"),
        ("tcp_autocorking=0", 1, "tcp_autocorking is not here"),
        ("rt_runtime=800000", 2, "is set twice"),
    ] {
        let ran = machine.tune(&["set", "rt_runtime=900000", value]);
        assert_eq!(ran.code, code, "{value}: {}", ran.stderr);
        assert!(ran.stderr.contains(seen) && ran.stderr.trim_end().lines().count() == 1, "{value}: {}", ran.stderr);
        assert_eq!(machine.value(RUNTIME), "950000", "{value}");
    }
    assert!(machine.tune(&["restore"]).success().stdout.starts_with("0 settings restored\n"));
}

/// An installed file is not read back, so what the machine would refuse is refused before a file is written.
#[test]
fn no_file_is_written_for_what_the_machine_would_refuse() {
    let machine = Machine::new("tune-export-refused");
    let out = machine.lab.path("keep");
    for (value, seen) in [
        ("latency=3ms", "Linux up to 6.5"),
        ("slice=200ms", "takes 100000 to 100000000 ns"),
        ("nr_migrate=many", "not `many`"),
        ("rt_runtime=", "has no value"),
    ] {
        let ran = machine.tune(&["export", value, "-o", &out]).failure();
        assert!(ran.stderr.contains(seen), "{value}: {}", ran.stderr);
        assert!(!std::path::Path::new(&out).exists(), "{value}");
    }
    machine.tune(&["export", "base_slice=3ms", "slice=3000000", "fair_server_runtime=10ms", "-o", &out]).success();
    assert!(fs::read_to_string(machine.lab.path("keep/schedlab-run")).unwrap().contains("exec --slice=3ms --"));
    let again = machine.tune(&["export", "rt_runtime=900000", "-o", &out]).success();
    assert!(again.stderr.contains("schedlab-run is of other settings; the old file is kept as schedlab-run.old1"));
    assert!(!std::path::Path::new(&machine.lab.path("keep/schedlab-knobs.service")).exists());
}

/// Its undo would keep the value that was only tried.
#[test]
fn what_is_set_already_is_not_exported_before_it_is_restored() {
    let machine = Machine::new("tune-export-set");
    let out = machine.lab.path("keep");
    machine.tune(&["set", "rt_runtime=900000"]).success();
    let refused = machine.tune(&["export", "rt_runtime=900000", "-o", &out]).failure().stderr;
    assert!(refused.contains("`900000` now, `950000` before") && refused.contains("tune restore --root"), "{refused}");
    assert!(!std::path::Path::new(&out).exists());
    machine.tune(&["export", "base_slice=3ms", "-o", &out]).success();
    machine.tune(&["restore"]).success();
    machine.tune(&["export", "rt_runtime=900000", "-o", &out]).success();
    let file = fs::read_to_string(machine.lab.path("keep/90-schedlab.conf")).unwrap();
    assert!(file.contains("sysctl -w kernel.sched_rt_runtime_us=950000\n"), "{file}");
}

#[test]
fn a_relative_root_is_restored_from_anywhere_and_lists_keep_their_words() {
    let machine = Machine::new("tune-relative");
    let features = machine.lab.path("sys/kernel/debug/sched/features");
    let before = fs::read(&features).unwrap();
    let word = String::from_utf8_lossy(&before).split_whitespace().next().unwrap().to_owned();
    let other = word.strip_prefix("NO_").map_or_else(|| format!("NO_{word}"), str::to_owned);
    let set = program::command()
        .args(["tune", "--root", ".", "set", &format!("feature:{other}"), "rt_runtime=900000"])
        .current_dir(machine.lab.path(""))
        .output()
        .unwrap();
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    let after = fs::read_to_string(&features).unwrap();
    assert!(after.split_whitespace().any(|one| one == other) && after.split_whitespace().count() > 1, "{after}");
    machine.tune(&["restore"]).success();
    assert_eq!((fs::read(&features).unwrap(), machine.value(RUNTIME)), (before, "950000".into()));
    let nowhere = schedlab(&["tune", "restore", "--root", "/no/such/tree"]).failure();
    assert!(nowhere.stderr.contains("it is no directory"), "{}", nowhere.stderr);
}

#[test]
fn a_dry_run_fails_where_the_command_would_and_the_way_back_names_the_tree() {
    let machine = Machine::new("tune-dry");
    machine.tune(&["set", "base_slice=5ms", "--dry-run"]).success();
    let refused = machine.tune(&["set", "thp=never", "--dry-run"]).failure();
    assert!(refused.stdout.contains("(MISSING)"), "{} {}", refused.stdout, refused.stderr);
    let set = machine.tune(&["set", "base_slice=5ms"]).success();
    let way_back = set.stderr.split('`').nth(1).unwrap().to_owned();
    let words: Vec<&str> = way_back.split(' ').skip(1).collect();
    schedlab(&words).success();
    assert_eq!(machine.value(SLICE), "2100000", "{way_back}");
}

#[test]
fn the_catalogue_fits_eighty_columns_and_its_json_names_every_field() {
    let machine = Machine::new("tune-catalog");
    for action in ["catalog", "show"] {
        let text = machine.tune(&[action]).success().stdout;
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(text.contains("base_slice") && wide.is_empty(), "{action}: {wide:?}");
    }
    let all = json(&machine.tune(&["catalog", "--json", "--top", "0"]).success().stdout);
    assert_eq!((all["schema"].as_str(), all["kernel"].as_str()), (Some("schedlab/knobs/1"), Some("6.12.111-test")));
    let documented = include_str!("../../../docs/knobs.md");
    for knob in all["knobs"].as_array().unwrap() {
        for field in knob.as_object().unwrap().keys() {
            assert!(documented.contains(&format!("`{field}`")), "docs/knobs.md does not say what `{field}` is");
        }
    }
    let one = json(&machine.tune(&["catalog", "min_granularity", "--json", "--top", "0"]).success().stdout);
    assert_eq!((one["knobs"].as_array().unwrap().len(), one["knobs"][0]["name"].as_str()), (1, Some("base_slice")));
    assert_eq!(one["knobs"][0]["here"].as_str(), Some("debugfs:sched/base_slice_ns"));
}

#[test]
fn a_run_records_the_knobs_and_doctor_names_what_differs_from_it() {
    let lab = Lab::new("tune-against");
    let out = lab.path("run");
    schedlab(&["ab", "-w", "pipe:pin=same", "--b", "", "--trials", "6", "--trial", "5ms", "--out", &out]).success();
    let file = lab.path("run/manifest.json");
    let text = fs::read_to_string(&file).unwrap();
    let rt_period = json(&text)["environment"]["knobs"]["rt_period"].as_str().unwrap().to_owned();
    assert_eq!(rt_period, fs::read_to_string("/proc/sys/kernel/sched_rt_period_us").unwrap().trim());
    let same = schedlab(&["doctor", "--against", &out]).success().stdout;
    assert!(!same.contains("knob rt_period"), "{same}");
    assert!(schedlab(&["doctor"]).success().stdout.contains("knobs of the kernel"));
}

/// The error for a sysctl after a shell has changed the mounts; `None` if it may not.
fn refused_after(mounts: &str) -> Option<String> {
    let program = program::binary();
    let script = format!("{{ {mounts}; }} || exit 77; exec {} tune set rr_timeslice=90", program.display());
    let ran = Command::new("unshare").args(["-m", "sh", "-c", &script]).output();
    let ran = ran.ok().filter(|ran| ran.status.code() == Some(1))?;
    Some(String::from_utf8_lossy(&ran.stderr).into_owned())
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn a_read_only_proc_sys_and_a_missing_proc_are_told() {
    let name = "a_read_only_proc_sys_and_a_missing_proc_are_told";
    let read_only = "mount --bind -o ro /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys";
    for (mounts, why) in [(read_only, "mounted read-only"), ("umount -l /proc", "/proc is not mounted: `mount -t proc")]
    {
        let Some(said) = refused_after(mounts) else {
            return eprintln!("schedlab-skip: {name}: needs root and mount namespaces");
        };
        assert!(said.contains(why), "{said}");
    }
}

/// The last of several CPUs, because pinning would take the first of those that this process has.
#[test]
fn pinning_chooses_from_the_cpus_that_are_set() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let last = format!("cpus={}", allowed.trim().rsplit([',', '-']).next().unwrap());
    let run = ["bench", "pipe:pin=same,loops=10", "--set", &last, "--json", "-"];
    let applied = &json(&schedlab(&run).success().stdout)["applied"][0];
    assert!(applied["effective"] == last.as_str() && applied["not_applied"].is_null(), "{applied}");
}

#[test]
fn an_export_without_a_file_is_an_error_and_leaves_nothing() {
    let lab = Lab::new("search-export-none");
    let out = lab.path("keep");
    let none = schedlab(&["tune", "export", "cpu_weight=200", "-o", &out]);
    assert!(none.code == 2 && none.stderr.contains("CPUWeight="), "{}", none.stderr);
    assert!(none.stderr.lines().count() == 1 && none.stderr.contains("files hold sysctls"), "{}", none.stderr);
    for (arguments, fix) in [
        (&["tune", "export"][..], "as in `schedlab tune export base_slice=3ms -o keep`"),
        (&["tune", "export", "-o", &out], "name each setting with its value"),
        (&["tune", "export", "nice=1"], "such as -o keep"),
    ] {
        let said = schedlab(arguments);
        assert!(said.code == 2 && said.stderr.contains(fix) && said.stderr.lines().count() == 1, "{}", said.stderr);
    }
    assert!(!std::path::Path::new(&out).exists());
    let twice = schedlab(&["tune", "export", "nice=1", "nice=2", "-o", &out]);
    assert!(twice.code == 2 && twice.stderr.contains("nice is set twice"), "{}", twice.stderr);
}
