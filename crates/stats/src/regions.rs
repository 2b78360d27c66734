//! Where does a curve change its behaviour? Cuts a series of points (values of a knob, in order) into regions. Within a
//! region the mean follows a line over x and the spread is constant, so a boundary is a change of level, slope or
//! dispersion. Whether points lie on one line depends on the distances between them: x is their position on the scale
//! on which the knob acts, not their rank.
//!
//! The fit is the best one by normal likelihood with a line and a variance per region, found by dynamic programming (as
//! Bai & Perron, *J. Appl. Econometrics* 2003, without their asymptotics). How many boundaries there are is tested, one
//! more at a time, against permutations within the regions found so far (residuals after Freedman & Lane 1983,
//! corrected for leverage): of observations, or of whole points where an F test says that the repeats of a point share
//! something, which is noise here and no region. The interval of a boundary is a test turned around: the gaps between
//! two points that the data do not contradict.
use crate::distribution::{f_upper, t_critical};
use crate::random::Random;

/// Fewer points than this are not a region: a line fits any two points.
pub const MIN_POINTS: usize = 3;
/// More regions than this explain nothing.
const MAX_BOUNDARIES: usize = 4;

/// How a curve is cut.
#[derive(Clone, Copy, Debug)]
pub struct Cutting {
    /// Probability of finding a boundary where there is none, over the whole curve.
    pub alpha: f64,
    /// Coverage of a boundary's interval.
    pub level: f64,
    /// Permutations behind each p.
    pub rounds: usize,
    /// Seed of the permutations.
    pub seed: u64,
}

impl Default for Cutting {
    fn default() -> Self {
        Self { alpha: 0.05, level: 0.95, rounds: 399, seed: 1 }
    }
}

/// A boundary lies in the gap after point `after`; at the requested level, it lies in one of the gaps after the points
/// in `interval`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boundary {
    /// The last point before it.
    pub after: usize,
    /// The points before the first and before the last gap that the data allow.
    pub interval: (usize, usize),
}

/// Points `first..=last`, and the line through their `n` observations: `level` at their mean `x`, `slope` a unit of x,
/// `sd` of one observation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // Said above.
pub struct Region {
    pub first: usize,
    pub last: usize,
    pub n: f64,
    pub x: f64,
    pub level: f64,
    pub slope: f64,
    pub slope_se: f64,
    pub sd: f64,
}

impl Region {
    /// The line's value.
    pub fn at(&self, x: f64) -> f64 {
        self.level + self.slope * (x - self.x)
    }

    /// Half the t interval of the slope.
    pub fn slope_half_width(&self, level: f64) -> f64 {
        t_critical(1.0 - level, self.n - 2.0) * self.slope_se
    }
}

/// A curve cut into regions; there is one region more than boundaries.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Regions {
    pub boundaries: Vec<Boundary>,
    pub regions: Vec<Region>,
    /// Probability of a gain as large as that of the last boundary, or of the rejected one, if there is no boundary
    /// there.
    pub p_value: f64,
}

/// Cuts the curve of `values[i]` (repeats, usually logarithms) at `x[i]` (rising, usually a logarithm). `None` for
/// fewer points than two regions need, for fewer than two repeats per point, for x that does not rise, or for a value
/// that is not finite.
pub fn regions(x: &[f64], values: &[Vec<f64>], cutting: &Cutting) -> Option<Regions> {
    let usable = x.len() == values.len()
        && x.len() >= 2 * MIN_POINTS
        && x.windows(2).all(|pair| pair[0] < pair[1])
        && values.iter().all(|repeats| repeats.len() >= 2)
        && x.iter().chain(values.iter().flatten()).all(|value| value.is_finite());
    let curve = usable.then(|| Curve::new(x, values))?;
    let mut random = Random::new(cutting.seed);
    let (cuts, p_value) = curve.cuts(cutting, &mut random);
    let boundaries = (0..cuts.len()).map(|which| curve.boundary(&cuts, which, cutting, &mut random)).collect();
    let own = Sums::new(x, values);
    let regions = spans(&cuts, x.len()).map(|(first, end)| own.region(first, end)).collect();
    Some(Regions { boundaries, regions, p_value })
}

/// Sums over the points before each index; the line of any region follows from them.
struct Sums {
    before: Vec<[f64; 6]>,
    /// Lower limit for a region's variance: repeats that are all equal would make any cut certain.
    least_variance: f64,
}

struct Curve {
    x: Vec<f64>,
    values: Vec<Vec<f64>>,
    sums: Sums,
}

/// The regions between cuts; a cut is the index of the first point on its right.
fn spans(cuts: &[usize], end: usize) -> impl Iterator<Item = (usize, usize)> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(end)).collect::<Vec<_>>();
    starts.zip(ends)
}

impl Sums {
    fn new(x: &[f64], values: &[Vec<f64>]) -> Self {
        let mut sums = vec![[0.0_f64; 6]];
        for (&x, repeats) in x.iter().zip(values) {
            let last = sums[sums.len() - 1];
            let (n, y) = (repeats.len() as f64, repeats.iter().sum::<f64>());
            let own = [n, n * x, n * x * x, y, x * y, repeats.iter().map(|y| y * y).sum()];
            sums.push(std::array::from_fn(|i| last[i] + own[i]));
        }
        let [n, _, _, y, _, yy] = sums[sums.len() - 1];
        let least_variance = (1e-8 * (yy / n - (y / n).powi(2))).max(f64::MIN_POSITIVE);
        Self { before: sums, least_variance }
    }

    fn points(&self) -> usize {
        self.before.len() - 1
    }

    /// Number, mean x, its squares, mean y, slope, and the residual sum of squares of the line.
    fn line(&self, first: usize, end: usize) -> [f64; 6] {
        let [n, x, xx, y, xy, yy] = std::array::from_fn(|i| self.before[end][i] - self.before[first][i]);
        let (mean_x, mean_y) = (x / n, y / n);
        let (sxx, sxy) = (xx - n * mean_x * mean_x, xy - n * mean_x * mean_y);
        let slope = if sxx > 0.0 { sxy / sxx } else { 0.0 };
        [n, mean_x, sxx, mean_y, slope, (yy - n * mean_y * mean_y - slope * sxy).max(0.0)]
    }

    /// Log-likelihood of a region, with its best line and variance.
    fn likelihood(&self, first: usize, end: usize) -> f64 {
        let [n, .., rest] = self.line(first, end);
        -0.5 * n * (rest / n).max(self.least_variance).ln()
    }

    fn region(&self, first: usize, end: usize) -> Region {
        let [n, x, sxx, level, slope, rest] = self.line(first, end);
        let sd = (rest / (n - 2.0)).sqrt();
        Region { first, last: end - 1, n, x, level, slope, slope_se: sd / sxx.sqrt(), sd }
    }

    /// The best cuts for 0, 1, … boundaries, with the likelihood of each.
    fn best(&self) -> Vec<(f64, Vec<usize>)> {
        let end = self.points();
        // For the points before each index: the best likelihood with this many boundaries, and the cuts.
        let mut before: Vec<Option<(f64, Vec<usize>)>> =
            (0..=end).map(|to| (to >= MIN_POINTS).then(|| (self.likelihood(0, to), Vec::new()))).collect();
        let mut found = Vec::new();
        for _ in 0..=MAX_BOUNDARIES {
            let Some(whole) = before[end].clone() else { break };
            found.push(whole);
            before = (0..=end).map(|to| self.one_more(&before, to)).collect();
        }
        found
    }

    fn one_more(&self, before: &[Option<(f64, Vec<usize>)>], to: usize) -> Option<(f64, Vec<usize>)> {
        let last_cuts = MIN_POINTS..(to + 1).saturating_sub(MIN_POINTS);
        let gains = last_cuts.filter_map(|cut| Some((before[cut].as_ref()?.0 + self.likelihood(cut, to), cut)));
        let (gain, cut) = gains.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((gain, [&before[cut].as_ref()?.1[..], &[cut]].concat()))
    }
}

impl Curve {
    fn new(x: &[f64], values: &[Vec<f64>]) -> Self {
        // Without centring, the sums of squares would lose the spread of values far from zero.
        let centre = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let (x_centre, y_centre) = (centre(x), centre(&values.concat()));
        let x: Vec<f64> = x.iter().map(|x| x - x_centre).collect();
        let values: Vec<Vec<f64>> =
            values.iter().map(|repeats| repeats.iter().map(|y| y - y_centre).collect()).collect();
        let sums = Sums::new(&x, &values);
        Self { x, values, sums }
    }

    /// Whether the points lie off the lines of these regions by more than their repeats explain: then the repeats of a
    /// point share an error, and a single repeat is not independent evidence. An F test of lack of fit, at a level that
    /// prefers "yes".
    fn repeats_share(&self, cuts: &[usize]) -> bool {
        let around = |repeats: &Vec<f64>| Sums::new(&[0.0], std::slice::from_ref(repeats)).line(0, 1)[5];
        let within: f64 = self.values.iter().map(around).sum();
        let all: f64 = spans(cuts, self.x.len()).map(|(first, end)| self.sums.line(first, end)[5]).sum();
        let points = self.x.len() as f64;
        let observations = self.values.iter().map(Vec::len).sum::<usize>() as f64;
        let of_points = points - 2.0 * (cuts.len() + 1) as f64;
        let f = (all - within) / of_points / (within / (observations - points));
        of_points > 0.0 && f_upper(f, of_points, observations - points) < 0.5
    }

    /// Sums of a curve with these cuts and with its own residuals in another order: those of whole points, or of single
    /// observations.
    fn permuted(&self, cuts: &[usize], whole_points: bool, random: &mut Random) -> Sums {
        let mut values = self.values.clone();
        for (first, end) in spans(cuts, self.x.len()) {
            let [n, mean_x, sxx, mean_y, slope, _] = self.sums.line(first, end);
            let line = |i: usize| mean_y + slope * (self.x[i] - mean_x);
            // The more a point decides the line, the more of its residual the line absorbs.
            let kept = |i: usize, weight: f64| {
                (1.0 - weight * (1.0 / n + (self.x[i] - mean_x).powi(2) / sxx)).max(0.05).sqrt()
            };
            if whole_points {
                let residuals = |i: usize| {
                    let (own, weight) = (&self.values[i], self.values[i].len() as f64);
                    let mean = own.iter().sum::<f64>() / weight;
                    let off = (mean - line(i)) / kept(i, weight);
                    own.iter().map(move |y| y - mean + off).collect::<Vec<f64>>()
                };
                let mut residuals: Vec<Vec<f64>> = (first..end).map(residuals).collect();
                random.shuffle(&mut residuals);
                for (i, own) in (first..end).zip(residuals) {
                    values[i] = own.into_iter().map(|off| line(i) + off).collect();
                }
            } else {
                let of = |i: usize| self.values[i].iter().map(move |y| (y - line(i)) / kept(i, 1.0));
                let mut residuals: Vec<f64> = (first..end).flat_map(of).collect();
                random.shuffle(&mut residuals);
                let mut next = residuals.into_iter();
                for (i, repeats) in (first..end).zip(&mut values[first..end]) {
                    repeats.iter_mut().zip(&mut next).for_each(|(y, off)| *y = line(i) + off);
                }
            }
        }
        Sums::new(&self.x, &values)
    }

    /// The cuts that the data support, and the p of the last test.
    fn cuts(&self, cutting: &Cutting, random: &mut Random) -> (Vec<usize>, f64) {
        let best = self.sums.best();
        let (mut taken, mut last_p) = (0, 1.0);
        // A region between two others may show only if both its boundaries are there, so the next two are tried
        // together.
        while taken + 1 < best.len() {
            let tried: Vec<usize> = (taken + 1..best.len().min(taken + 3)).collect();
            let gains = |fits: &[(f64, Vec<usize>)]| -> Vec<f64> {
                tried.iter().map(|&more| fits.get(more).map_or(0.0, |fit| fit.0 - fits[taken].0)).collect()
            };
            let seen = gains(&best);
            let share = self.repeats_share(&best[tried[0]].1);
            let mut as_large = vec![1usize; tried.len()];
            for _ in 0..cutting.rounds {
                let by_chance = gains(&self.permuted(&best[taken].1, share, random).best());
                for (count, (chance, seen)) in as_large.iter_mut().zip(by_chance.iter().zip(&seen)) {
                    *count += usize::from(chance >= seen);
                }
            }
            let p_values = as_large.iter().map(|&count| count as f64 / (cutting.rounds + 1) as f64);
            let Some((p, more)) = p_values.zip(&tried).min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            last_p = (p * tried.len() as f64).min(1.0);
            if last_p > cutting.alpha {
                break;
            }
            taken = *more;
        }
        (best[taken].1.clone(), last_p)
    }

    /// The gaps in which one boundary may lie, with the others fixed: those for which a boundary would leave as much to
    /// gain.
    fn boundary(&self, cuts: &[usize], which: usize, cutting: &Cutting, random: &mut Random) -> Boundary {
        let left = which.checked_sub(1).map_or(0, |i| cuts[i]);
        let right = cuts.get(which + 1).copied().unwrap_or(self.x.len());
        let places: Vec<usize> = (left + MIN_POINTS..=right - MIN_POINTS).collect();
        let likelihood = |sums: &Sums, at: usize| sums.likelihood(left, at) + sums.likelihood(at, right);
        let to_gain = |sums: &Sums, at: usize| {
            let best = places.iter().map(|&place| likelihood(sums, place)).fold(f64::NEG_INFINITY, f64::max);
            best - likelihood(sums, at)
        };
        let share = self.repeats_share(cuts);
        let allowed = |&at: &usize| {
            let moved: Vec<usize> =
                cuts.iter().enumerate().map(|(i, &cut)| if i == which { at } else { cut }).collect();
            let seen = to_gain(&self.sums, at);
            let as_large =
                (0..cutting.rounds).filter(|_| to_gain(&self.permuted(&moved, share, random), at) >= seen).count();
            (as_large + 1) as f64 > (1.0 - cutting.level) * (cutting.rounds + 1) as f64
        };
        let kept: Vec<usize> = places.iter().copied().filter(allowed).collect();
        let ends = |at: Option<&usize>| at.copied().unwrap_or(cuts[which]) - 1;
        Boundary { after: cuts[which] - 1, interval: (ends(kept.first()), ends(kept.last())) }
    }
}

#[cfg(test)]
mod tests;
