//! CPU time that the hypervisor took from us, as a share of the CPU time that the machine wanted.

use schedlab_plan::Counter;

/// Stolen share of the CPU time during a trial: steal / (everything but idle and iowait), over the whole machine. Idle
/// CPUs are left out because nothing can be stolen from them: on a large machine they would hide that the one busy CPU
/// was taken away. `None` if /proc/stat was not read or nothing ran.
///
/// /proc/stat counts in ticks of 10 ms, rounded after the sum over CPUs. The true stolen time is within one tick of the
/// one used here, so in a trial of 0.6 s on one CPU the resolution is 1.7 %.
pub fn steal_share(counters: &[Counter]) -> Option<f64> {
    let host = |name: &str| {
        counters
            .iter()
            .find(|c| c.scope == "host" && c.source == "/proc/stat" && c.name == name)
            .and_then(|c| c.count.value())
    };
    let total: u64 = ["user_ns", "nice_ns", "system_ns", "irq_ns", "softirq_ns"].iter().filter_map(|n| host(n)).sum();
    let steal = host("steal_ns").unwrap_or(0);
    (total + steal > 0).then(|| steal as f64 / (total + steal) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::Count;

    fn row(name: &str, scope: &str, value: u64) -> Counter {
        let count = Count::Exact(value);
        Counter { name: name.into(), scope: scope.into(), source: "/proc/stat".into(), count }
    }

    #[test]
    fn idle_cpus_do_not_dilute_the_share() {
        let rows = [
            row("user_ns", "host", 90),
            row("idle_ns", "host", 100_000),
            row("steal_ns", "host", 10),
            row("steal_ns", "cpu0", 10),
        ];
        assert_eq!(steal_share(&rows), Some(0.1));
        assert_eq!(steal_share(&rows[..1]), Some(0.0), "no steal row means none was stolen");
        assert_eq!(steal_share(&rows[1..2]), None);
        assert_eq!(steal_share(&[]), None);
    }
}
