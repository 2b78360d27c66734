//! Interleaved pairs of two measurements in random order, and the interval of their ratio.

use crate::table;
use anyhow::Result;
use schedlab_stats::{Estimate, Random};
use schedlab_sys::rusage;

/// The ratio of two interleaved measurements.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    /// Geometric mean of b / a.
    pub ratio: f64,
    /// Lower end of the 95 % interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Pairs.
    pub pairs: usize,
}

impl Ratio {
    fn new(estimate: Estimate) -> Self {
        let Estimate { mean, interval, n, .. } = estimate;
        Self { ratio: mean.exp(), lo: interval.lo.exp(), hi: interval.hi.exp(), pairs: n }
    }

    /// From log-ratios.
    pub fn from_logs(logs: &[f64]) -> Option<Self> {
        schedlab_stats::t_estimate(logs, 0.95).map(Self::new)
    }

    /// Whether the whole interval lies between two bounds.
    pub fn within(&self, lo: f64, hi: f64) -> bool {
        self.lo >= lo && self.hi <= hi
    }

    /// A row of a table with [`HEADER`]; `figure` is what the ratio refers to.
    pub fn row(&self, name: &str, place: &str, figure: String) -> Vec<String> {
        eprintln!("{name} ({place}): {:.4} [{:.4}, {:.4}], {figure}", self.ratio, self.lo, self.hi);
        vec![
            name.to_owned(),
            place.to_owned(),
            format!("{:.3}", self.ratio),
            format!("{:.3}–{:.3}", self.lo, self.hi),
            self.pairs.to_string(),
            table::met(self.within(0.97, 1.03)),
            figure,
        ]
    }
}

/// Names of the columns of [`Ratio::row`].
pub const HEADER: [&str; 7] = [
    "row",
    "placement",
    "ours / reference",
    "95 % interval",
    "pairs",
    "within 0.97–1.03",
    "the reference tool's figure",
];

/// One side of a pair.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// The measured value.
    pub value: f64,
    /// Context switches of all processes that it started and waited for, from RUSAGE_CHILDREN: counted in the same way
    /// for every program, without cost or tools.
    pub switches: u64,
}

/// One pair.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// The first measurement, such as the reference's.
    pub a: Side,
    /// The second.
    pub b: Side,
}

/// Runs `pairs` pairs, after one of each as warm-up.
pub fn interleave(
    pairs: usize,
    seed: u64,
    mut a: impl FnMut() -> Result<f64>,
    mut b: impl FnMut() -> Result<f64>,
) -> Result<Vec<Pair>> {
    let found = interleave_by(pairs, seed, || side(&mut a), || side(&mut b))?;
    Ok(found.into_iter().map(|(a, b)| Pair { a, b }).collect())
}

/// The same for measurements of any kind: the pairs `(a, b)` themselves.
pub fn interleave_by<T>(
    pairs: usize,
    seed: u64,
    mut a: impl FnMut() -> Result<T>,
    mut b: impl FnMut() -> Result<T>,
) -> Result<Vec<(T, T)>> {
    a()?;
    b()?;
    let mut random = Random::new(seed);
    let mut found = Vec::with_capacity(pairs);
    for _ in 0..pairs {
        found.push(if random.below(2) == 0 {
            let a = a()?;
            (a, b()?)
        } else {
            let b = b()?;
            (a()?, b)
        });
    }
    Ok(found)
}

fn side(measure: &mut impl FnMut() -> Result<f64>) -> Result<Side> {
    let switches = || {
        let usage = rusage::of_children();
        usage.voluntary_switches + usage.involuntary_switches
    };
    let before = switches();
    let value = measure()?;
    Ok(Side { value, switches: switches() - before })
}

/// ln(b / a) of each pair.
pub fn logs(pairs: &[Pair]) -> Vec<f64> {
    pairs.iter().map(|p| (p.b.value / p.a.value).ln()).collect()
}

/// The ratio at equal numbers of switches: the log-ratio of the values if that of the switches is zero. If the order of
/// wakeups is random, so is the number of switches, and with it most of the time.
pub fn at_equal_switches(pairs: &[Pair]) -> Option<Ratio> {
    let switches: Vec<f64> = pairs.iter().map(|p| (p.b.switches as f64 / p.a.switches as f64).ln()).collect();
    schedlab_stats::covariate::mean_at_zero(&logs(pairs), &switches, 0.95).map(Ratio::new)
}

/// `value = base + slope × switches` of one side over all runs.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// Value without a switch.
    pub base: f64,
    /// Added by each switch.
    pub slope: f64,
}

/// The fitted line for one side's runs; `None` if the number of switches does not vary.
pub fn against_switches(sides: &[Side]) -> Option<Line> {
    let values: Vec<f64> = sides.iter().map(|s| s.value).collect();
    let switches: Vec<f64> = sides.iter().map(|s| s.switches as f64).collect();
    let base = schedlab_stats::covariate::mean_at_zero(&values, &switches, 0.95)?.mean;
    let slope = (values.iter().sum::<f64>() - base * values.len() as f64) / switches.iter().sum::<f64>();
    Some(Line { base, slope })
}
