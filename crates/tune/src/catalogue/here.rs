//! A row of the table on this machine: which of its places exists, its value, and whether it can be written.

use super::names::absent;
use super::table::{Location, Row, Version};
use crate::cgroup;
use crate::knob::Knob;
use crate::reason;
use crate::resolve::{exact_files, resolve};
use crate::roots::Roots;
use crate::sysctl::in_own_words;
use crate::task;
use schedlab_plan::Setting;
use std::path::PathBuf;

/// The value of a knob that only a running kernel can report, by a system call.
const OF_A_TREE: &str = "not known for a tree of files: only the kernel itself reports it";

/// What was found.
pub(super) struct Here<'a> {
    pub(super) place: Option<&'a Location>,
    pub(super) path: Option<PathBuf>,
    pub(super) value: Option<String>,
    pub(super) set: &'static str,
    pub(super) why_not: Option<String>,
}

pub(super) fn look<'a>(roots: &Roots, release: &str, row: &'a Row) -> Here<'a> {
    let nowhere = |why: String, set| Here { place: None, path: None, value: None, set, why_not: Some(why) };
    let first = &row.places[0];
    match first.kind() {
        "task" if !roots.is_this_machine() => nowhere(OF_A_TREE.into(), "task"),
        "task" => of_task(first),
        "cgroup1" | "cgroup2" => of_group(roots, row).unwrap_or_else(|why| nowhere(why, "group")),
        "device" => Here {
            place: Some(first),
            path: None,
            value: None,
            set: "host",
            why_not: Some(
                "a request ends with the program that holds its file open; `cpuidle=poll` or resume_latency stays"
                    .into(),
            ),
        },
        "spec" => {
            let setting: Setting = first.path().parse().expect("a setting of knobs.txt");
            match resolve(roots, &setting) {
                Ok(found) if matches!(found.knob, Knob::Audit { .. }) && !roots.is_this_machine() => {
                    nowhere(OF_A_TREE.into(), "host")
                }
                Ok(found) => {
                    let words = |present: &str| {
                        if !row.unit.is_empty() {
                            return present.to_owned();
                        }
                        let words = in_own_words(&setting, &found, present);
                        let value = words.split_once('=').map_or("", |(_, value)| value);
                        value.split(" (").next().unwrap_or(value).to_owned()
                    };
                    shown(first, &found.knob, words)
                }
                Err(why) => nowhere(why, "host"),
            }
        }
        _ => {
            let mut refused = None;
            for place in &row.places {
                match exact_files(roots, place.at) {
                    Ok(knob) => return shown(place, &knob, |present| one_word(present).to_owned()),
                    Err(why) => refused = refused.or(why.refused().filter(|_| is_of(place, release))),
                }
            }
            nowhere(refused.unwrap_or_else(|| absent(release, row)), "host")
        }
    }
}

/// `a` for `a a a`: the value that all CPUs share.
pub(crate) fn one_word(present: &str) -> &str {
    let mut words = present.split(' ');
    let first = words.next().unwrap_or(present);
    if words.all(|word| word == first) { first } else { present }
}

fn shown<'a>(place: &'a Location, knob: &Knob, words: impl Fn(&str) -> String) -> Here<'a> {
    let (value, why_not) = match knob.read() {
        // As 6.12 shows `sched_energy_aware` on machines without energy-aware scheduling.
        Ok(present) if present.is_empty() => {
            (None, Some(format!("{} is empty: this machine cannot do it", knob.path().display())))
        }
        Ok(present) => (Some(words(&present)), not_writable(knob)),
        Err(e) => (None, Some(reason::refused(knob.path(), &e, None))),
    };
    Here { place: Some(place), path: Some(knob.path().to_owned()), value, set: "host", why_not }
}

/// Why the caller may not write it. The file is opened for writing, which changes nothing and reveals a lockdown.
pub(super) fn not_writable(knob: &Knob) -> Option<String> {
    knob.open_for_write().err().map(|e| reason::refused(knob.path(), &e, None))
}

fn of_task(place: &Location) -> Here<'_> {
    let setting: Setting = place.path().parse().expect("a setting of knobs.txt");
    let shown = task::read_back(0, std::slice::from_ref(&setting)).remove(0);
    // The value is shown without its key, because the key is the name.
    let value = shown.effective.split_once('=').map(|(_, value)| value.to_owned()).filter(|value| !value.is_empty());
    // A slice that reads as 0 was not accepted: the kernel ignores it, or the policy has none.
    let is_refused = shown.effective.parse() == Ok(Setting::Slice { ns: 0 });
    let why_not = shown.not_applied.filter(|_| is_refused || value.is_none());
    let place = Some(place);
    Here { place, path: None, value: value.filter(|_| why_not.is_none()), set: "task", why_not }
}

fn of_group<'a>(roots: &Roots, row: &'a Row) -> Result<Here<'a>, String> {
    let hierarchy = cgroup::hierarchy(roots)?;
    let kind = if hierarchy.version == cgroup::Version::V1 { "cgroup1" } else { "cgroup2" };
    let place = row.places.iter().find(|place| place.kind() == kind).ok_or("it has no such file")?;
    let path = hierarchy.own.join(place.path());
    // The root group of a hierarchy has no file of its own.
    let value = crate::file::read(&path).ok().map(|text| crate::knob::normalise(&text));
    // In the form of a setting.
    let value = value.map(|value| match (row.name, value.parse()) {
        ("cpu_weight", Ok(shares)) if kind == "cgroup1" => cgroup::weight_of(shares).to_string(),
        _ => value,
    });
    let ours = ["cpu_weight", "cpu_quota"].contains(&row.name);
    let why_not = match cgroup::usable_place(roots) {
        _ if !ours => Some("schedlab sets cpu_weight and cpu_quota of a group of its own only".into()),
        usable => usable.err(),
    };
    Ok(Here { place: Some(place), path: Some(path), value, set: "group", why_not })
}

/// Whether a place of the table, in which `*` may stand for any CPU, matches this one, which may be all CPUs' as well.
pub(super) fn is_at(pattern: &str, place: &str) -> bool {
    match pattern.split_once('*') {
        Some((head, tail)) => place
            .strip_prefix(head)
            .and_then(|rest| rest.strip_suffix(tail))
            .is_some_and(|number| number == "*" || (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))),
        None => pattern == place,
    }
}

/// The default of this kernel at this place, scaled as the kernel scales it; several if the version alone does not
/// decide.
pub(super) fn defaults(roots: &Roots, release: &str, row: &Row, place: &Location) -> Vec<String> {
    let factor = if row.scaled { scaling_factor(roots, place) } else { Some(1) };
    let Some(factor) = factor else { return Vec::new() };
    let version = Version::of(release);
    let of_version = || place.defaults.iter().filter(|default| default.is_of(version));
    let mut found: Vec<_> = of_version().filter(|default| is_such(roots, default.of) == Some(true)).collect();
    if found.is_empty() {
        found.extend(of_version().filter(|default| is_such(roots, default.of).is_none()));
    }
    let scaled = |text: &str| match text.parse::<u64>() {
        Ok(number) => (number * factor).to_string(),
        Err(_) => text.to_owned(),
    };
    found.into_iter().map(|default| scaled(default.value)).collect()
}

/// Whether the kernel is one of these (`rt`, an architecture); `None` if `of` is empty or it is not known.
fn is_such(roots: &Roots, of: &str) -> Option<bool> {
    match of {
        "" => None,
        "rt" => Some(crate::file::read(roots.sys.join("kernel/realtime")).is_ok_and(|text| text.trim() == "1")),
        arch => roots.is_this_machine().then(|| arch == std::env::consts::ARCH),
    }
}

/// kernel/sched/fair.c `get_update_sysctl_factor`, the same from 5.4 to 6.18.
fn scaling_factor(roots: &Roots, place: &Location) -> Option<u64> {
    let scaling =
        if place.kind() == "sysctl" { "sysctl:kernel.sched_tunable_scaling" } else { "debugfs:sched/tunable_scaling" };
    let mode = exact_files(roots, scaling).ok()?.read().ok()?;
    let cpus = (task::online_cpus(&roots.sys)?.as_slice().len() as u64).min(8);
    match mode.as_str() {
        "0" => Some(1),
        "1" => Some(1 + u64::from(cpus.max(1).ilog2())),
        "2" => Some(cpus),
        _ => None,
    }
}

/// Whether a kernel of this release may have it, hidden by missing rights or in a file system that is not mounted.
pub(crate) fn may_have(row: &Row, release: &str) -> bool {
    Version::of(release).is_none_or(|version| has(row, version))
}

/// Whether a kernel of this release keeps the knob at this place; true for an unknown release. Missing rights hide every
/// place in debugfs, also those of other versions.
pub(crate) fn is_of(place: &Location, release: &str) -> bool {
    Version::of(release).is_none_or(|version| place.has(version))
}

/// Whether some place of the row exists in this version.
pub(super) fn has(row: &Row, version: Version) -> bool {
    row.places.iter().any(|place| place.has(version))
}
