//! Successive halving: the better half of the points goes on, and is measured in twice as many blocks.

use super::ledger::Ledger;
use super::{Options, Point, Space, in_rounds, pareto};
use schedlab_stats::Random;

/// Where it stands.
#[derive(Debug)]
pub(super) struct Halving {
    options: Options,
    /// Points still in it, the best first once they were measured.
    pub(super) alive: Vec<Point>,
    /// Rounds of this rung that are still to be asked for, the last one first.
    waiting: Vec<Vec<Point>>,
    blocks: u32,
    is_done: bool,
}

impl Halving {
    pub(super) fn new(space: &Space, options: &Options) -> Self {
        let afford = options.budget.saturating_sub(options.trials_to_confirm(space));
        let most = space.len().min(usize::try_from(afford).unwrap_or(usize::MAX));
        let count = (1..=most).rev().find(|&count| trials(count, options) <= afford).unwrap_or(most.max(1));
        let alive = space.spread(count, &mut Random::new(options.seed));
        let waiting = in_rounds(alive.clone(), options);
        Self { options: options.clone(), alive, waiting, blocks: options.blocks, is_done: false }
    }

    /// The next round of this rung or of the one after it.
    pub(super) fn next(&mut self, ledger: &Ledger) -> Option<(Vec<Point>, u32)> {
        if let Some(round) = self.waiting.pop() {
            return Some((round, self.blocks));
        }
        if self.is_done {
            return None;
        }
        let ends = self.alive.len() <= self.options.confirmed;
        self.alive = ranked(&self.alive, ledger, self.options.objectives);
        self.is_done = ends;
        if ends {
            return None;
        }
        self.alive.truncate(next_rung(self.alive.len(), &self.options));
        self.blocks *= 2;
        self.waiting = in_rounds(self.alive.clone(), &self.options);
        self.next(ledger)
    }
}

/// Best first: those on the front of all, then those behind it, each by the first objective.
fn ranked(points: &[Point], ledger: &Ledger, objectives: usize) -> Vec<Point> {
    let gains =
        |point: &Point| (0..objectives).map(|objective| ledger.mean(point, objective)).collect::<Option<Vec<f64>>>();
    let mut left: Vec<(Point, Vec<f64>)> =
        points.iter().filter_map(|point| Some((point.clone(), gains(point)?))).collect();
    let mut ranked = Vec::new();
    while !left.is_empty() {
        let values: Vec<Vec<f64>> = left.iter().map(|(_, gains)| gains.clone()).collect();
        let on_front = pareto::front(&values);
        let mut front: Vec<(Point, Vec<f64>)> = on_front.iter().map(|&i| left[i].clone()).collect();
        left = left.into_iter().enumerate().filter(|(i, _)| !on_front.contains(i)).map(|(_, point)| point).collect();
        front.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]));
        ranked.extend(front.into_iter().map(|(point, _)| point));
    }
    ranked
}

fn next_rung(alive: usize, options: &Options) -> usize {
    alive.div_ceil(2).max(options.confirmed.min(alive))
}

/// What all rungs from so many points cost.
fn trials(count: usize, options: &Options) -> u64 {
    let (mut alive, mut blocks, mut sum) = (count, options.blocks, 0u64);
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
    trials(space.len().min(options.confirmed.max(2) * 2), options)
}
