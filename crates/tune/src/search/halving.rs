//! Successive halving: the better half of the points is kept, and measured in twice as many blocks. It can only keep
//! points that it has drawn. So if there are many, rungs of equal size come first: in each the best quarter stays, and
//! the others are replaced by points around it, at decreasing distances.

use super::ledger::Ledger;
use super::{Options, Point, Space, in_rounds};
use schedlab_plan::InOrder;
use schedlab_stats::{Random, front};

/// An exploring rung keeps one point in this many.
const STAYS: usize = 4;
/// In a smaller rung the best quarter would be one or two lucky points.
const MIN_EXPLORING: usize = 8;
/// Draws for a new point around another one before giving up.
const ATTEMPTS: usize = 50;

/// Its state.
#[derive(Debug)]
pub(super) struct Halving {
    options: Options,
    random: Random,
    /// For the exploring rungs, how far around the kept points they draw, as a share of a knob's values; the last one
    /// first.
    steps: Vec<f64>,
    /// Points that are still in, the best first once they were measured.
    pub(super) alive: Vec<Point>,
    /// Rounds of this rung that are still to be measured, the last one first.
    waiting: Vec<Vec<Point>>,
    blocks: u32,
    is_done: bool,
}

impl Halving {
    pub(super) fn new(space: &Space, options: &Options) -> Self {
        let afford = options.budget.saturating_sub(options.trials_to_confirm(space));
        let most = space.len().min(usize::try_from(afford).unwrap_or(usize::MAX));
        let count = |exploring: usize| {
            let fits = |count: &usize| trials(*count, exploring, options) <= afford;
            (1..=most).rev().find(fits).unwrap_or(most.max(1))
        };
        let mut steps = steps(space);
        if space.len() <= 2 * count(0) || count(steps.len()) < MIN_EXPLORING {
            steps.clear();
        }
        let mut random = Random::new(options.seed);
        let alive = space.spread(count(steps.len()), &mut random);
        let waiting = in_rounds(alive.clone(), options);
        Self { options: options.clone(), random, steps, alive, waiting, blocks: options.blocks, is_done: false }
    }

    /// Trials of all its rungs, counted before the first.
    pub(super) fn planned(&self) -> u64 {
        trials(self.alive.len(), self.steps.len(), &self.options)
    }

    /// The next round of this rung or of the next one.
    pub(super) fn next(&mut self, space: &Space, ledger: &Ledger) -> Option<(Vec<Point>, u32)> {
        if let Some(round) = self.waiting.pop() {
            return Some((round, self.blocks));
        }
        if self.is_done {
            return None;
        }
        let ends = self.alive.len() <= self.options.confirmed;
        let size = self.alive.len();
        self.alive = ranked(&self.alive, ledger, self.options.objectives);
        if let Some(step) = self.steps.pop() {
            self.alive.truncate(size.div_ceil(STAYS));
            self.explore(space, ledger, step, size);
        } else if ends {
            self.is_done = true;
            return None;
        } else {
            self.alive.truncate(next_rung(self.alive.len(), &self.options));
            self.blocks *= 2;
        }
        self.waiting = in_rounds(self.alive.clone(), &self.options);
        self.next(space, ledger)
    }

    /// Fills the rung up to `size` with new points, drawn around the kept ones in turn.
    fn explore(&mut self, space: &Space, ledger: &Ledger, step: f64, size: usize) {
        let (stay, measured) = (self.alive.clone(), ledger.measured());
        for from in stay.iter().cycle().take(size.saturating_sub(stay.len())) {
            let new = (0..ATTEMPTS)
                .map(|_| space.near(from, step, &mut self.random))
                .find(|point| !measured.contains(point) && !self.alive.contains(point) && !ledger.is_left_out(point));
            self.alive.extend(new);
        }
    }
}

/// A quarter of a knob's values, then half of that, and so on down to one step of the knob with most values.
fn steps(space: &Space) -> Vec<f64> {
    let most = space.axes().iter().filter(|axis| axis.is_ordered).map(|axis| axis.levels.len()).max().unwrap_or(0);
    let halved = std::iter::successors(Some(0.25), |step| Some(step / 2.0));
    let mut steps: Vec<f64> = halved.take_while(|step| step * most as f64 >= 1.0).collect();
    steps.reverse();
    steps
}

/// Best first: the points on the Pareto front, then those on the next front; on each by the first objective.
fn ranked(points: &[Point], ledger: &Ledger, objectives: usize) -> Vec<Point> {
    let gains =
        |point: &Point| (0..objectives).map(|objective| ledger.mean(point, objective)).collect::<Option<Vec<f64>>>();
    let mut left: Vec<(Point, Vec<f64>)> =
        points.iter().filter_map(|point| Some((point.clone(), gains(point)?))).collect();
    let mut ranked = Vec::new();
    while !left.is_empty() {
        let values: Vec<Vec<f64>> = left.iter().map(|(_, gains)| gains.clone()).collect();
        let on_front = front(&values);
        let mut front: Vec<(Point, Vec<f64>)> = on_front.iter().map(|&i| left[i].clone()).collect();
        left = left.into_iter().enumerate().filter(|(i, _)| !on_front.contains(i)).map(|(_, point)| point).collect();
        front.in_order_by(|a, b| b.1[0].total_cmp(&a.1[0]));
        ranked.extend(front.into_iter().map(|(point, _)| point));
    }
    ranked
}

fn next_rung(alive: usize, options: &Options) -> usize {
    alive.div_ceil(2).max(options.confirmed.min(alive))
}

/// Trials of all rungs that start from this many points, with `exploring` exploring rungs of this size.
fn trials(count: usize, exploring: usize, options: &Options) -> u64 {
    let of_exploring = options.trials_in_rounds(count, options.blocks).saturating_mul(exploring as u64);
    let (mut alive, mut blocks, mut sum) = (count, options.blocks, of_exploring);
    loop {
        sum = sum.saturating_add(options.trials_in_rounds(alive, blocks));
        if alive <= options.confirmed {
            return sum;
        }
        (alive, blocks) = (next_rung(alive, options), blocks.saturating_mul(2));
    }
}

/// With fewer than four points there is nothing to halve.
pub(super) fn least_trials(space: &Space, options: &Options) -> u64 {
    trials(space.len().min(options.confirmed.max(2) * 2), 0, options)
}
