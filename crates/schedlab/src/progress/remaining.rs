//! How far a run is, and how long it will still take.

use schedlab_plan::manifest::Design;
use std::time::Duration;

/// What is planned, and what of it is done. Blocks are counted over all workloads.
#[derive(Debug, Clone)]
pub(super) struct Remaining {
    pub(super) design: Design,
    pub(super) workloads: u32,
    /// Number of workloads that have begun.
    pub(super) begun: u32,
    /// Blocks that the interrupted run had finished.
    pub(super) before: u32,
    /// Blocks done since then.
    pub(super) done: u32,
}

impl Remaining {
    /// The progress in block `block` (from 0) of a workload, this long after the run and the workload began: `block 5
    /// of 14, about 0:12 left`, or `41 % of the budget, …`.
    pub(super) fn say(&self, block: u32, of_run: Duration, of_workload: Duration) -> String {
        let place = match self.design {
            Design::Fixed { blocks } => format!("block {} of {}", block + 1, blocks.max(block + 1)),
            Design::OpenEnded { max_blocks } => format!("block {} of {max_blocks} at most", block + 1),
            Design::Budgeted { budget_ns, .. } => {
                let share = of_workload.as_nanos() as f64 / budget_ns.max(1) as f64;
                format!("{:.0} % of the budget, block {}", 100.0 * share.min(1.0), block + 1)
            }
        };
        let left = self.left(of_run, of_workload).map(|left| format!(", about {} left", about(left)));
        place + &left.unwrap_or_default()
    }

    /// Whether a tenth of the planned blocks ended before block `block` began, from 0.
    pub(super) fn is_tenth(block: u32, planned: u32) -> bool {
        let tenth = |block: u32| 10 * u64::from(block) / u64::from(planned.max(1));
        block > 0 && tenth(block) > tenth(block - 1)
    }

    /// How long the run will still take at its present pace; `None` if that is not known.
    fn left(&self, of_run: Duration, of_workload: Duration) -> Option<Duration> {
        match self.design {
            Design::OpenEnded { .. } => None,
            Design::Fixed { blocks } => {
                let planned = u64::from(blocks) * u64::from(self.workloads);
                let left = planned.saturating_sub(u64::from(self.before) + u64::from(self.done));
                // For a run of years, seconds are meaningless after the first block.
                let left = of_run.as_secs_f64() * left as f64 / f64::from(self.done);
                (self.done > 0).then(|| Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX))
            }
            Design::Budgeted { budget_ns, .. } => {
                let budget = Duration::from_nanos(budget_ns);
                Some(budget.saturating_sub(of_workload) + budget * self.workloads.saturating_sub(self.begun))
            }
        }
    }
}

/// `1:05`, `2:00:05`, `3 days` or `10 years`.
pub(super) fn about(time: Duration) -> String {
    const DAY: u64 = 24 * 3600;
    let s = time.as_secs_f64().round() as u64;
    let (m, h) = (s / 60 % 60, s / 3600);
    match s / DAY {
        0 | 1 if h == 0 => format!("{m}:{:02}", s % 60),
        0 | 1 => format!("{h}:{m:02}:{:02}", s % 60),
        days @ 2..730 => format!("{days} days"),
        days => format!("{} years", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remaining(design: Design) -> Remaining {
        Remaining { design, workloads: 2, begun: 1, before: 0, done: 0 }
    }

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn of_fixed_blocks_the_pace_so_far_tells_the_time() {
        let mut remaining = remaining(Design::Fixed { blocks: 10 });
        assert_eq!(remaining.say(0, S(3), S(3)), "block 1 of 10", "nothing is known yet");
        remaining.done = 5;
        assert_eq!(remaining.say(5, S(20), S(20)), "block 6 of 10, about 1:00 left", "fifteen blocks of 4 s");
        (remaining.before, remaining.done) = (10, 5);
        assert_eq!(remaining.say(5, S(20), S(20)), "block 6 of 10, about 0:20 left", "resumed: its own pace");
        remaining.done = 12;
        assert_eq!(remaining.say(11, S(48), S(48)), "block 12 of 12, about 0:00 left", "two were repeated");
    }

    #[test]
    fn a_run_of_years_is_told_in_years() {
        let blocks = 4_000_000_000;
        let remaining = Remaining { done: 1, ..remaining(Design::Fixed { blocks }) };
        assert_eq!(remaining.say(1, S(1), S(1)), "block 2 of 4000000000, about 253 years left", "of two workloads");
        let times = [S(65), S(7_205), S(40 * 3600), S(49 * 3600), S(729 * 86_400), S(3650 * 86_400), Duration::MAX];
        let said = times.map(about);
        assert_eq!(said[..6], ["1:05", "2:00:05", "40:00:00", "2 days", "729 days", "10 years"]);
        assert!(said[6].ends_with(" years"), "{}", said[6]);
    }

    #[test]
    fn of_a_budget_what_is_not_used_is_left() {
        let remaining = remaining(Design::Budgeted { budget_ns: 60_000_000_000, looks: 5 });
        assert_eq!(
            remaining.say(6, S(99), S(24)),
            "40 % of the budget, block 7, about 1:36 left",
            "and another workload"
        );
        assert_eq!(remaining.say(6, S(99), S(70)), "100 % of the budget, block 7, about 1:00 left");
    }

    #[test]
    fn a_long_run_has_at_most_ten_lines() {
        let lines = |planned| (0..planned).filter(|block| Remaining::is_tenth(*block, planned)).count();
        assert_eq!([1, 6, 10, 11, 200].map(lines), [0, 5, 9, 9, 9]);
    }

    #[test]
    fn until_decided_nobody_knows_the_end() {
        assert_eq!(remaining(Design::OpenEnded { max_blocks: 200 }).say(6, S(9), S(9)), "block 7 of 200 at most");
    }
}
