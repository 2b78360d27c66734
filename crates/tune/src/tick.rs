//! Slices below a tick. A slice ends at a tick (Documentation/scheduler/sched-design-CFS.rst), so a shorter one is as
//! long as the tick, unless HRTICK sets a timer for it.

use crate::roots::Roots;
use schedlab_sys::kernel_facts;
use std::path::Path;

/// The note for a slice that reads back below this kernel's tick; `None` for other knobs and values, and in a copied
/// tree, which does not show the tick.
pub(crate) fn note(roots: &Roots, knob: &Path, value: &str) -> Option<String> {
    let tick_ns = kernel_facts::tick_ns().ok().filter(|_| roots.is_this_machine())?;
    below(tick_ns, knob, value)
}

fn below(tick_ns: u64, knob: &Path, value: &str) -> Option<String> {
    let name = knob.file_name()?.to_str()?;
    let is_slice = ["base_slice_ns", "min_granularity_ns"].iter().any(|slice| name.ends_with(slice));
    let ns: u64 = value.parse().ok().filter(|_| is_slice)?;
    let tick_ms = tick_ns as f64 / 1e6;
    (ns < tick_ns).then(|| format!(", below a tick of {tick_ms} ms: without HRTICK it acts only through wakeups"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_of_slices_below_the_tick_alone() {
        let note = |name: &str, value: &str| below(4_000_000, Path::new(name), value);
        assert!(note("/sched/base_slice_ns", "3999999").unwrap().starts_with(", below a tick of 4 ms"));
        assert!(note("/proc/sys/kernel/sched_min_granularity_ns", "1000000").is_some());
        assert_eq!(note("/sched/base_slice_ns", "4000000"), None);
        assert_eq!(note("/sched/wakeup_granularity_ns", "1"), None);
        assert_eq!(note("/sched/base_slice_ns", "word"), None);
    }

    #[test]
    fn a_tree_has_no_tick() {
        assert_eq!(super::note(&Roots::below(Path::new("/tree")), Path::new("/x/base_slice_ns"), "1"), None);
    }
}
