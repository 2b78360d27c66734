//! A text prepared for looking hunks up in it.

use super::section::{self, Section};
use super::tokens::{likeness, mask, telling};
use crate::lines::without_end;
use std::collections::HashMap;

/// A line with what makes comparing it cheap.
pub(super) struct Known<'a> {
    pub(super) trimmed: &'a [u8],
    pub(super) words: Vec<&'a [u8]>,
    mask: u64,
}

/// Lines less like each other than this are different lines.
const LIKE: f32 = 0.6;

impl<'a> Known<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        let trimmed = without_end(line).trim_ascii();
        let words = telling(trimmed);
        Self { trimmed, mask: mask(&words), words }
    }

    /// 1: the same but for indentation; 0: another line.
    pub(super) fn likeness(&self, other: &Self) -> f32 {
        if self.trimmed == other.trimmed {
            return 1.0;
        }
        let (both, all) = ((self.mask & other.mask).count_ones(), self.mask.count_ones() + other.mask.count_ones());
        if all == 0 || 5 * both < all {
            return 0.0;
        }
        let found = likeness(&self.words, &other.words);
        if found < LIKE { 0.0 } else { found.min(0.99) }
    }

    /// How much the line tells by itself: braces and blank lines stand everywhere.
    pub(super) fn weight(&self) -> f32 {
        if self.mask == 0 { 0.15 } else { (0.4 + 0.08 * self.words.len() as f32).min(1.0) }
    }
}

/// A text in which hunks are looked up.
pub struct Source<'a> {
    pub(super) lines: Vec<&'a [u8]>,
    pub(super) known: Vec<Known<'a>>,
    sections: Vec<Section>,
    section_of: Vec<Option<usize>>,
    times: HashMap<&'a [u8], usize>,
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
        Self { lines, known, sections, section_of, times }
    }

    /// Its lines, with their newlines.
    pub fn lines(&self) -> &[&'a [u8]] {
        &self.lines
    }

    pub(super) fn section(&self, line: usize) -> Option<&Section> {
        let of = self.section_of.get(line.min(self.lines.len().saturating_sub(1)))?;
        of.map(|at| &self.sections[at])
    }

    /// How often a line stands in the text.
    pub(super) fn times(&self, line: &Known<'_>) -> usize {
        self.times.get(line.trimmed).copied().unwrap_or(0)
    }
}
