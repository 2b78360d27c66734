//! Markdown files: lines that fit a terminal and a diff, and a method page that stays short.

use super::tracked_files::listed;
use anyhow::{Context, Result};
use std::path::Path;

const COLUMNS: usize = 100;
const METHOD: &str = "METHODOLOGY.md";
const METHOD_WORDS: usize = 2500;

/// Reports lines that are too long in hand-written Markdown, and a method page that is too long.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for name in listed(root)?.iter().filter(|name| name.ends_with(".md") && !name.contains("/golden/")) {
        // A file that was removed, but not yet in the index, is still listed.
        let path = root.join(name);
        if !path.exists() {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("{name} cannot be read"))?;
        problems.extend(in_prose(&text).map(|line| format!("{name}:{line} has a table's rows in a paragraph")));
        problems.extend(long_lines(&text).map(|(line, columns)| format!("{name}:{line} has {columns} columns")));
        let words = text.split_whitespace().count();
        if name == METHOD && words > METHOD_WORDS {
            problems.push(format!("{name} has {words} words, more than {METHOD_WORDS}"));
        }
    }
    Ok(problems)
}

/// Number and width of lines over the limit. Tables, pictures, quoted output and code may be wider.
fn long_lines(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut is_code = false;
    let lines = text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !["|", "![", ">"].iter().any(|start| line.trim_start().starts_with(start))
    });
    lines.map(|(at, line)| (at + 1, line.chars().count())).filter(|(_, columns)| *columns > COLUMNS)
}

/// Numbers of lines in which the row below a table's head is not a row: the table was wrapped like a paragraph.
fn in_prose(text: &str) -> impl Iterator<Item = usize> + '_ {
    let is_in = |line: &str| line.contains("|--") && line.contains("-:|") && !line.trim_start().starts_with('|');
    text.lines().enumerate().filter(move |(_, line)| is_in(line)).map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_counted_and_what_is_not_prose_is_not() {
        let long = "é".repeat(101);
        let text =
            format!("{long}\n| {long} |\n```sh\n{long}\n```\n{}\n![x]({long})\n> {long}\n{long}\n", "é".repeat(100));
        assert_eq!(long_lines(&text).collect::<Vec<_>>(), [(1, 101), (9, 101)]);
        assert_eq!(long_lines(&format!("- a\n\n  | {long} |\n")).count(), 0);
        let filled = "| a | b |\n|---|--:|\n| 1 | 2 |\n\n  a | b | |---|--:| | 1 | 2 |\n";
        assert_eq!(in_prose(filled).collect::<Vec<_>>(), [5]);
    }
}
