//! Whether and how the scheduler is traced while a trial runs. It is a setting of an arm (`trace=on`), so that the cost
//! of tracing is measured like any other effect, and a part of a trial's order.

use crate::nearest::hint;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A group of the kernel's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventGroup {
    /// `sched_switch` and `sched_waking`, from which waits and run times are computed. Part of every selection.
    Min,
    /// Also wakeups, migrations, forks, execs, exits and renames.
    Full,
    /// Handlers of interrupts.
    Irq,
    /// Soft interrupts.
    Softirq,
    /// Work items of kernel threads.
    Workqueue,
    /// Priority inheritance.
    Pi,
    /// Idle states of CPUs.
    Idle,
    /// System calls, of every thread of the machine: each call costs more while they are traced.
    Syscalls,
    /// Moves of threads between cgroups.
    Cgroup,
}

impl EventGroup {
    /// All of them with the words of a command line.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Min, "min"),
        (Self::Full, "full"),
        (Self::Irq, "irq"),
        (Self::Softirq, "softirq"),
        (Self::Workqueue, "workqueue"),
        (Self::Pi, "pi"),
        (Self::Idle, "idle"),
        (Self::Syscalls, "syscalls"),
        (Self::Cgroup, "cgroup"),
    ];
}

/// Which events are traced: `min`, `full`, `full+irq+workqueue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceEvents(u16);

impl Default for TraceEvents {
    /// `min`.
    fn default() -> Self {
        Self(1 << EventGroup::Min as u8)
    }
}

impl TraceEvents {
    /// Whether a group is among them.
    pub fn has(self, group: EventGroup) -> bool {
        self.0 & 1 << group as u8 != 0
    }

    /// The groups, in order.
    pub fn groups(self) -> impl Iterator<Item = EventGroup> {
        EventGroup::ALL.into_iter().map(|(group, _)| group).filter(move |group| self.has(*group))
    }
}

impl FromStr for TraceEvents {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let group = |word: &str| {
            let known = EventGroup::ALL.into_iter().find(|(_, name)| *name == word);
            known.map(|(group, _)| 1 << group as u8).ok_or_else(|| {
                let hint = hint(word, EventGroup::ALL.map(|(_, name)| name));
                let all: Vec<&str> = EventGroup::ALL.iter().map(|(_, name)| *name).collect();
                format!("`{word}` is not a group of events{hint}; there are {}, joined by `+`", all.join(", "))
            })
        };
        let bits = text.split('+').map(str::trim).map(group).collect::<Result<Vec<u16>, _>>()?;
        Ok(Self(bits.into_iter().fold(Self::default().0, |all, one| all | one)))
    }
}

impl fmt::Display for TraceEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What `min` contains is in every selection and need not be named.
        let words = EventGroup::ALL.iter().filter(|(group, _)| self.has(*group)).map(|(_, name)| *name);
        let words: Vec<&str> = words.collect();
        let shown = if words.len() > 1 { &words[1..] } else { &words[..] };
        f.write_str(&shown.join("+"))
    }
}

impl TryFrom<String> for TraceEvents {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TraceEvents> for String {
    fn from(events: TraceEvents) -> Self {
        events.to_string()
    }
}

/// `trace=…` of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TraceSetting {
    /// Nothing is traced.
    Off,
    /// The events go into a ring buffer that nobody reads: this shows the cost of the kernel's part alone.
    Unread(TraceEvents),
    /// The events are recorded into a file.
    On(TraceEvents),
}

impl TraceSetting {
    /// The order for a trial with this setting; `out` is the file for a recording.
    pub fn order(self, out: impl FnOnce() -> PathBuf) -> Option<TraceOrder> {
        let order =
            |events, out| Some(TraceOrder { events, source: TraceSource::Auto, out, keep_ns: None, buffer_kib: None });
        match self {
            Self::Off => None,
            Self::Unread(events) => order(events, None),
            Self::On(events) => order(events, Some(out())),
        }
    }
}

impl TraceOrder {
    /// The setting to which this order belongs.
    pub fn setting(&self) -> TraceSetting {
        if self.out.is_some() { TraceSetting::On(self.events) } else { TraceSetting::Unread(self.events) }
    }
}

impl FromStr for TraceSetting {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (word, events) = text.split_once(':').unwrap_or((text, "min"));
        match word {
            "off" if word == text => Ok(Self::Off),
            "unread" => Ok(Self::Unread(events.parse()?)),
            "on" => Ok(Self::On(events.parse()?)),
            _ => Err("is none of `off`, `unread[:EVENTS]` and `on[:EVENTS]`, for example `trace=on:full`".to_owned()),
        }
    }
}

impl fmt::Display for TraceSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Unread(events) => write!(f, "unread:{events}"),
            Self::On(events) => write!(f, "on:{events}"),
        }
    }
}

/// Where events are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceSource {
    /// An instance of tracefs, or perf's rings if no instance can be made.
    #[default]
    Auto,
    /// An instance of tracefs.
    Tracefs,
    /// Ring buffers of perf events.
    Perf,
}

impl TraceSource {
    /// The words of a command line.
    pub const NAMES: [&str; 3] = ["auto", "tracefs", "perf"];
}

impl FromStr for TraceSource {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let of = Self::NAMES.iter().position(|name| *name == text);
        of.map(|at| [Self::Auto, Self::Tracefs, Self::Perf][at])
            .ok_or_else(|| format!("`{text}` is no source of events; there are {}", Self::NAMES.join(", ")))
    }
}

/// How a trial is traced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceOrder {
    /// Which events.
    pub events: TraceEvents,
    /// Where they are read from.
    #[serde(default)]
    pub source: TraceSource,
    /// The file of the recording; `None` leaves the events unread.
    pub out: Option<PathBuf>,
    /// Only this many ns before the end are kept (a flight recorder).
    #[serde(default)]
    pub keep_ns: Option<u64>,
    /// Size of the kernel's buffer for each CPU, KiB; `None`: chosen automatically.
    #[serde(default)]
    pub buffer_kib: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_print_as_they_are_read() {
        for (text, shown) in [
            ("min", "min"),
            ("full", "full"),
            ("min+full", "full"),
            ("workqueue + irq", "irq+workqueue"),
            ("full+pi+idle+softirq", "full+softirq+pi+idle"),
            ("cgroup+min+syscalls", "syscalls+cgroup"),
        ] {
            let events: TraceEvents = text.parse().unwrap();
            assert_eq!((events.to_string().as_str(), events.has(EventGroup::Min)), (shown, true));
            assert_eq!(shown.parse(), Ok(events));
        }
        let error = "fill".parse::<TraceEvents>().unwrap_err();
        assert!(error.contains("did you mean `full`"), "{error}");
        assert!("".parse::<TraceEvents>().is_err() && "min+".parse::<TraceEvents>().is_err());
    }

    #[test]
    fn a_source_is_one_of_the_names() {
        let sources = [TraceSource::Auto, TraceSource::Tracefs, TraceSource::Perf];
        assert_eq!(TraceSource::NAMES.map(str::parse), sources.map(Ok));
        assert!("ftrace".parse::<TraceSource>().unwrap_err().contains("auto, tracefs, perf"));
    }

    #[test]
    fn settings_print_as_they_are_read() {
        for text in ["off", "unread:min", "on:full+irq"] {
            assert_eq!(text.parse::<TraceSetting>().unwrap().to_string(), text);
        }
        assert_eq!("on".parse(), Ok(TraceSetting::On(TraceEvents::default())));
        for bad in ["", "yes", "off:min", "on:"] {
            assert!(bad.parse::<TraceSetting>().is_err(), "{bad}");
        }
    }
}
