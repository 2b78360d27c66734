//! Two versions of a function line by line, with the line numbers of both files.

use super::{File, FunctionChange, Place, Status};
use crate::source::Function;
use serde::Serialize;

/// Cells of the table of a comparison at most; longer functions are shown as two.
const CELLS: usize = 1 << 24;

/// A function's text, the lines of both versions in one order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Body {
    /// Its name, in the second tree if it is there.
    pub function: String,
    /// Where it is in each tree.
    pub places: [Option<Place>; 2],
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
    let old_name = match &change.status {
        Status::RenamedFrom(old) => old,
        _ => &change.name,
    };
    let old = text(before, change.before.as_ref(), old_name);
    let new = text(after, change.after.as_ref(), &change.name);
    let places = [change.before.clone(), change.after.clone()];
    Body { function: change.name.clone(), places, lines: aligned(&old, &new) }
}

/// Lines with their numbers.
fn text(files: &[File], place: Option<&Place>, name: &str) -> Vec<(usize, String)> {
    let found = place.and_then(|place| {
        let file = &files[files.binary_search_by(|file| file.path.as_str().cmp(&place.file)).ok()?];
        let is_it = |function: &&Function| function.line == place.line && function.name == name;
        Some((file, file.unit.functions.iter().find(is_it)?))
    });
    let Some((file, function)) = found else { return Vec::new() };
    // From the first word to the brace; the line of the first word begins with it, except for a macro before it.
    let text = String::from_utf8_lossy(&file.text[function.bytes.clone()]);
    text.lines().enumerate().map(|(at, line)| (function.first_line + at, line.trim_end().to_owned())).collect()
}

/// The longest common subsequence, what is gone before what has come.
fn aligned(old: &[(usize, String)], new: &[(usize, String)]) -> Vec<BodyLine> {
    let line = |numbers: [Option<usize>; 2], text: &str| BodyLine { numbers, text: text.to_owned() };
    let removed = |(number, text): &(usize, String)| line([Some(*number), None], text);
    let added = |(number, text): &(usize, String)| line([None, Some(*number)], text);
    let width = new.len() + 1;
    if old.len().saturating_mul(width) > CELLS {
        return old.iter().map(removed).chain(new.iter().map(added)).collect();
    }
    let mut longest = vec![0u32; (old.len() + 1) * width];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let below = longest[(i + 1) * width + j].max(longest[i * width + j + 1]);
            longest[i * width + j] = if a.1 == b.1 { longest[(i + 1) * width + j + 1] + 1 } else { below };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::with_capacity(old.len() + new.len()));
    while i < old.len() || j < new.len() {
        match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) if a.1 == b.1 => {
                out.push(line([Some(a.0), Some(b.0)], &a.1));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), b) if b.is_none() || longest[(i + 1) * width + j] >= longest[i * width + j + 1] => {
                out.push(removed(a));
                i += 1;
            }
            (_, Some(b)) => {
                out.push(added(b));
                j += 1;
            }
            (_, None) => break,
        }
    }
    out
}
