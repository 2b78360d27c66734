//! A merge's own changes, from the combined diff of `git diff-tree --cc`.

use super::{Change, FilePatch, Hunk, Line, path};
use crate::lines::{split, without_end};

/// The files of the combined diffs in a text. Added are lines that none of the parents has, removed those that all
/// have. Lines that the merge took from one parent are context, as if the old side were the merge's result without its
/// own changes.
pub fn parse_combined(text: &[u8]) -> Vec<FilePatch> {
    let lines = split(text);
    let (mut out, mut at): (Vec<FilePatch>, _) = (Vec::new(), 0);
    let mut is_combined = false;
    while let Some(line) = lines.get(at) {
        at += 1;
        if line.starts_with(b"diff ") {
            is_combined = line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ");
        } else if let Some(new) = line.strip_prefix(b"+++ ").filter(|_| is_combined) {
            if let Ok(Some(name)) = path::read(without_end(new), true) {
                let (old, new) = (Some(name.clone()), Some(name));
                let change = Change::Modified;
                out.push(FilePatch { old, new, change, old_mode: None, new_mode: None, line: at, hunks: Vec::new() });
            } else {
                is_combined = false;
            }
        } else if let Some((parents, new_start, section)) = head(line).filter(|_| is_combined) {
            let body = lines[at..].iter().take_while(|line| matches!(line.first(), Some(b' ' | b'+' | b'-' | b'\\')));
            let body: Vec<&[u8]> = body.copied().collect();
            let own = body.iter().filter_map(|line| of(line, parents)).collect::<Vec<_>>();
            if let Some(file) = out.last_mut().filter(|_| own.iter().any(|line| !matches!(line, Line::Context(_)))) {
                file.hunks.push(Hunk { old_start: new_start, new_start, section, line: at, lines: own });
            }
            at += body.len();
        }
    }
    out.retain(FilePatch::is_change);
    out
}

/// `@@@ -1,5 -1,6 +1,7 @@@ section`, with one `@` more than there are parents. Returns the number of parents, the first
/// line of the result, and the section.
fn head(line: &[u8]) -> Option<(usize, usize, Vec<u8>)> {
    let marks = line.iter().take_while(|b| **b == b'@').count();
    let text = std::str::from_utf8(without_end(line)).ok().filter(|_| marks > 2)?;
    let (ranges, section) = text[marks..].split_once(&text[..marks])?;
    let new = ranges.split_whitespace().find_map(|range| range.strip_prefix('+'))?;
    let new_start = new.split(',').next()?.parse().ok()?;
    Some((marks - 1, new_start, section.trim_start().as_bytes().to_vec()))
}

/// `None` if a parent had the line and the merge did not take it.
fn of(line: &[u8], parents: usize) -> Option<Line> {
    let (signs, text) = line.split_at_checked(parents)?;
    let is_all = |sign: u8| signs.iter().all(|b| *b == sign);
    match signs {
        _ if is_all(b'+') => Some(Line::Added(text.to_vec())),
        _ if is_all(b'-') => Some(Line::Removed(text.to_vec())),
        [b'\\', ..] => None,
        _ => (!signs.contains(&b'-')).then(|| Line::Context(text.to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merges_own_lines_are_those_of_no_parent() {
        let text = b"diff --cc x.c\nindex 1,2..3\n--- a/x.c\n+++ b/x.c\n@@@ -3,4 -3,4 +3,5 @@@ int f(void)\n  \ta;\n- \tone;\n -\tother;\n++\tboth;\n +\ttaken;\n--\tgone;\n  }\n";
        let found = parse_combined(text);
        assert_eq!((found.len(), found[0].path(), found[0].hunks[0].new_start), (1, "x.c", 3));
        let lines: Vec<_> = found[0].hunks[0].lines.iter().map(|line| (line.sign(), line.text())).collect();
        let expected: [(u8, &[u8]); 5] =
            [(b' ', b"\ta;\n"), (b'+', b"\tboth;\n"), (b' ', b"\ttaken;\n"), (b'-', b"\tgone;\n"), (b' ', b"}\n")];
        assert_eq!(lines, expected);
        // An ordinary diff yields nothing.
        assert!(parse_combined(b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").is_empty());
    }
}
