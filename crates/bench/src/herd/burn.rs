//! In a guest of the virtual lane, each task of a workload uses CPU time before it is ready; the seed determines how
//! much. The difference between two tasks of one CPU decides which of them a fair scheduler prefers, for hundreds of
//! milliseconds; because it comes from the seed, the arms of a comparison start alike.

use schedlab_sys::clock::{monotonic_ns, thread_cpu_ns};

/// A burn ends after this multiple of its length by the wall clock.
const MAX_OF_THE_CLOCK: u64 = 20;

/// Burns CPU time, up to a limit by the wall clock, so that even a task of the lowest weight next to a busy loop gets
/// ready in time.
pub(super) fn burn(ns: u64) {
    let (begun_ns, end_ns) = (monotonic_ns(), thread_cpu_ns() + ns);
    while thread_cpu_ns() < end_ns && monotonic_ns() - begun_ns < MAX_OF_THE_CLOCK * ns {
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
            assert!(used_ns >= ns || waited_ns >= MAX_OF_THE_CLOCK * ns, "{used_ns} of {ns} in {waited_ns}");
        }
    }
}
