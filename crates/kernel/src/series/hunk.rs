//! One hunk of a unified diff, read by the counts of its header, as GNU patch reads it.

use crate::lines::without_end;

/// One line of a hunk, with its newline but without the sign before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Is on both sides.
    Context(Vec<u8>),
    /// Is on the old side only.
    Removed(Vec<u8>),
    /// Is on the new side only.
    Added(Vec<u8>),
}

impl Line {
    /// The line itself.
    pub fn text(&self) -> &[u8] {
        match self {
            Self::Context(text) | Self::Removed(text) | Self::Added(text) => text,
        }
    }

    fn text_mut(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Context(text) | Self::Removed(text) | Self::Added(text) => text,
        }
    }

    /// The sign before it in a diff.
    pub fn sign(&self) -> u8 {
        match self {
            Self::Context(_) => b' ',
            Self::Removed(_) => b'-',
            Self::Added(_) => b'+',
        }
    }

    /// The same line in the reversed diff.
    fn reversed(self) -> Self {
        match self {
            Self::Context(text) => Self::Context(text),
            Self::Removed(text) => Self::Added(text),
            Self::Added(text) => Self::Removed(text),
        }
    }
}

/// A hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line of the old side, from 1; where the old side is empty, the line before it.
    pub old_start: usize,
    /// The same for the new side.
    pub new_start: usize,
    /// The text after the second `@@`: the line that begins the function around the hunk, as `diff -p` found it.
    pub section: Vec<u8>,
    /// Line of the series where it begins, from 1.
    pub line: usize,
    /// Context, removed and added lines.
    pub lines: Vec<Line>,
}

impl Hunk {
    /// Lines of the old side: context and removed.
    pub fn old_side(&self) -> Vec<&[u8]> {
        self.lines.iter().filter(|l| !matches!(l, Line::Added(_))).map(Line::text).collect()
    }

    /// Lines of the new side: context and added.
    pub fn new_side(&self) -> Vec<&[u8]> {
        self.lines.iter().filter(|l| !matches!(l, Line::Removed(_))).map(Line::text).collect()
    }

    /// Lines of context before the first change and after the last one.
    pub fn context(&self) -> (usize, usize) {
        let is_context = |line: &&Line| matches!(line, Line::Context(_));
        let before = self.lines.iter().take_while(is_context).count();
        (before, self.lines.iter().rev().take_while(is_context).count())
    }

    /// The hunk that reverts this one.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let lines = self.lines.iter().cloned().map(Line::reversed).collect();
        Self { old_start: self.new_start, new_start: self.old_start, lines, ..self.clone() }
    }

    /// The hunk as a diff writes it, with its `@@` line and newlines.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = format!(
            "@@ -{},{} +{},{} @@",
            self.old_start,
            self.old_side().len(),
            self.new_start,
            self.new_side().len()
        )
        .into_bytes();
        if !self.section.is_empty() {
            out.push(b' ');
            out.extend_from_slice(&self.section);
        }
        out.push(b'\n');
        for line in &self.lines {
            out.push(line.sign());
            out.extend_from_slice(line.text());
            if !line.text().ends_with(b"\n") {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
        out
    }
}

/// The counts of an `@@` line.
pub(super) struct Head {
    old: (usize, usize),
    new: (usize, usize),
    section: Vec<u8>,
}

/// `@@ -12,7 +12,8 @@ section`; a missing count is 1.
pub(super) fn head(line: &[u8]) -> Option<Head> {
    let rest = without_end(line).strip_prefix(b"@@ -")?;
    let (old, rest) = range(rest)?;
    let (new, rest) = range(rest.strip_prefix(b" +")?)?;
    let rest = rest.strip_prefix(b" @@")?;
    Some(Head { old, new, section: rest.strip_prefix(b" ").unwrap_or(rest).to_vec() })
}

fn range(text: &[u8]) -> Option<((usize, usize), &[u8])> {
    let (start, rest) = number(text)?;
    match rest.strip_prefix(b",") {
        Some(rest) => number(rest).map(|(count, rest)| ((start, count), rest)),
        None => Some(((start, 1), rest)),
    }
}

fn number(text: &[u8]) -> Option<(usize, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    // No text has more lines than this, and the sum of two counts is far below the limit of a usize.
    const MOST: usize = 1 << 40;
    let value: usize = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    (value < MOST).then_some((value, &text[digits..]))
}

/// Reads the body below an `@@` line: the hunk and its number of lines, or what is wrong with it. `strips_cr`: the diff
/// itself has CRLF line ends (GNU patch strips them if its `+++` line has one).
pub(super) fn body(head: Head, lines: &[&[u8]], at: usize, strips_cr: bool) -> Result<(Hunk, usize), String> {
    let (mut old, mut new) = (head.old.1, head.new.1);
    let mut out: Vec<Line> = Vec::new();
    let mut taken = 0;
    while old > 0 || new > 0 {
        // GNU patch drops an incomplete last line.
        let is_whole = |line: &&&[u8]| line.ends_with(b"\n") || line.starts_with(b"\\");
        let Some(&raw) = lines.get(taken).filter(is_whole) else {
            // Mailers strip empty lines at the end.
            if old == new && old < 3 {
                out.extend((0..old).map(|_| Line::Context(b"\n".to_vec())));
                break;
            }
            return Err(format!("it ends {} lines early", old.max(new)));
        };
        taken += 1;
        let (sign, text) = match raw {
            [sign @ (b' ' | b'-' | b'+' | b'\\'), text @ ..] => (*sign, text),
            // The space of an empty context line, or of one that begins with a tab, was lost in transit.
            [b'\n' | b'\t', ..] | b"\r\n" => (b' ', raw),
            _ => return Err(format!("its line {taken} does not begin with ` `, `-` or `+`")),
        };
        let text = if strips_cr { [without_end(text), b"\n"].concat() } else { text.to_vec() };
        let line = match sign {
            b' ' => Line::Context(text),
            b'-' => Line::Removed(text),
            b'+' => Line::Added(text),
            _ => {
                chop(&mut out);
                continue;
            }
        };
        let (of_old, of_new) = (sign != b'+', sign != b'-');
        if (of_old && old == 0) || (of_new && new == 0) {
            return Err("it has more lines than its header counts".into());
        }
        (old, new) = (old - usize::from(of_old), new - usize::from(of_new));
        out.push(line);
    }
    if lines.get(taken).is_some_and(|line| line.starts_with(b"\\")) {
        chop(&mut out);
        taken += 1;
    }
    if out.iter().all(|line| matches!(line, Line::Context(_))) {
        return Err("it changes nothing".into());
    }
    let hunk = Hunk { old_start: head.old.0, new_start: head.new.0, section: head.section, line: at, lines: out };
    Ok((hunk, taken))
}

/// `\ No newline at end of file`: applies to the line before.
fn chop(lines: &mut [Line]) {
    if let Some(line) = lines.last_mut() {
        let text = line.text_mut();
        text.truncate(text.len() - usize::from(text.ends_with(b"\n")));
    }
}
