//! The longest of many items, up to a limit.

/// Items by duration, the longest first; among equals, the earliest.
#[derive(Debug)]
pub(super) struct Longest<T> {
    most: usize,
    all: Vec<(u64, T)>,
}

impl<T> Longest<T> {
    /// Keeps at most `most` items.
    pub(super) fn new(most: usize) -> Self {
        Self { most, all: Vec::new() }
    }

    /// Whether an item of this length would be kept.
    #[inline]
    pub(super) fn has_room(&self, ns: u64) -> bool {
        self.all.last().filter(|_| self.all.len() >= self.most).is_none_or(|(least, _)| ns > *least)
    }

    pub(super) fn add(&mut self, ns: u64, item: T) {
        let at = self.all.partition_point(|(other, _)| *other >= ns);
        self.all.insert(at, (ns, item));
        self.all.truncate(self.most);
    }

    /// Removes the first item for which `is` holds, and returns it with its length.
    pub(super) fn take(&mut self, is: impl Fn(&T) -> bool) -> Option<(u64, T)> {
        let at = self.all.iter().position(|(_, item)| is(item))?;
        Some(self.all.remove(at))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.iter().map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_kept_and_the_first_of_equals_leads() {
        let mut longest = Longest::new(3);
        for (ns, item) in [(5, 'a'), (9, 'b'), (5, 'c'), (1, 'd'), (7, 'e')] {
            longest.add(ns, item);
        }
        assert_eq!(longest.iter().copied().collect::<String>(), "bea");
        assert!(longest.has_room(6) && !longest.has_room(5));
        assert_eq!((longest.take(|item| *item == 'e'), longest.take(|item| *item == 'd')), (Some((7, 'e')), None));
        assert!(longest.has_room(0));
    }
}
