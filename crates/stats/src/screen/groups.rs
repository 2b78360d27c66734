//! Groups of factors that are switched together: single factors while there are few, otherwise the lines of a grid in
//! three directions. Two factors share at most one line, so factors that cancel in one line respond in the others.

use super::table::Table;
use crate::random::Random;

/// Rows of the design before those of the groups: the background in which no factor is switched, twice, and the one in
/// which all are, twice.
const BACKGROUND: usize = 4;
/// Up to this many factors each is a group of its own: a grid would have as many lines.
const MAX_SINGLE: usize = 16;

/// Groups over some of the factors of a screen.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    members: Vec<usize>,
    groups: Vec<Vec<usize>>,
}

impl Groups {
    /// Each factor by itself.
    pub(super) fn single(members: Vec<usize>) -> Self {
        Self { groups: members.iter().map(|&member| vec![member]).collect(), members }
    }

    /// Single factors, or the lines of a grid in which the factors are placed at random.
    pub(super) fn new(members: Vec<usize>, seed: u64) -> Self {
        if members.len() <= MAX_SINGLE {
            return Self::single(members);
        }
        let across = (members.len() as f64).sqrt().ceil() as usize;
        let mut placed = members.clone();
        Random::new(seed).shuffle(&mut placed);
        let line = |of_place: &dyn Fn(usize) -> usize, at: usize| -> Vec<usize> {
            (0..placed.len()).filter(|&place| of_place(place) == at).map(|place| placed[place]).collect()
        };
        let directions: [&dyn Fn(usize) -> usize; 3] =
            [&|place| place / across, &|place| place % across, &|place| (place / across + place % across) % across];
        let lines = directions.iter().flat_map(|of_place| (0..across).map(|at| line(*of_place, at)));
        Self { groups: lines.filter(|line| !line.is_empty()).collect(), members }
    }

    pub(super) fn are_single(&self) -> bool {
        self.groups.iter().all(|group| group.len() == 1)
    }

    pub(super) fn members(&self) -> &[usize] {
        &self.members
    }

    /// The backgrounds, then each group switched alone, then everything except each group, for all factors of a screen.
    pub(super) fn rows(&self, factors: usize) -> Vec<Vec<bool>> {
        let switched = |which: &[usize], all: bool| -> Vec<bool> {
            (0..factors).map(|factor| self.members.contains(&factor) && which.contains(&factor) != all).collect()
        };
        let backgrounds = [false, false, true, true].map(|all| switched(&[], all));
        let alone = self.groups.iter().map(|group| switched(group, false));
        let all_but = self.groups.iter().map(|group| switched(group, true));
        backgrounds.into_iter().chain(alone).chain(all_but).collect()
    }

    /// Factors to continue with, rising, and each member's score: how far its groups differ from their background.
    ///
    /// Separately in each background: the factors of which two groups (or the only one) exceed the cut, and all factors
    /// of a group that exceeds it and contains no such factor.
    pub(super) fn kept(&self, table: &Table, cut: f64) -> (Vec<usize>, Vec<(usize, f64)>) {
        let (mut kept, mut scores) = (Vec::new(), vec![0.0f64; self.members.len()]);
        for (all, background) in [[0, 1], [2, 3]].iter().enumerate() {
            let size =
                |at: usize| table.against(BACKGROUND + all * self.groups.len() + at, background, 0.95).mean.abs();
            let sizes: Vec<f64> = (0..self.groups.len()).map(size).collect();
            let of = |member: usize| (0..self.groups.len()).filter(move |&at| self.groups[at].contains(&member));
            let answers = |member: usize| of(member).filter(|&at| sizes[at] > cut).count() >= of(member).count().min(2);
            let by_itself: Vec<usize> = self.members.iter().copied().filter(|&member| answers(member)).collect();
            let explained = |group: &Vec<usize>| by_itself.iter().any(|member| group.contains(member));
            let unexplained = (0..sizes.len()).filter(|&at| sizes[at] > cut && !explained(&self.groups[at]));
            kept.extend(unexplained.flat_map(|at| self.groups[at].clone()));
            kept.extend(&by_itself);
            for (score, &member) in scores.iter_mut().zip(&self.members) {
                *score = score.max(of(member).map(|at| sizes[at]).sum());
            }
        }
        kept.sort_unstable();
        kept.dedup();
        (kept, self.members.iter().copied().zip(scores).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(factors: usize, value: impl Fn(&[bool]) -> f64) -> Vec<usize> {
        let groups = Groups::new((0..factors).collect(), 3);
        let values: Vec<Vec<f64>> = groups.rows(factors).iter().map(|row| vec![value(row); 2]).collect();
        groups.kept(&Table::new(&values, values.len()).unwrap(), 0.05).0
    }

    #[test]
    fn two_factors_share_one_line_at_most() {
        for factors in 9..=40 {
            let groups = Groups::new((0..factors).collect(), 7);
            let directions = if factors <= MAX_SINGLE { 1 } else { 3 };
            assert_eq!(groups.groups.iter().map(Vec::len).sum::<usize>(), directions * factors);
            for (a, b) in (0..factors).flat_map(|a| (0..a).map(move |b| (a, b))) {
                assert!(groups.groups.iter().filter(|line| line.contains(&a) && line.contains(&b)).count() <= 1);
            }
        }
        assert_eq!(Groups::new((0..40).collect(), 7).groups.len(), 20, "6 and twice 7");
    }

    #[test]
    fn one_factor_is_found_alone_and_none_where_none_is() {
        for active in 0..40 {
            assert_eq!(kept(40, |row| if row[active] { -0.3 } else { 0.0 }), [active]);
        }
        assert_eq!(kept(40, |_| 0.2), [0; 0]);
    }

    /// Two factors of which each alone changes the value and both together do not, or only both together do, or one
    /// undoes the effect of the other; wherever the two are, and with a third active factor.
    #[test]
    fn those_that_cancel_and_those_that_need_each_other_stay() {
        let factors = 20;
        for (a, b) in (0..factors).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let third = (a + b) % factors;
            let of = |on: bool, change: f64| if on { change } else { 0.0 };
            let cancel = kept(factors, |row| match (row[a], row[b]) {
                (true, false) => 0.34,
                (false, true) => 0.32,
                (true, true) => -0.06,
                _ => 0.0,
            });
            let both = kept(factors, |row| of(row[a] && row[b], 0.2));
            let either = kept(factors, |row| of(row[a] || row[b], 0.2));
            let opposite = kept(factors, |row| of(row[a], 0.2) - of(row[b], 0.2));
            for kept in [cancel, both, either, opposite] {
                assert!(kept.contains(&a) && kept.contains(&b), "{a} and {b} of {kept:?}");
                assert!(kept.len() <= 12, "{a} and {b} of {kept:?}");
            }
            let beside = kept(factors, |row| of(row[a] && row[b], 0.2) - of(row[third], 0.2));
            assert!([a, b].iter().all(|factor| beside.contains(factor)), "{a} and {b} of {beside:?}");
        }
    }
}
