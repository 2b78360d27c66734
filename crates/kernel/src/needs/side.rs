//! C text as tokens, with what is known of its lines.

use crate::source::head::closing;
use crate::source::lex::{Kind, Token, lex};

/// A text, such as one side of a hunk, as tokens.
pub(crate) struct Side<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) tokens: Vec<Token>,
    /// Where each line ends, and whether it is added.
    pub(super) lines: Vec<(usize, bool)>,
}

impl<'a> Side<'a> {
    /// Takes a text whose line numbers do not matter.
    pub(crate) fn of(text: &'a [u8]) -> Self {
        Self { text, tokens: lex(text, 0..text.len(), true), lines: Vec::new() }
    }

    pub(crate) fn word(&self, at: usize) -> Option<&str> {
        let token = self.tokens.get(at).filter(|token| token.kind == Kind::Word)?;
        std::str::from_utf8(&self.text[token.start..token.end]).ok()
    }

    pub(crate) fn is(&self, at: Option<usize>, mark: u8) -> bool {
        at.and_then(|at| self.tokens.get(at)).is_some_and(|token| token.is(mark))
    }

    /// Whether the token is a member: it follows `->` or `.`.
    pub(crate) fn is_member(&self, at: usize) -> bool {
        let before = at.checked_sub(1);
        self.is(before, b'.') || self.is(before, b'>') && self.is(at.checked_sub(2), b'-')
    }

    /// The bracket that closes the one at `open`.
    pub(crate) fn closing(&self, open: usize) -> Option<usize> {
        closing(&self.tokens, open)
    }

    pub(super) fn line(&self, token: &Token) -> usize {
        self.lines.partition_point(|(end, _)| *end <= token.start)
    }

    pub(super) fn begins_line(&self, at: usize) -> bool {
        at == 0 || self.line(&self.tokens[at - 1]) < self.line(&self.tokens[at])
    }

    pub(super) fn is_at_margin(&self, at: usize) -> bool {
        let line = self.line(&self.tokens[at]);
        let start = line.checked_sub(1).map_or(0, |before| self.lines[before].0);
        self.text.get(start).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
    }
}
