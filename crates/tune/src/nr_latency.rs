//! CFS's `sched_nr_latency`, which no file shows: up to this many runnable tasks share one latency; with more, each
//! gets the minimal granularity and the period grows. A write of either knob in debugfs leaves it unchanged until
//! `tunable_scaling` is written, which [`crate::knob`] does. Source: `sched_update_scaling`, kernel/sched/fair.c of
//! 5.10 and 6.1.

use std::path::Path;

/// Its present value; `None` for the file of another knob, and since EEVDF (6.6), which has no latency.
pub(crate) fn beside(knob: &Path) -> Option<u64> {
    let name = knob.file_name()?.to_str()?;
    let family = name.strip_suffix("min_granularity_ns").or_else(|| name.strip_suffix("latency_ns"))?;
    if !matches!(family, "" | "sched_") {
        return None;
    }
    let value = |name: &str| -> Option<u64> {
        crate::file::read(knob.with_file_name(format!("{family}{name}"))).ok()?.trim().parse().ok()
    };
    let (latency_ns, min_granularity_ns) = (value("latency_ns")?, value("min_granularity_ns")?);
    (min_granularity_ns > 0).then(|| latency_ns.div_ceil(min_granularity_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_quotient_rounded_up_and_of_cfs_alone() {
        let tree = tempfile::tempdir().unwrap();
        let put = |name: &str, value: &str| std::fs::write(tree.path().join(name), value).unwrap();
        let of = |name: &str| beside(&tree.path().join(name));
        put("latency_ns", "18000000\n");
        assert_eq!(of("latency_ns"), None, "half of it is missing");
        put("min_granularity_ns", "2250000\n");
        put("idle_min_granularity_ns", "750000\n");
        assert_eq!((of("latency_ns"), of("min_granularity_ns")), (Some(8), Some(8)));
        assert_eq!(
            (of("idle_min_granularity_ns"), of("wakeup_granularity_ns"), of("base_slice_ns")),
            (None, None, None)
        );
        put("min_granularity_ns", "10000000\n");
        assert_eq!(of("min_granularity_ns"), Some(2));
        put("sched_latency_ns", "6000000\n");
        put("sched_min_granularity_ns", "0\n");
        assert_eq!(of("sched_latency_ns"), None);
    }
}
