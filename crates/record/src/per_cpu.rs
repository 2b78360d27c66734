//! A group of perf events on each of several CPUs, summed. If the kernel refuses one, the refusal is the reason why the
//! whole group is not counted: a sum without that CPU would be wrong.

use crate::Roots;
use schedlab_plan::Count;
use schedlab_plan::units::CpuList;
use schedlab_sys::perf_event::{Event, Group, Reading, Target};
use std::io;

/// Open events that count together, with the operations needed here: the kernel's, or a test's.
pub(crate) trait CountGroup: std::fmt::Debug {
    fn enable(&self) -> io::Result<()>;
    fn disable(&self) -> io::Result<()>;
    /// Appends one reading per event, in the order of opening.
    fn read(&self, out: &mut Vec<Reading>) -> io::Result<()>;
}

impl CountGroup for Group {
    fn enable(&self) -> io::Result<()> {
        self.enable()
    }
    fn disable(&self) -> io::Result<()> {
        self.disable()
    }
    fn read(&self, out: &mut Vec<Reading>) -> io::Result<()> {
        self.read(out)
    }
}

/// Opens events as a group on a CPU; created disabled.
pub(crate) type Open<'a> = &'a dyn Fn(&[Event], u32) -> io::Result<Box<dyn CountGroup>>;

/// The kernel's way.
pub(crate) fn open_in_kernel(events: &[Event], cpu: u32) -> io::Result<Box<dyn CountGroup>> {
    Ok(Box::new(Group::open(events, Target::Cpu(cpu))?))
}

/// The sum of an event over the CPUs: scaled if the PMU was shared, with the periods that show it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Total {
    pub(crate) value: u64,
    pub(crate) running_ns: u64,
    pub(crate) enabled_ns: u64,
}

impl Total {
    pub(crate) fn add(&mut self, reading: Reading) {
        self.value = self.value.saturating_add(scaled(reading));
        self.running_ns += reading.running_ns;
        self.enabled_ns += reading.enabled_ns;
    }

    /// Exact if the event counted all the time, an estimate if for part of it, and nothing if it never got the PMU.
    pub(crate) fn count(self) -> Count {
        match (self.running_ns, self.enabled_ns) {
            (running, enabled) if running >= enabled => Count::Exact(self.value),
            (0, _) => {
                Count::NotCounted("another user of the PMU held it the whole time; stop it (perf, NMI watchdog)".into())
            }
            (running_ns, enabled_ns) => Count::Scaled { value: self.value, running_ns, enabled_ns },
        }
    }
}

/// One kind of group on every CPU, or why it is not counted.
#[derive(Debug)]
pub(crate) struct PerCpu {
    pub(crate) names: Vec<&'static str>,
    groups: Result<Vec<Box<dyn CountGroup>>, String>,
    /// One CPU's readings; kept so that nothing is allocated while the workload runs.
    scratch: Vec<Reading>,
}

impl PerCpu {
    /// Opens the events on each of these CPUs.
    pub(crate) fn open(events: &[(Event, &'static str)], cpus: &[u32], roots: &Roots, open: Open<'_>) -> Self {
        let kinds: Vec<Event> = events.iter().map(|e| e.0).collect();
        let names: Vec<&'static str> = events.iter().map(|e| e.1).collect();
        if cpus.is_empty() {
            return Self::refused(
                names,
                "the online CPUs cannot be read from /sys/devices/system/cpu/online".to_owned(),
            );
        }
        let groups = cpus.iter().map(|&cpu| open(&kinds, cpu).map_err(|error| refusal(roots, cpu, &error)));
        Self { scratch: Vec::with_capacity(names.len()), names, groups: groups.collect() }
    }

    /// A group that is not counted, and why.
    pub(crate) fn refused(names: Vec<&'static str>, why: String) -> Self {
        Self { names, groups: Err(why), scratch: Vec::new() }
    }

    pub(crate) fn is_counted(&self) -> bool {
        self.groups.is_ok()
    }

    pub(crate) fn enable(&mut self) {
        self.switch("started", |group| group.enable());
    }

    pub(crate) fn disable(&mut self) {
        self.switch("stopped", |group| group.disable());
    }

    fn switch(&mut self, what: &str, act: impl Fn(&dyn CountGroup) -> io::Result<()>) {
        if let Ok(groups) = &self.groups
            && let Err(error) = groups.iter().try_for_each(|group| act(group.as_ref()))
        {
            self.groups = Err(format!("perf events could not be {what}: {error}"));
        }
    }

    /// Calls `each` for each event on each CPU.
    pub(crate) fn for_each_reading(&mut self, mut each: impl FnMut(usize, Reading)) -> Result<(), String> {
        for group in self.groups.as_ref().map_err(Clone::clone)? {
            self.scratch.clear();
            group.read(&mut self.scratch).map_err(|error| format!("perf events could not be read: {error}"))?;
            for (event, &reading) in self.scratch.iter().enumerate() {
                each(event, reading);
            }
        }
        Ok(())
    }

    /// The sum of each event over the CPUs.
    pub(crate) fn totals(&mut self) -> Result<Vec<Total>, String> {
        let mut totals = vec![Total::default(); self.names.len()];
        self.for_each_reading(|event, reading| totals[event].add(reading))?;
        Ok(totals)
    }
}

/// The value extrapolated to the whole period.
pub(crate) fn scaled(reading: Reading) -> u64 {
    match (reading.running_ns, reading.enabled_ns) {
        (running, enabled) if running >= enabled => reading.value,
        (0, _) => 0,
        (running, enabled) => (u128::from(reading.value) * u128::from(enabled) / u128::from(running)) as u64,
    }
}

/// The online CPUs; empty if the file cannot be read.
pub(crate) fn online_cpus(roots: &Roots) -> CpuList {
    let text = std::fs::read_to_string(roots.sys.join("devices/system/cpu/online")).unwrap_or_default();
    text.parse().unwrap_or_default()
}

/// The message for a machine without a core PMU.
pub(crate) const NO_PMU: &str = "this machine exposes no hardware PMU (a VM without vPMU?)";

/// Why the kernel refused, and the fix.
fn refusal(roots: &Roots, cpu: u32, error: &io::Error) -> String {
    const EMFILE: i32 = 24;
    const EOPNOTSUPP: i32 = 95;
    let paranoid = std::fs::read_to_string(roots.proc.join("sys/kernel/perf_event_paranoid")).unwrap_or_default();
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::PermissionDenied, _) => format!(
            "kernel.perf_event_paranoid is {}: counting a CPU needs CAP_PERFMON, or as root \
             `sysctl kernel.perf_event_paranoid=0`",
            paranoid.trim()
        ),
        (io::ErrorKind::NotFound, _) | (_, Some(EOPNOTSUPP)) => NO_PMU.to_owned(),
        (io::ErrorKind::Unsupported, _) => "this kernel has no perf events (CONFIG_PERF_EVENTS)".to_owned(),
        (io::ErrorKind::InvalidInput, _) => {
            format!("this PMU cannot count these events together on CPU {cpu} ({error})")
        }
        (_, Some(EMFILE)) => "out of file descriptors; raise `ulimit -n`".to_owned(),
        _ => format!("perf_event_open on CPU {cpu}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiplexed_count_is_an_estimate_and_says_so() {
        let half = Reading { value: 50, enabled_ns: 200, running_ns: 100 };
        let total = |readings: &[Reading]| {
            let mut total = Total::default();
            readings.iter().for_each(|&r| total.add(r));
            total.count()
        };
        assert_eq!(total(&[half]), Count::Scaled { value: 100, running_ns: 100, enabled_ns: 200 });
        let whole = Reading { value: 7, enabled_ns: 9, running_ns: 9 };
        assert_eq!(total(&[whole]), Count::Exact(7));
        assert_eq!(total(&[whole, half]), Count::Scaled { value: 107, running_ns: 109, enabled_ns: 209 });
        let never = Reading { value: 0, enabled_ns: 9, running_ns: 0 };
        assert!(matches!(total(&[never]), Count::NotCounted(why) if why.contains("PMU")));
    }

    #[test]
    fn refusals_say_what_to_do() {
        let roots = Roots { proc: "/nonexistent".into(), sys: "/nonexistent".into() };
        let of = |errno| refusal(&roots, 3, &io::Error::from_raw_os_error(errno));
        assert!(of(13).contains("sysctl kernel.perf_event_paranoid=0"));
        assert_eq!(of(2), NO_PMU);
        assert!(of(24).contains("ulimit -n"));
        assert!(of(22).contains("cannot count these events together on CPU 3"));
        assert!(of(19).contains("CPU 3"));
    }
}
