//! How many lines differ.

/// Lines added and removed in a shortest edit from `old` to `new` (Myers, "An O(ND) difference algorithm", 1986). Past
/// `LIMIT` edits the rest is counted by what both hold, wherever it stands.
pub(super) fn difference<T: Ord>(old: &[T], new: &[T]) -> (usize, usize) {
    const LIMIT: usize = 6000;
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let (n, m) = (old.len(), new.len());
    let limit = LIMIT.min(n + m);
    // Furthest `x` on each diagonal `x - y`, shifted to be positive.
    let mut furthest = vec![0usize; 2 * limit + 3];
    let middle = limit + 1;
    for edits in 0..=limit {
        for diagonal in (middle - edits..=middle + edits).step_by(2) {
            let down = diagonal == middle - edits
                || diagonal != middle + edits && furthest[diagonal - 1] < furthest[diagonal + 1];
            let mut x = if down { furthest[diagonal + 1] } else { furthest[diagonal - 1] + 1 };
            let Some(mut y) = (x + middle).checked_sub(diagonal) else { continue };
            while x < n && y < m && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
            }
            furthest[diagonal] = x;
            if x >= n && y >= m {
                // edits = added + removed, n - removed = m - added.
                let added = (edits + m - n.min(edits + m)).div_ceil(2);
                return (added, edits - added);
            }
        }
    }
    let (mut a, mut b): (Vec<&T>, Vec<&T>) = (old.iter().collect(), new.iter().collect());
    a.sort_unstable();
    b.sort_unstable();
    let kept = in_both(&a, &b);
    (m - kept, n - kept)
}

/// How many items two sorted lists hold in common, each as often as in the one that has it less often.
pub(super) fn in_both<T: Ord>(a: &[T], b: &[T]) -> usize {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, both) = (i + 1, j + 1, both + 1),
        }
    }
    both
}
