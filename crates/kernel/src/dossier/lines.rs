//! How many lines differ.

use crate::names::words;
use std::collections::HashMap;

/// A number for each different line, so that two lines are compared in one instruction.
#[derive(Default)]
pub(super) struct Numbers {
    of: HashMap<Vec<u8>, usize>,
    /// By number, whether the line is distinctive.
    is_distinctive: Vec<bool>,
}

impl Numbers {
    pub(super) fn of(&mut self, lines: &[&[u8]]) -> Vec<usize> {
        lines.iter().map(|line| self.number(line)).collect()
    }

    fn number(&mut self, line: &[u8]) -> usize {
        if let Some(number) = self.of.get(line) {
            return *number;
        }
        self.is_distinctive.push(words(line).filter(|word| !is_everywhere(word)).count() > 1);
        *self.of.entry(line.to_vec()).or_insert(self.is_distinctive.len() - 1)
    }

    /// The distinctive lines, sorted by number: they contain two or more names that are not in every function.
    pub(super) fn distinctive(&self, numbers: &[usize]) -> Vec<usize> {
        sorted(&numbers.iter().copied().filter(|number| self.is_distinctive[*number]).collect::<Vec<_>>())
    }
}

/// C keywords and names that any function may contain.
fn is_everywhere(word: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"int",
        b"return",
        b"if",
        b"else",
        b"for",
        b"struct",
        b"void",
        b"static",
        b"inline",
        b"unsigned",
        b"long",
        b"const",
        b"bool",
        b"char",
        b"u32",
        b"u64",
        b"goto",
        b"out",
        b"ret",
        b"err",
        b"i",
        b"NULL",
        b"true",
        b"false",
        b"break",
        b"continue",
        b"case",
        b"EINVAL",
        b"ENOMEM",
    ];
    word[0].is_ascii_digit() || WORDS.contains(&word)
}

/// Lines added and removed in a shortest edit from `old` to `new` (Myers, "An O(ND) difference algorithm", 1986). After
/// `LIMIT` edits, the rest is counted by the lines that both have, wherever they are.
pub(super) fn difference(old: &[usize], new: &[usize]) -> (usize, usize) {
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
    let kept = in_both(&sorted(old), &sorted(new));
    (m - kept, n - kept)
}

pub(super) fn sorted(numbers: &[usize]) -> Vec<usize> {
    let mut out = numbers.to_vec();
    out.sort_unstable();
    out
}

/// How many numbers two sorted lists have in common; a repeated number counts as often as in the list that has it less
/// often.
pub(super) fn in_both(a: &[usize], b: &[usize]) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_function_tell_nothing() {
        let mut numbers = Numbers::default();
        let lines = ["{", "}", "return 0;", "int i, ret;", "if (err)", "goto out;", "rq->avg_thermal.load_avg = 0;"];
        let of = numbers.of(&lines.map(str::as_bytes));
        assert_eq!(numbers.distinctive(&of), [6]);
    }
}
