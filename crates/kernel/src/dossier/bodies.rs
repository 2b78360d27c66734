//! Two versions of a function line by line, with the line numbers of both files.

use super::{File, FunctionChange, SourceLine, find};
use crate::port::common;
use crate::source::Function;
use serde::Serialize;

/// A function's text, the lines of both versions in one order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Body {
    /// Its name, in the second tree if it is there.
    pub function: String,
    /// Where it is in each tree.
    pub places: [Option<SourceLine>; 2],
    /// The text there.
    pub lines: Vec<BodyLine>,
}

/// A line of one version or of both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BodyLine {
    /// Its number in each file, from 1.
    pub numbers: [Option<usize>; 2],
    /// Without its end.
    pub text: String,
}

/// The text of a changed function, read again from the files that `change` was found in.
pub fn body(change: &FunctionChange, before: &[File], after: &[File]) -> Body {
    let old = text(before, change.before.as_ref(), change.old_name());
    let new = text(after, change.after.as_ref(), &change.name);
    let places = [change.before.clone(), change.after.clone()];
    Body { function: change.name.clone(), places, lines: aligned(&old, &new) }
}

/// Lines with their numbers.
fn text(files: &[File], place: Option<&SourceLine>, name: &str) -> Vec<(usize, String)> {
    let found = place.and_then(|place| {
        let file = find(files, &place.file)?;
        let is_it = |function: &&Function| function.line == place.line && function.name == name;
        Some((file, file.unit.functions.iter().find(is_it)?))
    });
    let Some((file, function)) = found else { return Vec::new() };
    // The text runs from the first word to the closing brace. Only a macro can precede the first word on its line.
    let text = String::from_utf8_lossy(&file.text[function.bytes.clone()]);
    text.lines().enumerate().map(|(at, line)| (function.first_line + at, line.trim_end().to_owned())).collect()
}

/// The longest common subsequence, removed lines before added ones. Versions that are too long to compare are shown one
/// after the other.
fn aligned(old: &[(usize, String)], new: &[(usize, String)]) -> Vec<BodyLine> {
    let texts = [old, new].map(|lines| lines.iter().map(|(_, text)| text.as_bytes()).collect::<Vec<_>>());
    let mut pairs = common(&texts[0], &texts[1]).unwrap_or_default();
    pairs.push((old.len(), new.len()));
    let line = |numbers: [Option<usize>; 2], text: &str| BodyLine { numbers, text: text.to_owned() };
    let (mut i, mut j, mut out) = (0, 0, Vec::with_capacity(old.len() + new.len()));
    for (a, b) in pairs {
        out.extend(old[i..a].iter().map(|(number, text)| line([Some(*number), None], text)));
        out.extend(new[j..b].iter().map(|(number, text)| line([None, Some(*number)], text)));
        out.extend(old.get(a).zip(new.get(b)).map(|(x, y)| line([Some(x.0), Some(y.0)], &x.1)));
        (i, j) = (a + 1, b + 1);
    }
    out
}
