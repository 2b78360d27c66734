//! The table of knobs, `knobs.txt`, as rows. Its format is described at its head.

use super::number::kernel_number;
use serde::Serialize;
use std::fmt;

/// Version of a kernel, major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32);

impl Version {
    /// Parses `6.12.107-amd64` or `6.12`; `None` if it does not begin like this.
    pub(crate) fn of(release: &str) -> Option<Self> {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        Some(Self(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// One knob under one name, with all its places.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) family: &'static str,
    pub(crate) name: &'static str,
    /// `ns`, `bytes`, …; empty when it has none.
    pub(crate) unit: &'static str,
    /// `log`, `lin` or `set`.
    pub(crate) scale: &'static str,
    /// Whether the kernel multiplies the default with the factor of `tunable_scaling`.
    pub(crate) scaled: bool,
    /// As in the table; empty when there is none.
    pub(crate) range: &'static str,
    pub(crate) places: Vec<Location>,
    /// Options of the kernel's build, without `CONFIG_`; may be empty.
    pub(crate) options: &'static str,
    /// Values with a meaning of their own.
    pub(crate) special: Vec<Special>,
    /// The value with which it has no influence.
    pub(crate) neutral: Option<Special>,
    pub(crate) coupled: &'static str,
    pub(crate) does: &'static str,
}

/// A value with a meaning of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Special {
    /// `-1`, `max`.
    pub value: &'static str,
    /// `no throttle`.
    pub meaning: &'static str,
}

/// Where some versions have a knob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// `debugfs:sched/base_slice_ns`.
    pub(crate) at: &'static str,
    pub(crate) from: Option<Version>,
    pub(crate) to: Option<Version>,
    /// Defaults, one for each that some stable kernel has, before scaling.
    pub(crate) defaults: Vec<StartValue>,
}

/// The default of some versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartValue {
    pub(crate) value: &'static str,
    from: Option<Version>,
    to: Option<Version>,
    /// `rt` or an architecture, if only such kernels have it.
    pub(crate) of: &'static str,
}

impl StartValue {
    /// Whether kernels of this version may have it; true for an unknown version.
    pub(crate) fn is_of(&self, version: Option<Version>) -> bool {
        version.is_none_or(|version| spans(self.from, self.to, version))
    }
}

fn spans(from: Option<Version>, to: Option<Version>, version: Version) -> bool {
    from.is_none_or(|from| from <= version) && to.is_none_or(|to| version <= to)
}

impl Location {
    pub(crate) fn kind(&self) -> &'static str {
        self.at.split_once(':').map_or("", |(kind, _)| kind)
    }

    /// The part after the kind.
    pub(crate) fn path(&self) -> &'static str {
        self.at.split_once(':').map_or("", |(_, path)| path)
    }

    /// The last part of the path: `base_slice_ns`; for a setting its key.
    pub(crate) fn file(&self) -> &'static str {
        let path = self.path();
        match self.kind() {
            "spec" | "task" => path.split('=').next().unwrap_or(path),
            "cgroup1" | "cgroup2" => path,
            "sysctl" => path.rsplit('.').next().unwrap_or(path),
            _ => path.rsplit('/').next().unwrap_or(path),
        }
    }

    pub(crate) fn has(&self, version: Version) -> bool {
        spans(self.from, self.to, version)
    }
}

impl Row {
    /// Which kernels have it: `Linux 5.13 to 6.5`.
    pub(crate) fn kernels(&self) -> String {
        let first = self.places.iter().map(|p| p.from).min().flatten();
        // A place that still exists counts as later than any last version.
        let last = self.places.iter().map(|p| p.to.map_or((1, None), |to| (0, Some(to)))).max().and_then(|(_, to)| to);
        match (first, last) {
            (None, None) => "every Linux".into(),
            (Some(first), None) => format!("Linux {first} and later"),
            (None, Some(last)) => format!("Linux up to {last}"),
            (Some(first), Some(last)) if first == last => format!("Linux {first}"),
            (Some(first), Some(last)) => format!("Linux {first} to {last}"),
        }
    }

    /// Its range in words; empty where the table has none.
    pub(crate) fn values(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.range.split_once("..") {
            None => self.range.replace('|', ", "),
            Some((least, "")) => format!("{least}{unit} or more"),
            Some(("", most)) => format!("{most}{unit} at most"),
            Some((least, most)) => format!("{least} to {most}{unit}"),
        }
    }

    /// The values that it takes and what it is coupled with, as a hint after the kernel refused a value.
    pub(crate) fn limits(&self) -> Option<String> {
        let coupled = if self.coupled.is_empty() { String::new() } else { format!("; {}", self.coupled) };
        (!self.range.is_empty()).then(|| format!("{} takes {}{coupled}", self.name, self.values()))
    }

    /// Why this value cannot be meant, in words; a value that is not a number is left to the kernel.
    pub(crate) fn out_of_range(&self, value: &str) -> Option<String> {
        if self.range.is_empty() || self.special.iter().any(|special| special.value == value) {
            return None;
        }
        let Some((least, most)) = self.range.split_once("..") else {
            let known = self.range.split('|').any(|one| one == value);
            return (!known).then(|| format!("{} takes {}, not `{value}`", self.name, self.values()));
        };
        let number = kernel_number(value)?;
        let (min, max) = (least.parse::<i128>(), most.parse::<i128>());
        if min.as_ref().is_ok_and(|min| number < *min) || max.as_ref().is_ok_and(|max| number > *max) {
            return Some(format!("{} takes {}, not {value}", self.name, self.values()));
        }
        None
    }

    /// The meaning of this value, if the kernel replaces it by another one.
    pub(crate) fn resets(&self, value: &str) -> Option<&'static str> {
        let asked = self.special.iter().find(|special| special.value == value)?;
        asked.meaning.starts_with("resets ").then_some(asked.meaning)
    }

    /// Whether some kernel starts with this value, which may be a word.
    fn has_default(&self, value: &str) -> bool {
        let defaults = self.places.iter().flat_map(|place| &place.defaults).map(|default| default.value);
        defaults.chain(self.neutral.iter().flat_map(|neutral| neutral.value.split('|'))).any(|known| known == value)
    }

    /// Why the kernel will refuse this word for a numeric knob, in words.
    pub(crate) fn no_number(&self, value: &str) -> Option<String> {
        let is_known = self.special.iter().any(|special| special.value == value) || self.has_default(value);
        // Shares of uclamp may have decimals.
        let is_number = || kernel_number(value).is_some() || self.unit == "percent" && value.parse::<f64>().is_ok();
        let fits = !self.range.contains("..") || is_known || is_number();
        let digits = if value.parse::<f64>().is_ok() { ": the kernel reads whole numbers in digits" } else { "" };
        (!fits).then(|| format!("{} takes {}, not `{value}`{digits}", self.name, self.values()))
    }
}

const TABLE: &str = include_str!("knobs.txt");

/// All rows, in the order of the table.
pub(crate) fn rows() -> Vec<Row> {
    let (mut rows, mut family): (Vec<Row>, &str) = (Vec::new(), "");
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some(detail) = line.strip_prefix("  ") else {
            match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                Some(name) => family = name,
                None => rows.push(head(family, line)),
            }
            continue;
        };
        let row = rows.last_mut().expect("a stanza of knobs.txt begins with its name");
        match detail.split_once(' ').expect("a line of knobs.txt has two words") {
            ("?", options) => row.options = options,
            ("&", text) => row.coupled = text,
            ("-", text) => row.does = text,
            ("=", special) => row.special.push(with_meaning(special)),
            ("~", neutral) => row.neutral = Some(with_meaning(neutral)),
            (at, rest) => add(&mut row.places, place(at, rest)),
        }
    }
    rows
}

fn with_meaning(text: &'static str) -> Special {
    let (value, meaning) = text.split_once(' ').expect("a value and its meaning");
    Special { value, meaning }
}

fn head(family: &'static str, line: &'static str) -> Row {
    let mut words = line.split(' ').map(|word| if word == "-" { "" } else { word });
    let mut next = || words.next().expect("NAME UNIT SCALE RANGE in knobs.txt");
    let (name, unit, scale, range) = (next(), next(), next(), next());
    let (scale, scaled) = scale.strip_suffix('*').map_or((scale, false), |plain| (plain, true));
    let (places, special, neutral) = (Vec::new(), Vec::new(), None);
    let range = if range == ".." { "" } else { range };
    Row { family, name, unit, scale, scaled, range, places, options: "", special, neutral, coupled: "", does: "" }
}

fn place(at: &'static str, rest: &'static str) -> Location {
    let mut words = rest.split(' ');
    let (from, to) = words.next().and_then(|span| span.split_once("..")).expect("FROM..TO in knobs.txt");
    let (from, to) = (Version::of(from), Version::of(to));
    let default = |text: &'static str| {
        let (value, of) = text.split_once('@').unwrap_or((text, ""));
        StartValue { value: value.trim_end_matches('*'), from, to, of }
    };
    let defaults = words.next().into_iter().flat_map(|all| all.split('|')).map(default).collect();
    Location { at, from, to, defaults }
}

/// A second line for the same place gives the defaults of later versions.
fn add(places: &mut Vec<Location>, place: Location) {
    match places.last_mut().filter(|last| last.at == place.at) {
        Some(last) => {
            last.to = place.to;
            last.defaults.extend(place.defaults);
        }
        None => places.push(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_stanza_is_whole_and_every_name_and_place_is_one_knobs() {
        let mut seen = BTreeSet::new();
        let rows = rows();
        assert!(rows.len() > 80, "{}", rows.len());
        for row in &rows {
            assert!(!row.family.is_empty() && !row.does.is_empty() && !row.places.is_empty(), "{row:?}");
            assert!(["log", "lin", "set"].contains(&row.scale), "{row:?}");
            assert!(seen.insert(row.name), "{} twice", row.name);
            for place in &row.places {
                assert!(seen.insert(place.at), "{} twice", place.at);
                let kinds = ["sysctl", "debugfs", "sysfs", "spec", "task", "cgroup1", "cgroup2", "device"];
                assert!(kinds.contains(&place.kind()) && !place.path().is_empty(), "{place:?}");
                assert!(place.from.zip(place.to).is_none_or(|(from, to)| from <= to), "{place:?}");
                for default in
                    place.defaults.iter().map(|d| d.value).chain(row.neutral.iter().flat_map(|n| n.value.split('|')))
                {
                    assert_eq!(row.out_of_range(default), None, "{}: {default}", row.name);
                    assert_eq!(row.no_number(default), None, "{}: {default}", row.name);
                }
            }
            // The places in one hierarchy must follow each other without a gap in versions.
            let of = |kind| row.places.iter().filter(move |p| p.kind() == kind);
            assert!(of("debugfs").zip(of("debugfs").skip(1)).all(|(a, b)| a.to < b.from), "{row:?}");
        }
    }

    #[test]
    fn spans_and_ranges_are_told_in_words() {
        let rows = rows();
        let row = |name: &str| rows.iter().find(|r| r.name == name).unwrap();
        assert_eq!(row("base_slice").kernels(), "every Linux");
        assert_eq!(row("latency").kernels(), "Linux up to 6.5");
        assert_eq!(row("idle_min_granularity").kernels(), "Linux 5.16 to 6.5");
        assert_eq!(row("fair_server_runtime").kernels(), "Linux 6.12 and later");
        let why = |name: &str, value: &str| row(name).out_of_range(value);
        assert_eq!(why("base_slice", "0").unwrap(), "base_slice takes 100000 to 1000000000 ns, not 0");
        assert_eq!(why("base_slice", "0x0").unwrap(), "base_slice takes 100000 to 1000000000 ns, not 0x0");
        assert_eq!(why("rr_timeslice", "-1").unwrap(), "rr_timeslice takes 1 ms or more, not -1");
        assert_eq!(why("tunable_scaling", "3").unwrap(), "tunable_scaling takes 0, 1, 2, not `3`");
        for (name, value) in [("base_slice", "1000000"), ("rt_runtime", "-1"), ("resume_latency", "n/a"), ("nice", "x")]
        {
            assert_eq!(why(name, value), None, "{name}={value}");
        }
    }

    #[test]
    fn a_release_begins_with_its_version() {
        assert_eq!(Version::of("6.12.107-amd64"), Some(Version(6, 12)));
        assert_eq!(Version::of("7.0-rc1"), Some(Version(7, 0)));
        assert_eq!(Version::of("unknown"), None);
        assert!(Version::of("5.4") < Version::of("5.13"));
    }
}
