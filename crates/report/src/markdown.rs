//! The report for a mailing list: Markdown that can be read as plain text, with tables within 78 columns.

use crate::document::{Block, Room, Section, printed};
use crate::escape::{markdown as escape, terminal};
use crate::sections::{self, Subject};
use crate::table::{Align, Table, middle_cut, width, wrap};
use crate::{Input, labels};
use std::io::{self, Write};

/// Width of a mail; columns of a table are separated by a bar and two blanks.
const ROOM: Room = Room { line: 78, gap: 3, border: 4 };

/// A name cut shorter than this is useless.
const SHORTEST: usize = 8;

/// The findings as Markdown.
pub fn markdown(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    print(&sections::whole(&Subject::new(*input)), out)
}

pub(crate) fn print(sections: &[Section<'_>], out: &mut dyn Write) -> io::Result<()> {
    for section in sections {
        if !section.title.is_empty() {
            writeln!(out, "## {}\n", escape(&section.title))?;
        }
        printed(&section.blocks).try_for_each(|block| one(block, out))?;
    }
    Ok(())
}

fn one(block: &Block, out: &mut dyn Write) -> io::Result<()> {
    match block {
        Block::Headline(text, _) => paragraph(&format!("**{}**", labels::full_stop(text)), out),
        Block::Claims(claims) => list(claims.iter().map(|(text, _)| labels::full_stop(text)), out),
        Block::Hanging(lead, text) => paragraph(&format!("{} {text}", lead.trim()), out),
        Block::Origin(text) | Block::Text(text) | Block::Aside(text) | Block::Spec(text) => paragraph(text, out),
        Block::Lead(text) => paragraph(&format!("{}:", text.trim_end_matches(':')), out),
        Block::Remarks(remarks) => list(remarks.iter().map(|remark| remark.text.clone()), out),
        Block::Terms(terms) | Block::Arms(terms) => {
            list(terms.iter().map(|(name, text)| format!("{name}: {text}")), out)
        }
        Block::Table(table) => one_table(table, out),
        // Indented code, because text inside a fence could close it.
        Block::Command(words) | Block::Verbatim(words) => writeln!(out, "    {}", terminal(words)),
        Block::Pictures(_) | Block::More(..) | Block::Brief(_) | Block::Trials(_) => Ok(()),
    }
}

fn paragraph(text: &str, out: &mut dyn Write) -> io::Result<()> {
    for line in wrap(&escape(text), ROOM.line) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)
}

/// A list with a blank line below it, or nothing.
fn list(items: impl ExactSizeIterator<Item = String>, out: &mut dyn Write) -> io::Result<()> {
    let any = items.len() > 0;
    for text in items {
        for (i, line) in wrap(&escape(&text), ROOM.line - 2).iter().enumerate() {
            writeln!(out, "{}{line}", if i == 0 { "- " } else { "  " })?;
        }
    }
    if any { writeln!(out) } else { Ok(()) }
}

/// Widths of the columns of a table within a mail; the first one is cut if necessary.
fn widths(table: &Table) -> Vec<usize> {
    let mut widths: Vec<usize> = table.natural_widths().into_iter().map(|w| w.max(3)).collect();
    let excess = total(&widths).saturating_sub(ROOM.line);
    widths[0] = widths[0].saturating_sub(excess).max(SHORTEST.min(widths[0]));
    widths
}

/// Width of these columns with their bars.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + ROOM.gap * (widths.len() - 1) + ROOM.border
}

/// Pipe tables no wider than a mail.
fn one_table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let parts = table.printed(ROOM, escape).folded(|part| total(&widths(part)) <= ROOM.line);
    parts.iter().try_for_each(|part| print_part(part, out))
}

fn print_part(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let widths = widths(table);
    let line = |cells: Vec<&str>| {
        let mut text = String::from("|");
        for ((cell, w), align) in cells.into_iter().zip(&widths).zip(&table.align) {
            let cell = middle_cut(cell, *w);
            let space = " ".repeat(w.saturating_sub(width(&cell)));
            match align {
                Align::Left => text.push_str(&format!(" {cell}{space} |")),
                Align::Right => text.push_str(&format!(" {space}{cell} |")),
            }
        }
        text
    };
    writeln!(out, "{}", line(table.header.iter().map(String::as_str).collect()))?;
    let rule = widths.iter().zip(&table.align).map(|(w, align)| match align {
        Align::Left => format!(" {} |", "-".repeat(*w)),
        Align::Right => format!(" {}: |", "-".repeat(w - 1)),
    });
    writeln!(out, "|{}", rule.collect::<String>())?;
    for row in &table.rows {
        writeln!(out, "{}", line(row.iter().map(|c| c.text.as_str()).collect()))?;
    }
    writeln!(out)
}
