//! perf events of a trial, counted per CPU over the whole machine and never per task.
//!
//! Why: an event that is inherited by tasks makes the kernel swap contexts at each switch. Measured on same-CPU round
//! trips of 5 µs (`examples/switch_cost.rs`, two runs on a busy 2-vCPU VM, noise 1.5 %): migrations inherited +6 and
//! +14 %, four software events inherited +11 and +19 %, context switches per CPU about +5 %; migrations and page faults
//! per CPU nothing that shows, since they cost only when they happen. So switches come from rusage and /proc/stat, and
//! the scope of what is counted here is `host`: on a machine with other work, that work is in it.

use crate::Roots;
use schedlab_run::units::CpuList;
use schedlab_run::{Count, Counter};
use schedlab_sys::perf_event::{Event, Group, Reading, Target};
use std::io;

/// The events of each CPU's two groups, and what we call them.
const SOFTWARE: [(Event, &str); 2] = [(Event::CpuMigrations, "migrations"), (Event::PageFaults, "page_faults")];
const HARDWARE: [(Event, &str); 4] = [
    (Event::Cycles, "cycles"),
    (Event::Instructions, "instructions"),
    (Event::CacheMisses, "cache_misses"),
    (Event::BranchMisses, "branch_misses"),
];

/// One kind of group on every CPU, or why it is not counted.
#[derive(Debug)]
struct PerCpu {
    names: Vec<&'static str>,
    groups: Result<Vec<Group>, String>,
    /// One CPU's readings, kept to avoid allocation while the workload runs.
    scratch: Vec<Reading>,
}

/// The open events of a trial.
#[derive(Debug)]
pub struct PerfCounters {
    kinds: Vec<PerCpu>,
}

impl PerfCounters {
    /// Opens the groups on every online CPU, disabled. What is refused becomes `NotCounted` with the reason.
    pub fn open(roots: &Roots) -> Self {
        let cpus = online_cpus(roots);
        let kind = |events: &[(Event, &'static str)]| {
            let kinds: Vec<Event> = events.iter().map(|e| e.0).collect();
            let open = |&cpu: &u32| Group::open(&kinds, Target::Cpu(cpu)).map_err(|error| refusal(roots, cpu, &error));
            let groups = match cpus.as_slice() {
                [] => Err("the online CPUs cannot be read from /sys/devices/system/cpu/online".to_owned()),
                cpus => cpus.iter().map(open).collect(),
            };
            PerCpu { names: events.iter().map(|e| e.1).collect(), groups, scratch: Vec::with_capacity(events.len()) }
        };
        Self { kinds: vec![kind(&SOFTWARE), kind(&HARDWARE)] }
    }

    /// Starts counting.
    pub fn enable(&mut self) {
        self.switch("started", Group::enable);
    }

    /// Stops counting; the totals stay.
    pub fn disable(&mut self) {
        self.switch("stopped", Group::disable);
    }

    fn switch(&mut self, what: &str, act: impl Fn(&Group) -> io::Result<()>) {
        for kind in &mut self.kinds {
            if let Ok(groups) = &kind.groups
                && let Err(error) = groups.iter().try_for_each(&act)
            {
                kind.groups = Err(format!("perf events could not be {what}: {error}"));
            }
        }
    }

    /// Names of the events that count, in the order of [`PerfCounters::sample`].
    pub fn counted(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().filter(|kind| kind.groups.is_ok()).flat_map(|kind| kind.names.iter().copied())
    }

    /// Appends the total over all CPUs of every event that counts, scaled where the PMU was shared.
    pub fn sample(&mut self, out: &mut Vec<u64>) {
        for kind in &mut self.kinds {
            let first = out.len();
            if kind.groups.is_err() {
                continue;
            }
            out.resize(first + kind.names.len(), 0);
            // A read that failed leaves the row short, and the caller drops it.
            if for_each_reading(kind, |event, reading| out[first + event] += scaled(reading)).is_err() {
                out.truncate(first);
            }
        }
    }

    /// The totals as rows.
    pub fn counters(&mut self) -> Vec<Counter> {
        let mut rows = Vec::new();
        for kind in &mut self.kinds {
            let mut totals = vec![(0u64, Reading::default()); kind.names.len()];
            let ok = for_each_reading(kind, |event, reading| {
                let (estimate, sum) = &mut totals[event];
                *estimate += scaled(reading);
                sum.running_ns += reading.running_ns;
                sum.enabled_ns += reading.enabled_ns;
            });
            for (name, (value, sum)) in kind.names.iter().zip(totals) {
                rows.push(Counter {
                    name: (*name).to_owned(),
                    scope: "host".to_owned(),
                    source: "perf".to_owned(),
                    count: match &ok {
                        Ok(()) => count(value, sum),
                        Err(reason) => Count::NotCounted(reason.clone()),
                    },
                });
            }
        }
        rows
    }
}

/// Exact when it counted all the time, an estimate when a part of it, and nothing when it never got the PMU.
fn count(value: u64, sum: Reading) -> Count {
    match (sum.running_ns, sum.enabled_ns) {
        (running, enabled) if running >= enabled => Count::Exact(value),
        (0, _) => {
            Count::NotCounted("another user of the PMU held it the whole time; stop it (perf, NMI watchdog)".into())
        }
        (running_ns, enabled_ns) => Count::Scaled { value, running_ns, enabled_ns },
    }
}

fn for_each_reading(kind: &mut PerCpu, mut each: impl FnMut(usize, Reading)) -> Result<(), String> {
    for group in kind.groups.as_ref().map_err(Clone::clone)? {
        kind.scratch.clear();
        group.read(&mut kind.scratch).map_err(|error| format!("perf events could not be read: {error}"))?;
        for (event, &reading) in kind.scratch.iter().enumerate() {
            each(event, reading);
        }
    }
    Ok(())
}

/// The value extrapolated to the whole period.
fn scaled(reading: Reading) -> u64 {
    match (reading.running_ns, reading.enabled_ns) {
        (running, enabled) if running >= enabled => reading.value,
        (0, _) => 0,
        (running, enabled) => (u128::from(reading.value) * u128::from(enabled) / u128::from(running)) as u64,
    }
}

fn online_cpus(roots: &Roots) -> CpuList {
    let text = std::fs::read_to_string(roots.sys.join("devices/system/cpu/online")).unwrap_or_default();
    text.parse().unwrap_or_default()
}

/// Why the kernel refused, and the mend.
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
        (io::ErrorKind::NotFound, _) | (_, Some(EOPNOTSUPP)) => {
            "this machine exposes no hardware PMU (a VM without vPMU?)".to_owned()
        }
        (io::ErrorKind::Unsupported, _) => "this kernel has no perf events (CONFIG_PERF_EVENTS)".to_owned(),
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
        assert_eq!(scaled(half), 100);
        assert_eq!(count(100, half), Count::Scaled { value: 100, running_ns: 100, enabled_ns: 200 });
        assert_eq!(count(7, Reading { value: 7, enabled_ns: 9, running_ns: 9 }), Count::Exact(7));
        let never = Reading { value: 0, enabled_ns: 9, running_ns: 0 };
        assert!(matches!(count(scaled(never), never), Count::NotCounted(why) if why.contains("PMU")));
    }

    #[test]
    fn refusals_say_what_to_do() {
        let roots = Roots { proc: "/nonexistent".into(), sys: "/nonexistent".into() };
        let of = |errno| refusal(&roots, 3, &io::Error::from_raw_os_error(errno));
        assert!(of(13).contains("sysctl kernel.perf_event_paranoid=0"));
        assert_eq!(of(2), "this machine exposes no hardware PMU (a VM without vPMU?)");
        assert!(of(24).contains("ulimit -n"));
        assert!(of(19).contains("CPU 3"));
    }

    #[test]
    fn every_event_is_a_row_whatever_the_machine_permits() {
        let mut perf = PerfCounters::open(&Roots::default());
        perf.enable();
        let touched: Vec<u8> = vec![1; 1 << 22];
        perf.disable();
        assert_eq!(touched.len(), 1 << 22);
        let rows = perf.counters();
        assert_eq!(rows.len(), SOFTWARE.len() + HARDWARE.len());
        for row in &rows {
            match (&row.count, row.name.as_str()) {
                (Count::NotCounted(why), _) => assert!(!why.is_empty()),
                (count, "page_faults") => assert!(count.value() >= Some(1), "{count:?}"),
                (count, _) => assert!(count.value().is_some()),
            }
        }
        let mut sample = Vec::new();
        perf.sample(&mut sample);
        assert_eq!(sample.len(), perf.counted().count());
    }
}
