//! C text as tokens, with what is known of its lines.

use crate::source::lex::{Kind, Token, lex};

/// Words that need no definition.
const KEYWORDS: &str = "auto break case char const continue default defined do double else enum extern float for goto if inline \
    int long register return short signed sizeof static struct switch typedef typeof union unsigned void \
    volatile while asm restrict __typeof__ __attribute__ __func__ __VA_ARGS__ __FILE__ __LINE__ \
    __extension__ _Generic __auto_type __asm__ __volatile__ __inline__ __FUNCTION__ _Static_assert \
    __VA_OPT__ __alignof__ _Alignof __COUNTER__ __label__";

pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.split(' ').any(|keyword| keyword == word) || word.starts_with("__builtin_")
}

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
