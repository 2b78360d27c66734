//! Tokens back to text with one spelling of white space.

use super::lex::{Kind, Token, lex};
use std::ops::Range;

/// Text of `tokens`; of directives nothing.
pub(super) fn spell<'t>(text: &[u8], tokens: impl IntoIterator<Item = &'t Token>) -> String {
    let mut out: Vec<u8> = Vec::new();
    let mut last = None;
    for token in tokens.into_iter().filter(|t| t.kind != Kind::Directive) {
        if last.is_some_and(|before| is_apart(before, token.kind)) {
            out.push(b' ');
        }
        out.extend_from_slice(&text[token.start..token.end]);
        last = Some(token.kind);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Text of a range, comments left out.
pub(super) fn spell_range(text: &[u8], range: Range<usize>) -> String {
    spell(text, &lex(text, range, false))
}

fn is_apart(before: Kind, after: Kind) -> bool {
    use Kind::{Mark, Number, Text, Word};
    match (before, after) {
        (Word | Number | Text, Word | Number | Text) => true,
        (Mark(b',' | b';'), _) | (Mark(b'{'), _) | (_, Mark(b'{' | b'}' | b'?')) => true,
        (Mark(b'=' | b'|' | b'&'), Word | Number | Text | Mark(b'(')) => true,
        (Word | Number | Text | Mark(b')' | b']'), Mark(b'=' | b'|' | b'&')) => true,
        (Word, Mark(b'*')) | (Mark(b'*' | b')'), Word) => matches!((before, after), (Word, _) | (Mark(b')'), Word)),
        _ => false,
    }
}

/// A word as text; bytes that are no UTF-8 become the replacement character.
pub(super) fn word(text: &[u8], token: &Token) -> String {
    String::from_utf8_lossy(&text[token.start..token.end]).into_owned()
}

/// The code of a function line by line: no comments, no white space but one spelling of it, directives as they are.
pub fn code_lines(text: &[u8], function: &super::Function) -> Vec<String> {
    let starts = std::iter::once(0).chain(text.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(at, _)| at + 1));
    let starts: Vec<usize> =
        starts.skip(function.first_line - 1).take(function.last_line - function.first_line + 2).collect();
    let (Some(&from), Some(count)) = (starts.first(), function.last_line.checked_sub(function.first_line)) else {
        return Vec::new();
    };
    let to = starts.get(count + 1).copied().unwrap_or(text.len());
    let tokens = lex(text, from..to, true);
    let line_of = |t: &Token| starts.partition_point(|&start| start <= t.start);
    let lines = tokens.chunk_by(|a, b| line_of(a) == line_of(b));
    let shown = |line: &[Token]| match line {
        [only] if only.kind == Kind::Directive => word(text, only),
        _ => spell(text, line),
    };
    lines.map(shown).collect()
}
