//! The kernel events of a selection, and the kernel's descriptions of them.

use super::error::TracerError;
use schedlab_plan::TraceEvents;
use schedlab_trace::recording::FormatText;
use schedlab_trace::{Kind, Kinds};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The events of a selection.
pub fn kinds(events: TraceEvents) -> Vec<Kind> {
    Kinds::ALL.iter().filter(|kind| kind.group().is_some_and(|group| events.has(group))).collect()
}

/// The event that a format describes, from its first line.
pub(super) fn name(format: &str) -> &str {
    format.lines().next().and_then(|line| line.strip_prefix("name:")).map_or("", str::trim)
}

/// An `events` directory in tracefs, with the kernel's descriptions of its events.
#[derive(Debug)]
pub(super) struct EventFiles(PathBuf);

impl EventFiles {
    /// The directory below a root of tracefs, or below an instance.
    pub(super) fn below(root: &Path) -> Self {
        Self(root.join("events"))
    }

    /// The kernel's layout of a ring-buffer page. The file returns data for one read and then nothing, however little
    /// that read took.
    pub(super) fn header_page(&self) -> Result<String, TracerError> {
        let path = self.0.join("header_page");
        let mut text = [0; 4096];
        let bytes = std::fs::File::open(&path).and_then(|mut file| file.read(&mut text));
        let bytes = bytes.map_err(TracerError::file(path, ""))?;
        Ok(String::from_utf8_lossy(&text[..bytes]).into_owned())
    }

    /// The formats of a selection's events, all of which must exist.
    pub(super) fn formats(&self, events: TraceEvents) -> Result<Vec<FormatText>, TracerError> {
        let format = |kind: Kind| {
            let (system, name) = (kind.system(), kind.name());
            if !self.0.join(system).join(name).join("enable").exists() {
                return Err(TracerError::NoEvent { system, name });
            }
            let text = self.read(kind, "format")?;
            Ok(FormatText { system: system.to_owned(), text })
        };
        kinds(events).into_iter().map(format).collect()
    }

    /// The ids of a selection's events, by which perf identifies them.
    pub(super) fn ids(&self, events: TraceEvents) -> Result<Vec<u32>, TracerError> {
        let id = |kind: Kind| {
            let text = self.read(kind, "id")?;
            text.trim().parse().map_err(|_| TracerError::Layout(format!("an event of number `{}`", text.trim())))
        };
        kinds(events).into_iter().map(id).collect()
    }

    fn read(&self, kind: Kind, file: &str) -> Result<String, TracerError> {
        let (system, name) = (kind.system(), kind.name());
        let path = self.0.join(system).join(name).join(file);
        std::fs::read_to_string(&path).map_err(TracerError::file(path, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_adds_events_and_none_twice() {
        let all: TraceEvents = "full+irq+softirq+workqueue+pi+idle+syscalls+cgroup".parse().unwrap();
        let found = kinds(all);
        let left: Vec<Kind> = Kinds::ALL.iter().filter(|kind| !found.contains(kind)).collect();
        assert_eq!(left, [Kind::SchedStatRuntime, Kind::TaskNewtask]);
        assert!(found.is_sorted() && found.windows(2).all(|w| w[0] != w[1]));
        assert_eq!(kinds(TraceEvents::default()), [Kind::SchedSwitch, Kind::SchedWaking]);
        assert_eq!(name("name: sched_switch\nID: 3\n"), "sched_switch");
    }
}
