//! A text, prepared for finding hunks in it.

use super::section::{self, Section};
use super::tokens::{distinctive, likeness, mask, of_common};
use crate::lines::without_end;
use std::collections::HashMap;

/// A line, prepared for quick comparison.
pub(super) struct Known<'a> {
    pub(super) trimmed: &'a [u8],
    pub(super) words: Vec<&'a [u8]>,
    mask: u64,
}

/// Lines that are less similar than this are different lines.
const LIKE: f32 = 0.6;

impl<'a> Known<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        let trimmed = without_end(line).trim_ascii();
        let words = distinctive(trimmed);
        Self { trimmed, mask: mask(&words), words }
    }

    /// Similarity: 1 if equal but for indentation, 0 for a different line.
    pub(super) fn likeness(&self, other: &Self) -> f32 {
        self.likeness_by(other, || likeness(&self.words, &other.words))
    }

    fn likeness_by(&self, other: &Self, of_words: impl FnOnce() -> f32) -> f32 {
        if self.trimmed == other.trimmed {
            return 1.0;
        }
        let (both, all) = ((self.mask & other.mask).count_ones(), self.mask.count_ones() + other.mask.count_ones());
        let (few, words) = (self.words.len().min(other.words.len()), self.words.len() + other.words.len());
        // The similarity if all words of the shorter line were in the other one.
        let at_most = 2.0 * few as f32 / words as f32;
        if all == 0 || 5 * both < all || at_most < LIKE {
            return 0.0;
        }
        let found = of_words();
        if found < LIKE { 0.0 } else { found.min(0.99) }
    }

    /// It contains a word, so it is not blank or only braces.
    pub(super) fn says_something(&self) -> bool {
        self.mask != 0
    }

    /// How much the line tells about its place: braces and blank lines occur everywhere.
    pub(super) fn weight(&self) -> f32 {
        if !self.says_something() { 0.15 } else { (0.4 + 0.08 * self.words.len() as f32).min(1.0) }
    }
}

/// A text in which hunks are searched for.
pub struct Source<'a> {
    pub(super) lines: Vec<&'a [u8]>,
    pub(super) known: Vec<Known<'a>>,
    sections: Vec<Section>,
    section_of: Vec<Option<usize>>,
    times: HashMap<&'a [u8], usize>,
    /// A number for each word of the text, and the words of each line as these numbers.
    numbers: HashMap<&'a [u8], usize>,
    numbered: Vec<Vec<usize>>,
}

/// Where each word occurs in a line, so that the line can be compared with every line of a text without a table for
/// each.
pub(super) struct Pattern<'k, 'a> {
    known: &'k Known<'a>,
    /// For each word number of the text, a bit for each place in the line; empty if the line is too long.
    places: Vec<u64>,
}

impl<'a> Source<'a> {
    /// Reads the text once for all its hunks.
    pub fn new(text: &'a [u8]) -> Self {
        let lines = crate::split(text);
        let known: Vec<Known<'_>> = lines.iter().map(|line| Known::new(line)).collect();
        let (sections, section_of) = section::of_lines(&lines);
        let mut times = HashMap::new();
        for line in &known {
            *times.entry(line.trimmed).or_default() += 1;
        }
        let mut numbers = HashMap::new();
        let mut number = |word: &&'a [u8]| {
            let next = numbers.len();
            *numbers.entry(*word).or_insert(next)
        };
        let numbered = known.iter().map(|line| line.words.iter().map(&mut number).collect()).collect();
        Self { lines, known, sections, section_of, times, numbers, numbered }
    }

    /// Prepares a line for comparison with many lines of the text.
    pub(super) fn pattern<'k, 'b>(&self, known: &'k Known<'b>) -> Pattern<'k, 'b> {
        let mut places = Vec::new();
        if known.words.len() <= u64::BITS as usize {
            places.resize(self.numbers.len(), 0);
            let numbers = known.words.iter().map(|word| self.numbers.get(word));
            numbers.enumerate().for_each(|(at, number)| number.into_iter().for_each(|n| places[*n] |= 1 << at));
        }
        Pattern { known, places }
    }

    /// [`Known::likeness`] to a line of the text.
    pub(super) fn likeness(&self, pattern: &Pattern<'_, '_>, line: usize) -> f32 {
        let (known, there, numbers) = (pattern.known, &self.known[line], &self.numbered[line]);
        known.likeness_by(there, || match &pattern.places[..] {
            [] => likeness(&known.words, &there.words),
            places => of_common(common_of_bits(places, numbers), known.words.len() + there.words.len()),
        })
    }

    /// Its lines, with their newlines.
    pub fn lines(&self) -> &[&'a [u8]] {
        &self.lines
    }

    pub(super) fn section(&self, line: usize) -> Option<&Section> {
        let of = self.section_of.get(line.min(self.lines.len().saturating_sub(1)))?;
        of.map(|at| &self.sections[at])
    }

    /// How often the text contains a line.
    pub(super) fn times(&self, line: &Known<'_>) -> usize {
        self.times.get(line.trimmed).copied().unwrap_or(0)
    }
}

/// Length of the longest common subsequence, computed for all positions of the line at once (Crochemore, Iliopoulos,
/// Pinzon and Reid 2001).
fn common_of_bits(places: &[u64], numbers: &[usize]) -> u32 {
    let open = numbers.iter().fold(u64::MAX, |open, number| {
        let there = open & places[*number];
        open.wrapping_add(there) | (open - there)
    });
    open.count_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways to compare two lines give the same result.
    #[test]
    fn likeness_to_a_line_of_the_text_is_that_of_both_lines() {
        let lines = "a = b(c, d);\nb = a(d, c);\nx\n\nif (a && b || c)\n\treturn a_b_c(d, x, x);\n";
        let long = "a, ".repeat(40) + "b\n";
        let text = lines.to_owned() + &long;
        let source = Source::new(text.as_bytes());
        for line in text.lines().chain(["a = c(b, y);", "return a_b_d(x, d);"]) {
            let known = Known::new(line.as_bytes());
            let pattern = source.pattern(&known);
            for (at, there) in source.known.iter().enumerate() {
                assert_eq!(source.likeness(&pattern, at), known.likeness(there), "{line} {at}");
            }
        }
    }
}
