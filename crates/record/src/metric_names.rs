//! Names of the metrics that counters add to a trial, known before a trial has run.

use crate::{bandwidth, net_sampler, task_totals, topdown};

/// Whether counters may add a metric of this name, on some machine and at some level.
pub fn may_add(name: &str) -> bool {
    let after = |head: &str| name.strip_prefix(head).unwrap_or_default();
    task_totals::names().any(|known| known == name)
        || net_sampler::RATES.iter().any(|(_, known)| *known == name)
        || bandwidth::NAMES.iter().any(|bytes| after(bytes).starts_with("_per_s"))
        || after(topdown::PREFIX).starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counters_add_is_known_by_name() {
        for name in [
            "instructions_per_op",
            "machine_migrations_per_op",
            "machine_softirq_cpus",
            "tcp_segments_out_per_s",
            "dram_read_bytes_per_s",
            "topdown.frontend_bound",
        ] {
            assert!(may_add(name), "{name}");
        }
        assert!(!may_add("nosuch") && !may_add("topdown") && !may_add("migrations_per_op"));
    }
}
