//! A report before it has a form: sections of blocks in the order in which they are read. The printers (`text`, `markdown`,
//! `html`) know how each kind looks and nothing of what it says.

use crate::page::Page;
use crate::pictures::Picture;
use crate::table::Table;
use schedlab_analyze::Verdict;
use schedlab_plan::CheckState;
use std::io::{self, Write};

/// What is only made where it is printed.
pub(crate) type Make<'a, T> = Box<dyn Fn() -> Vec<T> + 'a>;

/// A page of findings that has no form yet.
#[derive(Default)]
pub struct Document(pub(crate) Vec<Section<'static>>);

impl Document {
    /// The page for a terminal `width` columns wide, with ANSI colours or without.
    pub fn text(&self, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
        crate::text::print(&mut Page::new(out, width, colour), &self.0)
    }

    /// The page as one HTML file without any reference outside itself; `kicker` is the line above its title.
    pub fn html(&self, kicker: &str, out: &mut dyn Write) -> io::Result<()> {
        crate::html::document(kicker, &self.0, out)
    }

    /// The page as Markdown that reads as plain text.
    pub fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        crate::markdown::print(&self.0, out)
    }

    /// This page and another below it.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// A section below the others.
    pub(crate) fn add(&mut self, title: impl Into<String>, blocks: Vec<Block<'static>>) {
        self.0.push(Section::body("", title, blocks));
    }
}

/// Blocks below one title.
pub(crate) struct Section<'a> {
    /// Where it is on a page; in other formats sections follow each other.
    pub(crate) landmark: Landmark,
    /// Names it in links: letters and digits.
    pub(crate) id: String,
    /// Empty where it has none.
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block<'a>>,
}

/// Where a section is on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Landmark {
    /// Above everything.
    Head,
    /// Set off: it must be read before any number.
    Callout,
    /// What the pictures' signs mean; stays in sight.
    Legend,
    /// One after the other, linked to from above.
    Body,
}

impl<'a> Section<'a> {
    pub(crate) fn body(id: &str, title: impl Into<String>, blocks: Vec<Block<'a>>) -> Self {
        Self { landmark: Landmark::Body, id: id.to_owned(), title: title.into(), blocks }
    }
}

/// A part of a section.
pub(crate) enum Block<'a> {
    /// What the whole report comes down to.
    Headline(String, Tone),
    /// What it says besides, each sentence with its verdict.
    Claims(Vec<(String, Verdict)>),
    /// A paragraph.
    Text(String),
    /// Where a trace is from.
    Origin(String),
    /// A paragraph after a lead, its further lines below its first; the blanks before the lead are its depth.
    Hanging(String, String),
    /// A paragraph in a lower voice: how to read a table.
    Aside(String),
    /// What was run, one long word.
    Spec(String),
    /// What the next block is about.
    Lead(String),
    /// A list of remarks.
    Remarks(Vec<Remark>),
    /// Names and their meanings.
    Terms(Vec<(String, String)>),
    /// The same of arms, by index: pictures show their signs.
    Arms(Vec<(String, String)>),
    /// Rows with a header.
    Table(Table),
    /// Drawn if the format has pictures, otherwise left out: tables hold the same numbers.
    Pictures(Make<'a, Picture>),
    /// Details that few readers need: collapsed under this summary in HTML, left out in text.
    More(String, Make<'a, Block<'a>>),
    /// What a page has at more length.
    Brief(Vec<Block<'a>>),
    /// All trials of a workload, by index: a page has them as data.
    Trials(usize),
    /// A command line, never wrapped: it is there to be copied.
    Command(String),
    /// Lines as they are.
    Verbatim(String),
}

/// A sentence of a list.
pub(crate) struct Remark {
    pub(crate) kind: RemarkKind,
    pub(crate) text: String,
}

/// What a remark is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemarkKind {
    Note,
    /// It weakens what is said.
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

    /// A table with what it is about, unless it has no rows.
    pub(crate) fn titled(title: &str, table: Table) -> impl Iterator<Item = Self> + use<'a> {
        let lead = (!table.rows.is_empty()).then(|| Self::Lead(title.to_owned()));
        lead.into_iter().chain(Self::table(table))
    }
}

/// The blocks that are in print, where there are no pictures and nothing folds.
pub(crate) fn printed<'b, 'a>(blocks: &'b [Block<'a>]) -> impl Iterator<Item = &'b Block<'a>> {
    blocks.iter().flat_map(|block| match block {
        Block::Brief(blocks) => blocks.as_slice(),
        Block::Pictures(_) | Block::More(..) | Block::Trials(_) => &[],
        block => std::slice::from_ref(block),
    })
}

/// What a number or a sentence means, in a colour.
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

/// The room for a table, columns of text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Width of a whole line.
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
