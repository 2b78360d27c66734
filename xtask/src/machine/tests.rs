use super::*;
use Presence::{Absent, Present, Unknown};

/// A machine described by files, which are removed on drop.
struct Described {
    root: PathBuf,
    machine: Machine,
}

impl Drop for Described {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

fn machine(name: &str, files: &[(&str, &str)]) -> Described {
    let root = std::env::temp_dir().join(format!("schedlab-xtask-{name}-{}", std::process::id()));
    for (file, content) in files {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let machine =
        Machine { proc: root.join("proc"), sys: root.join("sys"), path: vec![root.join("bin")], has_readers: false };
    Described { root, machine }
}

#[test]
fn ids_capabilities_and_cpus_come_from_status() {
    let status = "Uid:\t1000\t0\t0\t0\nCapEff:\t0000004000000000\nCpus_allowed_list:\t0-1,4\n";
    let described = machine("status", &[("proc/self/status", status)]);
    let needs = ["root", "CAP_PERFMON", "CAP_SYS_NICE", "two CPUs", "3 CPUs", "4 CPUs", "an unprivileged user"];
    let found = needs.map(|need| described.machine.has(need));
    assert_eq!(found, [Present, Present, Absent, Present, Present, Absent, Absent]);
}

#[test]
fn one_absent_part_excuses_and_an_unknown_one_does_not() {
    let status = "Uid:\t0\t0\t0\t0\nCpus_allowed_list:\t0\n";
    let described = machine("parts", &[("proc/self/status", status), ("bin/hackbench", "")]);
    assert_eq!(described.machine.has("root and two CPUs"), Absent);
    assert_eq!(described.machine.has("root, hackbench"), Present);
    assert_eq!(described.machine.has("root or perf"), Present);
    assert_eq!(described.machine.has("perf or a PMU"), Absent);
    assert_eq!(described.machine.has("perf or moonlight"), Unknown);
    assert_eq!(described.machine.has("root and moonlight"), Unknown);
    assert_eq!(described.machine.has("perf"), Absent);
    assert_eq!(described.machine.has(""), Unknown);
}

#[test]
fn kernels_controllers_and_pmus_are_found() {
    let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\nnone /none cgroup2 rw 0 0\n";
    let described =
        machine("kernel", &[("proc/sys/kernel/osrelease", "6.1.0-44-amd64\n"), ("proc/self/mounts", mounts)]);
    let needs = ["Linux 6.1", "Linux 6.12+ (slices)", "cgroup v1 cpu", "cgroup v2", "cgroup v2 cpu", "a PMU"];
    let found = needs.map(|need| described.machine.has(need));
    assert_eq!(found, [Present, Absent, Present, Present, Absent, Absent]);
    assert_eq!(described.machine.has("kernel.osrelease"), Present);
    assert_eq!(described.machine.has("root and a writable cgroup with the cpu controller"), Absent);
    assert_eq!(described.machine.has("a writable /nonexistent"), Absent);
    let described = machine("pmu", &[("sys/bus/event_source/devices/armv8_pmuv3_0/type", "8")]);
    assert_eq!(described.machine.has("PMU"), Present);
}
