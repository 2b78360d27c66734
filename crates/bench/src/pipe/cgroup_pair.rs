//! `cgroups=apart`: two child cgroups with the cpu controller, one for all parents and one for all children, below our
//! own cgroup; removed when the run ends. v1 or v2, whichever holds the cpu controller.

use crate::error::BenchError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The two groups; their directories go when this does (the tasks must be gone by then).
#[derive(Debug)]
pub(super) struct CgroupPair {
    parent: PathBuf,
    child: PathBuf,
}

impl CgroupPair {
    pub(super) fn create(workload: &'static str) -> Result<Self, BenchError> {
        Self::create_below(workload, Path::new("/proc/self"), Path::new("/sys/fs/cgroup"))
    }

    /// The same with the roots given: `own` holds `cgroup`, `mount` is where cgroup hierarchies are mounted.
    fn create_below(workload: &'static str, own: &Path, mount: &Path) -> Result<Self, BenchError> {
        let cannot = |what: String| BenchError::NotPossibleHere {
            workload,
            reason: format!(
                "cgroups=apart: {what}; run as root or in a delegated cgroup (systemd-run --user --scope -p Delegate=yes)"
            ),
        };
        let lines = fs::read_to_string(own.join("cgroup")).map_err(|e| cannot(format!("reading our cgroup: {e}")))?;
        let base = match cpu_controller(&lines, mount) {
            Some((base, true)) => base,
            Some((base, false)) => {
                enable_cpu(&base)
                    .map_err(|e| cannot(format!("enabling the cpu controller in {}: {e}", base.display())))?;
                base
            }
            None => return Err(cannot("no cgroup hierarchy with a cpu controller is mounted".to_owned())),
        };
        let name = |side: &str| base.join(format!("schedlab-pipe-{}-{side}", std::process::id()));
        let pair = Self { parent: name("parent"), child: name("child") };
        for path in [&pair.parent, &pair.child] {
            // On failure the drop of `pair` removes what was made.
            fs::create_dir(path).map_err(|e| cannot(format!("creating {}: {e}", path.display())))?;
        }
        Ok(pair)
    }

    /// The file a task writes `0` to in order to join its side.
    pub(super) fn procs(&self, is_parent: bool) -> PathBuf {
        if is_parent { self.parent.join("cgroup.procs") } else { self.child.join("cgroup.procs") }
    }
}

impl Drop for CgroupPair {
    fn drop(&mut self) {
        for path in [&self.parent, &self.child] {
            // EBUSY for a moment while the last task is being released.
            for _ in 0..50 {
                match fs::remove_dir(path) {
                    Err(error) if error.raw_os_error() == Some(16) => {
                        std::thread::sleep(std::time::Duration::from_millis(2));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// Our directory in the hierarchy that has the cpu controller, and whether it is v1 (where nothing needs enabling).
fn cpu_controller(lines: &str, mount: &Path) -> Option<(PathBuf, bool)> {
    for line in lines.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let below = path.trim_start_matches('/');
        if controllers.split(',').any(|controller| controller == "cpu") {
            return Some((mount.join(controllers).join(below), true)).filter(|(base, _)| base.is_dir());
        }
        // The v2 line has no controller names; a hybrid mount keeps it in `unified`.
        if controllers.is_empty() {
            let base = mount.join(below);
            if base.join("cgroup.controllers").is_file() {
                return Some((base, false));
            }
        }
    }
    None
}

fn enable_cpu(base: &Path) -> io::Result<()> {
    let control = base.join("cgroup.subtree_control");
    let enabled = fs::read_to_string(&control)?;
    if enabled.split_whitespace().any(|controller| controller == "cpu") {
        return Ok(());
    }
    fs::write(control, "+cpu")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(name: &str, cgroup: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("schedlab-cgroup-{}-{name}", std::process::id()));
        fs::create_dir_all(root.join("own")).unwrap();
        fs::write(root.join("own/cgroup"), cgroup).unwrap();
        root
    }

    #[test]
    fn both_versions_are_found_and_nothing_is_left_behind() {
        let root = tree("v1", "4:cpu,cpuacct:/user\n0::/\n");
        fs::create_dir_all(root.join("mount/cpu,cpuacct/user")).unwrap();
        let pair = CgroupPair::create_below("pipe", &root.join("own"), &root.join("mount")).unwrap();
        assert!(pair.procs(true).starts_with(root.join("mount/cpu,cpuacct/user")));
        drop(pair);
        assert_eq!(fs::read_dir(root.join("mount/cpu,cpuacct/user")).unwrap().count(), 0);
        fs::remove_dir_all(&root).unwrap();

        let root = tree("v2", "0::/scope\n");
        fs::create_dir_all(root.join("mount/scope")).unwrap();
        fs::write(root.join("mount/scope/cgroup.controllers"), "cpu\n").unwrap();
        fs::write(root.join("mount/scope/cgroup.subtree_control"), "").unwrap();
        drop(CgroupPair::create_below("pipe", &root.join("own"), &root.join("mount")).unwrap());
        assert_eq!(fs::read_to_string(root.join("mount/scope/cgroup.subtree_control")).unwrap(), "+cpu");
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_machine_without_the_controller_says_what_to_do() {
        let root = tree("none", "0::/\n");
        let error = CgroupPair::create_below("pipe", &root.join("own"), &root.join("mount")).unwrap_err().to_string();
        assert!(error.contains("no cgroup hierarchy") && error.contains("systemd-run"), "{error}");
        fs::remove_dir_all(&root).unwrap();
    }
}
