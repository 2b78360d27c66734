//! What this machine has of the things that tests name as needs (`schedlab-skip: TEST: needs WHAT (WHY)`). Each need is
//! probed here independently, so that a test cannot skip because of a need that is met.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether the machine has what a test says it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Presence {
    Present,
    Absent,
    /// There is no probe for this word: add one here.
    Unknown,
}

/// A machine to probe. Its roots are fields, so that tests can describe a machine as files.
pub(crate) struct Machine {
    pub(crate) proc: PathBuf,
    pub(crate) sys: PathBuf,
    pub(crate) path: Vec<PathBuf>,
    /// Whether the interpreter that tests are given has pandas, Polars, DuckDB and Perfetto's schema.
    pub(crate) has_readers: bool,
}

/// Programs that tests may name as a need; a name outside this list is `Unknown`, not an absent program.
const PROGRAMS: &[&str] = &[
    "cc",
    "chrt",
    "cpio",
    "git",
    "hackbench",
    "objcopy",
    "perf",
    "python3",
    "qemu-aarch64",
    "qemu-system-x86_64",
    "runuser",
    "script",
    "setpriv",
    "sh",
    "stress-ng",
    "strip",
    "sysctl",
    "systemd-analyze",
    "taskset",
    "tuned-adm",
    "unshare",
];

/// Bits of the capability sets, include/uapi/linux/capability.h.
const CAPABILITIES: [(&str, u32); 7] = [
    ("cap_kill", 5),
    ("cap_net_admin", 12),
    ("cap_sys_admin", 21),
    ("cap_sys_nice", 23),
    ("cap_sys_resource", 24),
    ("cap_audit_control", 30),
    ("cap_perfmon", 38),
];

impl Machine {
    pub(crate) fn this() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            path: std::env::split_paths(&path).collect(),
            has_readers: false,
        }
    }

    /// A need may have several parts: `root and two CPUs`, `root or user namespaces`. One absent part justifies the
    /// skip; an unknown one never does.
    pub(crate) fn has(&self, need: &str) -> Presence {
        let need = need.to_lowercase();
        let parts = need.split(',').flat_map(|p| p.split(" and ")).map(str::trim);
        let found: Vec<Presence> =
            parts.map(|p| p.strip_prefix("and ").unwrap_or(p)).map(|p| self.has_any(p)).collect();
        weakest(&found)
    }

    fn has_any(&self, alternatives: &str) -> Presence {
        let found: Vec<Presence> = alternatives.split(" or ").map(|p| self.has_part(p)).collect();
        if found.contains(&Presence::Present) { Presence::Present } else { weakest(&found) }
    }

    fn has_part(&self, part: &str) -> Presence {
        let words: Vec<&str> = part.split_whitespace().filter(|w| !["a", "an", "the"].contains(w)).collect();
        let first = words.first().copied().unwrap_or_default();
        let present = match first {
            "root" => self.status("Uid").is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0")),
            "unprivileged" | "non-root" => {
                self.status("Uid").is_some_and(|ids| ids.split_whitespace().nth(1) != Some("0"))
            }
            "pmu" | "hardware" => self.has_pmu(),
            "cgroup" => self.has_cgroup(&words[1..]),
            // Only root's cgroups can be relied on; delegated ones are checked by the test itself.
            "writable" if words.get(1) == Some(&"cgroup") => {
                self.has_cgroup(&words[2..]) && self.has("root") == Presence::Present
            }
            "writable" if words.get(1).is_some_and(|w| w.starts_with('/')) => {
                OpenOptions::new().write(true).open(words[1]).is_ok()
            }
            sysctl if sysctl.starts_with("net.") || sysctl.starts_with("kernel.") => {
                self.proc.join("sys").join(sysctl.replace('.', "/")).exists()
            }
            "pandas" | "polars" | "duckdb" | "perfetto" => self.has_readers,
            // Mounted, or something that we may mount ourselves.
            "tracefs" => {
                let kinds = std::fs::read_to_string(self.proc.join("filesystems")).unwrap_or_default();
                let known = kinds.lines().any(|line| line.split_whitespace().last() == Some("tracefs"));
                self.sys.join("kernel/tracing/trace").exists()
                    || known && self.has("cap_sys_admin") == Presence::Present
            }
            "debugfs" => self.sys.join("kernel/debug/sched").exists(),
            "kvm" => Path::new("/dev/kvm").exists(),
            "debian-archive-keyring" => Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").exists(),
            "guest" if words.get(1) == Some(&"kernel") => has_guest_kernel(),
            "binder" => Path::new("/dev/binder").exists() || Path::new("/dev/binderfs/binder").exists(),
            "kprobes" => self.sys.join("bus/event_source/devices/kprobe").exists(),
            "qemu" => match words.get(1).and_then(|v| v.parse::<u32>().ok()) {
                Some(wanted) => qemu_major().is_some_and(|major| major >= wanted),
                None => return Presence::Unknown,
            },
            "autogroup" => self.proc.join("sys/kernel/sched_autogroup_enabled").exists(),
            "schedstats" => self.proc.join("sys/kernel/sched_schedstats").exists(),
            "psi" => self.proc.join("pressure/cpu").exists(),
            "kernel" if words[1..] == ["with", "config_ikconfig_proc"] => self.proc.join("config.gz").exists(),
            "linux" | "kernel" => match words.get(1).and_then(|v| version(v)) {
                Some(wanted) => self.release().is_some_and(|release| release >= wanted),
                None => return Presence::Unknown,
            },
            "user" if words.get(1).is_some_and(|w| w.starts_with("namespace")) => runs(&["unshare", "-U", "true"]),
            "net" | "network" if words.get(1).is_some_and(|w| w.starts_with("namespace")) => {
                runs(&["unshare", "-n", "true"]) || runs(&["unshare", "-rn", "true"])
            }
            "fifo" | "sched_fifo" => runs(&["chrt", "-f", "1", "true"]),
            _ => return self.has_counted(first, &words),
        };
        if present { Presence::Present } else { Presence::Absent }
    }

    fn has_counted(&self, first: &str, words: &[&str]) -> Presence {
        let known = |present| if present { Presence::Present } else { Presence::Absent };
        if let Some((_, bit)) = CAPABILITIES.iter().find(|(name, _)| *name == first) {
            let held = self.status("CapEff").and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
            return known(held.is_some_and(|held| held >> bit & 1 == 1));
        }
        if words.get(1).is_some_and(|w| w.starts_with("cpu")) {
            let spelled = ["one", "two", "three", "four"].iter().position(|n| *n == first).map(|i| i + 1);
            return match spelled.or_else(|| first.parse().ok()) {
                Some(wanted) => known(self.allowed_cpus() >= wanted),
                None => Presence::Unknown,
            };
        }
        if PROGRAMS.contains(&first) { known(self.program(first).is_some()) } else { Presence::Unknown }
    }

    /// The first file of that name in PATH.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        self.path.iter().map(|dir| dir.join(name)).find(|file| file.is_file())
    }

    /// A line of our own /proc/self/status (proc(5)): tests inherit our ids, capabilities and CPUs.
    fn status(&self, key: &str) -> Option<String> {
        let status = std::fs::read_to_string(self.proc.join("self/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':').map(|v| v.trim().to_owned()))
    }

    fn allowed_cpus(&self) -> usize {
        let list = self.status("Cpus_allowed_list").unwrap_or_default();
        let count = |range: &str| match range.split_once('-') {
            Some((first, last)) => Some(last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1),
            None => range.parse::<usize>().ok().map(|_| 1),
        };
        list.split(',').filter_map(count).sum()
    }

    fn has_pmu(&self) -> bool {
        let Ok(devices) = std::fs::read_dir(self.sys.join("bus/event_source/devices")) else { return false };
        let names = devices.flatten().map(|d| d.file_name().to_string_lossy().into_owned());
        names.into_iter().any(|n| n == "cpu" || n == "cpu_core" || n.starts_with("armv8"))
    }

    /// `cgroup`, `cgroup v1`, `cgroup v2`, `cgroup cpu controller`, `cgroup v2 cpu controller`: by what is mounted.
    fn has_cgroup(&self, words: &[&str]) -> bool {
        let mounts = std::fs::read_to_string(self.proc.join("self/mounts")).unwrap_or_default();
        let (mut v1, mut v2) = (false, false);
        for mount in mounts.lines() {
            let fields: Vec<&str> = mount.split_whitespace().collect();
            let [_, point, kind, options, ..] = fields[..] else { continue };
            let needs_cpu = words.contains(&"cpu");
            let controllers =
                || std::fs::read_to_string(Path::new(point).join("cgroup.controllers")).unwrap_or_default();
            v1 |= kind == "cgroup" && (!needs_cpu || options.split(',').any(|o| o == "cpu"));
            v2 |= kind == "cgroup2" && (!needs_cpu || controllers().split_whitespace().any(|c| c == "cpu"));
        }
        (v1 && !words.contains(&"v2")) || (v2 && !words.contains(&"v1"))
    }

    fn release(&self) -> Option<(u32, u32)> {
        version(&std::fs::read_to_string(self.proc.join("sys/kernel/osrelease")).ok()?)
    }
}

/// Whether `schedlab vm fetch` has put the kernel of our guest tests into its cache (crates/vm/src/kernel/cache.rs).
pub(crate) fn has_guest_kernel() -> bool {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let below = |name: &str, path: &str| from(name).map(|root| root.join(path));
    let cache = from("SCHEDLAB_CACHE")
        .or_else(|| below("XDG_CACHE_HOME", "schedlab"))
        .or_else(|| below("HOME", ".cache/schedlab"));
    let entries = cache.and_then(|root| std::fs::read_dir(root.join("kernels")).ok());
    let wanted = format!("{}_", GUEST_KERNEL.replace(':', "-"));
    entries.is_some_and(|found| found.flatten().any(|e| e.file_name().to_string_lossy().starts_with(&wanted)))
}

/// The kernel that our tests boot.
pub(crate) const GUEST_KERNEL: &str = "debian:6.1";

/// The presence of a need with several parts: absent if one part is, unknown if one part is.
fn weakest(found: &[Presence]) -> Presence {
    let has = |presence| found.contains(&presence);
    match (has(Presence::Unknown), has(Presence::Absent)) {
        (true, _) => Presence::Unknown,
        (false, true) => Presence::Absent,
        (false, false) => Presence::Present,
    }
}

/// `6.18.44-fc` and `6.12+` alike, as (major, minor).
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Major version of the QEMU that boots guests: `QEMU emulator version 10.0.2 (…)`.
pub(crate) fn qemu_major() -> Option<u32> {
    let seen = Command::new("qemu-system-x86_64").arg("--version").stdin(Stdio::null()).output().ok()?;
    version(String::from_utf8_lossy(&seen.stdout).split_once("version ")?.1).map(|(major, _)| major)
}

fn runs(command: &[&str]) -> bool {
    let mut probe = Command::new(command[0]);
    probe.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests;
