//! The whole of a comparison on a terminal.

use crate::comparison;
use crate::document::{Block, Room};
use crate::page::Page;
use crate::{Input, tables};
use schedlab_analyze::Scaling;
use std::io::{self, Write};

/// The findings for a terminal `width` columns wide, with ANSI colours or without.
pub fn text(input: &Input<'_>, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, width, colour);
    let room = Room { line: page.width - 2, gap: 2, border: 0 };
    print(&mut page, &comparison::whole(input, room))
}

/// A scaling table of single trials, as `bench` has it for a list.
pub fn scaling_text(of_option: &Scaling, width: usize, out: &mut dyn Write) -> io::Result<()> {
    print(&mut Page::new(out, width, false), &crate::designs::scaling(of_option, &[], &[], None))
}

fn print(page: &mut Page<'_>, blocks: &[Block]) -> io::Result<()> {
    let mut before: Option<&Block> = None;
    for block in blocks.iter().filter(|block| !matches!(block, Block::Picture(_))) {
        if before.is_some_and(|before| apart(before, block)) {
            page.blank()?;
        }
        one(page, block)?;
        before = Some(block);
    }
    Ok(())
}

/// Whether a blank line stands between two blocks.
fn apart(before: &Block, block: &Block) -> bool {
    use Block::*;
    match (before, block) {
        (Heading(_) | Lead(_), _) => false,
        (_, Heading(_) | Lead(_) | Table(_)) => !matches!((before, block), (Aside(_) | Spec(_), Table(_))),
        (Table(_) | Text(_) | Aside(_), List(_)) | (Table(_), Terms(_)) => true,
        _ => false,
    }
}

fn one(page: &mut Page<'_>, block: &Block) -> io::Result<()> {
    match block {
        Block::Heading(text) => page.heading(text),
        Block::Claims(claims) => {
            claims.iter().try_for_each(|(text, verdict)| page.item("• ", text, tables::colour(verdict)))
        }
        Block::Text(text) | Block::Lead(text) => page.paragraph("  ", text),
        Block::Aside(text) | Block::Spec(text) => page.item("  ", text, Some("2")),
        Block::Warnings(texts) => texts.iter().try_for_each(|text| page.item("  - ", text, Some("33"))),
        Block::List(items) => items.iter().try_for_each(|text| page.paragraph("  - ", text)),
        Block::Terms(terms) => page.table(&tables::of_terms(terms)),
        Block::Table(table) => page.table(table),
        Block::Picture(_) => Ok(()),
        Block::Command(words) => page.line(&format!("  {}", crate::escape::terminal(words))),
    }
}
