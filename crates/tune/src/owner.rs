//! The owner of a journal: a process, identified by pid and start time (a pid alone is reused) within one boot, with
//! the time when it began and its network namespace.

use schedlab_sys::clock;
use serde::Serialize;
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where `ip netns add` keeps namespaces that have no process.
const NAMED_NETWORKS: &str = "/run/netns";

/// Identifies a process uniquely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    /// Field 22 of /proc/<pid>/stat: clock ticks after boot.
    pub(crate) start_ticks: u64,
    /// /proc/sys/kernel/random/boot_id.
    pub(crate) boot_id: String,
    /// CLOCK_MONOTONIC when it took the lock, which orders the journals of a boot. 0 in older journals.
    pub(crate) began_ns: u64,
    /// Inode of its network namespace, to which its `net.*` sysctls belong; `None` in older journals and in copied
    /// trees.
    pub(crate) network: Option<u64>,
}

impl Owner {
    /// The calling process.
    pub(crate) fn this(proc: &Path) -> std::io::Result<Self> {
        let pid = std::process::id();
        // A copied tree has no processes: there only the lock shows whether the owner is alive.
        let (_, start_ticks) = state_and_start(proc, pid)
            .or_else(|| state_and_start(Path::new("/proc"), pid))
            .ok_or_else(|| std::io::Error::other(format!("{}/{pid}/stat cannot be read", proc.display())))?;
        let (began_ns, network) = (clock::monotonic_ns(), network(&proc.join("self")));
        Ok(Self { pid, start_ticks, boot_id: boot_id(proc), began_ns, network })
    }

    /// From a journal or the lock.
    pub(crate) fn of_json(value: &Value) -> Option<Self> {
        Some(Self {
            pid: value["pid"].as_u64()?.try_into().ok()?,
            start_ticks: value["start_ticks"].as_u64()?,
            boot_id: value["boot_id"].as_str()?.to_owned(),
            began_ns: value["began_ns"].as_u64().unwrap_or(0),
            network: value["network"].as_u64(),
        })
    }

    /// Whether that process still runs. A zombie does not: it will restore nothing.
    pub(crate) fn is_alive(&self, proc: &Path) -> bool {
        self.is_of_this_boot(proc)
            && state_and_start(proc, self.pid)
                .is_some_and(|(state, start)| start == self.start_ticks && !matches!(state, 'Z' | 'X' | 'x'))
    }

    /// The network namespace of the owner, if the caller is in a different one.
    pub(crate) fn other_network(&self, proc: &Path) -> Option<u64> {
        let here = network(&proc.join("self"))?;
        self.network.filter(|network| *network != here)
    }

    /// Whether the values that it wrote can still be set.
    pub(crate) fn is_of_this_boot(&self, proc: &Path) -> bool {
        self.boot_id == boot_id(proc)
    }
}

fn network(process: &Path) -> Option<u64> {
    Some(std::fs::metadata(process.join("ns/net")).ok()?.ino())
}

/// Whether a network namespace still exists, as far as the caller can see: a process or a name refers to it.
pub(crate) fn has_network(proc: &Path, inode: u64) -> bool {
    let entries = |dir: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|item| item.path()).collect()
    };
    let named = entries(Path::new(NAMED_NETWORKS));
    let is_it = |file: &PathBuf| std::fs::metadata(file).is_ok_and(|found| found.ino() == inode);
    named.iter().any(is_it) || entries(proc).iter().any(|process| network(process) == Some(inode))
}

fn boot_id(proc: &Path) -> String {
    let text = crate::file::read(proc.join("sys/kernel/random/boot_id"));
    text.map(|t| t.trim().to_owned()).unwrap_or_else(|_| "unknown".into())
}

/// State letter and start time. The command name before them may contain spaces and parentheses, so start after the
/// last one.
fn state_and_start(proc: &Path, pid: u32) -> Option<(char, u64)> {
    let stat = crate::file::read(proc.join(pid.to_string()).join("stat")).ok()?;
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?.chars().next()?;
    // State is field 3, so field 22, the start time, is the 18th after the one that follows it.
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_alive_and_a_namesake_is_not_us() {
        let proc = Path::new("/proc");
        let this = Owner::this(proc).unwrap();
        assert!(this.is_alive(proc));
        assert!(!Owner { start_ticks: this.start_ticks + 1, ..this.clone() }.is_alive(proc));
        assert!(!Owner { boot_id: "another".into(), ..this }.is_alive(proc));
    }

    #[test]
    fn a_network_namespace_is_known_by_its_inode() {
        let tree = tempfile::tempdir().unwrap();
        let put = |process: &str| {
            let ns = tree.path().join(process).join("ns");
            std::fs::create_dir_all(&ns).unwrap();
            std::fs::write(ns.join("net"), "").unwrap();
            network(&tree.path().join(process)).unwrap()
        };
        let (here, other) = (put("self"), put("77"));
        let owner = |network| Owner { network, ..Owner::this(Path::new("/proc")).unwrap() };
        assert_eq!(owner(Some(here)).other_network(tree.path()), None);
        assert_eq!(owner(Some(other)).other_network(tree.path()), Some(other));
        assert_eq!(owner(None).other_network(tree.path()), None, "an older journal");
        assert!(has_network(tree.path(), other) && !has_network(tree.path(), u64::MAX));
    }

    #[test]
    fn a_command_name_full_of_brackets_is_skipped() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("7")).unwrap();
        let stat = "7 (a) (b c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4321 99 100\n";
        std::fs::write(tree.path().join("7/stat"), stat).unwrap();
        assert_eq!(state_and_start(tree.path(), 7), Some(('S', 4321)));
    }
}
