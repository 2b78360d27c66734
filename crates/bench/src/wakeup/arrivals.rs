//! The open loop's schedule: request n arrives at its instant, whether or not anybody is ready for it.

/// The arrivals that one task deals with: every `stride`-th of the whole schedule, from `first` on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrivals {
    /// Where the schedule starts, CLOCK_MONOTONIC ns.
    pub(super) epoch_ns: u64,
    /// Between two arrivals of the whole schedule.
    pub(super) period_ns: f64,
    pub(super) first: u64,
    pub(super) stride: u64,
}

impl Arrivals {
    /// The instant of this task's k-th arrival (from 0), CLOCK_MONOTONIC ns. The schedule's first arrival is one period
    /// after its start. It is computed from the number, not by repeated addition, so that rounding does not accumulate.
    #[inline(always)]
    pub(super) fn intended_ns(&self, k: u64) -> u64 {
        let number = self.first + k * self.stride + 1;
        self.epoch_ns + (number as f64 * self.period_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::Stall;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_tasks_share_out_one_even_schedule() {
        let of = |first| Arrivals { epoch_ns: 100, period_ns: 1e9 / 3.0, first, stride: 2 };
        let mut all: Vec<u64> = [0, 1].into_iter().flat_map(|t| (0..3).map(move |k| of(t).intended_ns(k))).collect();
        all.sort_unstable();
        let expected = [333_333_433, 666_666_766, 1_000_000_100, 1_333_333_433, 1_666_666_766, 2_000_000_100];
        assert_eq!(all, expected);
    }

    fn quantile(values: &mut [u64], q: f64) -> u64 {
        values.sort_unstable();
        values[(values.len() as f64 * q) as usize]
    }

    /// The expected effect: one stall of 100 ms in 5 s at 1 kHz makes one request in fifty wait, evenly between 0 and
    /// 100 ms. So p99 is half a stall, and p99.9 is 95 ms. A closed loop sends nothing while it is stalled: one value
    /// in some 4 900.
    #[test]
    fn a_stall_moves_the_p99_of_the_open_loop_and_not_of_the_closed_one() {
        let stall = Stall { ns: 100 * MS, period_ns: 5_000 * MS };
        let (wake_ns, service_ns) = (20_000, 10_000);
        let handled_from = |at: u64| stall.end_ns(at).unwrap_or(at);

        let arrivals = Arrivals { epoch_ns: 0, period_ns: MS as f64, first: 0, stride: 1 };
        let mut free_ns = 0;
        let mut open: Vec<u64> = (0..20_000)
            .map(|k| {
                let begun_ns = handled_from((arrivals.intended_ns(k) + wake_ns).max(free_ns));
                free_ns = begun_ns + service_ns;
                begun_ns - arrivals.intended_ns(k)
            })
            .collect();
        assert!((49 * MS..52 * MS).contains(&quantile(&mut open, 0.99)), "{}", quantile(&mut open, 0.99));
        assert!((94 * MS..97 * MS).contains(&quantile(&mut open, 0.999)));

        let (mut now_ns, mut closed) = (0, Vec::new());
        while now_ns < 20_000 * MS {
            let begun_ns = handled_from(now_ns + wake_ns);
            closed.push(begun_ns - now_ns);
            now_ns = begun_ns + MS;
        }
        assert_eq!((quantile(&mut closed, 0.5), quantile(&mut closed, 0.99)), (wake_ns, wake_ns));
        assert!(quantile(&mut closed, 0.9999) > 95 * MS, "the stall is seen, once");
    }
}
