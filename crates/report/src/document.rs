//! A report without a format: sections of blocks in reading order. The printers (`text`, `markdown`, `html`) know how
//! each kind of block looks, but not what it says.

use crate::page::Page;
use crate::pictures::Picture;
use crate::table::Table;
use schedlab_analyze::Verdict;
use schedlab_plan::CheckState;
use std::io::{self, Write};

/// Content that is created only if it is printed.
pub(crate) type Make<'a, T> = Box<dyn Fn() -> Vec<T> + 'a>;

/// A page of findings without a format.
#[derive(Default)]
pub struct Document(pub(crate) Vec<Section<'static>>);

impl Document {
    /// Prints the page for a terminal `width` columns wide, with or without ANSI colours.
    pub fn text(&self, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
        crate::text::print(&mut Page::new(out, width, colour), &self.0)
    }

    /// Prints the page as one HTML file without any external reference; `kicker` is the line above its title.
    pub fn html(&self, kicker: &str, out: &mut dyn Write) -> io::Result<()> {
        crate::html::document(kicker, &self.0, out)
    }

    /// Prints the page as Markdown that can be read as plain text.
    pub fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        crate::markdown::print(&self.0, out)
    }

    /// This page, followed by another one.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Adds a section at the end.
    pub(crate) fn add(&mut self, title: impl Into<String>, blocks: Vec<Block<'static>>) {
        self.0.push(Section::body("", title, blocks));
    }
}

/// Blocks below one title.
pub(crate) struct Section<'a> {
    /// Its place on a page; in other formats sections follow each other.
    pub(crate) landmark: Landmark,
    /// Its name in links: letters and digits.
    pub(crate) id: String,
    /// Empty if it has no title.
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block<'a>>,
}

/// The place of a section on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Landmark {
    /// At the top.
    Head,
    /// Highlighted: it must be read before any number.
    Callout,
    /// The meaning of the signs in pictures; always visible.
    Legend,
    /// In sequence, with links at the top.
    Body,
}

impl<'a> Section<'a> {
    pub(crate) fn body(id: &str, title: impl Into<String>, blocks: Vec<Block<'a>>) -> Self {
        Self { landmark: Landmark::Body, id: id.to_owned(), title: title.into(), blocks }
    }
}

/// A part of a section.
pub(crate) enum Block<'a> {
    /// The main result of the report.
    Headline(String, Tone),
    /// Further results, each sentence with its verdict.
    Claims(Vec<(String, Verdict)>),
    /// A paragraph.
    Text(String),
    /// The origin of a trace.
    Origin(String),
    /// A paragraph after a lead, with further lines indented to the first; blanks before the lead indent the whole.
    Hanging(String, String),
    /// A secondary paragraph: how to read a table.
    Aside(String),
    /// The spec of what was run, as one long word.
    Spec(String),
    /// The topic of the next block.
    Lead(String),
    /// A list of remarks.
    Remarks(Vec<Remark>),
    /// Names and their meanings.
    Terms(Vec<(String, String)>),
    /// The same for arms, by index: pictures show their signs.
    Arms(Vec<(String, String)>),
    /// Rows with a header.
    Table(Table),
    /// Pictures; formats without pictures leave them out, because tables have the same numbers.
    Pictures(Make<'a, Picture>),
    /// Details that few readers need: collapsed under this summary in HTML, left out in text.
    More(String, Make<'a, Block<'a>>),
    /// A short form, for formats other than HTML pages, of what a page shows in full.
    Brief(Vec<Block<'a>>),
    /// All trials of a workload, by index; a page contains them as data.
    Trials(usize),
    /// A command line, which is never wrapped, so that it can be copied.
    Command(String),
    /// Lines that are printed unchanged.
    Verbatim(String),
}

/// A sentence of a list.
pub(crate) struct Remark {
    pub(crate) kind: RemarkKind,
    pub(crate) text: String,
}

/// The kind of a remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemarkKind {
    Note,
    /// It weakens a result.
    Warning,
    /// What a number means.
    Definition,
}

impl Remark {
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self { kind: RemarkKind::Note, text: text.into() }
    }

    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Self { kind: RemarkKind::Warning, text: text.into() }
    }
}

impl<'a> Block<'a> {
    /// A list, unless it is empty.
    pub(crate) fn list(texts: impl IntoIterator<Item = String>) -> Option<Self> {
        Self::remarks(texts.into_iter().map(Remark::note))
    }

    /// Warnings, if there are any.
    pub(crate) fn warnings(texts: impl IntoIterator<Item = String>) -> Option<Self> {
        Self::remarks(texts.into_iter().map(Remark::warning))
    }

    /// Remarks and warnings, if there are any.
    pub(crate) fn remarks(remarks: impl IntoIterator<Item = Remark>) -> Option<Self> {
        Some(Vec::from_iter(remarks)).filter(|remarks| !remarks.is_empty()).map(Self::Remarks)
    }

    /// A table, unless it has no rows.
    pub(crate) fn table(table: Table) -> Option<Self> {
        (!table.rows.is_empty()).then_some(Self::Table(table))
    }

    /// A table with its topic, unless it has no rows.
    pub(crate) fn titled(title: &str, table: Table) -> impl Iterator<Item = Self> + use<'a> {
        let lead = (!table.rows.is_empty()).then(|| Self::Lead(title.to_owned()));
        lead.into_iter().chain(Self::table(table))
    }
}

/// The blocks for formats that have no pictures and no folding.
pub(crate) fn printed<'b, 'a>(blocks: &'b [Block<'a>]) -> impl Iterator<Item = &'b Block<'a>> {
    blocks.iter().flat_map(|block| match block {
        Block::Brief(blocks) => blocks.as_slice(),
        Block::Pictures(_) | Block::More(..) | Block::Trials(_) => &[],
        block => std::slice::from_ref(block),
    })
}

/// The meaning of a number or a sentence, shown as a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Moved,
    Same,
    Open,
    None,
}

impl Tone {
    /// The ANSI code.
    pub(crate) fn ansi(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Moved => "36",
            Self::Same => "34",
            Self::Open => "33",
            Self::None => "2",
        }
    }

    /// The class on a page.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Moved => "moved",
            Self::Same => "same",
            Self::Open => "open",
            Self::None => "none",
        }
    }
}

impl From<&Verdict> for Tone {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Better => Self::Good,
            Verdict::Worse => Self::Bad,
            Verdict::Higher | Verdict::Lower => Self::Moved,
            Verdict::Equivalent => Self::Same,
            Verdict::Inconclusive => Self::Open,
            Verdict::NoVerdict { .. } => Self::None,
        }
    }
}

impl From<CheckState> for Tone {
    fn from(state: CheckState) -> Self {
        match state {
            CheckState::Warning => Self::Bad,
            CheckState::Unavailable => Self::None,
            CheckState::Info => Self::Same,
            CheckState::Good => Self::Good,
        }
    }
}

/// Widths for a table, in columns of text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Width of a whole line.
    pub(crate) line: usize,
    /// Width between two columns.
    pub(crate) gap: usize,
    /// Width left and right of a row.
    pub(crate) border: usize,
}

impl Room {
    /// Whether no row of the table is wider than the line.
    pub(crate) fn holds(&self, table: &Table) -> bool {
        let widths = table.natural_widths();
        widths.iter().sum::<usize>() + self.gap * widths.len().saturating_sub(1) + self.border <= self.line
    }
}
