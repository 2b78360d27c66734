//! Splits C text into tokens, without preprocessing. Comments are dropped; a directive with all its continuation lines
//! is one token.

use std::ops::Range;

/// What a token is. A punctuation mark is its own byte: `->` is two tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Number,
    Text,
    Directive,
    Mark(u8),
}

/// A token and its position, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Token {
    pub(crate) fn is(&self, mark: u8) -> bool {
        self.kind == Kind::Mark(mark)
    }
}

/// The tokens in `range` of `text`. Directives are recognised if `lines` is set; the inside of a directive is lexed
/// without.
pub(crate) fn lex(text: &[u8], range: Range<usize>, lines: bool) -> Vec<Token> {
    let (mut out, mut at, mut fresh) = (Vec::with_capacity(range.len() / 5), range.start, true);
    let text = &text[..range.end];
    while at < text.len() {
        let byte = text[at];
        let start = at;
        let kind = match byte {
            b'\n' => {
                fresh = true;
                at += 1;
                continue;
            }
            b'\\' | 0..=b' ' | 0x7f => {
                at += 1;
                continue;
            }
            b'/' if matches!(text.get(at + 1), Some(b'*' | b'/')) => {
                at = after_comment(text, at);
                continue;
            }
            b'#' if fresh && lines => {
                at = after_directive(text, at);
                Kind::Directive
            }
            b'"' | b'\'' => {
                at = after_quoted(text, at);
                Kind::Text
            }
            b'0'..=b'9' => {
                at += run(&text[at..], |b| b.is_ascii_alphanumeric() || b == b'.' || b == b'_');
                Kind::Number
            }
            b if is_word(b) => {
                at += run(&text[at..], is_word);
                Kind::Word
            }
            mark => {
                at += 1;
                Kind::Mark(mark)
            }
        };
        fresh = false;
        out.push(Token { kind, start, end: at });
    }
    out
}

/// C keywords, which need no definition.
const KEYWORDS: &str = "auto break case char const continue default defined do double else enum extern float for goto if inline \
    int long register return short signed sizeof static struct switch typedef typeof union unsigned void \
    volatile while asm restrict __typeof__ __attribute__ __func__ __VA_ARGS__ __FILE__ __LINE__ \
    __extension__ _Generic __auto_type __asm__ __volatile__ __inline__ __FUNCTION__ _Static_assert \
    __VA_OPT__ __alignof__ _Alignof __COUNTER__ __label__ offsetof";

pub(crate) fn is_keyword(word: &[u8]) -> bool {
    KEYWORDS.split(' ').any(|keyword| keyword.as_bytes() == word) || word.starts_with(b"__builtin_")
}

/// Letters, digits, `_`, `$` and bytes outside ASCII.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn run(text: &[u8], of: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|&b| !of(b)).unwrap_or(text.len())
}

/// After the comment that starts at `at`; the newline after a `//` comment is left.
fn after_comment(text: &[u8], at: usize) -> usize {
    if text[at + 1] == b'*' {
        let inside = &text[at + 2..];
        return inside.windows(2).position(|w| w == b"*/").map_or(text.len(), |p| at + 2 + p + 2);
    }
    line_end(text, at)
}

/// Where a comment begins that the text's end cuts off; `from` is the end of the last token.
pub(super) fn open_comment(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += text[at..].iter().position(|&b| b == b'/')?;
        if text[at..].starts_with(b"/*") && !text[at + 2..].windows(2).any(|w| w == b"*/") {
            return Some(at);
        }
        at = if matches!(text.get(at + 1), Some(b'*' | b'/')) { after_comment(text, at) } else { at + 1 };
    }
}

/// The end of a line, including continuation lines.
fn line_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        match text[at] {
            b'\n' if !is_continued(text, at) => return at,
            _ => at += 1,
        }
    }
    at
}

fn is_continued(text: &[u8], newline: usize) -> bool {
    let before = text[..newline].strip_suffix(b"\r").unwrap_or(&text[..newline]);
    before.ends_with(b"\\")
}

/// After the closing quote. A quote that is not closed on its line ends there: an apostrophe in `#error`.
fn after_quoted(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            b if b == text[start] => return at + 1,
            b'\\' => at += if text[at..].starts_with(b"\\\r\n") { 3 } else { 2 },
            b'\n' => return at,
            _ => at += 1,
        }
    }
    at.min(text.len())
}

/// The end of the directive's last line: a comment or a string in it may contain a newline.
fn after_directive(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        match text[at] {
            b'/' if matches!(text.get(at + 1), Some(b'*' | b'/')) => at = after_comment(text, at),
            b'"' | b'\'' => at = after_quoted(text, at),
            b'\n' if !is_continued(text, at) => return at,
            _ => at += 1,
        }
    }
    at.min(text.len())
}
