//! Finds where in an ordered history a mean changed, from noisy comparisons of two of its members at a time. Keeps a
//! posterior over the place of the one change, and compares next where the posterior is least certain (the idea:
//! Horstein 1963; its rate: Waeber, Frazier & Henderson 2013, "Bisection search with noisy responses"). Plain bisection
//! decides each step once, so a single wrong step makes the answer wrong; here every comparison counts to the end.
//!
//! The model: members before the change share one mean, all others another. A comparison gives, for each independent
//! unit, the difference of two members within that unit, so that drift and the level of the unit cancel; its variance
//! is the same everywhere and unknown. The size of the change and the variance are integrated out under flat priors,
//! which leaves a Student's t for each place.
use crate::confidence_sequence::TMixture;
use crate::mean::Estimate;
use std::collections::{BTreeMap, BTreeSet};

/// How a bisection is conducted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BisectRules {
    /// Probability that the answer is wrong: a place other than the true one, or a place although nothing changed.
    pub alpha: f64,
    /// Least units of one comparison.
    pub least_units: usize,
    /// Most units in all.
    pub most_units: usize,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum BisectStep {
    /// Compare two members over this many units.
    Compare {
        /// An end of the history.
        control: usize,
        /// The member to compare with it.
        candidate: usize,
        /// Independent units.
        units: usize,
    },
    /// The answer.
    Ended(BisectAnswer),
}

/// How a bisection ended.
#[derive(Clone, Debug, PartialEq)]
pub enum BisectAnswer {
    /// The change is in `after + 1 ..= first`: one member, unless the members in between cannot be tried.
    Change {
        /// The last member that is certainly like the first.
        after: usize,
        /// The first that is certainly like the last.
        first: usize,
        /// Posterior probability.
        probability: f64,
    },
    /// The units are used up: the shortest stretch that contains the change with probability 1 − alpha.
    Undecided {
        /// The last member before the stretch.
        after: usize,
        /// The last member of the stretch.
        first: usize,
        /// Posterior probability.
        probability: f64,
    },
    /// The last member is better than the first.
    Reversed,
    /// No difference was found between the first and the last member.
    Nothing,
}

/// A bisection in progress. A pure state machine: its requests depend only on its rules and on the results it was
/// given.
#[derive(Clone, Debug)]
pub struct Bisection {
    last: usize,
    rules: BisectRules,
    untestable: BTreeSet<usize>,
    /// The differences of each compared pair of places: the later member minus the earlier one.
    pairs: BTreeMap<(usize, usize), Vec<f64>>,
}

/// A stretch of the history in which the change may be, `after < k ≤ first`, between two members that can be tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The last member before the stretch.
    pub after: usize,
    /// The last member of the stretch.
    pub first: usize,
    /// Posterior probability.
    pub probability: f64,
}

/// Sufficient statistics of the comparisons, if the change is at a given place.
struct Fit {
    straddling: f64,
    sum: f64,
    residual: f64,
}

impl Bisection {
    /// A bisection of members 0 (the first, assumed good) to `last` (assumed bad), `last` ≥ 1.
    pub fn new(last: usize, rules: BisectRules) -> Self {
        Self { last: last.max(1), rules, untestable: BTreeSet::new(), pairs: BTreeMap::new() }
    }

    /// Adds the differences `candidate − control` of each unit; larger is better.
    pub fn tell(&mut self, control: usize, candidate: usize, differences: &[f64]) {
        let sign = if control < candidate { 1.0 } else { -1.0 };
        let pair = (control.min(candidate), control.max(candidate));
        self.pairs.entry(pair).or_default().extend(differences.iter().filter(|d| d.is_finite()).map(|d| sign * d));
    }

    /// Excludes a member that cannot be tried: the answer may become a stretch around it.
    pub fn skip(&mut self, member: usize) {
        self.untestable.insert(member);
    }

    /// Number of units it was given.
    pub fn units(&self) -> usize {
        self.pairs.values().map(Vec::len).sum()
    }

    /// The last member's difference from the first, from comparisons of these two alone. These comparisons went on
    /// until the two differed, and they end sooner when the difference happens to look large: the estimate is too large
    /// on average. The interval is the one that the decision uses; it holds however often one looks.
    pub fn ends(&self) -> Option<Estimate> {
        TMixture::new(self.rules.alpha, TMixture::DEFAULT_TUNING).interval(self.pairs.get(&(0, self.last))?)
    }

    /// The size of the change at its most probable place, from the comparisons that straddle it, except those of the
    /// two ends, which stopped because of their size; `None` if there are no others. The bisection ends when it is
    /// certain, so this estimate is too large as well, but less so: only fresh trials show the size.
    pub fn change(&self) -> Option<Estimate> {
        let mut later = self.clone();
        later.pairs.remove(&(0, self.last));
        later.seeming(self.best()?.first)
    }

    /// The size of a change at `first`, by all comparisons that straddle it.
    fn seeming(&self, first: usize) -> Option<Estimate> {
        let fit = self.fit(first);
        let units = self.units();
        let df = units.checked_sub(1).filter(|df| *df > 0 && fit.straddling > 0.0)? as f64;
        let se = (fit.residual.max(0.0) / df / fit.straddling).sqrt();
        Some(Estimate::from_t(fit.sum / fit.straddling, se, units, df, 1.0 - self.rules.alpha))
    }

    /// Where the change may be, with the probability of each stretch. Valid even before any result.
    pub fn stretches(&self) -> Vec<Stretch> {
        let testable: Vec<usize> = (0..=self.last).filter(|member| self.is_testable(*member)).collect();
        let logs: Vec<f64> =
            testable.windows(2).map(|w| ((w[1] - w[0]) as f64).ln() + self.log_evidence(w[1])).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
        let all: f64 = weights.iter().sum();
        let stretch = |(w, weight): (&[usize], f64)| Stretch { after: w[0], first: w[1], probability: weight / all };
        testable.windows(2).zip(weights).map(stretch).collect()
    }

    /// The most probable stretch.
    pub fn best(&self) -> Option<Stretch> {
        self.stretches().into_iter().max_by(|a, b| a.probability.total_cmp(&b.probability))
    }

    fn is_testable(&self, member: usize) -> bool {
        member == 0 || member == self.last || !self.untestable.contains(&member)
    }

    /// Sums over the comparisons in units of one difference's variance.
    fn fit(&self, first: usize) -> Fit {
        let (mut fit, mut squares) = (Fit { straddling: 0.0, sum: 0.0, residual: 0.0 }, 0.0);
        for ((earlier, later), differences) in &self.pairs {
            squares += differences.iter().map(|d| d * d).sum::<f64>();
            if (earlier + 1..=*later).contains(&first) {
                fit.straddling += differences.len() as f64;
                fit.sum += differences.iter().sum::<f64>();
            }
        }
        fit.residual = if fit.straddling > 0.0 { squares - fit.sum * fit.sum / fit.straddling } else { squares };
        fit
    }

    /// ln of the marginal likelihood of a change at `first`, up to a constant. The priors on its size and on ln
    /// variance are flat.
    fn log_evidence(&self, first: usize) -> f64 {
        let (fit, units) = (self.fit(first), self.units() as f64);
        if fit.straddling == 0.0 || units < 2.0 {
            return 0.0;
        }
        -0.5 * fit.straddling.ln() - 0.5 * (units - 1.0) * fit.residual.max(f64::MIN_POSITIVE).ln()
    }

    /// The next step. First the ends are compared, until they differ at the anytime-valid error rate alpha. Then the
    /// member about which the posterior is least certain is compared with the end that it probably differs from,
    /// because that also measures the size.
    pub fn next(&self) -> BisectStep {
        let spent = self.units() >= self.rules.most_units;
        match self.ends().map(|estimate| estimate.interval) {
            Some(interval) if interval.lo > 0.0 => BisectStep::Ended(BisectAnswer::Reversed),
            Some(interval) if interval.hi < 0.0 => self.within(spent),
            _ if spent => BisectStep::Ended(BisectAnswer::Nothing),
            _ => BisectStep::Compare { control: 0, candidate: self.last, units: self.rules.least_units },
        }
    }

    fn within(&self, spent: bool) -> BisectStep {
        let Some(Stretch { after, first, probability }) = self.best() else {
            return BisectStep::Ended(BisectAnswer::Nothing);
        };
        if probability >= 1.0 - self.rules.alpha {
            return BisectStep::Ended(BisectAnswer::Change { after, first, probability });
        }
        let stretches = self.stretches();
        if spent {
            return BisectStep::Ended(self.shortest(&stretches));
        }
        let (candidate, before) = self.least_sure(&stretches);
        let control = if before > 0.5 { 0 } else { self.last };
        BisectStep::Compare { control, candidate, units: self.batch() }
    }

    /// The member for which "before the change" and "after it" are most nearly equally probable, and the probability
    /// that the change is at it or before it. A member that has been tried already is preferred if it is nearly as
    /// good, because another one costs a build.
    fn least_sure(&self, stretches: &[Stretch]) -> (usize, f64) {
        const NEARLY: f64 = 0.8;
        let mut sum = 0.0;
        let inner = &stretches[..stretches.len().saturating_sub(1)];
        let members: Vec<(usize, f64)> = inner
            .iter()
            .map(|stretch| {
                sum += stretch.probability;
                (stretch.first, sum)
            })
            .collect();
        let unsure = |(_, before): &&(usize, f64)| before * (1.0 - before);
        let most = |members: &mut dyn Iterator<Item = &'_ (usize, f64)>| {
            members.max_by(|a, b| unsure(a).total_cmp(&unsure(b))).copied()
        };
        let tried = |member: usize| self.pairs.keys().any(|&(a, b)| a == member || b == member);
        let any = most(&mut members.iter()).unwrap_or((self.last, 1.0));
        match most(&mut members.iter().filter(|(member, _)| tried(*member))) {
            Some(known) if unsure(&&known) >= NEARLY * unsure(&&any) => known,
            _ => any,
        }
    }

    /// Half of the units that would make one comparison as certain as the answer must be, if the change has its
    /// apparent size.
    fn batch(&self) -> usize {
        let least = self.rules.least_units.max(1);
        let Some(Stretch { first, .. }) = self.best() else { return least };
        let Some(change) = self.seeming(first) else { return least };
        let straddling = self.fit(first).straddling;
        let variance = change.se * change.se * straddling;
        let units = ((1.0 - self.rules.alpha) / self.rules.alpha).ln() * variance / (change.mean * change.mean);
        (units.ceil() as usize).clamp(least, 8 * least)
    }

    fn shortest(&self, stretches: &[Stretch]) -> BisectAnswer {
        let wanted = 1.0 - self.rules.alpha;
        let mut best: Option<(usize, usize, f64)> = None;
        for from in 0..stretches.len() {
            let mut sum = 0.0;
            for stretch in &stretches[from..] {
                sum += stretch.probability;
                if sum >= wanted {
                    let (after, first) = (stretches[from].after, stretch.first);
                    if best.is_none_or(|(a, f, _)| first - after < f - a) {
                        best = Some((after, first, sum));
                    }
                    break;
                }
            }
        }
        let (after, first, probability) = best.unwrap_or((0, self.last, 1.0));
        BisectAnswer::Undecided { after, first, probability }
    }
}

#[cfg(test)]
mod tests;
