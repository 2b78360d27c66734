//! Resolves a setting to the kernel's file: dotted sysctl names, debugfs and sysfs paths, and, by the catalogue, names
//! that differ between versions (`sched_min_granularity_ns` of ≤ 5.12 is `sched/base_slice_ns` since 6.6).

use crate::catalogue::{absent, is_of, may_have, release, row_of_place};
use crate::choices::misfit;
use crate::knob::{Knob, chosen, normalise};
use crate::reason::{self, GUEST_LANE};
use crate::roots::Roots;
use schedlab_plan::Setting;
use schedlab_plan::nearest;
use std::io;
use std::path::{Path, PathBuf};

/// Where a setting is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) knob: Knob,
    /// The text to write, normalised.
    pub(crate) value: String,
    /// The name under which this kernel has it, if it differs from the one given.
    pub(crate) found_as: Option<String>,
}

/// The file of a host-wide setting and the text to write; or the reason why there is none.
pub(crate) fn resolve(roots: &Roots, setting: &Setting) -> Result<Resolved, String> {
    let (knob, found_as, value) = match setting {
        Setting::Sysctl { name, value } => at_place(roots, &format!("sysctl:{name}"), value)?,
        Setting::Debugfs { path, value } => at_place(roots, &format!("debugfs:{path}"), value)?,
        Setting::Sysfs { path, value } => at_place(roots, &format!("sysfs:{path}"), value)?,
        Setting::Autogroup(on) => {
            let name = "sysctl:kernel.sched_autogroup_enabled";
            let why =
                |_| format!("this kernel has no autogroups (CONFIG_SCHED_AUTOGROUP, or `noautogroup`); {GUEST_LANE}");
            (exact_files(roots, name).map_err(why)?, None, u8::from(*on).to_string())
        }
        Setting::Feature { name, on } => {
            let (features, _) = find(roots, "debugfs:sched/features")?;
            let value = format!("{}{name}", if *on { "" } else { "NO_" });
            (feature_knob(features.path().to_owned(), name)?, None, value)
        }
        Setting::Thp(mode) => (crate::sysfs::thp(roots)?, None, mode.name().to_owned()),
        Setting::HaltPoll { ns } => {
            let (knob, found_as) = crate::sysfs::halt_poll(roots)?;
            (knob, Some(found_as), ns.to_string())
        }
        Setting::Cpuidle(states) => {
            let (knob, value) = crate::sysfs::cpuidle(roots, *states)?;
            (knob, None, value)
        }
        Setting::Audit(on) => {
            let value = if *on { "on" } else { "off" };
            (Knob::Audit { path: crate::knob::AUDIT_RULES.into() }, None, value.to_owned())
        }
        other => return Err(format!("`{other}` is not a host-wide file; this is a defect of schedlab")),
    };
    stays_in_tree(roots, &knob)?;
    Ok(Resolved { knob, value, found_as })
}

fn stays_in_tree(roots: &Roots, knob: &Knob) -> Result<(), String> {
    let paths = match knob {
        Knob::Files { paths } => paths.iter().map(PathBuf::as_path).collect(),
        _ => vec![knob.path()],
    };
    paths.into_iter().find_map(|path| roots.leads_elsewhere(path)).map_or(Ok(()), Err)
}

fn at_place(roots: &Roots, place: &str, value: &str) -> Result<(Knob, Option<String>, String), String> {
    let (knob, found_as) = find(roots, place)?;
    refuse_one_way(roots, knob.path())?;
    let value = normalise(value);
    let row = row_of_place(found_as.as_deref().unwrap_or(place));
    if let Some(why) = row.and_then(|row| misfit(&row, Some(&knob), &value)) {
        return Err(why);
    }
    let words = match &knob {
        Knob::Files { paths } => vec![value.as_str(); paths.len()].join(" "),
        _ => value,
    };
    Ok((knob, found_as, words))
}

/// Sysctls whose old value cannot be written back: writing triggers an action (drop_caches), or the kernel allows a
/// change in one direction only until the next boot (Documentation/admin-guide/sysctl).
/// `kernel.unprivileged_bpf_disabled` is stuck at 1 only.
const ONE_WAY: &[&str] = &[
    "kernel/cap_last_cap",
    "kernel/kexec_load_disabled",
    "kernel/kexec_load_limit_panic",
    "kernel/kexec_load_limit_reboot",
    "kernel/modules_disabled",
    "kernel/ns_last_pid",
    "kernel/tainted",
    "kernel/unprivileged_bpf_disabled",
    "kernel/usermodehelper/bset",
    "kernel/usermodehelper/inheritable",
    "kernel/yama/ptrace_scope",
    "fs/binfmt_misc/register",
    // The kernel also writes it to every interface, each of which may have had its own value (net/ipv4/devinet.c,
    // net/ipv6/addrconf.c).
    "net/ipv4/ip_forward",
    "net/ipv4/conf/all/forwarding",
    "net/ipv6/conf/all/disable_ipv6",
    "net/ipv6/conf/all/forwarding",
    "vm/compact_memory",
    "vm/drop_caches",
    "vm/stat_refresh",
];

fn refuse_one_way(roots: &Roots, path: &Path) -> Result<(), String> {
    let name = path.strip_prefix(roots.proc.join("sys")).unwrap_or(path);
    if ONE_WAY.iter().any(|one_way| name == Path::new(one_way)) {
        return Err(format!("{} could not be restored after a write, so it is not set here", path.display()));
    }
    Ok(())
}

fn feature_knob(path: PathBuf, word: &str) -> Result<Knob, String> {
    let text = crate::file::read(&path).map_err(|e| reason::refused(&path, &e, None))?;
    let known: Vec<&str> = text.split_whitespace().map(|w| w.strip_prefix("NO_").unwrap_or(w)).collect();
    if known.contains(&word) {
        return Ok(Knob::Feature { path, word: word.to_owned() });
    }
    let hint = nearest::hint(word, known.iter().copied());
    Err(format!("this kernel has no scheduler feature `{word}`{hint}; {GUEST_LANE}"))
}

/// The file of a place, under whichever name this kernel has it.
fn find(roots: &Roots, place: &str) -> Result<(Knob, Option<String>), String> {
    let missing = match exact_files(roots, place) {
        Ok(knob) => return Ok((knob, None)),
        Err(why) => why,
    };
    let Some(row) = row_of_place(place) else { return Err(missing.in_words()) };
    let release = release(roots);
    // If no kernel of this version has it, do not advise to mount the file system.
    let hidden = may_have(&row, &release);
    // A place may be hidden by missing privileges or be absent: only an absent place is looked for elsewhere.
    for same in &row.places {
        match exact_files(roots, same.at) {
            Ok(knob) => return Ok((knob, Some(same.at.to_owned()))),
            Err(Missing::Refused(why)) if same.kind() == "debugfs" && is_of(same, &release) => return Err(why),
            Err(_) => {}
        }
    }
    Err(missing.refused().filter(|_| hidden).unwrap_or_else(|| absent(&release, &row)))
}

/// Why a place has no file.
pub(crate) enum Missing {
    Absent(String),
    Refused(String),
}

impl Missing {
    /// The reason, if missing privileges hide the place.
    pub(crate) fn refused(self) -> Option<String> {
        match self {
            Self::Refused(why) => Some(why),
            Self::Absent(_) => None,
        }
    }

    fn in_words(self) -> String {
        let (Self::Refused(why) | Self::Absent(why)) = self;
        why
    }
}

/// The file of `sysctl:NAME`, `debugfs:PATH` or `sysfs:PATH`, or the files of all CPUs if it contains `*`.
pub(crate) fn exact_files(roots: &Roots, place: &str) -> Result<Knob, Missing> {
    let knob = files_at(roots, place)?;
    stays_in_tree(roots, &knob).map_err(Missing::Refused)?;
    Ok(knob)
}

fn files_at(roots: &Roots, place: &str) -> Result<Knob, Missing> {
    let path = match place.split_once(':') {
        Some(("sysctl", name)) => {
            let absent = |why| roots.unmounted_proc().map_or(Missing::Absent(why), Missing::Refused);
            sysctl_path(&roots.proc.join("sys"), name).map_err(absent)?
        }
        Some(("debugfs", path)) => match path.split_once('*') {
            Some(around) => return of_every_cpu(roots, &roots.debugfs, around),
            None => debugfs_path(&roots.debugfs, path)?,
        },
        Some(("sysfs", path)) => match path.split_once('*') {
            Some(around) => return of_every_cpu(roots, &roots.sys, around),
            None => crate::sysfs::file(roots, path).map_err(Missing::Absent)?,
        },
        _ => return Err(Missing::Absent(format!("`{place}` is not a place of a knob"))),
    };
    // A file that cannot be read is reported when it is read.
    let is_choice = !place.starts_with("sysctl:") && crate::file::read(&path).is_ok_and(|t| chosen(&t).is_some());
    Ok(if is_choice { Knob::Choice { path } } else { Knob::File { path } })
}

fn of_every_cpu(roots: &Roots, root: &Path, (head, tail): (&str, &str)) -> Result<Knob, Missing> {
    let (directory, prefix) = head.rsplit_once('/').unwrap_or(("", head));
    let path = if root == roots.debugfs { debugfs_path(root, directory)? } else { root.join(directory) };
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir(&path)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|item| {
            let number = crate::sysfs::numbered(&item.file_name(), prefix)?;
            let file = item.path().join(tail.trim_start_matches('/'));
            file.symlink_metadata().is_ok().then_some((number, file))
        })
        .collect();
    found.sort_unstable();
    if found.is_empty() {
        return Err(Missing::Absent(format!(
            "{}/{prefix}*{tail} does not exist on this kernel; {GUEST_LANE}",
            path.display()
        )));
    }
    Ok(Knob::Files { paths: found.into_iter().map(|(_, path)| path).collect() })
}

pub(crate) fn debugfs_path(root: &Path, path: &str) -> Result<PathBuf, Missing> {
    let full = root.join(path);
    match full.symlink_metadata() {
        Ok(_) => Ok(full),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            Err(Missing::Refused(reason::refused(&full, &e, None)))
        }
        Err(_) => Err(match std::fs::read_dir(root).map(|mut listing| listing.next().is_none()) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Missing::Refused(reason::refused(&full, &e, None)),
            Ok(false) => Missing::Absent(format!(
                "{} does not exist on this kernel{}; {GUEST_LANE}",
                full.display(),
                debugfs_hint(&full)
            )),
            // The debugfs of the running kernel does not belong in a tree.
            _ if root.ends_with("sys/kernel/debug") && root != Roots::default().debugfs => Missing::Refused(format!(
                "debugfs is not in this tree: copy the files of that machine's debugfs into {}",
                root.display()
            )),
            _ => Missing::Refused(format!(
                "debugfs is not mounted: `mount -t debugfs none {}`, as root; without it {}{GUEST_LANE}",
                root.display(),
                reason::per_task(&full)
            )),
        }),
    }
}

fn debugfs_hint(full: &Path) -> String {
    let (Some(parent), Some(name)) = (full.parent(), full.file_name().and_then(|n| n.to_str())) else {
        return String::new();
    };
    let names = names_in(parent);
    nearest::hint(name, names.iter().map(String::as_str))
}

fn names_in(directory: &Path) -> Vec<String> {
    let listing = std::fs::read_dir(directory).into_iter().flatten().flatten();
    listing.filter_map(|item| item.file_name().into_string().ok()).collect()
}

/// The file of a dotted sysctl name. A component may itself contain a dot (`net.ipv4.conf.eth0.100.rp_filter`), so in
/// each directory the shortest component is tried first, then longer ones.
pub(crate) fn sysctl_path(root: &Path, name: &str) -> Result<PathBuf, String> {
    let parts: Vec<&str> = name.split('.').collect();
    if parts.iter().any(|p| p.is_empty() || *p == "..") {
        return Err(format!("`{name}` is not a sysctl name; write it like `kernel.sched_rt_runtime_us`"));
    }
    descend(root, &parts).ok_or_else(|| unknown_sysctl(root, name, &parts))
}

fn descend(directory: &Path, parts: &[&str]) -> Option<PathBuf> {
    (1..=parts.len()).find_map(|taken| {
        let path = directory.join(parts[..taken].join("."));
        match &parts[taken..] {
            [] => path.symlink_metadata().is_ok().then_some(path),
            rest if path.is_dir() => descend(&path, rest),
            _ => None,
        }
    })
}

fn unknown_sysctl(root: &Path, name: &str, parts: &[&str]) -> String {
    let mut directory = root.to_owned();
    let mut depth = 0;
    while depth + 1 < parts.len() && directory.join(parts[depth]).is_dir() {
        directory.push(parts[depth]);
        depth += 1;
    }
    let names = names_in(&directory);
    let hint = nearest::nearest(parts[depth], names.iter().map(String::as_str)).map(|near| {
        let mut corrected = parts.to_vec();
        corrected[depth] = near;
        format!(" (did you mean `{}`?)", corrected.join("."))
    });
    format!("this kernel has no sysctl `{name}`{}; {GUEST_LANE}", hint.unwrap_or_default())
}

#[cfg(test)]
mod tests;
