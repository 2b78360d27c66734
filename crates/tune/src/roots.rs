//! Where the kernel's file systems and our own state are; parameters, so that tests can use temporary trees.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The roots of the kernel's file trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Normally `/proc`.
    pub proc: PathBuf,
    /// Normally `/sys`.
    pub sys: PathBuf,
    /// Normally `/sys/fs/cgroup`; mount points below that path in /proc/self/mountinfo are looked up here.
    pub cgroup: PathBuf,
    /// Normally `/sys/kernel/debug`.
    pub debugfs: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            cgroup: "/sys/fs/cgroup".into(),
            debugfs: "/sys/kernel/debug".into(),
        }
    }
}

impl Roots {
    /// The roots of a copied or artificial machine below `root`: `proc`, `sys`, and below `sys` debugfs and cgroups.
    pub fn below(root: &Path) -> Self {
        let at = |path: &str| root.join(path);
        Self { proc: at("proc"), sys: at("sys"), cgroup: at("sys/fs/cgroup"), debugfs: at("sys/kernel/debug") }
    }

    /// What to do if /proc is not mounted; `None` if it is, and for a copied tree.
    pub(crate) fn unmounted_proc(&self) -> Option<String> {
        let proc = self.proc.display();
        let is_missing = self.is_this_machine() && !self.proc.join("self").exists();
        is_missing.then(|| format!("{proc} is not mounted: `mount -t proc proc {proc}`, as root"))
    }

    /// Why a file of a tree is not to be touched: it is a link to a file elsewhere, perhaps of the running kernel.
    pub(crate) fn leads_elsewhere(&self, path: &Path) -> Option<String> {
        let real = path.canonicalize().ok().filter(|real| real.is_file() && !self.is_this_machine())?;
        let is_below =
            |root: &Path| root.parent().and_then(|tree| tree.canonicalize().ok()).map(|tree| real.starts_with(tree));
        let inside = [&self.proc, &self.sys].into_iter().any(|root| is_below(root) == Some(true));
        (!inside).then(|| {
            let (at, real) = (path.display(), real.display());
            format!("{at} is a link to {real}, which is not in this tree: put a copy of the file in place of the link")
        })
    }

    /// Whether the files are those of the running kernel, so that system calls report on the same kernel.
    pub(crate) fn is_this_machine(&self) -> bool {
        *self == Self::default()
    }
}

/// Effective user id of the caller: the second number of `Uid:` in `status`.
pub(crate) fn effective_uid(proc: &Path) -> Option<u32> {
    status_field(proc, "Uid:")?.split_whitespace().nth(1)?.parse().ok()
}

/// Whether the caller has capability number `capability`, from `CapEff:`.
pub(crate) fn has_capability(proc: &Path, capability: u32) -> bool {
    let mask = status_field(proc, "CapEff:").and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> capability & 1 == 1)
}

fn status_field(proc: &Path, name: &str) -> Option<String> {
    let status = crate::file::read(proc.join("self/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
}

/// The journals of root.
pub(crate) const RUN: &str = "/run/schedlab";

/// The directory for journals: `/run/schedlab` for root, except for the root of a user namespace whose `/run` is the
/// host's; otherwise `$XDG_STATE_HOME/schedlab`, or `~/.local/state/schedlab`. A reboot empties /run, and resets every
/// value that a journal could restore. Without a home it is a private directory in /tmp. In any case it is used only if
/// nobody else can write to it.
pub fn state_dir() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let uid = effective_uid(Path::new("/proc"));
    let owns_run = || std::fs::metadata("/run").is_ok_and(|run| run.uid() == 0);
    if uid == Some(0) && owns_run() {
        return RUN.into();
    }
    let state_home = variable("XDG_STATE_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/state")));
    state_home.map(|home| home.join("schedlab")).unwrap_or_else(|| {
        let user = uid.map_or("unknown".into(), |uid| uid.to_string());
        std::env::temp_dir().join(format!("schedlab-state-{user}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_comes_from_status() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("self")).unwrap();
        std::fs::write(
            tree.path().join("self/status"),
            "Name:\tx\nUid:\t1000\t1001\t1000\t1000\nCapEff:\t0000000000800000\n",
        )
        .unwrap();
        assert_eq!(effective_uid(tree.path()), Some(1001));
        assert!(has_capability(tree.path(), 23), "CAP_SYS_NICE");
        assert!(!has_capability(tree.path(), 21), "CAP_SYS_ADMIN");
    }

    #[test]
    fn the_state_directory_is_absolute() {
        assert!(state_dir().is_absolute());
    }
}
