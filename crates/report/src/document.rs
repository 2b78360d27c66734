//! A report before it has a form: blocks in the order in which they are read. The printers (`text`, `markdown`, `html`) know
//! how each kind looks and nothing of what it says.

use crate::pictures::Picture;
use crate::table::Table;
use schedlab_analyze::Verdict;

/// A part of a report.
pub(crate) enum Block {
    /// Begins a section.
    Heading(String),
    /// What the report comes down to, each with its verdict.
    Claims(Vec<(String, Verdict)>),
    /// A paragraph.
    Text(String),
    /// A paragraph in a lower voice: how to read a table.
    Aside(String),
    /// What was run, one long word.
    Spec(String),
    /// What the next block is about.
    Lead(String),
    /// Must be read before any number.
    Warnings(Vec<String>),
    /// Remarks.
    List(Vec<String>),
    /// Names and what they stand for.
    Terms(Vec<(String, String)>),
    /// Rows with a header.
    Table(Table),
    /// Drawn where there are pictures, else nothing: tables hold the same numbers.
    Picture(Box<Picture>),
    /// A command line, never wrapped: it is there to be copied.
    Command(String),
}

impl Block {
    /// A list, unless it is empty.
    pub(crate) fn list(items: Vec<String>) -> Option<Self> {
        (!items.is_empty()).then_some(Self::List(items))
    }

    /// Warnings, if there are any.
    pub(crate) fn warnings(texts: impl IntoIterator<Item = String>) -> Option<Self> {
        Some(Vec::from_iter(texts)).filter(|texts| !texts.is_empty()).map(Self::Warnings)
    }

    /// A table, unless it has no rows.
    pub(crate) fn table(table: Table) -> Option<Self> {
        (!table.rows.is_empty()).then_some(Self::Table(table))
    }
}

/// The room for a table, columns of text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Of a whole line.
    pub(crate) line: usize,
    /// Between two columns.
    pub(crate) gap: usize,
    /// Left and right of a row.
    pub(crate) border: usize,
}

impl Room {
    /// Whether no row of the table is wider than the line.
    pub(crate) fn holds(&self, table: &Table) -> bool {
        let widths = table.natural_widths();
        widths.iter().sum::<usize>() + self.gap * widths.len().saturating_sub(1) + self.border <= self.line
    }
}
