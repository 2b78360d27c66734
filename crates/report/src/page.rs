//! A page on a terminal: headings, paragraphs and tables within its width, with ANSI colours or without.

use crate::document::Room;
use crate::escape::terminal;
use crate::table::{Table, paint, wrap};
use std::io::{self, Write};

/// Column at which the meanings of a list begin. A longer term has a line of its own.
const MEANINGS: usize = 30;

/// Names and what they mean below a heading, for a terminal `width` columns wide.
pub fn terms_text(heading: &str, terms: &[(String, String)], width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, width, false);
    page.heading(heading)?;
    for (term, meaning) in terms {
        let lead = format!("  {}  ", terminal(term));
        let space = MEANINGS.saturating_sub(crate::table::width(&lead));
        if crate::table::width(&lead) <= MEANINGS {
            page.paragraph(&format!("{lead}{}", " ".repeat(space)), meaning)?;
        } else {
            page.paragraph("  ", term)?;
            page.paragraph(&" ".repeat(MEANINGS), meaning)?;
        }
    }
    Ok(())
}

/// The destination of a page, and its width.
pub(crate) struct Page<'w> {
    out: &'w mut dyn Write,
    pub(crate) width: usize,
    pub(crate) colour: bool,
}

impl<'w> Page<'w> {
    pub(crate) fn new(out: &'w mut dyn Write, width: usize, colour: bool) -> Self {
        Self { out, width: width.clamp(40, 240), colour }
    }

    /// The width for a table.
    pub(crate) fn room(&self) -> Room {
        Room { line: self.width - 2, gap: 2, border: 0 }
    }

    /// Prints a line unchanged, without trailing blanks.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", text.trim_end())
    }

    pub(crate) fn blank(&mut self) -> io::Result<()> {
        self.line("")
    }

    pub(crate) fn heading(&mut self, text: &str) -> io::Result<()> {
        self.item("", text, Some("1"))
    }

    /// A paragraph with `lead` before its first line; the other lines are indented to it.
    pub(crate) fn paragraph(&mut self, lead: &str, text: &str) -> io::Result<()> {
        self.item(lead, text, None)
    }

    /// The same in a colour, if colours are enabled.
    pub(crate) fn item(&mut self, lead: &str, text: &str, code: Option<&str>) -> io::Result<()> {
        let indent = crate::table::width(lead);
        for (i, line) in wrap(&terminal(text), self.width.saturating_sub(indent)).iter().enumerate() {
            let lead = if i == 0 { lead.to_owned() } else { " ".repeat(indent) };
            let line = paint(line, code.filter(|_| self.colour));
            self.line(&format!("{lead}{line}"))?;
        }
        Ok(())
    }

    pub(crate) fn table(&mut self, table: &Table) -> io::Result<()> {
        let room = self.room();
        for line in table.printed(room, terminal).lines(room.line, self.colour) {
            self.line(&format!("  {line}"))?;
        }
        Ok(())
    }
}
