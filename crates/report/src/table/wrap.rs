//! Breaks texts into lines.

use super::{takes_a_column, width};

/// Parts that must stay on one line: words, a number with its sign (`95 %`, `2 ×`), an interval (`[-3, 16]`).
fn unbroken(text: &str) -> Vec<String> {
    const LONGEST: usize = 24;
    let mut all: Vec<String> = Vec::new();
    // Not at no-break spaces, which are inside numbers.
    for word in text.split([' ', '\t', '\n']).filter(|word| !word.is_empty()) {
        let after_number = |last: &str| last.ends_with(|c: char| c.is_ascii_digit()) && word.starts_with(['%', '×']);
        let in_interval = |last: &str| last.rfind('[') > last.rfind(']') && width(last) + width(word) < LONGEST;
        match all.last_mut().filter(|last| after_number(last) || in_interval(last)) {
            Some(last) => {
                last.push(' ');
                last.push_str(word);
            }
            None => all.push(word.to_owned()),
        }
    }
    all
}

/// Breaks at blanks so that no line is wider than `limit`; a word longer than that is cut.
pub fn wrap(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(8);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in unbroken(text) {
        let mut word = word.as_str();
        if !line.is_empty() && !fits(word, limit.saturating_sub(width(&line) + 1)) {
            lines.push(std::mem::take(&mut line));
        }
        while !fits(word, limit) {
            let end = word.char_indices().nth(limit).map_or(word.len(), |(i, _)| i);
            // A spec is one long word; it is best cut after a comma.
            let cut = word[..end].rfind(',').map_or(end, |comma| comma + 1);
            lines.push(word[..cut].to_owned());
            word = &word[cut..];
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Whether a text is no wider than `limit`. Only its beginning is looked at: a value may have a million digits.
fn fits(text: &str, limit: usize) -> bool {
    text.chars().filter(takes_a_column).nth(limit).is_none()
}
