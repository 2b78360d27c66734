//! Bayesian optimisation: a Gaussian process through all results says where the largest improvement on the best point
//! so far is expected. Its errors are those of paired contrasts: the points of a round share the error of their
//! control.

use super::ledger::{Ledger, Mean};
use super::{Options, Point, Space, Stopped};
use schedlab_plan::InOrder;
use schedlab_stats::gaussian_process::Observations;
use schedlab_stats::{GaussianProcess, Random, Smoothness, expected_improvement};

/// In a space with more points than this, only this many random points and the neighbours of the best are considered
/// for each choice.
const MAX_CANDIDATES: usize = 2000;
/// The search ends if the expected gain is less than this share of the smallest relevant gain.
const NOT_WORTH_IT: f64 = 0.1;

/// Its state.
#[derive(Debug)]
pub(super) struct Surrogate {
    /// The first points, spread evenly; the last in the list are measured first.
    first: Vec<Point>,
    random: Random,
    /// Smoothness of the last fit, by objective.
    smoothness: Vec<Option<Smoothness>>,
}

/// How many points are measured before one is chosen: two rounds, and enough to tell that a single value is at fault.
pub(super) fn first_points(space: &Space, of_round: usize) -> usize {
    (2 * of_round).max(2 * space.axes().len() + 2).min(space.len())
}

impl Surrogate {
    pub(super) fn new(space: &Space, options: &Options) -> Self {
        let mut random = Random::new(options.seed);
        let first = space.spread(first_points(space, options.points), &mut random);
        Self { first, random, smoothness: vec![None; options.objectives] }
    }

    /// The points of the next round, which may cost `left` trials, or the reason why there is none.
    pub(super) fn next(
        &mut self,
        space: &Space,
        options: &Options,
        ledger: &Ledger,
        left: u64,
    ) -> Result<Vec<Point>, Stopped> {
        let afford = (1..=options.points).rev().find(|&points| Options::trials_of(points, options.blocks) <= left);
        let Some(afford) = afford else { return Err(Stopped::Budget) };
        self.first.retain(|point| !ledger.is_left_out(point));
        if !self.first.is_empty() {
            return Ok(self.first.split_off(self.first.len().saturating_sub(afford)));
        }
        let Some(mut surfaces) = self.fitted(space, options, ledger) else { return Err(Stopped::Budget) };
        self.smoothness = surfaces.iter().map(|surface| Some(surface.smoothness().clone())).collect();
        let measured = ledger.measured();
        let mut candidates = self.candidates(space, ledger, &measured, &surfaces[0]);
        if candidates.is_empty() {
            return Err(Stopped::Budget);
        }
        let hope = surfaces.iter().map(|surface| hope(surface, &candidates, &measured)).fold(0.0, f64::max);
        if hope < NOT_WORTH_IT * options.least {
            return Err(Stopped::NothingToGain(hope));
        }
        let mut round = Vec::new();
        while round.len() < afford && !candidates.is_empty() {
            let weights = self.weights(round.len(), &surfaces);
            let next = candidates.swap_remove(most_promising(&surfaces, &weights, &candidates, &measured));
            surfaces.iter_mut().for_each(|surface| surface.believe(&next, 2.0 / f64::from(options.blocks)));
            round.push(next);
        }
        Ok(round)
    }

    /// One surface for each objective.
    pub(super) fn fitted(&self, space: &Space, options: &Options, ledger: &Ledger) -> Option<Vec<GaussianProcess>> {
        let fit = |objective: usize| surface(space, ledger, objective, self.smoothness[objective].as_ref());
        (0..options.objectives).map(fit).collect()
    }

    fn candidates(
        &mut self,
        space: &Space,
        ledger: &Ledger,
        measured: &[Point],
        surface: &GaussianProcess,
    ) -> Vec<Point> {
        let mut candidates: Vec<Point> = if space.len() <= MAX_CANDIDATES {
            space.points().collect()
        } else {
            let mut drawn: Vec<Point> = (0..MAX_CANDIDATES).map(|_| space.draw(&mut self.random)).collect();
            let mut best: Vec<&Point> = measured.iter().collect();
            best.in_order_by(|a, b| surface.predict(b).0.total_cmp(&surface.predict(a).0));
            drawn.extend(best.iter().take(5).flat_map(|point| space.neighbours(point)));
            drawn.extend(measured.iter().cloned());
            drawn.sort();
            drawn.dedup();
            drawn
        };
        candidates.retain(|point| !ledger.is_left_out(point));
        candidates
    }

    /// The weights of the objectives for the next point of a round: every other point improves the first objective, the
    /// rest a random mixture of all (Knowles 2006), each in units of its own surface.
    fn weights(&mut self, place: usize, surfaces: &[GaussianProcess]) -> Vec<f64> {
        if surfaces.len() == 1 || place.is_multiple_of(2) {
            return (0..surfaces.len()).map(|objective| if objective == 0 { 1.0 } else { 0.0 }).collect();
        }
        // Gaps between sorted uniform draws: all mixtures are equally likely.
        let shares: Vec<f64> = surfaces.iter().map(|_| -self.random.uniform().ln()).collect();
        let sum: f64 = shares.iter().sum();
        shares.iter().zip(surfaces).map(|(share, surface)| share / sum / surface.smoothness().height()).collect()
    }
}

/// The surface of an objective through all means of the search.
fn surface(space: &Space, ledger: &Ledger, objective: usize, start: Option<&Smoothness>) -> Option<GaussianProcess> {
    let means = ledger.means(objective);
    let at: Vec<Point> = means.iter().map(|mean| mean.at.clone()).collect();
    let values: Vec<f64> = means.iter().map(|mean| mean.value).collect();
    let errors = |i: usize, j: usize| shared_error(&means[i], &means[j], i == j);
    let seen = Observations { at: &at, values: &values, errors: &errors, repeats: ledger.repeats(objective) };
    GaussianProcess::fit(space.axes(), &seen, start)
}

/// The shared error, in units of the error of one arm in a block: the control has the same error, and all points of a
/// round have the same control.
fn shared_error(a: &Mean, b: &Mean, is_same: bool) -> f64 {
    let of_control = if a.round == b.round { 1.0 / a.units.max(b.units) as f64 } else { 0.0 };
    of_control + if is_same { 1.0 / a.units as f64 } else { 0.0 }
}

fn mixture(surfaces: &[GaussianProcess], weights: &[f64], point: &[usize]) -> (f64, f64) {
    let (mut mean, mut variance) = (0.0, 0.0);
    for (surface, weight) in surfaces.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        let (at, sd) = surface.predict(point);
        mean += weight * at;
        variance += (weight * sd).powi(2);
    }
    (mean, variance.sqrt())
}

fn most_promising(surfaces: &[GaussianProcess], weights: &[f64], candidates: &[Point], measured: &[Point]) -> usize {
    let best = measured.iter().map(|point| mixture(surfaces, weights, point).0).fold(f64::MIN, f64::max);
    let promise: Vec<f64> = candidates
        .iter()
        .map(|point| {
            let (mean, sd) = mixture(surfaces, weights, point);
            expected_improvement(mean, sd, best)
        })
        .collect();
    (0..candidates.len()).max_by(|&a, &b| promise[a].total_cmp(&promise[b])).unwrap_or(0)
}

/// The largest improvement that is expected anywhere.
fn hope(surface: &GaussianProcess, candidates: &[Point], measured: &[Point]) -> f64 {
    let best = measured.iter().map(|point| surface.predict(point).0).fold(f64::MIN, f64::max);
    let promise = candidates.iter().map(|point| {
        let (mean, sd) = surface.predict(point);
        expected_improvement(mean, sd, best)
    });
    promise.fold(0.0, f64::max)
}
