//! What the added lines of a hunk use and define, judged by their tokens alone.

use super::declared::{declared, is_declared, word_is_lower};
use super::side::Side;
use crate::lines::without_end;
use crate::series::{Hunk, Line};
use crate::source::lex::{Kind, is_keyword, lex};

/// How a name is used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// `#include <NAME>`, or `"NAME"` if `is_local`.
    Header { name: String, is_local: bool },
    /// `struct NAME`, `union NAME`, `enum NAME`.
    Type { name: String },
    /// `NAME(…)`.
    Call { name: String },
    /// `a->b.NAME`: the names before the member, in order; empty if they are not plain names.
    Field { of: Vec<String>, name: String },
    /// A variable, a constant, or a typedef name.
    Name { name: String },
}

impl Use {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Header { name, .. }
            | Self::Type { name }
            | Self::Call { name }
            | Self::Field { name, .. }
            | Self::Name { name } => name,
        }
    }
}

/// What a hunk uses, with the number of added lines that use it, and what it defines.
#[derive(Debug, Default)]
pub(super) struct Added {
    pub(super) uses: Vec<(Use, usize)>,
    pub(super) defined: Vec<String>,
    /// `struct T *x` in added lines: the type of each variable.
    pub(super) types: Vec<(String, String)>,
}

/// What the added lines of a hunk in C use and define. The hunk may begin inside a comment.
pub(super) fn added(hunk: &Hunk) -> Added {
    let lines: Vec<(&[u8], bool)> = hunk
        .lines
        .iter()
        .filter(|line| !matches!(line, Line::Removed(_)))
        .map(|line| (line.text(), matches!(line, Line::Added(_))))
        .collect();
    let text: Vec<u8> = lines.iter().flat_map(|(line, _)| line.iter().copied()).collect();
    let mut end = 0;
    let ends = lines.iter().map(|(line, is_added)| {
        end += line.len();
        (end, *is_added)
    });
    let ends: Vec<_> = ends.collect();
    let begin = after_comment(&text);
    let tokens = lex(&text, begin..text.len(), true);
    let side = Side { text: &text, tokens, lines: ends };
    let mut out = Added::default();
    let mut seen = Seen::default();
    for at in 0..side.tokens.len() {
        let line = side.line(&side.tokens[at]);
        if !side.lines.get(line).is_some_and(|(_, is_added)| *is_added) {
            continue;
        }
        if side.tokens[at].kind == Kind::Directive {
            directive(&side, at, &mut out, &mut seen, line);
        } else if let Some(word) = side.word(at).filter(|word| !is_keyword(word.as_bytes())) {
            one(&side, at, word, &mut out, &mut seen, line);
        }
    }
    out.uses = seen.0.into_iter().map(|(used, lines, _)| (used, lines)).collect();
    out
}

/// Each use, the number of lines that have it, and the last of them.
#[derive(Default)]
struct Seen(Vec<(Use, usize, usize)>);

impl Seen {
    fn add(&mut self, used: Use, line: usize) {
        match self.0.iter_mut().find(|(other, ..)| *other == used) {
            Some((_, _, last)) if *last == line => {}
            Some((_, lines, last)) => (*lines, *last) = (*lines + 1, line),
            None => self.0.push((used, 1, line)),
        }
    }
}

/// Where the code begins in a text that may begin inside a comment.
fn after_comment(text: &[u8]) -> usize {
    let find = |what: &[u8]| text.windows(2).position(|pair| pair == what);
    match (find(b"*/"), find(b"/*")) {
        (Some(end), None) => end + 2,
        (Some(end), Some(begin)) if end < begin => end + 2,
        _ => {
            // The text may also end inside a comment: its lines begin with a star.
            let is_comment = |line: &&[u8]| {
                let line = without_end(line).trim_ascii_start();
                line == b"*" || line.starts_with(b"* ") || line.starts_with(b"*\t")
            };
            crate::split(text).iter().take_while(|line| is_comment(line)).map(|line| line.len()).sum()
        }
    }
}

fn directive(side: &Side<'_>, at: usize, out: &mut Added, seen: &mut Seen, line: usize) {
    let token = &side.tokens[at];
    let inside = Side {
        text: side.text,
        tokens: lex(side.text, token.start + 1..token.end, false),
        lines: vec![(side.text.len(), true)],
    };
    match inside.word(0) {
        Some("include") => {
            let rest = String::from_utf8_lossy(&side.text[inside.tokens[0].end..token.end]).trim().to_owned();
            let name = |open: char, close: char| {
                rest.strip_prefix(open).and_then(|rest| rest.split_once(close)).map(|(name, _)| name.to_owned())
            };
            if let Some(name) = name('<', '>') {
                seen.add(Use::Header { name, is_local: false }, line);
            } else if let Some(name) = name('"', '"') {
                seen.add(Use::Header { name, is_local: true }, line);
            }
        }
        Some("define") => {
            out.defined.extend(inside.word(1).map(str::to_owned));
            let mut at = 2;
            // Its parameters, if the parenthesis directly follows the name.
            let is_call = inside.tokens.get(1).zip(inside.tokens.get(2)).is_some_and(|(a, b)| a.end == b.start);
            if is_call && inside.is(Some(2), b'(') {
                while at < inside.tokens.len() && !inside.is(Some(at), b')') {
                    out.defined.extend(inside.word(at).map(str::to_owned));
                    at += 1;
                }
            }
            for at in at..inside.tokens.len() {
                // Fragments that `##` joins are not names.
                let is_joined = inside.is(Some(at + 1), b'#') || inside.is(at.checked_sub(1), b'#');
                if let Some(word) = inside.word(at).filter(|word| !is_keyword(word.as_bytes()) && !is_joined) {
                    one(&inside, at, word, out, seen, line);
                }
            }
        }
        _ => {}
    }
}

/// One word of an added line.
fn one(side: &Side<'_>, at: usize, word: &str, out: &mut Added, seen: &mut Seen, line: usize) {
    let before = at.checked_sub(1);
    let word_before = before.and_then(|before| side.word(before));
    let mut uses = |used: Use| seen.add(used, line);
    let name = word.to_owned();
    if matches!(word_before, Some("struct" | "union" | "enum")) {
        // `struct x;` is a forward declaration.
        if side.is(Some(at + 1), b'{') || side.is(Some(at + 1), b';') && side.is_at_margin(at) {
            out.defined.push(name);
        } else {
            if word_before == Some("struct") {
                out.types.extend(declared(side, at).into_iter().map(|variable| (variable, name.clone())));
            }
            uses(Use::Type { name });
        }
        return;
    }
    if side.is_member(at) {
        uses(Use::Field { of: path(side, at), name });
        return;
    }
    if word_before == Some("goto") || name.starts_with("CONFIG_") || is_attribute(side, at) {
        return;
    }
    let is_label = side.is(Some(at + 1), b':') && side.begins_line(at);
    if is_label || is_declared(side, at) {
        out.defined.push(name);
        return;
    }
    if side.is(Some(at + 1), b'(') {
        // `DEFINE_MUTEX(name)`, `TRACE_EVENT(name, …)` and all calls at file scope: the first argument may be a new
        // name. For `DEFINE_PER_CPU(TYPE, name)` it is the argument after the type.
        if name.starts_with("DEFINE_PER_CPU") || name.starts_with("DECLARE_PER_CPU") {
            let mut here = at + 2..side.tokens.len().min(at + 20);
            let comma = here.find(|&i| side.is(Some(i), b',') || side.is(Some(i), b';'));
            let comma = comma.filter(|&comma| side.is(Some(comma), b','));
            out.defined.extend(comma.and_then(|comma| side.word(comma + 1)).map(str::to_owned));
        } else if !word_is_lower(side, at) || side.begins_line(at) && side.is_at_margin(at) {
            out.defined.extend(side.word(at + 2).map(str::to_owned));
        }
        uses(Use::Call { name });
    } else {
        uses(Use::Name { name });
    }
}

/// Within `__attribute__((…))`.
fn is_attribute(side: &Side<'_>, at: usize) -> bool {
    let mut depth = 0;
    for before in (at.saturating_sub(12)..at).rev() {
        match side.tokens[before].kind {
            Kind::Mark(b'(') => depth += 1,
            Kind::Mark(b')') => depth -= 1,
            Kind::Mark(b';' | b'{' | b'}') => return false,
            _ if depth >= 2 && side.word(before) == Some("__attribute__") => return true,
            _ => {}
        }
    }
    false
}

/// The names before a member: `a`, `b` of `a->b.c`.
fn path(side: &Side<'_>, mut at: usize) -> Vec<String> {
    let mut out = Vec::new();
    loop {
        let owner = if side.is(at.checked_sub(1), b'.') { at.checked_sub(2) } else { at.checked_sub(3) };
        let Some(word) = owner.and_then(|owner| side.word(owner)) else { return Vec::new() };
        out.insert(0, word.to_owned());
        at = owner.unwrap_or(0);
        if !side.is_member(at) {
            return out;
        }
    }
}
