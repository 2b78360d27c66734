//! The outcome of a search.

use super::{Method, Options, Point, Search, Stopped};
use schedlab_plan::InOrder;
use schedlab_stats::{Estimate, Interval, front, t_estimate};

/// A gain as estimated during the search, by which the choice was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// The value that the choice was made by: that of the surface, or the mean of all blocks.
    pub mean: f64,
    /// Its interval, at the requested level; `None` if there is only one block.
    pub interval: Option<Interval>,
}

/// A point that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Where.
    pub point: Point,
    /// Number of blocks behind `search`.
    pub units: usize,
    /// By objective, from the trials by which it was chosen; the winner's are likely too high.
    pub search: Vec<Gain>,
    /// By objective, from confirmation trials only; `None` if there are none.
    pub fresh: Vec<Option<Estimate>>,
    /// Its difference from the winner in the first objective, from pairs in the same confirmation block; `None` for the
    /// winner.
    pub over_winner: Option<Estimate>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The points that were confirmed, the winner first; it was chosen before.
    pub confirmed: Vec<Candidate>,
    /// Every measured point, sorted by the first objective.
    pub measured: Vec<Candidate>,
    /// The points of `measured` that neither another point nor the default beats in all objectives.
    pub front: Vec<usize>,
    /// Impossible points, with the reasons.
    pub left_out: Vec<(Point, String)>,
    /// Why the search stopped looking for points; `None` while it continues.
    pub stopped: Option<Stopped>,
    /// Rounds, including confirmation.
    pub rounds: usize,
    /// Trials that they took.
    pub trials: u64,
}

impl Search {
    /// The findings so far; intervals are two-sided at `level`.
    pub fn outcome(&self, level: f64) -> Outcome {
        let measured = self.ranked(level);
        let gains = |candidate: &Candidate| candidate.search.iter().map(|gain| gain.mean).collect::<Vec<f64>>();
        let mut all: Vec<Vec<f64>> = measured.iter().map(gains).collect();
        all.push(vec![0.0; self.options.objectives]);
        let front = front(&all).into_iter().filter(|&i| i < measured.len()).collect();
        let winner = self.chosen.iter().flatten().next();
        let of_chosen = |point: &Point| {
            let candidate = measured.iter().find(|candidate| candidate.point == *point)?.clone();
            let rival = winner.filter(|winner| *winner != point);
            let over_winner = rival.and_then(|winner| self.ledger.fresh_difference(point, winner, level));
            Some(Candidate { over_winner, ..candidate })
        };
        Outcome {
            confirmed: self.chosen.iter().flatten().filter_map(of_chosen).collect(),
            front,
            left_out: self.ledger.left_out.clone(),
            stopped: self.chosen.as_ref().and(self.stopped),
            rounds: self.ledger.rounds.len(),
            trials: self.spent,
            measured,
        }
    }

    /// All measured points, in the order in which the method would choose them.
    fn ranked(&self, level: f64) -> Vec<Candidate> {
        let surfaces = match &self.method {
            Method::Surrogate(surrogate) => surrogate.fitted(&self.space, &self.options, &self.ledger),
            _ => None,
        };
        let gain = |point: &Point, objective: usize| match &surfaces {
            Some(surfaces) => {
                let (mean, sd) = surfaces[objective].predict(point);
                Gain { mean, interval: Some(Interval::normal(mean, sd, level)) }
            }
            None => {
                let gains = self.ledger.gains(point, objective, false);
                let interval = t_estimate(&gains, level).map(|estimate| estimate.interval);
                Gain { mean: self.ledger.mean(point, objective).unwrap_or(f64::NAN), interval }
            }
        };
        let objectives = 0..self.options.objectives;
        let candidate = |point: Point| Candidate {
            units: self.ledger.gains(&point, 0, false).len(),
            search: objectives.clone().map(|objective| gain(&point, objective)).collect(),
            fresh: objectives.clone().map(|objective| self.ledger.fresh(&point, objective, level)).collect(),
            over_winner: None,
            point,
        };
        let mut all: Vec<Candidate> = self.ledger.measured().into_iter().map(candidate).collect();
        // After a halving, only the points of the last rung were measured often enough to be the best of all.
        let alive = |candidate: &Candidate| match &self.method {
            Method::Halving(halving) => halving.alive.contains(&candidate.point),
            _ => true,
        };
        all.in_order_by(|a, b| alive(b).cmp(&alive(a)).then_with(|| b.search[0].mean.total_cmp(&a.search[0].mean)));
        all
    }
}

/// The points to confirm, the winner first: the best in the first objective, then the best in each other one, then the
/// runners-up.
pub(super) fn choose(search: &Search) -> Vec<Point> {
    let Options { objectives, confirmed, .. } = search.options;
    let ranked = search.ranked(0.95);
    let best_in = |objective: usize| {
        ranked.iter().max_by(|a, b| a.search[objective].mean.total_cmp(&b.search[objective].mean)).map(|c| &c.point)
    };
    let mut chosen: Vec<Point> = Vec::new();
    let winner = ranked.first().map(|candidate| &candidate.point);
    let others = (1..objectives).filter_map(best_in);
    for point in winner.into_iter().chain(others).chain(ranked.iter().map(|candidate| &candidate.point)) {
        if chosen.len() < confirmed && !chosen.contains(point) && !search.ledger.is_left_out(point) {
            chosen.push(point.clone());
        }
    }
    chosen
}
