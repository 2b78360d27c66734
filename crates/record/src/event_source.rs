//! PMUs as sysfs shows them, in bus/event_source/devices: their type number, how an event's terms become bits
//! (`format/`), the events that they name (`events/`, with `.scale` and `.unit`), and the CPUs to open them on. Source:
//! Documentation/ABI/testing/sysfs-bus-event_source-devices-*. Errors become the reason of a `NotCounted`.

use crate::Roots;
use schedlab_plan::units::CpuList;
use schedlab_sys::perf_event::RawEvent;
use std::path::{Path, PathBuf};

/// Where the PMUs are, relative to the root of sysfs.
const DEVICES: &str = "bus/event_source/devices";

/// One PMU.
#[derive(Debug, Clone)]
pub(crate) struct Pmu {
    pub(crate) name: String,
    dir: PathBuf,
    pmu_type: u32,
}

/// An event that the PMU itself names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Alias {
    pub(crate) event: RawEvent,
    /// What one count is in `unit`; 1 without a `.scale`.
    pub(crate) scale: f64,
    /// The unit is mebibytes.
    pub(crate) is_mib: bool,
}

/// Names of all PMUs, in order.
pub(crate) fn names(roots: &Roots) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(roots.sys.join(DEVICES)) else { return Vec::new() };
    let mut names: Vec<String> = entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

impl Pmu {
    pub(crate) fn read(roots: &Roots, name: &str) -> Result<Self, String> {
        let dir = roots.sys.join(DEVICES).join(name);
        let pmu_type = text(&dir.join("type"))?;
        let pmu_type = pmu_type.parse().map_err(|_| format!("{name}/type holds `{pmu_type}`, not a number"))?;
        Ok(Self { name: name.to_owned(), dir, pmu_type })
    }

    /// Its number for `perf_event_attr.type`.
    pub(crate) fn type_number(&self) -> u32 {
        self.pmu_type
    }

    /// CPUs to open it on: `cpumask` of an uncore PMU (one per socket or die), `cpus` of a PMU for one kind of core.
    pub(crate) fn cpus(&self) -> Option<CpuList> {
        ["cpumask", "cpus"].iter().find_map(|file| text(&self.dir.join(file)).ok()?.parse().ok())
    }

    /// A file of `caps/`, such as the `slots` of an Arm core (hexadecimal).
    pub(crate) fn cap(&self, name: &str) -> Option<u64> {
        number(&text(&self.dir.join("caps").join(name)).ok()?)
    }

    /// The content of `identifier`, which distinguishes versions of one PMU.
    pub(crate) fn identifier(&self) -> Option<String> {
        text(&self.dir.join("identifier")).ok()
    }

    /// Encodes terms such as `event=0xa3,umask=0x14,cmask=20` as bits.
    pub(crate) fn encode(&self, terms: &str) -> Result<RawEvent, String> {
        let mut event = RawEvent { pmu_type: self.pmu_type, config: [0; 3], is_uncore: self.is_uncore() };
        for term in terms.split(',').map(str::trim).filter(|t| !t.is_empty()) {
            let (key, value) = term.split_once('=').unwrap_or((term, "1"));
            let value = number(value).ok_or_else(|| format!("`{term}` of {} has no number", self.name))?;
            let format = match key {
                "config" | "config1" | "config2" => format!("{key}:0-63"),
                _ => text(&self.dir.join("format").join(key))
                    .map_err(|_| format!("{} has no field `{key}` for the event `{terms}`", self.name))?,
            };
            place(&mut event.config, &format, value).map_err(|why| format!("`{term}` of {}: {why}", self.name))?;
        }
        Ok(event)
    }

    /// An event by the PMU's own name for it.
    pub(crate) fn alias(&self, name: &str) -> Result<Alias, String> {
        let file = |suffix: &str| self.dir.join("events").join(format!("{name}{suffix}"));
        let terms = text(&file("")).map_err(|_| format!("{} names no event `{name}` in this kernel", self.name))?;
        let scale = match text(&file(".scale")) {
            Ok(scale) => scale.parse::<f64>().ok().filter(|s| s.is_finite() && *s > 0.0),
            Err(_) => Some(1.0),
        };
        let scale = scale.ok_or_else(|| format!("{}/events/{name}.scale is not a number", self.name))?;
        let is_mib = text(&file(".unit")).is_ok_and(|unit| unit == "MiB");
        Ok(Alias { event: self.encode(&terms)?, scale, is_mib })
    }

    /// PMUs with a `cpumask` count events of a unit that many cores share.
    fn is_uncore(&self) -> bool {
        self.dir.join("cpumask").exists()
    }
}

fn text(file: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    Ok(text.trim().to_owned())
}

fn number(text: &str) -> Option<u64> {
    match text.trim().strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.trim().parse().ok(),
    }
}

/// Puts a value into the bits that a format describes, low bits first: `config:0-7,32-35`, `config1:18`.
fn place(config: &mut [u64; 3], format: &str, value: u64) -> Result<(), String> {
    let wrong = || format!("the format `{format}` is not understood");
    let (word, ranges) = format.split_once(':').ok_or_else(wrong)?;
    let word = ["config", "config1", "config2"].iter().position(|w| *w == word.trim()).ok_or_else(wrong)?;
    let mut rest = value;
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let low: u32 = low.trim().parse().map_err(|_| wrong())?;
        let high: u32 = high.trim().parse().map_err(|_| wrong())?;
        if low > high || high > 63 {
            return Err(wrong());
        }
        let width = high - low + 1;
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        config[word] |= (rest & mask) << low;
        rest = if width == 64 { 0 } else { rest >> width };
    }
    if rest == 0 { Ok(()) } else { Err(format!("{value:#x} does not fit into `{format}`")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_become_the_bits_that_the_format_names() {
        let mut config = [0; 3];
        place(&mut config, "config:0-7,32-35", 0x1a0).unwrap();
        place(&mut config, "config:8-15", 0x1e).unwrap();
        place(&mut config, "config1:18", 1).unwrap();
        assert_eq!(config, [0x1_0000_1ea0, 1 << 18, 0], "AMD's event 0x1a0 is split over two ranges");
        place(&mut config, "config2:0-63", u64::MAX).unwrap();
        assert_eq!(config[2], u64::MAX);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (format, value, expected) in [
            ("config:0-3", 0x10, "0x10 does not fit into `config:0-3`"),
            ("config:7-3", 1, "not understood"),
            ("config:60-64", 1, "not understood"),
            ("config9:0", 1, "not understood"),
            ("0-7", 1, "not understood"),
        ] {
            assert!(place(&mut [0; 3], format, value).unwrap_err().contains(expected), "{format}");
        }
        assert_eq!((number("0x1F"), number("31"), number("x")), (Some(31), Some(31), None));
    }
}
