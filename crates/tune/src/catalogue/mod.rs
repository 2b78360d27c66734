//! The catalogue: every knob under one name, wherever a kernel keeps it, with its present value and whether it can be
//! set.
//!
//! [`table`] describes knobs; this module finds them below the roots. Knobs that no row describes are listed too: every
//! `kernel.sched_*` sysctl, every file below debugfs `sched/`, every scheduler feature. Whether a knob exists is
//! decided by the files; the running version only explains why one does not.

mod alias;
mod here;
mod names;
mod network;
mod number;
mod table;

pub use alias::{one_knob_on_two_axes, one_knob_twice_in_an_arm};
pub(crate) use here::{is_of, may_have, one_word};
pub use names::{Named, in_a_spec, named, of_names, values};
pub(crate) use names::{absent, row_of_file, row_of_name, row_of_place};
pub use network::net_places_of_an_arm;
pub(crate) use number::{are_same_numbers, kernel_number};
pub use table::Special;

use crate::knob::normalise;
use crate::reason;
use crate::roots::Roots;
use here::{Here, look};
use serde::Serialize;
use std::path::{Path, PathBuf};
pub(crate) use table::Row;
use table::rows;

/// One knob, as the table describes it and as this machine has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Knob {
    /// The name on all kernels; of a knob that is not described, its place.
    pub name: String,
    /// Knobs of one kind; empty when it is not described.
    pub family: &'static str,
    /// What it does, in a sentence; empty when it is not described.
    pub does: &'static str,
    /// `ns`, `bytes`, …; empty when it has none.
    pub unit: &'static str,
    /// How to vary it: `log`, `lin`, or `set` for words.
    pub scale: &'static str,
    /// Whether the kernel multiplies its default with the factor of `tunable_scaling`.
    pub scaled_with_cpus: bool,
    /// `MIN..MAX`, of which either may be missing, or `A|B|C`; empty when there is none.
    pub range: &'static str,
    /// Values with a meaning of their own.
    pub special: Vec<Special>,
    /// The value at which it decides nothing, where there is one.
    pub neutral: Option<Special>,
    /// What it is bound to.
    pub coupled: &'static str,
    /// Options of the kernel's build that it needs, without `CONFIG_`.
    pub options: &'static str,
    /// Which kernels have it.
    pub kernels: String,
    /// Its places by version.
    pub places: Vec<PlaceOfKnob>,
    /// The place where this kernel has it, as written in a SPEC.
    pub here: Option<String>,
    /// The file, or the first of several that are written together.
    pub path: Option<PathBuf>,
    /// Present value; several words where CPUs differ.
    pub value: Option<String>,
    /// The default of this kernel, if known; several if stable kernels of this version differ.
    pub default: Vec<String>,
    /// How it is set: `host` (`tune set`, an arm), `task` (an arm, `tune set … --for`), `group` (an arm).
    pub set: &'static str,
    /// Whether it can be set here by the caller.
    pub settable: bool,
    /// Whether an arm of the caller's plan can set it here; not known of a network knob where no namespace could be made.
    pub arm: Option<bool>,
    /// Why it cannot, or why it has no value.
    pub why_not: Option<String>,
}

/// Where some kernels have a knob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlaceOfKnob {
    /// `debugfs:sched/base_slice_ns`.
    pub place: &'static str,
    /// First version; `None` if there is no lower limit.
    pub from: Option<String>,
    /// Last version; `None` if it still exists.
    pub to: Option<String>,
}

impl Knob {
    /// Whether its value is this kernel's default; `None` if it is not here, or if either is not known.
    pub fn is_default(&self) -> Option<bool> {
        let value = self.value.as_ref().filter(|_| !self.default.is_empty())?;
        Some(self.default.contains(value))
    }
}

/// All knobs: those of the table, in its order, then those that it does not describe.
pub fn catalogue(roots: &Roots) -> Vec<Knob> {
    let release = release(roots);
    let rows = rows();
    let mut all: Vec<Knob> = rows.iter().map(|row| of_row(roots, &release, row)).collect();
    all.extend(features(roots));
    all.extend(undescribed(roots, &rows));
    all
}

/// `uname -r`; empty when it is not known.
pub fn release(roots: &Roots) -> String {
    let text = crate::file::read(roots.proc.join("sys/kernel/osrelease"));
    text.map(|t| t.trim().to_owned()).unwrap_or_default()
}

fn of_row(roots: &Roots, release: &str, row: &Row) -> Knob {
    let Here { place, path, value, set, why_not } = look(roots, release, row);
    let places = row.places.iter().map(|p| PlaceOfKnob {
        place: p.at,
        from: p.from.map(|v| v.to_string()),
        to: p.to.map(|v| v.to_string()),
    });
    Knob {
        name: row.name.into(),
        family: row.family,
        does: row.does,
        unit: row.unit,
        scale: row.scale,
        scaled_with_cpus: row.scaled,
        range: row.range,
        special: row.special.clone(),
        neutral: row.neutral.clone(),
        coupled: row.coupled,
        options: row.options,
        kernels: row.kernels(),
        places: places.collect(),
        default: place.map(|p| here::defaults(roots, release, row, p)).unwrap_or_default(),
        here: place.map(|p| p.at.to_owned()),
        path,
        settable: why_not.is_none(),
        arm: (!place.is_some_and(|place| place.path().starts_with("net."))).then_some(why_not.is_none()),
        value,
        set,
        why_not,
    }
}

/// A knob that no row describes, under the kernel's own name.
fn plain(place: String, path: &Path, value: Option<String>) -> Knob {
    let read = || crate::file::read(path).map(|text| normalise(&text));
    let (value, why) = match value.map_or_else(read, Ok) {
        Ok(value) => (Some(value), here::not_writable(&crate::knob::Knob::file(path))),
        Err(e) => (None, Some(reason::refused(path, &e, None))),
    };
    Knob {
        name: place.clone(),
        family: "",
        does: "",
        unit: "",
        scale: "",
        scaled_with_cpus: false,
        range: "",
        special: Vec::new(),
        neutral: None,
        coupled: "",
        options: "",
        kernels: String::new(),
        places: Vec::new(),
        here: Some(place),
        path: Some(path.to_owned()),
        default: Vec::new(),
        set: "host",
        settable: why.is_none(),
        arm: Some(why.is_none()),
        value,
        why_not: why,
    }
}

/// Each word of the features file, `on` or `off`.
fn features(roots: &Roots) -> Vec<Knob> {
    let files = ["sched/features", "sched_features"].map(|file| roots.debugfs.join(file));
    let read = |path: &PathBuf| Some((path.clone(), crate::file::read(path).ok()?));
    let Some((path, text)) = files.iter().find_map(read) else { return Vec::new() };
    let word = |word: &str| {
        let (name, value) = word.strip_prefix("NO_").map_or((word, "on"), |name| (name, "off"));
        plain(format!("feature:{name}"), &path, Some(value.into()))
    };
    text.split_whitespace().map(word).collect()
}

fn undescribed(roots: &Roots, rows: &[Row]) -> Vec<Knob> {
    let sysctls = roots.proc.join("sys/kernel");
    let scheduler = |name: &String| {
        (name.starts_with("sched_") || name.starts_with("numa_balancing")) && !name.starts_with("sched_domain")
    };
    let of_sysctl = files_below(&sysctls, &sysctls).into_iter().filter(scheduler);
    let of_sysctl = of_sysctl.map(|name| (format!("sysctl:kernel.{}", name.replace('/', ".")), sysctls.join(name)));
    let debugfs = roots.debugfs.join("sched");
    let shown = |name: &String| !["debug", "verbose"].contains(&name.as_str()) && !name.starts_with("domains");
    let of_debugfs = files_below(&debugfs, &debugfs).into_iter().filter(shown);
    let of_debugfs = of_debugfs.map(|name| (format!("debugfs:sched/{name}"), debugfs.join(name)));
    let described = |place: &str| {
        let mut places = rows.iter().flat_map(|row| &row.places);
        place == "sysctl:kernel.sched_autogroup_enabled" || places.any(|p| here::is_at(p.at, place))
    };
    let all = of_sysctl.chain(of_debugfs).filter(|(place, _)| !described(place));
    // A directory of debugfs per CPU that is new is one knob to people, but many files: all are listed.
    all.map(|(place, path)| plain(place, &path, None)).collect()
}

/// Names of files below `directory`, relative to `root`, sorted; two levels hold every scheduler knob.
fn files_below(root: &Path, directory: &Path) -> Vec<String> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|item| item.path()).collect();
    paths.sort_unstable();
    let nested = |path: &PathBuf| -> Vec<String> {
        let relative = path.strip_prefix(root).unwrap_or(path);
        match path.is_dir() {
            true if relative.components().count() < 4 => files_below(root, path),
            true => Vec::new(),
            false => relative.to_str().map(str::to_owned).into_iter().collect(),
        }
    };
    paths.iter().flat_map(nested).collect()
}
