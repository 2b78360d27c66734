//! The outcome of a search.

use super::{Method, Options, Point, Search, Stopped};
use schedlab_plan::InOrder;
use schedlab_stats::{Estimate, Interval, front, t_estimate};

/// A gain as the search saw it, which chose by it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// What the choice was made by: the surface there, or the mean of all its blocks.
    pub mean: f64,
    /// Its interval, at the level that was asked for; `None` where one block is no basis for one.
    pub interval: Option<Interval>,
}

/// A point that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Where.
    pub point: Point,
    /// Blocks behind `search`.
    pub units: usize,
    /// By objective, from the trials by which it was chosen: the winner's is likely too high.
    pub search: Vec<Gain>,
    /// By objective, from fresh trials alone; `None` where there are none.
    pub fresh: Vec<Option<Estimate>>,
    /// What it has over the winner in the first objective, of pairs in the same fresh block; `None` of the winner.
    pub over_winner: Option<Estimate>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Those that were measured again, the winner first: it was chosen before.
    pub confirmed: Vec<Candidate>,
    /// Every point that the search has measured, the best in the first objective first.
    pub measured: Vec<Candidate>,
    /// Which of `measured` no other of them beats in all objectives, and neither the default.
    pub front: Vec<usize>,
    /// Points that cannot be, and why.
    pub left_out: Vec<(Point, String)>,
    /// Why no more points were looked for; `None` while it continues.
    pub stopped: Option<Stopped>,
    /// Rounds, those that confirm among them.
    pub rounds: usize,
    /// Trials that they took.
    pub trials: u64,
}

impl Search {
    /// What was found so far; intervals are two-sided at `level`.
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

    /// All measured points, those the method would choose first.
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

/// Those to confirm, the winner first: the best in the first objective, then the best in each other one, then the runners-up.
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
