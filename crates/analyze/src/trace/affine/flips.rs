//! How often a thread switches between wakees, computed from a trace as the kernel does (`record_wakee()` and
//! `wake_wide()` in kernel/sched/fair.c).

use schedlab_trace::engine::TaskId;

/// Number of halvings after which a thread's flips from before the trace no longer matter: a sixteenth of them is left.
const SETTLED: u32 = 4;

/// The flips of a waker are halved if the last halving was more than this long ago: `HZ` jiffies.
const HALVED_AFTER_NS: u64 = 1_000_000_000;

/// `wakee_flips`, `last_wakee` and `wakee_flip_decay_ts` of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flips {
    pub(super) count: u32,
    last: Option<TaskId>,
    halved_ns: Option<u64>,
    halvings: u32,
    forked: bool,
}

impl Flips {
    /// Records that the thread wakes `wakee` at `ns`; returns whether this is another wakee than the last time.
    pub(super) fn record(&mut self, wakee: TaskId, ns: u64) -> bool {
        match self.halved_ns {
            Some(last) if ns.saturating_sub(last) <= HALVED_AFTER_NS => {}
            Some(_) => {
                self.count >>= 1;
                self.halvings += 1;
                self.halved_ns = Some(ns);
            }
            None => self.halved_ns = Some(ns),
        }
        let other = self.last != Some(wakee);
        if other {
            // The last wakee from before the trace is not known, so the first flip may not be one.
            self.count = self.count.saturating_add(1);
            self.last = Some(wakee);
        }
        other
    }

    /// A child begins with a copy of its parent's flips: fork does not reset them.
    pub(super) fn inherit(parent: Self) -> Self {
        Self { forked: true, ..parent }
    }

    /// Whether its flips from before the trace are known or no longer matter.
    pub(super) fn is_settled(&self) -> bool {
        self.forked || self.halvings >= SETTLED
    }
}

/// The result of `wake_wide()` since Linux 4.3: of waker and wakee, the one with fewer flips has at least `llc_size`,
/// and the other at least `llc_size` times as many.
pub(super) fn is_wide(waker: Flips, wakee: Flips, llc_size: u32) -> bool {
    let (master, slave) = (waker.count.max(wakee.count), waker.count.min(wakee.count));
    // In 32 bits, as the kernel multiplies.
    slave >= llc_size && master >= slave.wrapping_mul(llc_size)
}

/// Whether a kernel of this release uses that rule: since 4.3. If the trace has no release, it is assumed to.
pub(super) fn is_known_rule(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    numbers.next().is_none_or(|major| (major, numbers.next().unwrap_or(0)) >= (4, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(count: u32) -> Flips {
        Flips { count, ..Flips::default() }
    }

    #[test]
    fn flips_count_turns_and_fade_by_the_second_while_it_wakes() {
        let mut flips = Flips::default();
        let turns: Vec<bool> = [1, 1, 2, 1].iter().map(|n| flips.record(TaskId(*n), 5)).collect();
        assert_eq!((turns, flips.count), (vec![true, false, true, true], 3));
        flips.record(TaskId(1), 1_000_000_005);
        assert_eq!(flips.count, 3, "a second, not more");
        flips.record(TaskId(1), 9_000_000_000);
        assert_eq!(flips.count, 1, "once, however long it slept");
        flips.record(TaskId(2), 10_000_000_001);
        assert_eq!(flips.count, 1, "halved to 0, and one more");
    }

    #[test]
    fn what_was_before_the_trace_fades_unless_the_thread_is_new() {
        let mut flips = Flips::default();
        (0..4).for_each(|s| _ = flips.record(TaskId(1), s * 2_000_000_000));
        assert!(!flips.is_settled(), "halved three times");
        flips.record(TaskId(1), 8_000_000_000);
        assert!(flips.is_settled() && Flips::inherit(with(7)).is_settled());
        assert_eq!(Flips::inherit(with(7)).count, 7);
    }

    #[test]
    fn wide_is_who_turns_to_many_beside_who_turns_to_some() {
        let cases =
            [(8, 2, 2, true), (2, 8, 2, true), (8, 1, 2, false), (3, 2, 2, false), (4, 2, 2, true), (0, 0, 0, true)];
        for (waker, wakee, llc_size, wide) in cases {
            assert_eq!(is_wide(with(waker), with(wakee), llc_size), wide, "{waker} and {wakee} beside {llc_size}");
        }
    }

    #[test]
    fn the_rule_is_that_of_4_3_and_newer() {
        assert!(["4.3.0", "6.1.0-18-amd64", "6.18", "", "vendor"].iter().all(|release| is_known_rule(release)));
        assert!(["4.2.8", "3.10.0-1160.el7"].iter().all(|release| !is_known_rule(release)));
    }
}
