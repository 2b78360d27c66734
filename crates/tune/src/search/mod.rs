//! The search for the best values of some knobs, as an ask-and-tell state machine. It says which points to measure next
//! together with the default, and is given the gain of each in every block. At its end it has the best points measured
//! again, in trials on which no choice rests. It knows nothing of knobs, files or clocks. With the same seed and the
//! same results it asks the same questions, so an interrupted search continues when it is given the earlier results.
//!
//! A gain compares a point with the default measured in the same block; larger is better: ln(arm/control), or a
//! difference. The first objective decides the winner; the others count for the Pareto front.

mod halving;
mod ledger;
mod outcome;
mod space;
mod surrogate;

pub use outcome::{Candidate, Gain, Outcome};
pub use space::{Point, Scale, Space};

use halving::Halving;
use ledger::{Ledger, Measured};
use surrogate::Surrogate;

/// How the next points are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Points around the best ones so far, at decreasing distances, then successive halving with twice as many blocks
    /// each time (Karnin, Koren & Somekh 2013).
    Halving,
    /// The point where a Gaussian process through all results expects the largest improvement.
    Surrogate,
    /// Every point.
    Grid,
}

/// The budget and the goal of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How points are chosen.
    pub strategy: Strategy,
    /// Objectives, at least one.
    pub objectives: usize,
    /// Most trials, including warm-up and confirmation.
    pub budget: u64,
    /// Most points of a round, in addition to the default.
    pub points: usize,
    /// Blocks of a round.
    pub blocks: u32,
    /// Points that are measured again at the end, the winner among them.
    pub confirmed: usize,
    /// Blocks in which they are measured again.
    pub fresh_blocks: u32,
    /// A gain that is too small to matter.
    pub least: f64,
    /// Seed of all draws.
    pub seed: u64,
}

impl Options {
    /// Options for this many trials: rounds with as many points as the budget allows, and a confirmation of three
    /// points, or of the best for each objective, in six blocks.
    pub fn for_budget(strategy: Strategy, space: &Space, objectives: usize, budget: u64) -> Self {
        let sizes: &[(usize, u32)] = match strategy {
            Strategy::Grid => &[(16, 6)],
            Strategy::Halving => &[(16, 1)],
            // With a small budget, more points in one block are better than fewer in two (docs/evidence/search.md).
            Strategy::Surrogate => &[(8, 2), (6, 2), (5, 1), (4, 1)],
        };
        let confirmed = (objectives + 1).max(3);
        let of_size = |&(points, blocks): &(usize, u32)| Self {
            strategy,
            objectives,
            budget,
            points,
            blocks,
            confirmed,
            fresh_blocks: 6,
            least: 0.01,
            seed: 0,
        };
        let mut options = sizes.iter().map(of_size);
        let smallest = of_size(&sizes[sizes.len() - 1]);
        let mut fits = options.find(|options| options.least_budget(space) <= budget).unwrap_or(smallest);
        if strategy == Strategy::Surrogate {
            // The cost of a fit grows with the cube of the number of results.
            let rounds = |blocks| budget / Self::trials_of(fits.points, blocks);
            fits.blocks = (fits.blocks..64).find(|&blocks| rounds(blocks) <= MAX_ROUNDS).unwrap_or(64);
        }
        fits
    }

    /// Trials of a round: its blocks and a warm-up block, with two trials of each point and of the default.
    pub fn trials_of(points: usize, blocks: u32) -> u64 {
        2 * (points as u64 + 1) * (u64::from(blocks) + 1)
    }

    /// Trials to measure this many points, in as few rounds of equal size as possible.
    fn trials_in_rounds(&self, points: usize, blocks: u32) -> u64 {
        self.rounds_of(points).map(|points| Self::trials_of(points, blocks)).sum()
    }

    /// How many points each round has.
    fn rounds_of(&self, points: usize) -> impl Iterator<Item = usize> {
        let rounds = points.div_ceil(self.points.max(1)).max(1);
        (0..rounds).map(move |round| (round + 1) * points / rounds - round * points / rounds)
    }

    /// Trials of the confirmation.
    fn trials_to_confirm(&self, space: &Space) -> u64 {
        Self::trials_of(self.confirmed.min(space.len()), self.fresh_blocks)
    }

    /// The smallest budget with which such a search makes sense.
    pub fn least_budget(&self, space: &Space) -> u64 {
        let search = match self.strategy {
            Strategy::Grid => self.trials_in_rounds(space.len(), self.blocks),
            Strategy::Surrogate => self.trials_in_rounds(surrogate::first_points(space, self.points), self.blocks),
            Strategy::Halving => halving::least_trials(space, self),
        };
        search + self.trials_to_confirm(space)
    }
}

/// Rounds of a surrogate search: with a larger budget the rounds are larger instead.
const MAX_ROUNDS: u64 = 30;

/// What to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Whether it is the confirmation: the choice has been made.
    pub is_fresh: bool,
    /// The points, in addition to the default.
    pub points: Vec<Point>,
    /// In this many blocks.
    pub blocks: u32,
}

/// The result of a point.
#[derive(Debug, Clone, PartialEq)]
pub enum PointResult {
    /// For each objective its gain in every block, the blocks in the same order for all points of a round.
    Gains(Vec<Vec<f64>>),
    /// The point is impossible, with the reason.
    LeftOut(String),
}

/// Why the search stopped looking for points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stopped {
    /// No further round fits the budget.
    Budget,
    /// The rounds of the strategy are done: every point of a grid, every rung of a halving.
    Done,
    /// No point is expected to gain enough; the value is the largest expected gain.
    NothingToGain(f64),
}

/// A search under way.
#[derive(Debug)]
pub struct Search {
    space: Space,
    options: Options,
    ledger: Ledger,
    method: Method,
    asked: Option<Ask>,
    spent: u64,
    stopped: Option<Stopped>,
    /// The points to confirm, the winner first, once they are chosen.
    chosen: Option<Vec<Point>>,
}

#[derive(Debug)]
enum Method {
    Halving(Halving),
    Surrogate(Box<Surrogate>),
    Grid(Vec<Vec<Point>>),
}

impl Search {
    /// Over the points of `space`.
    pub fn new(space: Space, options: Options) -> Self {
        let method = match options.strategy {
            Strategy::Halving => Method::Halving(Halving::new(&space, &options)),
            Strategy::Surrogate => Method::Surrogate(Box::new(Surrogate::new(&space, &options))),
            Strategy::Grid => Method::Grid(in_rounds(space.points().collect(), &options)),
        };
        Self { space, options, ledger: Ledger::default(), method, asked: None, spent: 0, stopped: None, chosen: None }
    }

    /// Most trials that it takes, including confirmation, however large the budget; fewer if points are left out, or if
    /// there is no new point around the best. `None` for a surrogate, which uses the whole budget. Call it before the
    /// first round.
    pub fn planned(&self) -> Option<u64> {
        let search = match &self.method {
            Method::Halving(halving) => halving.planned(),
            Method::Grid(_) => self.options.trials_in_rounds(self.space.len(), self.options.blocks),
            Method::Surrogate(_) => return None,
        };
        Some(search + self.options.trials_to_confirm(&self.space))
    }

    /// What to measure next; the same until the results are given. `None` at the end.
    pub fn ask(&mut self) -> Option<Ask> {
        if self.asked.is_none() && self.chosen.is_none() {
            self.asked = self.search().or_else(|| self.confirm());
        }
        self.asked.clone()
    }

    /// Sets how many more trials may be run, including confirmation. The budget may be a time, and how long a trial
    /// takes is only known once some have run.
    pub fn may_spend(&mut self, trials: u64) {
        self.options.budget = self.spent + trials;
    }

    /// Takes the results of the points asked for last, in their order.
    pub fn tell(&mut self, answers: Vec<PointResult>) {
        let Some(asked) = self.asked.take() else { return };
        let mut round = Measured { is_fresh: asked.is_fresh, points: Vec::new(), gains: Vec::new() };
        for (point, answer) in asked.points.into_iter().zip(answers) {
            match answer {
                PointResult::Gains(gains)
                    if gains.len() == self.options.objectives && gains.iter().all(|units| is_usable(units)) =>
                {
                    round.points.push(point);
                    round.gains.push(gains);
                }
                PointResult::Gains(_) => self.leave_out(&point, "no block has a number for every objective"),
                PointResult::LeftOut(why) => self.leave_out(&point, &why),
            }
        }
        self.ledger.refuse_values(self.space.axes());
        if !round.points.is_empty() {
            self.spent += Options::trials_of(round.points.len(), asked.blocks);
            self.ledger.rounds.push(round);
        }
    }

    fn leave_out(&mut self, point: &Point, why: &str) {
        self.ledger.left_out.push((point.clone(), why.to_owned()));
    }

    fn search(&mut self) -> Option<Ask> {
        let ask = self.next_round();
        self.stopped = ask.as_ref().err().copied();
        ask.ok()
    }

    fn next_round(&mut self) -> Result<Ask, Stopped> {
        let left = self.options.budget.saturating_sub(self.spent + self.options.trials_to_confirm(&self.space));
        loop {
            let of_round = self.options.blocks;
            let (points, blocks) = match &mut self.method {
                Method::Halving(halving) => halving.next(&self.space, &self.ledger).ok_or(Stopped::Done)?,
                Method::Grid(rounds) => (rounds.pop().ok_or(Stopped::Done)?, of_round),
                Method::Surrogate(surrogate) => {
                    (surrogate.next(&self.space, &self.options, &self.ledger, left)?, of_round)
                }
            };
            let points: Vec<Point> = points.into_iter().filter(|point| !self.ledger.is_left_out(point)).collect();
            if Options::trials_of(points.len(), blocks) > left {
                return Err(Stopped::Budget);
            }
            if !points.is_empty() {
                return Ok(Ask { is_fresh: false, points, blocks });
            }
        }
    }

    /// Chooses the points, and asks for the trials that confirm them.
    fn confirm(&mut self) -> Option<Ask> {
        let chosen = outcome::choose(self);
        self.chosen = Some(chosen.clone());
        (!chosen.is_empty()).then_some(Ask { is_fresh: true, points: chosen, blocks: self.options.fresh_blocks })
    }
}

/// Whether a round's gains have a finite mean.
fn is_usable(units: &[f64]) -> bool {
    !units.is_empty() && units.iter().all(|gain| gain.is_finite())
}

/// Points by round, the last round first.
fn in_rounds(points: Vec<Point>, options: &Options) -> Vec<Vec<Point>> {
    let mut points = points.into_iter();
    let count = points.len();
    let mut rounds: Vec<Vec<Point>> =
        options.rounds_of(count).map(|of_round| points.by_ref().take(of_round).collect()).collect();
    rounds.reverse();
    rounds
}

#[cfg(test)]
mod tests;
