//! Sorting without a separate sort routine for each type: the standard library's sorts are compiled for every type and
//! comparison, some 4 kB each. For lists that are short or sorted once; hot paths use the library's sorts.

use std::cmp::Ordering;

/// Stable sorts of slices through one sort of their indices.
pub trait InOrder<T> {
    /// As `sort_by`.
    fn in_order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// As `sort_by_key`.
    fn in_order_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K);
}

impl<T> InOrder<T> for [T] {
    fn in_order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut order: Vec<usize> = (0..self.len()).collect();
        sort(&mut order, &mut |a, b| compare(&self[a], &self[b]));
        // Applies each cycle of the permutation once; an element in its place has its own index.
        for start in 0..order.len() {
            let mut to = start;
            loop {
                let from = std::mem::replace(&mut order[to], to);
                if from == start {
                    break;
                }
                self.swap(to, from);
                to = from;
            }
        }
    }

    fn in_order_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.in_order_by(|a, b| key(a).cmp(&key(b)));
    }
}

/// Maps and sets filled entry by entry. `collect` sorts first, with a routine for each type. Of equal keys, both keep
/// the last value.
pub trait OneByOne: Iterator + Sized {
    /// As `collect`.
    fn one_by_one<C: Default + Extend<Self::Item>>(self) -> C {
        let mut all = C::default();
        all.extend(self);
        all
    }
}

impl<I: Iterator> OneByOne for I {}

/// The one sort routine: equal elements are ordered by their indices, so it is stable.
fn sort(order: &mut [usize], compare: &mut dyn FnMut(usize, usize) -> Ordering) {
    order.sort_unstable_by(|a, b| compare(*a, *b).then(a.cmp(b)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sorts_as_the_library_does() {
        for len in [0, 1, 2, 3, 10, 57, 300] {
            let made: Vec<(usize, usize)> = (0..len).map(|i| (7919 * i % (len / 3 + 1), i)).collect();
            let (mut ours, mut theirs) = (made.clone(), made);
            ours.in_order_by_key(|(key, _)| std::cmp::Reverse(*key));
            theirs.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
            assert_eq!(ours, theirs, "{len}: equal keys keep their order");
            ours.in_order_by(|a, b| a.1.cmp(&b.1));
            assert!(ours.iter().enumerate().all(|(i, (_, at))| i == *at));
        }
    }
}
