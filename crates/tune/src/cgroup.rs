//! The cgroup of an arm: weight and bandwidth of the cpu controller, in whichever hierarchy (v1 or v2) has it.
//!
//! The group is `schedlab-<pid>`; those of a trial's workload are `schedlab-<pid>-<name>`. On v1 it is a child of our
//! own group. On v2 a group with processes cannot enable a controller for its children ("no internal processes",
//! cgroups(7)), so the group is created below our nearest ancestor that has `cpu` enabled for its children, or else
//! below one where it can be enabled. A v2 weight becomes v1 `cpu.shares` at weight × 1024 / 100: 100, the v2 default,
//! is 1024, the v1 default.

use crate::knob::Knob;
use crate::reason;
use crate::roots::Roots;
use crate::sysctl::not_applied;
use schedlab_plan::units::format_ns;
use schedlab_plan::{Applied, Setting};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// The hierarchy with the cpu controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) version: Version,
    mount: PathBuf,
    /// Directory of the group this process is in.
    pub(crate) own: PathBuf,
    /// v1 with cpuset in the same mount: a new group accepts no task before its cpuset is set.
    with_cpuset: bool,
}

/// Finds the hierarchy in /proc/self/mountinfo and /proc/self/cgroup.
pub(crate) fn hierarchy(roots: &Roots) -> Result<Hierarchy, String> {
    let read = |file: &str| {
        let path = roots.proc.join("self").join(file);
        crate::file::read(&path).map_err(|e| not_read(roots, &path, &e))
    };
    let (mounts, groups) = (read("mountinfo")?, read("cgroup")?);
    let has = |list: &str| list.split(',').any(|c| c == "cpu");
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let fields: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let (&[_, _, _, root, point, ..], &[fstype, _, options]) = (&fields[..], &right[..]) else { continue };
        let mount = below(roots, point);
        let version = match fstype {
            "cgroup" if has(options) => Version::V1,
            "cgroup2" if hands(&mount.join("cgroup.controllers")) => Version::V2,
            _ => continue,
        };
        let of_ours = |line: &&str| match version {
            Version::V1 => line.split(':').nth(1).is_some_and(has),
            Version::V2 => line.starts_with("0::"),
        };
        let path = groups.lines().find(of_ours).and_then(|l| l.splitn(3, ':').nth(2)).unwrap_or("/");
        // In a container the mount may show only the part of the hierarchy below `root`.
        let inside = path.strip_prefix(root).unwrap_or(path).trim_start_matches('/');
        let with_cpuset = version == Version::V1 && options.split(',').any(|c| c == "cpuset");
        return Ok(Hierarchy { version, own: mount.join(inside), mount, with_cpuset });
    }
    Err(format!("no mounted cgroup hierarchy holds the cpu controller (CONFIG_CGROUP_SCHED); {}", reason::GUEST_LANE))
}

/// Why a file of /proc/self cannot be read. Every kernel has mountinfo: if it is missing, /proc is not mounted.
fn not_read(roots: &Roots, path: &Path, error: &io::Error) -> String {
    let (at, proc) = (path.display(), roots.proc.display());
    if let Some(why) = roots.unmounted_proc() {
        return why;
    }
    match error.kind() {
        io::ErrorKind::NotFound if !roots.is_this_machine() => {
            format!(
                "{at} is not in this tree: copy self/mountinfo and self/cgroup of a process of that machine into {proc}"
            )
        }
        io::ErrorKind::NotFound if path.ends_with("cgroup") => {
            format!("this kernel has no cgroups (CONFIG_CGROUPS; there is no {at}); {}", reason::GUEST_LANE)
        }
        _ => format!("{at} cannot be read: {error}"),
    }
}

fn below(roots: &Roots, mount_point: &str) -> PathBuf {
    match Path::new(mount_point).strip_prefix("/sys/fs/cgroup") {
        Ok(rest) => roots.cgroup.join(rest),
        Err(_) => mount_point.into(),
    }
}

/// Whether a list of controllers contains `cpu`.
fn hands(list: &Path) -> bool {
    crate::file::read(list).is_ok_and(|text| text.split_whitespace().any(|c| c == "cpu"))
}

/// How an unprivileged user gets a cgroup v2 in which groups can be created.
const DELEGATED: &str = "a delegated cgroup: `systemd-run --user --scope -p Delegate=yes`";

/// Where our group is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupParent {
    pub(crate) parent: PathBuf,
    /// A `cgroup.subtree_control` in which `cpu` must be enabled first.
    pub(crate) enable: Option<PathBuf>,
}

impl Hierarchy {
    pub(crate) fn place(&self) -> Result<GroupParent, String> {
        if self.version == Version::V1 {
            return Ok(GroupParent { parent: self.own.clone(), enable: None });
        }
        let ancestors = || self.own.ancestors().take_while(|a| a.starts_with(&self.mount));
        let control = |group: &Path| group.join("cgroup.subtree_control");
        if let Some(parent) = ancestors().find(|a| hands(&control(a))) {
            return Ok(GroupParent { parent: parent.to_owned(), enable: None });
        }
        let empty = |group: &Path| crate::file::read(group.join("cgroup.procs")).is_ok_and(|p| p.trim().is_empty());
        let may_start = |a: &&Path| (**a == self.mount || empty(a)) && hands(&a.join("cgroup.controllers"));
        match ancestors().find(may_start) {
            Some(parent) => Ok(GroupParent { parent: parent.to_owned(), enable: Some(control(parent)) }),
            None => Err(format!(
                "no group above {} may hand the cpu controller down (each holds processes); run in a scope of its own: \
                 `systemd-run --scope -p Delegate=yes`",
                self.own.display()
            )),
        }
    }

    /// Makes a new v1 group usable if cpuset is in the same mount.
    pub(crate) fn fill_cpuset(&self, group: &Path) -> io::Result<()> {
        if self.with_cpuset {
            for file in ["cpuset.cpus", "cpuset.mems"] {
                std::fs::write(group.join(file), std::fs::read(group.with_file_name(file))?)?;
            }
        }
        Ok(())
    }

    /// Files and texts that give a group `weight` and `quota`, in the order they must be written.
    fn writes(&self, weight: u64, quota: (Option<u64>, u64)) -> Vec<(&'static str, String)> {
        let (quota_us, period_us) = (quota.0.map(|ns| ns / 1_000), quota.1 / 1_000);
        match self.version {
            Version::V2 => {
                let max = quota_us.map_or("max".to_owned(), |us| us.to_string());
                vec![("cpu.weight", weight.to_string()), ("cpu.max", format!("{max} {period_us}"))]
            }
            Version::V1 => {
                let mut writes = vec![("cpu.shares", shares(weight).to_string())];
                // Without a limit any period is accepted; with the old quota a new period might be refused.
                writes.push(("cpu.cfs_quota_us", "-1".into()));
                writes.push(("cpu.cfs_period_us", period_us.to_string()));
                writes.extend(quota_us.map(|us| ("cpu.cfs_quota_us", us.to_string())));
                writes
            }
        }
    }
}

/// The v2 weight of v1 `cpu.shares`.
pub(crate) fn weight_of(shares: u64) -> u64 {
    (shares * 100 + 512) / 1024
}

/// v1 `cpu.shares` of a v2 weight; 2 is the kernel's smallest (`MIN_SHARES`).
fn shares(weight: u64) -> u64 {
    (weight * 1024 / 100).max(2)
}

const DEFAULT_WEIGHT: u64 = 100;
const DEFAULT_QUOTA: (Option<u64>, u64) = (None, 100_000_000);

/// A group's file, and the text that it showed after our write.
pub(crate) type Shown = (PathBuf, String);

/// Writes the settings (and defaults for those not named) and reads them back, one [`Applied`] each.
pub(crate) fn set_group(hierarchy: &Hierarchy, group: &Path, settings: &[&Setting]) -> (Vec<Applied>, Vec<Shown>) {
    let (mut weight, mut quota) = (DEFAULT_WEIGHT, DEFAULT_QUOTA);
    for setting in settings {
        match setting {
            Setting::CpuWeight(asked) => weight = *asked,
            Setting::CpuQuota { quota_ns, period_ns } => quota = (*quota_ns, *period_ns),
            _ => {}
        }
    }
    let writes = hierarchy.writes(weight, quota);
    let mut shown: Vec<Shown> = Vec::new();
    let mut failed: Vec<(&str, String)> = Vec::new();
    for (file, text) in &writes {
        let path = group.join(file);
        let knob = Knob::file(&path);
        match knob.write(text).and_then(|()| knob.read()) {
            Ok(now) => {
                shown.retain(|(p, _)| *p != path);
                shown.push((path, now.clone()));
                if now != *text {
                    failed.push((file, format!("{file} shows `{now}` after `{text}` was written")));
                }
            }
            Err(e) => failed.push((file, refused_value(&path, &e, text))),
        }
    }
    let judged = settings.iter().map(|setting| judge(hierarchy.version, setting, &failed, &writes));
    (judged.collect(), shown)
}

fn refused_value(path: &Path, error: &io::Error, text: &str) -> String {
    let why = reason::refused(path, error, Some(text));
    match error.kind() {
        io::ErrorKind::InvalidInput => format!("{why}; a group cannot have more bandwidth than the group above it"),
        io::ErrorKind::NotFound => format!("{} is missing: this kernel lacks CONFIG_CFS_BANDWIDTH", path.display()),
        _ => why,
    }
}

fn judge(version: Version, setting: &Setting, failed: &[(&str, String)], writes: &[(&str, String)]) -> Applied {
    let mine = |file: &str| match setting {
        Setting::CpuWeight(_) => matches!(file, "cpu.weight" | "cpu.shares"),
        _ => matches!(file, "cpu.max" | "cpu.cfs_quota_us" | "cpu.cfs_period_us"),
    };
    if let Some((_, why)) = failed.iter().find(|(file, _)| mine(file)) {
        return not_applied(setting, "", why.clone());
    }
    let texts: Vec<String> =
        writes.iter().filter(|(file, _)| mine(file)).map(|(file, text)| format!("{file}={text}")).collect();
    let words = match version {
        Version::V1 => format!("{setting} (cgroup v1: {})", texts.last().cloned().unwrap_or_default()),
        Version::V2 => setting.to_string(),
    };
    Applied { setting: setting.clone(), effective: words, not_applied: None }
}

/// Why a v2 group with processes cannot have groups for the tasks of a workload.
pub(crate) const V2_GROUPS_OF_BOTH: &str = "on cgroup v2 a group that holds processes has no groups below it: an arm with \
     cpu_weight or cpu_quota cannot be measured with a workload that spreads its tasks over cgroups; leave out one of them";

/// The hierarchy, and the place where our group can be created, if we may. Changes nothing.
pub(crate) fn usable_place(roots: &Roots) -> Result<(Hierarchy, GroupParent), String> {
    let hierarchy = hierarchy(roots)?;
    let place = hierarchy.place()?;
    let controls = [Knob::file(place.parent.join("cgroup.procs"))].into_iter();
    for knob in controls.chain(place.enable.clone().map(Knob::file)) {
        knob.open_for_write().map_err(|e| {
            let why = reason::refused(knob.path(), &e, None);
            match e.kind() {
                io::ErrorKind::PermissionDenied => format!("{why}; or start in {DELEGATED}"),
                _ => why,
            }
        })?;
    }
    Ok((hierarchy, place))
}

/// Where the group would be created, for `tune show` and `--dry-run`.
pub(crate) fn describe(hierarchy: &Hierarchy) -> String {
    let version = if hierarchy.version == Version::V1 { "v1" } else { "v2" };
    format!("cgroup {version} below {}, period {} unless given", hierarchy.own.display(), format_ns(DEFAULT_QUOTA.1))
}

/// Removes one of our groups; a process that still runs in it is moved to the parent. A missing group is not an error.
pub(crate) fn remove_group(group: &Path) -> io::Result<()> {
    // A killed task stays in its group for up to a second, so retry in steps.
    for wait_ms in [0, 5, 20, 75, 200, 700] {
        std::thread::sleep(Duration::from_millis(wait_ms));
        match std::fs::remove_dir(group) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy => move_tasks_up(group)?,
            Err(e) => return Err(e),
        }
    }
    std::fs::remove_dir(group)
}

fn move_tasks_up(group: &Path) -> io::Result<()> {
    let procs = crate::file::read(group.join("cgroup.procs"))?;
    for pid in procs.lines() {
        match std::fs::write(group.with_file_name("cgroup.procs"), pid) {
            // ESRCH: the process has ended meanwhile.
            Err(e) if e.raw_os_error() != Some(3) => {
                let why = format!("process {pid} still runs in it and may not move up: {e}");
                return Err(io::Error::new(e.kind(), why));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
