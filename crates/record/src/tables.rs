//! One reading of all tables in /proc, and the difference of two readings as counters. A table that is missing or does
//! not parse becomes one `NotCounted` row with the reason, never an error of the trial.

use crate::proc_stat::{self, CpuTicks, KINDS, ProcStat};
use crate::{Roots, cpu_nodes, interrupts, net_mib, net_sampler, pressure};
use schedlab_plan::units::CpuList;
use schedlab_plan::{Count, Counter};
use std::collections::HashMap;
use std::path::Path;

/// Named counts of one file, or why there are none.
type Named = Result<Vec<(String, u64)>, String>;

/// A table of named counts.
struct Table {
    /// The counter names start with this.
    prefix: &'static str,
    scope: &'static str,
    /// As printed; also the path below the procfs root, without `/proc/`.
    source: &'static str,
    parse: fn(&'static str, &str) -> Named,
}

fn parse_interrupts(file: &'static str, text: &str) -> Named {
    interrupts::parse(file, text).map_err(|e| e.to_string())
}

fn parse_net(file: &'static str, text: &str) -> Named {
    net_mib::parse(file, text).map_err(|e| e.to_string())
}

fn parse_pressure(file: &'static str, text: &str) -> Named {
    let pressure = pressure::parse(file, text).map_err(|e| e.to_string())?;
    let full = pressure.full_ns.map(|ns| ("full_ns".to_owned(), ns));
    Ok([("some_ns".to_owned(), pressure.some_ns)].into_iter().chain(full).collect())
}

/// `/proc/thread-self/net` is the network namespace of the control process's only thread, which is the senders'
/// namespace.
const TABLES: [Table; 7] = [
    Table { prefix: "interrupt.", scope: "host", source: "/proc/interrupts", parse: parse_interrupts },
    Table { prefix: "softirq.", scope: "host", source: "/proc/softirqs", parse: parse_interrupts },
    Table { prefix: "psi.cpu.", scope: "host", source: "/proc/pressure/cpu", parse: parse_pressure },
    Table { prefix: "psi.memory.", scope: "host", source: "/proc/pressure/memory", parse: parse_pressure },
    Table { prefix: "psi.io.", scope: "host", source: "/proc/pressure/io", parse: parse_pressure },
    Table { prefix: "", scope: "netns", source: net_sampler::NETSTAT, parse: parse_net },
    Table { prefix: "", scope: "netns", source: net_sampler::SNMP, parse: parse_net },
];

/// One reading.
pub(crate) struct Tables {
    stat: Result<ProcStat, String>,
    named: Vec<Named>,
}

impl Tables {
    pub(crate) fn read(roots: &Roots) -> Self {
        let stat = text_of(&roots.proc, "/proc/stat").and_then(|t| proc_stat::parse(&t).map_err(|e| e.to_string()));
        let named = TABLES.iter().map(|t| text_of(&roots.proc, t.source).and_then(|text| (t.parse)(t.source, &text)));
        Self { stat, named: named.collect() }
    }

    /// The increases from `self` to `later`, and one row per table that could not be read.
    pub(crate) fn until(&self, later: &Self, nodes: &[(u32, CpuList)], tick_ns: u64) -> Vec<Counter> {
        let mut rows = Vec::new();
        match (&self.stat, &later.stat) {
            (Ok(before), Ok(after)) => stat_rows(before, after, nodes, tick_ns, &mut rows),
            (Err(why), _) | (_, Err(why)) => rows.push(not_counted("cpu_time", "host", "/proc/stat", why)),
        }
        for ((table, before), after) in TABLES.iter().zip(&self.named).zip(&later.named) {
            match (before, after) {
                (Ok(before), Ok(after)) => named_rows(table, before, after, &mut rows),
                (Err(why), _) | (_, Err(why)) => {
                    let name = match table.prefix.trim_end_matches('.') {
                        "" => "TcpExt",
                        name => name,
                    };
                    rows.push(not_counted(name, table.scope, table.source, why));
                }
            }
        }
        rows
    }
}

fn text_of(proc: &Path, source: &str) -> Result<String, String> {
    let below = source.trim_start_matches("/proc/");
    std::fs::read_to_string(proc.join(below)).map_err(|error| match source {
        _ if source.starts_with("/proc/pressure") => format!("{source}: {error}; boot with psi=1"),
        _ => format!("{source}: {error}"),
    })
}

fn not_counted(name: &str, scope: &str, source: &str, why: &str) -> Counter {
    let count = Count::NotCounted(why.to_owned());
    Counter { name: name.to_owned(), scope: scope.to_owned(), source: source.to_owned(), count }
}

fn push(rows: &mut Vec<Counter>, name: String, scope: &str, source: &str, before: u64, after: u64) {
    // A counter that went backwards was reset, or is not a counter; a row for it would be wrong.
    if after > before {
        let count = Count::Exact(after - before);
        rows.push(Counter { name, scope: scope.to_owned(), source: source.to_owned(), count });
    }
}

fn named_rows(table: &Table, before: &[(String, u64)], after: &[(String, u64)], rows: &mut Vec<Counter>) {
    let at_start: HashMap<&str, u64> = before.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    for (name, count) in after {
        let start = at_start.get(name.as_str()).copied().unwrap_or(0);
        push(rows, format!("{}{name}", table.prefix), table.scope, table.source, start, *count);
    }
}

fn stat_rows(before: &ProcStat, after: &ProcStat, nodes: &[(u32, CpuList)], tick_ns: u64, rows: &mut Vec<Counter>) {
    const SOURCE: &str = "/proc/stat";
    let counts = [
        ("context_switches", before.ctxt, after.ctxt),
        ("interrupts", before.intr, after.intr),
        ("softirqs", before.softirq, after.softirq),
        ("forks", before.processes, after.processes),
    ];
    for (name, from, to) in counts {
        push(rows, name.to_owned(), "host", SOURCE, from, to);
    }
    let mut times = |scope: &str, from: &CpuTicks, to: &CpuTicks| {
        for (kind, name) in KINDS.iter().enumerate() {
            push(rows, format!("{name}_ns"), scope, SOURCE, from[kind] * tick_ns, to[kind] * tick_ns);
        }
    };
    times("host", &before.all, &after.all);
    for (cpu, to) in &after.cpus {
        // A CPU that came online in between has no first reading; the change voids the run anyway.
        if let Some((_, from)) = before.cpus.iter().find(|(number, _)| number == cpu) {
            times(&format!("cpu{cpu}"), from, to);
        }
    }
    for (node, cpus) in nodes {
        times(&format!("node{node}"), &sum_of(before, cpus), &sum_of(after, cpus));
    }
}

fn sum_of(stat: &ProcStat, cpus: &CpuList) -> CpuTicks {
    let mut sum = CpuTicks::default();
    for (_, ticks) in stat.cpus.iter().filter(|(cpu, _)| cpus.as_slice().contains(cpu)) {
        for (total, tick) in sum.iter_mut().zip(ticks) {
            *total += tick;
        }
    }
    sum
}

/// Names of all counters in this kernel's tables; a table that cannot be read contributes none.
pub(crate) fn names(roots: &Roots) -> Vec<String> {
    let of_table = |table: &Table| {
        let counts = text_of(&roots.proc, table.source).and_then(|text| (table.parse)(table.source, &text));
        let name = |(name, _): (String, u64)| format!("{}{name}", table.prefix);
        counts.unwrap_or_default().into_iter().map(name).collect::<Vec<_>>()
    };
    TABLES.iter().flat_map(of_table).chain(KINDS.iter().map(|kind| format!("{kind}_ns"))).collect()
}

/// The NUMA nodes, for [`Tables::until`].
pub(crate) fn nodes(roots: &Roots) -> Vec<(u32, CpuList)> {
    cpu_nodes::read(&roots.sys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(stat: &str, softirqs: &str) -> Tables {
        let mut named: Vec<Named> = TABLES.iter().map(|_| Ok(Vec::new())).collect();
        named[1] = parse_interrupts("/proc/softirqs", softirqs);
        named[2] = Err("/proc/pressure/cpu: not there; boot with psi=1".into());
        Tables { stat: Ok(proc_stat::parse(stat).unwrap()), named }
    }

    #[test]
    fn only_what_increased_is_kept_by_host_cpu_and_node() {
        let a = reading(
            "cpu 10 0 5 100 0 0 0 1\ncpu0 6 0 5 50 0 0 0 1\ncpu1 4 0 0 50 0 0 0 0\nctxt 7\n",
            " CPU0 CPU1\nTIMER: 1 2\nHI: 4 4\n",
        );
        let b = reading(
            "cpu 14 0 5 101 0 0 0 1\ncpu0 8 0 5 50 0 0 0 1\ncpu1 6 0 0 51 0 0 0 0\nctxt 9\n",
            " CPU0 CPU1\nTIMER: 3 5\nHI: 4 4\n",
        );
        let nodes = [(0, CpuList::new(vec![0])), (1, CpuList::new(vec![1]))];
        let rows = a.until(&b, &nodes, 10_000_000);
        let value = |name: &str, scope: &str| {
            rows.iter().find(|r| r.name == name && r.scope == scope).and_then(|r| r.count.value())
        };
        assert_eq!(value("user_ns", "host"), Some(40_000_000));
        assert_eq!(value("user_ns", "cpu1"), Some(20_000_000));
        assert_eq!(value("idle_ns", "node1"), Some(10_000_000));
        assert_eq!(value("context_switches", "host"), Some(2));
        assert_eq!(value("softirq.TIMER", "host"), Some(5));
        assert!(rows.iter().all(|r| r.name != "softirq.HI" && r.name != "steal_ns"));
        let psi = rows.iter().find(|r| r.name == "psi.cpu").unwrap();
        assert_eq!(psi.count, Count::NotCounted("/proc/pressure/cpu: not there; boot with psi=1".into()));
    }

    #[test]
    fn the_real_tables_parse() {
        let tables = Tables::read(&Roots::default());
        let stat = tables.stat.as_ref().unwrap();
        assert!(stat.ctxt > 0 && !stat.cpus.is_empty());
        for (table, named) in TABLES.iter().zip(&tables.named) {
            match named {
                Ok(_) => {}
                // Not every kernel has PSI or IPv4 counters, but those that exist must parse.
                Err(why) => assert!(!why.contains("new to schedlab"), "{}: {why}", table.source),
            }
        }
    }
}
