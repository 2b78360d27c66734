//! Sums over the tasks of a workload, and machine-wide counts per operation. The tasks' numbers are the kernel's, and
//! each task reads its own at its end: switches from rusage, run time and run delay from schedstat, migrations from
//! /proc/self/sched.

use schedlab_plan::{Count, Counter, Direction, Metric, TaskRecord, counted};

/// One field of the task records.
struct Field {
    name: &'static str,
    source: &'static str,
    of: fn(&TaskRecord) -> Option<u64>,
    missing: &'static str,
}

const FIELDS: [Field; 7] = [
    Field { name: "voluntary_switches", source: "rusage", of: |t| t.voluntary_switches, missing: "no rusage" },
    Field { name: "involuntary_switches", source: "rusage", of: |t| t.involuntary_switches, missing: "no rusage" },
    Field { name: "cpu_ns", source: "rusage", of: |t| t.cpu_ns, missing: "no rusage" },
    Field { name: "run_ns", source: "schedstat", of: |t| t.run_ns, missing: NO_SCHEDSTAT },
    Field { name: "run_delay_ns", source: "schedstat", of: |t| t.run_delay_ns, missing: NO_SCHEDSTAT },
    Field { name: "timeslices", source: "schedstat", of: |t| t.timeslices, missing: NO_SCHEDSTAT },
    Field { name: "migrations", source: "/proc/self/sched", of: |t| t.migrations, missing: NO_SCHED },
];
const NO_SCHEDSTAT: &str =
    "/proc/<tid>/schedstat was not read (no CONFIG_SCHED_INFO, a thread of one operation, or a part of a process tree)";
const NO_SCHED: &str = "/proc/<tid>/sched was not read (no CONFIG_SCHED_DEBUG, or a thread of one operation)";

/// The totals as counters of scope `workload`. Without one of the tasks a sum would be wrong, so it is then not
/// counted.
pub fn totals(tasks: &[TaskRecord]) -> Vec<Counter> {
    let row = |field: &Field| {
        let known: Vec<u64> = tasks.iter().filter_map(field.of).collect();
        let count = if known.len() == tasks.len() && !tasks.is_empty() {
            Count::Exact(known.iter().sum())
        } else {
            Count::NotCounted(format!(
                "{} of {}: {}",
                tasks.len() - known.len(),
                counted(tasks.len(), "tasks"),
                field.missing
            ))
        };
        Counter { name: field.name.into(), scope: "workload".into(), source: field.source.into(), count }
    };
    FIELDS.iter().map(row).collect()
}

/// Counters of the machine that are reported per operation.
const PER_OPERATION: [&str; 6] =
    ["migrations", "page_faults", "cycles", "instructions", "cache_misses", "branch_misses"];
const BUSY_CPUS: &str = "machine_busy_cpus";
const SOFTIRQ_CPUS: &str = "machine_softirq_cpus";

fn name_per_operation(counter: &str) -> String {
    format!("{}{counter}_per_op", if counter == "migrations" { "machine_" } else { "" })
}

/// Names of all metrics that this module makes.
pub(crate) fn names() -> impl Iterator<Item = String> {
    PER_OPERATION.into_iter().map(name_per_operation).chain([BUSY_CPUS, SOFTIRQ_CPUS].map(str::to_owned))
}

/// Machine-wide counts per operation, all neutral. The tasks' own counts per operation come from the workload (crate
/// `bench`). If no task could count its migrations, the machine's are given, under a name of their own.
pub fn per_operation(counters: &[Counter], operations: u64) -> Vec<Metric> {
    if operations == 0 {
        return Vec::new();
    }
    let of = |name: &str, scope: &str| {
        counters.iter().find(|c| c.name == name && c.scope == scope).and_then(|c| c.count.value())
    };
    let own_migrations = of("migrations", "workload").is_some();
    let metric = |name: &str| {
        Some(Metric {
            name: name_per_operation(name),
            value: of(name, "host")? as f64 / operations as f64,
            unit: "1/op".to_owned(),
            direction: Direction::Neutral,
        })
    };
    PER_OPERATION.into_iter().filter(|&name| name != "migrations" || !own_migrations).filter_map(metric).collect()
}

/// How many CPUs the whole machine kept busy, and how many of them with softirqs. Protocol work is done in softirqs,
/// and charged to whichever task was interrupted, or to none on an idle CPU, so the sum over tasks may miss it.
pub fn machine_cpus(counters: &[Counter], elapsed_ns: u64) -> Vec<Metric> {
    let host = |name: &str| {
        counters.iter().find(|c| c.name == name && c.scope == "host").and_then(|c| c.count.value()).unwrap_or(0)
    };
    // A kind of time that did not increase has no row; if there is no row at all, the table could not be read.
    if elapsed_ns == 0 || !counters.iter().any(|c| c.source == "/proc/stat" && c.count.value().is_some()) {
        return Vec::new();
    }
    let cpus = |name: &str, kinds: &[&str]| Metric {
        name: name.to_owned(),
        value: kinds.iter().map(|kind| host(kind)).sum::<u64>() as f64 / elapsed_ns as f64,
        unit: "CPUs".to_owned(),
        direction: Direction::Neutral,
    };
    vec![
        cpus(BUSY_CPUS, &["user_ns", "nice_ns", "system_ns", "irq_ns", "softirq_ns"]),
        cpus(SOFTIRQ_CPUS, &["softirq_ns"]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(switches: u64, run_ns: Option<u64>) -> TaskRecord {
        TaskRecord { voluntary_switches: Some(switches), run_ns, ..TaskRecord::default() }
    }

    #[test]
    fn a_sum_with_a_task_missing_is_not_counted() {
        let rows = totals(&[task(3, Some(10)), task(4, None)]);
        let count = |name: &str| rows.iter().find(|r| r.name == name).unwrap().count.clone();
        assert_eq!(count("voluntary_switches"), Count::Exact(7));
        assert!(matches!(count("run_ns"), Count::NotCounted(why) if why.starts_with("1 of 2 tasks")));
        assert!(matches!(totals(&[])[0].count, Count::NotCounted(_)));
    }

    #[test]
    fn migrations_of_the_machine_stand_in_only_where_the_tasks_cannot_tell() {
        let row = |scope: &str, count| Counter {
            name: "migrations".into(),
            scope: scope.into(),
            source: String::new(),
            count,
        };
        let unknown = row("workload", Count::NotCounted("no /proc/self/sched".into()));
        let metrics = per_operation(&[unknown, row("host", Count::Exact(50))], 10);
        assert_eq!((metrics[0].name.as_str(), metrics[0].value), ("machine_migrations_per_op", 5.0));
        let known = [row("workload", Count::Exact(5)), row("host", Count::Exact(50))];
        assert!(per_operation(&known, 10).is_empty(), "the workload gives its own");
        assert!(per_operation(&[row("host", Count::Exact(50))], 0).is_empty());
    }

    #[test]
    fn a_busy_machine_is_counted_in_cpus_and_an_unread_one_not_at_all() {
        let row = |name: &str, ns| Counter {
            name: name.into(),
            scope: "host".into(),
            source: "/proc/stat".into(),
            count: Count::Exact(ns),
        };
        let counters = [row("user_ns", 500), row("softirq_ns", 250), row("idle_ns", 9_000)];
        let values: Vec<f64> = machine_cpus(&counters, 1_000).into_iter().map(|m| m.value).collect();
        assert_eq!(values, [0.75, 0.25]);
        assert!(machine_cpus(&[], 1_000).is_empty() && machine_cpus(&counters, 0).is_empty());
    }
}
