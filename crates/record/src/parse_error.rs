//! A kernel table that cannot be parsed: which file, which line, which word.

/// What could not be understood, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file}, line {line}: expected {item}, found `{text}`; schedlab does not know this format; please report the line"
)]
pub struct ParseError {
    /// The file, such as `/proc/stat`.
    pub file: &'static str,
    /// Line number from 1.
    pub line: usize,
    /// What was expected there, such as `user time`.
    pub item: &'static str,
    /// What was found instead; empty at the end of a line.
    pub text: String,
}

/// A position in a file, for making errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileLine {
    pub(crate) file: &'static str,
    pub(crate) line: usize,
}

impl FileLine {
    /// The number in `word`, or an error that names it.
    pub(crate) fn number(self, word: Option<&str>, item: &'static str) -> Result<u64, ParseError> {
        word.and_then(|w| w.parse().ok()).ok_or_else(|| self.error(word.unwrap_or_default(), item))
    }

    /// An error about the word `text` here.
    pub(crate) fn error(self, text: &str, item: &'static str) -> ParseError {
        ParseError { file: self.file, line: self.line, item, text: text.to_owned() }
    }
}
