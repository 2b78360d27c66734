//! Names of knobs: the catalogue's own, those of the kernel's files on any version, and suggestions for unknown ones.

use super::alias::place_behind;
use super::here::{has, is_at};
use super::table::{Location, Row, Version, rows};
use super::{Knob, catalogue};
use crate::choices::misfit;
use crate::reason::GUEST_LANE;
use crate::resolve::{exact_files, sysctl_path};
use crate::roots::Roots;
use schedlab_plan::nearest::{hint_at, nearest};
use schedlab_plan::units::parse_duration_ns;
use schedlab_plan::{Arm, Setting, SettingError};
use std::collections::BTreeMap;
use std::path::Path;

/// `NAME=VALUE`, resolved to a setting of this kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// With the place, and the plain number, of this kernel.
    pub setting: Setting,
    /// The catalogue's name, if another name was given.
    pub also_called: Option<String>,
}

/// The row that has this place, which is one file or, with `*`, those of all CPUs.
pub(crate) fn row_of_place(place: &str) -> Option<Row> {
    rows().into_iter().find(|row| row.places.iter().any(|p| p.at == place || is_at(p.at, place)))
}

/// The row of this name.
pub(crate) fn row_of_name(name: &str) -> Option<Row> {
    rows().into_iter().find(|row| row.name == name)
}

/// The row of this file below /proc/sys, debugfs or sysfs.
pub(crate) fn row_of_file(path: &Path) -> Option<Row> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let is_it = |place: &Location| {
        let wanted = match place.kind() {
            "sysctl" => place.path().replace('.', "/"),
            "debugfs" | "sysfs" => place.path().to_owned(),
            _ => return false,
        };
        let first = parts.len().saturating_sub(wanted.split('/').count());
        is_at(&wanted, &parts[first..].join("/"))
    };
    rows().into_iter().find(|row| row.places.iter().any(is_it))
}

/// Why a knob is not here: the version, how the kernel was built, or the machine.
pub(crate) fn absent(release: &str, row: &Row) -> String {
    let name = row.name;
    let of_machine = row.places.iter().all(|place| place.kind() == "sysfs");
    let options = if row.options.is_empty() { String::new() } else { format!("CONFIG_{}, ", row.options) };
    match Version::of(release) {
        Some(version) if has(row, version) && of_machine => {
            format!("{name} needs {options}a driver or module that is loaded, and hardware for it; {GUEST_LANE}")
        }
        Some(version) if has(row, version) && options.is_empty() => {
            format!("{name} is not here, though Linux {version} has it (a namespace, or a kernel without it)")
        }
        Some(version) if has(row, version) => {
            format!("this kernel is built without {name} (CONFIG_{}); {GUEST_LANE}", row.options)
        }
        _ => {
            let here = if release.is_empty() { String::new() } else { format!(", and this is {release}") };
            let last = row.places.iter().map(|place| place.to.map(|to| to.to_string())).next_back().flatten();
            let removed = if last.as_deref() == Some("6.5") { " (EEVDF, Linux 6.6, removed it)" } else { "" };
            format!("{name} is a knob of {}{here}{removed}; {GUEST_LANE}", row.kernels())
        }
    }
}

/// A name without the parts that differ between versions: `min_granularity` for `sched_min_granularity_ns`.
fn stem(name: &str) -> &str {
    let name = name.rsplit([':', '/']).next().unwrap_or(name);
    let name = name.strip_prefix("kernel.").unwrap_or(name);
    let name = name.strip_prefix("sched_").unwrap_or(name);
    ["_ns", "_us", "_ms", "_mb"].iter().find_map(|unit| name.strip_suffix(unit)).unwrap_or(name)
}

/// The row of a name: by the catalogue's name, then by the kernel's name on any version.
fn row_named<'a>(rows: &'a [Row], name: &str) -> Option<&'a Row> {
    let place = |row: &&Row| row.places.iter().any(|p| p.at == name || p.path() == name);
    // `boot:preempt` is a word of the guest's command line, not a file.
    let may_be_file = name.split_once(':').is_none_or(|(kind, _)| ["sysctl", "debugfs", "sysfs"].contains(&kind));
    let file = |row: &&Row| may_be_file && row.places.iter().any(|p| stem(p.file()) == stem(name));
    let behind = |row: &&Row| place_behind(row).is_some_and(|place| is_called(place, name));
    let by_name = rows.iter().find(|row| row.name == name).or_else(|| rows.iter().find(place));
    by_name.or_else(|| rows.iter().find(file)).or_else(|| rows.iter().find(behind))
}

/// Whether a name means this place: written out, without its kind, or, of a sysctl, by its last part. The name of a
/// file in sysfs, such as `enabled`, says too little.
fn is_called(place: &str, name: &str) -> bool {
    let (kind, path) = place.split_once(':').unwrap_or(("", place));
    let may_be_part = kind == "sysctl" && (!name.contains(':') || name.starts_with("sysctl:"));
    place == name || path == name || (may_be_part && stem(last_part(path)) == stem(name))
}

/// `somaxconn` for `net.core.somaxconn`.
fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Which of these knobs are meant by a name: one, or all features for `features`. For an unknown one the error names
/// the nearest.
fn unknown(rows: &[Row], name: &str) -> String {
    let files = rows.iter().flat_map(|row| row.places.iter().map(|place| stem(place.file())));
    let behind = rows.iter().filter_map(place_behind).filter(|place| place.starts_with("sysctl:"));
    let files = files.chain(behind.map(|place| stem(last_part(place))));
    let known: Vec<&str> = rows.iter().map(|row| row.name).chain(files.filter(|file| file.len() > 4)).collect();
    let near = |word: &str| nearest(word, known.iter().copied());
    let near = near(stem(name)).or_else(|| near(last_part(stem(name))));
    format!("no knob is called `{name}`{}; `schedlab tune catalog` lists them all", hint_at(near))
}

/// How a sysctl or a feature without a row is set: `sysctl:vm.swappiness=10` for `vm.swappiness=10`, or without `vm.`.
fn uncatalogued(roots: &Roots, name: &str, value: Option<&str>) -> Option<String> {
    const FAMILIES: &[&str] = &["", "kernel.", "vm.", "fs.", "net.core.", "net.ipv4."];
    let is_feature = name.len() > 3 && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    if is_feature {
        let on = name.strip_prefix("NO_").unwrap_or(name);
        return Some(format!("`{name}` reads like a scheduler feature: write feature:{on} or feature:NO_{on}"));
    }
    let is_there = |name: &String| sysctl_path(&roots.proc.join("sys"), name).is_ok_and(|path| path.is_file());
    let names = FAMILIES.iter().filter(|_| !name.contains('/')).map(|family| format!("{family}{name}"));
    let sysctl = names.into_iter().find(is_there)?;
    let value = value.filter(|value| !value.is_empty()).unwrap_or("VALUE");
    Some(format!("`{name}` is a sysctl that the catalogue does not describe: write sysctl:{sysctl}={value}"))
}

/// `NAME=VALUE` as this kernel takes it. NAME is the catalogue's, or that of the kernel's file on any version, or a
/// setting as in a SPEC; VALUE may have a unit. The error is a sentence for the user.
pub fn named(roots: &Roots, text: &str) -> Result<Named, String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(n, v)| (n.trim(), Some(v.trim())));
    let rows = rows();
    // A SPEC that is written out stays as it is, also where its file is behind a word.
    let is_spec = |row: &Row| place_behind(row) == Some(name);
    let Some(row) = row_named(&rows, name).filter(|row| !is_spec(row)) else {
        let setting = Arm::parse("set", text).map(|arm| arm.settings);
        return match setting {
            Ok(mut settings) if settings.len() == 1 => Ok(Named { setting: settings.remove(0), also_called: None }),
            Ok(_) => Err(format!("`{text}` is not one NAME=VALUE")),
            Err(SettingError::Unknown { .. }) => {
                Err(uncatalogued(roots, name, value).unwrap_or_else(|| unknown(&rows, name)))
            }
            Err(other) => Err(other.to_string()),
        };
    };
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Err(format!("`{text}` has no value: write {}=VALUE", row.name));
    };
    let called = (row.name != name && !row.places.iter().any(|p| p.at == name)).then(|| row.name.to_owned());
    let setting = |text: String| text.parse().map_err(|e: SettingError| e.to_string());
    let done = |setting| Named { setting, also_called: called.clone() };
    let key = row.places[0].path().split('=').next().unwrap_or_default();
    match row.places[0].kind() {
        "spec" | "task" => return setting(format!("{key}={}", with_unit(row, value)?)).map(done),
        "cgroup1" | "cgroup2" if ["cpu_weight", "cpu_quota"].contains(&row.name) => {
            return setting(format!("{}={value}", row.name)).map(done);
        }
        "device" | "cgroup1" | "cgroup2" => {
            return Err(format!("{} is not set by schedlab: see `schedlab tune catalog {}`", row.name, row.name));
        }
        _ if row.name == "features" => {
            return Err("features are set one by one: feature:NAME or feature:NO_NAME".into());
        }
        _ => {}
    }
    let value = in_unit(row, value)?;
    let at = place(roots, row).at;
    if let Some(why) = misfit(row, exact_files(roots, at).ok().as_ref(), &value) {
        return Err(why);
    }
    setting(format!("{at}={value}")).map(done)
}

/// Where this kernel has the row. If it is not here, the newest place, whose resolution then gives the reason.
fn place<'a>(roots: &Roots, row: &'a Row) -> &'a Location {
    let here = row.places.iter().find(|place| exact_files(roots, place.at).is_ok());
    here.or(row.places.last()).expect("a row has a place")
}

/// How a SPEC names the knob of this name, `debugfs:sched/base_slice_ns`; `None` if the name is not that of a knob, or
/// its knob is not a file.
pub fn in_a_spec(roots: &Roots, name: &str) -> Option<String> {
    let rows = rows();
    let place = place(roots, row_named(&rows, name)?);
    ["sysctl", "debugfs", "sysfs"].contains(&place.kind()).then(|| place.at.to_owned())
}

/// A time with a unit as the plain number that the kernel takes.
fn in_unit(row: &Row, value: &str) -> Result<String, String> {
    let ns_each = match row.unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        _ => return Ok(value.to_owned()),
    };
    if row.special.iter().any(|special| special.value == value) || !value.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return Ok(value.to_owned());
    }
    match parse_duration_ns(value) {
        Ok(ns) if ns % ns_each == 0 => Ok((ns / ns_each).to_string()),
        Ok(_) => Err(format!("{} takes whole {}, and `{value}` is not one", row.name, row.unit)),
        Err(e) => Err(format!("{}: {e}", row.name)),
    }
}

/// The value of a setting, which is a time with a unit, or a word; a plain number is in the knob's unit.
fn with_unit(row: &Row, value: &str) -> Result<String, String> {
    if row.unit.is_empty() {
        return Ok(value.to_owned());
    }
    let is_plain = value.bytes().all(|b| b.is_ascii_digit());
    let text = if is_plain { format!("{value}{}", row.unit) } else { value.to_owned() };
    // A value that is not a time is a word, which the setting itself checks.
    match in_unit(row, &text).ok().and_then(|number| row.out_of_range(&number)) {
        Some(why) => Err(why),
        None => Ok(text),
    }
}

/// Knobs of these names with their values; all of them where no name is given.
pub fn of_names(roots: &Roots, names: &[String]) -> Result<Vec<Knob>, String> {
    let all = catalogue(roots);
    if names.is_empty() {
        return Ok(all);
    }
    let rows = rows();
    let mut chosen = Vec::new();
    for name in names {
        let wanted = row_named(&rows, name).map_or(name.as_str(), |row| row.name);
        let knob = all.iter().find(|knob| knob.name == wanted).ok_or_else(|| unknown(&rows, name))?;
        chosen.push(knob.clone());
    }
    Ok(chosen)
}

/// The values that a run records: those of all knobs of the host that exist, under the catalogue's names.
pub fn values(roots: &Roots) -> BTreeMap<String, String> {
    let recorded = |knob: &Knob| knob.set == "host" && knob.name != "features";
    let all = catalogue(roots).into_iter().filter(recorded);
    all.filter_map(|knob| Some((knob.name, knob.value?))).collect()
}
