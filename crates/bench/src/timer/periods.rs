//! The periods of one timer thread: when the next one begins, and which ones a late wakeup has slept through.

/// Instants t0 + n × interval, CLOCK_MONOTONIC ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Periods {
    next_ns: u64,
    interval_ns: u64,
}

/// What one wakeup found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Woke {
    /// How long after the instant it was armed for the thread woke, ns: cyclictest's latency.
    pub(super) late_ns: u64,
    /// Periods that began while the thread was still asleep.
    pub(super) missed: u64,
}

impl Periods {
    /// The first period begins one interval from now, as in cyclictest.
    pub(super) fn from(now_ns: u64, interval_ns: u64) -> Self {
        Self { next_ns: now_ns + interval_ns, interval_ns }
    }

    /// The instant to sleep to.
    #[inline(always)]
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The thread woke at `now_ns`. `each` gets the lateness of the period that the timer was armed for and then of
    /// every period missed meanwhile: a wakeup 10 ms late with an interval of 1 ms gives 10, 9, …, 1 ms, not one value
    /// of 10 ms.
    #[inline(always)]
    pub(super) fn woke(&mut self, now_ns: u64, mut each: impl FnMut(u64)) -> Woke {
        let late_ns = now_ns.saturating_sub(self.next_ns);
        each(late_ns);
        self.pass();
        let mut missed = 0;
        // Strictly before, as cyclictest skips: a period that begins at this instant is served by the next sleep.
        while self.next_ns < now_ns {
            each(now_ns - self.next_ns);
            missed += 1;
            self.pass();
        }
        Woke { late_ns, missed }
    }

    /// Goes on to the next period without reading the clock.
    #[inline(always)]
    pub(super) fn pass(&mut self) {
        self.next_ns += self.interval_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One column per microsecond: `|` begins a period, `w` (or `W` on a begin) is a wakeup. The first column is 0.
    fn check(drawing: &str, expected: &[(u64, u64, &[u64])]) {
        let columns: Vec<char> = drawing.chars().collect();
        let begins: Vec<u64> = (0..).zip(&columns).filter(|(_, c)| "|W".contains(**c)).map(|(us, _)| us).collect();
        let interval = begins[1] - begins[0];
        assert!(begins.windows(2).all(|two| two[1] - two[0] == interval), "uneven periods: {drawing}");
        let mut periods = Periods::from(0, interval);
        let wakes = (0..).zip(&columns).filter(|(_, c)| "wW".contains(**c)).map(|(us, _)| us);
        let mut found = Vec::new();
        for now in wakes {
            let mut each = Vec::new();
            let woke = periods.woke(now, |late| each.push(late));
            found.push((woke.late_ns, woke.missed, each));
        }
        let expected: Vec<_> = expected.iter().map(|&(late, missed, each)| (late, missed, each.to_vec())).collect();
        assert_eq!(found, expected, "{drawing}");
    }

    #[test]
    fn a_wake_up_in_time_is_one_value() {
        check("|...|w..|..w|...", &[(1, 0, &[1]), (3, 0, &[3])]);
    }

    #[test]
    fn missed_periods_are_counted_each_with_its_own_lateness() {
        //     0   4   8   12  16  20
        check("|...|...|...|..w|w..", &[(11, 2, &[11, 7, 3]), (1, 0, &[1])]);
    }

    #[test]
    fn a_wake_up_on_a_begin_does_not_miss_it() {
        check("|...|...W...", &[(4, 0, &[4])]);
        check("|...|...W...|w..", &[(4, 0, &[4]), (5, 1, &[5, 1])]);
    }

    /// The expected effect of the injected stall: 100 ms at 1 kHz every 5 s delay one period in fifty by 0 … 100 ms, so
    /// p99 is half a stall; cyclictest keeps one value in 4901, which no p99 shows.
    #[test]
    fn a_stall_moves_the_p99_of_all_periods_and_not_that_of_the_wake_ups() {
        const MS: u64 = 1_000_000;
        let stall = crate::delay::Stall { ns: 100 * MS, period_ns: 5_000 * MS };
        let mut periods = Periods::from(0, MS);
        let (mut all, mut wakes) = (Vec::new(), Vec::new());
        while periods.next_ns() < 20_000 * MS {
            let due_ns = periods.next_ns();
            let woken_ns = stall.end_ns(due_ns).unwrap_or(due_ns) + 20_000;
            wakes.push(periods.woke(woken_ns, |late| all.push(late)).late_ns);
        }
        let p99 = |values: &mut Vec<u64>| {
            values.sort_unstable();
            values[values.len() * 99 / 100]
        };
        assert!((49 * MS..52 * MS).contains(&p99(&mut all)), "{}", p99(&mut all));
        assert_eq!(p99(&mut wakes), 20_000);
        assert_eq!(all.len(), 20_000 - 1, "no period is left out");
    }
}
