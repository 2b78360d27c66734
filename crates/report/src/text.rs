//! Sections on a terminal.

use crate::document::{Block, Remark, RemarkKind, Section, Tone, printed};
use crate::page::Page;
use crate::sections::{self, Subject};
use crate::{Input, tables};
use schedlab_analyze::Scaling;
use std::io::{self, Write};

/// Prints the findings for a terminal `width` columns wide, with or without ANSI colours.
pub fn text(input: &Input<'_>, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let subject = Subject::new(*input);
    print(&mut Page::new(out, width, colour), &sections::whole(&subject))
}

/// A scaling table of single trials, for `bench` with a list of values.
pub fn scaling_text(of_option: &Scaling, width: usize, out: &mut dyn Write) -> io::Result<()> {
    print(&mut Page::new(out, width, false), &[sections::scaling::section(of_option, &[], &[], None)])
}

/// Sections with a blank line between them.
pub(crate) fn print(page: &mut Page<'_>, sections: &[Section<'_>]) -> io::Result<()> {
    for (number, section) in sections.iter().enumerate() {
        if number > 0 {
            page.blank()?;
        }
        page.heading(&section.title)?;
        let mut before: Option<&Block> = None;
        for block in printed(&section.blocks) {
            if before.is_some_and(|before| apart(before, block)) {
                page.blank()?;
            }
            one(page, block)?;
            before = Some(block);
        }
    }
    Ok(())
}

/// Whether there is a blank line between two blocks.
fn apart(before: &Block, block: &Block) -> bool {
    use Block::*;
    match (before, block) {
        (Lead(_), _) => false,
        (_, Lead(_) | Table(_)) => !matches!((before, block), (Aside(_) | Spec(_), Table(_))),
        (Table(_) | Text(_) | Aside(_), Remarks(_)) | (Table(_), Terms(_)) => true,
        _ => false,
    }
}

fn one(page: &mut Page<'_>, block: &Block) -> io::Result<()> {
    match block {
        Block::Headline(text, tone) => page.item("• ", text, Some(tone.ansi())),
        Block::Claims(claims) => {
            claims.iter().try_for_each(|(text, verdict)| page.item("• ", text, Some(Tone::from(verdict).ansi())))
        }
        Block::Text(text) | Block::Lead(text) => page.paragraph("  ", text),
        Block::Aside(text) | Block::Spec(text) => page.item("  ", text, Some("2")),
        Block::Origin(text) => page.paragraph("", text),
        Block::Hanging(lead, text) => page.paragraph(lead, text),
        Block::Remarks(remarks) => remarks.iter().try_for_each(|Remark { kind, text }| match kind {
            RemarkKind::Warning => page.item("  ! ", text, Some("33")),
            RemarkKind::Note => page.paragraph("  - ", text),
            RemarkKind::Definition => page.paragraph("  = ", text),
        }),
        Block::Terms(terms) | Block::Arms(terms) => page.table(&tables::of_terms(terms)),
        Block::Table(table) => page.table(table),
        Block::Command(words) | Block::Verbatim(words) => page.line(&format!("  {}", crate::escape::terminal(words))),
        Block::Pictures(_) | Block::More(..) | Block::Brief(_) | Block::Trials(_) => Ok(()),
    }
}
