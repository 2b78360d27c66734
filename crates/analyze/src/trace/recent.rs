//! A ring buffer of the most recent items of a series, by serial number: the memory of an analysis while it reads
//! events.

/// Items with serial numbers from 0 on; the newest are kept. It allocates as it fills.
#[derive(Debug, Clone)]
pub(super) struct Recent<T> {
    kept: Vec<T>,
    /// Serial number of the first item that was at index 0; later ones wrap around from there.
    base: u64,
    next: u64,
    /// The largest number of kept items, which is a power of two, minus one.
    mask: u64,
}

impl<T> Recent<T> {
    /// Keeps `most` items, a power of two.
    pub(super) const fn new(most: usize) -> Self {
        assert!(most.is_power_of_two());
        Self { kept: Vec::new(), base: 0, next: 0, mask: most as u64 - 1 }
    }

    /// The serial number that the next item will have.
    #[inline(always)]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The serial number of the oldest item that is kept.
    #[inline(always)]
    pub(super) fn first(&self) -> u64 {
        self.next - self.kept.len() as u64
    }

    /// Adds an item, and drops the oldest if there is no more room.
    // Called for every event, also from crates that are optimized for size: hence always inlined.
    #[inline(always)]
    pub(super) fn push(&mut self, item: T) {
        match self.kept.get_mut(((self.next - self.base) & self.mask) as usize) {
            Some(oldest) => *oldest = item,
            None => self.kept.push(item),
        }
        self.next += 1;
    }

    /// An item by its serial number; `None` if it is no longer kept, or not added yet.
    #[inline(always)]
    pub(super) fn get(&self, serial: u64) -> Option<&T> {
        let known = serial >= self.first() && serial < self.next;
        if known { self.kept.get((serial.wrapping_sub(self.base) & self.mask) as usize) } else { None }
    }

    /// The same, mutable.
    #[inline]
    pub(super) fn get_mut(&mut self, serial: u64) -> Option<&mut T> {
        let known = serial >= self.first() && serial < self.next;
        if known { self.kept.get_mut((serial.wrapping_sub(self.base) & self.mask) as usize) } else { None }
    }

    /// The newest item.
    #[inline(always)]
    pub(super) fn last(&self) -> Option<&T> {
        self.get(self.next.wrapping_sub(1))
    }

    /// The newest item for which `is` holds; it must hold for all items before that one as well.
    pub(super) fn newest_where(&self, is: impl Fn(&T) -> bool) -> Option<&T> {
        let (mut first, mut end) = (self.first(), self.next);
        // Most searches end at one of the last few items.
        for _ in 0..4 {
            match self.get(end.wrapping_sub(1)) {
                Some(item) if !is(item) => end -= 1,
                found => return found,
            }
        }
        while first < end {
            let middle = first + (end - first) / 2;
            match self.get(middle) {
                Some(item) if is(item) => first = middle + 1,
                _ => end = middle,
            }
        }
        self.get(end.wrapping_sub(1))
    }

    /// From now on keeps at most `most` items, a power of two: the newest ones.
    pub(super) fn keep(&mut self, most: usize) {
        assert!(most.is_power_of_two());
        let oldest = (self.first() - self.base) & self.mask;
        self.kept.rotate_left(oldest as usize);
        self.kept.drain(..self.kept.len().saturating_sub(most));
        (self.base, self.mask) = (self.first(), most as u64 - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(recent: &Recent<u64>) -> Vec<u64> {
        (recent.first()..recent.next()).map(|serial| *recent.get(serial).unwrap()).collect()
    }

    #[test]
    fn the_newest_are_kept_by_their_numbers() {
        let mut recent = Recent::new(4);
        assert_eq!((recent.last(), recent.get(0)), (None, None));
        for n in 0..11 {
            recent.push(n);
            assert_eq!((recent.last(), recent.get(n), recent.get(n + 1)), (Some(&n), Some(&n), None));
            assert_eq!(kept(&recent), (n.saturating_sub(3)..=n).collect::<Vec<_>>());
        }
        for n in 0..13 {
            let newest = recent.newest_where(|item| *item <= n).copied();
            assert_eq!(newest, (n >= 7).then_some(n.min(10)), "{n}");
        }
        *recent.get_mut(9).unwrap() = 90;
        assert_eq!(recent.get(9), Some(&90));
        assert_eq!(recent.get_mut(6), None);
    }

    #[test]
    fn fewer_are_kept_when_asked_at_any_moment() {
        for (before, most) in (0..20_u64).flat_map(|n| [1_usize, 2, 8, 16].map(|most| (n, most))) {
            let mut recent = Recent::new(8);
            (0..before).for_each(|n| recent.push(n));
            recent.keep(most);
            let oldest = before.saturating_sub(most.min(8) as u64);
            assert_eq!(kept(&recent), (oldest..before).collect::<Vec<_>>(), "{before} {most}");
            (before..before + 20).for_each(|n| recent.push(n));
            let now = before + 20;
            assert_eq!(kept(&recent), (now - most as u64..now).collect::<Vec<_>>(), "{before} {most}");
        }
    }
}
