//! perf events of a trial, counted per CPU over the whole machine and never per task.
//!
//! The reason: an event that tasks inherit makes the kernel swap contexts at each switch. Measured on same-CPU round
//! trips of 5 µs (`examples/switch_cost.rs`, two runs on a busy 2-vCPU VM, noise 1.5 %): inherited migrations cost +6
//! and +14 %, four inherited software events +11 and +19 %, context switches per CPU about +5 %. Migrations and page
//! faults per CPU show no cost, since they only cost something when they happen. So switches come from rusage and
//! /proc/stat, and the scope of the events here is `host`: if the machine does other work, they include it.

use crate::Roots;
use crate::per_cpu::{PerCpu, Total, online_cpus, open_in_kernel, scaled};
use schedlab_plan::{Count, Counter};
use schedlab_sys::perf_event::Event;

/// The events of each CPU's two groups, and our names for them.
const SOFTWARE: [(Event, &str); 2] = [(Event::CpuMigrations, "migrations"), (Event::PageFaults, "page_faults")];
const HARDWARE: [(Event, &str); 4] = [
    (Event::Cycles, "cycles"),
    (Event::Instructions, "instructions"),
    (Event::CacheMisses, "cache_misses"),
    (Event::BranchMisses, "branch_misses"),
];

/// The open events of a trial.
#[derive(Debug)]
pub struct PerfCounters {
    kinds: Vec<PerCpu>,
}

impl PerfCounters {
    /// Opens the groups on every online CPU, disabled. A refused group becomes `NotCounted` with the reason.
    pub fn open(roots: &Roots) -> Self {
        let cpus = online_cpus(roots);
        let kind = |events: &[(Event, &'static str)]| PerCpu::open(events, cpus.as_slice(), roots, &open_in_kernel);
        Self { kinds: vec![kind(&SOFTWARE), kind(&HARDWARE)] }
    }

    /// The same without the hardware group, so that the top-down groups have the PMU to themselves.
    pub fn open_beside_topdown(roots: &Roots) -> Self {
        let cpus = online_cpus(roots);
        let names = HARDWARE.iter().map(|e| e.1).collect();
        let left = PerCpu::refused(names, "left to the groups of --counters topdown, which need the PMU".to_owned());
        Self { kinds: vec![PerCpu::open(&SOFTWARE, cpus.as_slice(), roots, &open_in_kernel), left] }
    }

    /// Starts counting.
    pub fn enable(&mut self) {
        self.kinds.iter_mut().for_each(PerCpu::enable);
    }

    /// Stops counting; the totals remain readable.
    pub fn disable(&mut self) {
        self.kinds.iter_mut().for_each(PerCpu::disable);
    }

    /// Names of the events that are counted, in the order of [`PerfCounters::sample`].
    pub fn counted(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().filter(|kind| kind.is_counted()).flat_map(|kind| kind.names.iter().copied())
    }

    /// Appends the total of each counted event over all CPUs, scaled if the PMU was shared.
    pub fn sample(&mut self, out: &mut Vec<u64>) {
        for kind in &mut self.kinds {
            let first = out.len();
            if !kind.is_counted() {
                continue;
            }
            out.resize(first + kind.names.len(), 0);
            // A failed read leaves the row short, and the caller drops it.
            if kind.for_each_reading(|event, reading| out[first + event] += scaled(reading)).is_err() {
                out.truncate(first);
            }
        }
    }

    /// The totals as rows.
    pub fn counters(&mut self) -> Vec<Counter> {
        let mut rows = Vec::new();
        for kind in &mut self.kinds {
            let totals = kind.totals();
            for (index, name) in kind.names.iter().enumerate() {
                rows.push(Counter {
                    name: (*name).to_owned(),
                    scope: "host".to_owned(),
                    source: "perf".to_owned(),
                    count: totals
                        .as_ref()
                        .map_or_else(|why| Count::NotCounted(why.clone()), |t| Total::count(t[index])),
                });
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn beside_topdown_the_pmu_is_left_alone_and_the_rows_say_so() {
        let rows = PerfCounters::open_beside_topdown(&Roots::default()).counters();
        let cycles = rows.iter().find(|r| r.name == "cycles").unwrap();
        assert!(matches!(&cycles.count, Count::NotCounted(why) if why.contains("--counters topdown")));
        assert_eq!(rows.len(), SOFTWARE.len() + HARDWARE.len());
    }
}
