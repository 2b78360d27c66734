//! The metrics that a trial of a workload may have, known before a trial has run, so that a plan that names another can
//! be refused at once.

use crate::workload::Workload;
use schedlab_plan::Stamping;

/// The metrics that [`crate::metrics::per_operation`] computes for every workload.
const OF_ALL: &[&str] = &[
    "voluntary_switches_per_op",
    "involuntary_switches_per_op",
    "migrations_per_op",
    "run_delay_ns_per_op",
    "cpu_ns_per_op",
    "tier_share_*",
];

/// The quantiles of a distribution that the stamps of a trial fill.
const OF_STAMPS: &[&str] = &["latency_p50_ns", "latency_p90_ns", "latency_p99_ns", "latency_p999_ns"];

/// Whether a trial may have a metric of this name; metrics from counters are not considered.
pub fn may_report(workload: &dyn Workload, stamping: Stamping, name: &str) -> bool {
    let of_stamps = stamping != Stamping::Off && is_quantile(name);
    of_stamps || fits(OF_ALL, name) || fits(workload.info().metrics, name) || is_figure(workload, name)
}

/// The names that a trial may have, for people to read; primary ones first.
pub fn metric_names(workload: &dyn Workload, stamping: Stamping) -> Vec<String> {
    let mut names: Vec<String> = workload.primary();
    let of_stamps = if workload.counts_operations() { OF_STAMPS } else { &[] };
    let all = [workload.info().metrics, of_stamps, OF_ALL].concat();
    names.extend(all.into_iter().filter(|name| !name.contains('*')).map(str::to_owned));
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| may_report(workload, stamping, name) && seen.insert(name.clone()));
    names
}

/// The command's own figure, which the configuration names.
fn is_figure(workload: &dyn Workload, name: &str) -> bool {
    !fits(workload.info().primary, name) && workload.primary().iter().any(|own| own == name)
}

/// `latency_p99_ns`: only a trial knows which distributions it has.
fn is_quantile(name: &str) -> bool {
    let label = name.strip_suffix("_ns").and_then(|name| name.rsplit_once("_p"));
    label.is_some_and(|(_, digits)| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

pub(crate) fn fits(patterns: &[&str], name: &str) -> bool {
    let one = |pattern: &&str| match pattern.split_once('*') {
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| rest.ends_with(tail)),
        None => *pattern == name,
    };
    patterns.iter().any(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(spec: &str, stamping: Stamping, name: &str) -> bool {
        may_report(crate::parse(&spec.parse().unwrap()).unwrap().as_ref(), stamping, name)
    }

    #[test]
    fn names_are_told_apart_by_workload_and_stamps() {
        for name in ["round_trips_per_s", "cpu_ns_per_op", "tier_share_same_cpu", "latency_p99_ns"] {
            assert!(may("pipe", Stamping::Sampled, name), "{name}");
        }
        for name in ["round_trip_per_s", "msgs_per_s", "latency_p50_ms_ns", "latency_p_ns", "nosuch"] {
            assert!(!may("pipe", Stamping::Sampled, name), "{name}");
        }
        assert!(!may("timer", Stamping::Off, "latency_p50_ns") && may("timer", Stamping::Off, "wakeups_per_s"));
        assert!(may("transact", Stamping::Off, "other_p50_ns"), "it times each by itself");
        assert!(may("exec:command=true", Stamping::Off, "max_rss_bytes"));
        let tps = "exec:command=true,metric='(.*)',direction=higher,name=tps";
        assert!(may(tps, Stamping::Off, "tps") && !may("exec:command=true", Stamping::Off, "tps"));
    }

    #[test]
    fn every_workload_may_have_its_primary_metrics() {
        for info in crate::WORKLOADS {
            let spec = if info.name == "exec" { "exec:command=true".to_owned() } else { info.name.to_owned() };
            let workload = crate::parse(&spec.parse().unwrap()).unwrap();
            let names = metric_names(workload.as_ref(), Stamping::Sampled);
            assert!(workload.primary().iter().all(|name| names.contains(name)), "{spec}: {names:?}");
        }
    }
}
