//! What a task of a workload does in a guest of the virtual lane before it is ready: it uses as much CPU time as the
//! seed drew for it. How much two tasks of one CPU have had decides whom a fair scheduler prefers, for hundreds of
//! milliseconds; where it comes from the seed, the arms of a comparison start alike.

use schedlab_sys::clock::{monotonic_ns, thread_cpu_ns};

/// A burn ends after this many times as long by the clock.
const MOST_OF_THE_CLOCK: u64 = 20;

/// Burns CPU time, up to a limit on the clock, so that a task of lowest weight next to a busy loop still gets ready in
/// time.
pub(super) fn burn(ns: u64) {
    let (begun_ns, end_ns) = (monotonic_ns(), thread_cpu_ns() + ns);
    while thread_cpu_ns() < end_ns && monotonic_ns() - begun_ns < MOST_OF_THE_CLOCK * ns {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burning_ends_with_the_cpu_time_used_or_with_patience() {
        for ns in [0, 1, 300_000] {
            let (begun_ns, used_ns) = (monotonic_ns(), thread_cpu_ns());
            burn(ns);
            let (waited_ns, used_ns) = (monotonic_ns() - begun_ns, thread_cpu_ns() - used_ns);
            assert!(used_ns >= ns || waited_ns >= MOST_OF_THE_CLOCK * ns, "{used_ns} of {ns} in {waited_ns}");
        }
    }
}
