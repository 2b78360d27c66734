//! A machine made of files: PMUs in a temporary sysfs, and a fake kernel that gives each event a certain count. For
//! tests.

use crate::Roots;
use crate::per_cpu::CountGroup;
use schedlab_sys::perf_event::{Event, RawEvent, Reading};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Removed when dropped.
pub(crate) struct Machine {
    root: PathBuf,
}

impl Machine {
    /// A machine with these CPUs, described by a /proc/cpuinfo.
    pub(crate) fn new(online: &str, cpuinfo: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("schedlab-pmu-{}-{number}", std::process::id()));
        let machine = Self { root };
        machine.file("sys/devices/system/cpu/online", online);
        machine.file("proc/cpuinfo", cpuinfo);
        std::fs::create_dir_all(machine.root.join("sys/bus/event_source/devices")).unwrap();
        machine
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots { proc: self.root.join("proc"), sys: self.root.join("sys") }
    }

    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    /// A PMU with its type and files: `("format/event", "config:0-7")`, `("events/x", "event=0x1")`, `("cpumask",
    /// "0")`.
    pub(crate) fn pmu(&self, name: &str, pmu_type: u32, files: &[(&str, &str)]) {
        let at = format!("sys/bus/event_source/devices/{name}");
        self.file(&format!("{at}/type"), &pmu_type.to_string());
        files.iter().for_each(|(file, text)| self.file(&format!("{at}/{file}"), text));
    }

    /// Sets the socket and die of a CPU.
    pub(crate) fn topology(&self, cpu: u32, socket: u32, die: u32) {
        let at = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        self.file(&format!("{at}/physical_package_id"), &socket.to_string());
        self.file(&format!("{at}/die_id"), &die.to_string());
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// The format fields of Intel's and AMD's core PMU, and of Arm's.
pub(crate) const X86_FORMAT: [(&str, &str); 4] = [
    ("format/event", "config:0-7,32-35"),
    ("format/umask", "config:8-15"),
    ("format/edge", "config:18"),
    ("format/cmask", "config:24-31"),
];
pub(crate) const ARM_FORMAT: [(&str, &str); 1] = [("format/event", "config:0-15")];

/// Events that were opened, with a reading each.
#[derive(Debug)]
struct Opened(Vec<Reading>);

impl CountGroup for Opened {
    fn enable(&self) -> io::Result<()> {
        Ok(())
    }
    fn disable(&self) -> io::Result<()> {
        Ok(())
    }
    fn read(&self, out: &mut Vec<Reading>) -> io::Result<()> {
        out.extend_from_slice(&self.0);
        Ok(())
    }
}

/// A fake kernel in which every event has the count that `value` gives it on a CPU (`None`: there is no such counter),
/// and each group had the PMU for a share of one second.
pub(crate) fn kernel(
    value: impl Fn(RawEvent, u32) -> Option<u64>,
    share: f64,
) -> impl Fn(&[Event], u32) -> io::Result<Box<dyn CountGroup>> {
    move |events, cpu| {
        let (enabled_ns, running_ns) = (1_000_000_000, (1e9 * share) as u64);
        let reading = |event: &Event| match event {
            Event::Raw(raw) => value(*raw, cpu).map(|value| Reading { value, enabled_ns, running_ns }),
            _ => None,
        };
        let readings: Option<Vec<Reading>> = events.iter().map(reading).collect();
        let opened = readings.ok_or_else(|| io::Error::from_raw_os_error(2))?;
        Ok(Box::new(Opened(opened)))
    }
}
