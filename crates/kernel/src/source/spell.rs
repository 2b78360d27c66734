//! Turns tokens back into text, with white space normalised.

use super::conditions::Conditions;
use super::lex::{Kind, Token, lex};
use super::scan::directive;
use std::ops::Range;

/// The text of `tokens`; directives are left out.
pub(super) fn spell<'t>(text: &[u8], tokens: impl IntoIterator<Item = &'t Token>) -> String {
    let mut out: Vec<u8> = Vec::new();
    // A `&` after an operand is either binary or the address operator after a cast: the two look the same.
    let (mut last, mut is_binary) = (None, false);
    for token in tokens.into_iter().filter(|t| t.kind != Kind::Directive) {
        let is_and = token.is(b'&');
        let is_after_operand = matches!(last, Some(Kind::Word | Kind::Number | Kind::Mark(b')' | b']')));
        let is_and_apart = if is_and { is_after_operand } else { is_binary };
        is_binary = is_and && (is_after_operand || is_binary);
        if is_and_apart || last.is_some_and(|before| is_apart(before, token.kind)) {
            out.push(b' ');
        }
        out.extend_from_slice(&text[token.start..token.end]);
        last = Some(token.kind);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The text of a range, without comments.
pub(super) fn spell_range(text: &[u8], range: Range<usize>) -> String {
    spell(text, &lex(text, range, false))
}

fn is_apart(before: Kind, after: Kind) -> bool {
    use Kind::{Mark, Number, Text, Word};
    matches!(
        (before, after),
        (Word | Number | Text, Word | Number | Text)
            | (Mark(b',' | b';' | b'{'), _)
            | (_, Mark(b'{' | b'}' | b'?'))
            | (Mark(b'=' | b'|'), Word | Number | Text | Mark(b'('))
            | (Word | Number | Text | Mark(b')' | b']'), Mark(b'=' | b'|'))
            | (Word, Mark(b'*'))
            | (Mark(b')'), Word)
    )
}

/// A word as text; bytes that are not UTF-8 become the replacement character.
pub(super) fn word(text: &[u8], token: &Token) -> String {
    String::from_utf8_lossy(&text[token.start..token.end]).into_owned()
}

/// The code of a function line by line, without comments and with white space normalised.
pub fn code_lines(text: &[u8], function: &super::Function) -> Vec<String> {
    let shown = |line: &[Token]| match line {
        [only] if only.kind == Kind::Directive => format!("#{}", spell_range(text, only.start + 1..only.end)),
        _ => spell(text, line),
    };
    by_line(text, function, shown)
}

/// For each of its lines of code, the `#if` conditions inside the function that apply to it; empty if none. A directive
/// is under the condition that it opens.
pub fn inner_conditions(text: &[u8], function: &super::Function) -> Vec<String> {
    let mut conditions = Conditions::default();
    let held = |line: &[Token]| {
        let outside = match line {
            [only] if only.kind == Kind::Directive => {
                let (name, rest) = directive(text, only);
                let before = conditions.text();
                conditions.take(&name, &rest, 0, 0);
                (name == "endif").then_some(before)
            }
            _ => None,
        };
        outside.unwrap_or_else(|| conditions.text())
    };
    by_line(text, function, held)
}

fn by_line(text: &[u8], function: &super::Function, of: impl FnMut(&[Token]) -> String) -> Vec<String> {
    let tokens = lex(text, function.bytes.clone(), true);
    let is_one_line = |a: &Token, b: &Token| !text[a.end..b.start].contains(&b'\n');
    tokens.chunk_by(is_one_line).map(of).collect()
}
