//! The report for a mailing list: Markdown that reads as plain text, tables within 78 columns.

use crate::comparison;
use crate::document::{Block, Room};
use crate::escape::{markdown as escape, terminal};
use crate::table::{Align, Table, middle_cut, width, wrap};
use crate::{Input, words};
use std::io::{self, Write};

/// Columns of a mail; columns of a table have a bar and two blanks between them.
const ROOM: Room = Room { line: 78, gap: 3, border: 4 };

/// A name cut shorter than this tells nothing.
const SHORTEST: usize = 8;

/// The findings as Markdown.
pub fn markdown(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    comparison::whole(input, ROOM).iter().try_for_each(|block| one(block, out))
}

fn one(block: &Block, out: &mut dyn Write) -> io::Result<()> {
    match block {
        Block::Heading(text) => writeln!(out, "## {}\n", escape(text)),
        Block::Claims(claims) => {
            let (first, more) = claims.split_at(1);
            first.iter().try_for_each(|(text, _)| paragraph(&format!("**{text}.**"), out))?;
            list(&more.iter().map(|(text, _)| words::full_stop(text)).collect::<Vec<_>>(), out)
        }
        Block::Text(text) | Block::Aside(text) | Block::Spec(text) => paragraph(text, out),
        Block::Lead(text) => paragraph(&format!("{}:", text.trim_end_matches(':')), out),
        Block::List(items) | Block::Warnings(items) => list(items, out),
        Block::Terms(terms) => {
            list(&terms.iter().map(|(name, text)| format!("{name}: {text}")).collect::<Vec<_>>(), out)
        }
        Block::Table(table) => print(table, out),
        Block::Picture(_) => Ok(()),
        // Indented code: a fence could be closed from inside.
        Block::Command(words) => writeln!(out, "    {}", terminal(words)),
    }
}

fn paragraph(text: &str, out: &mut dyn Write) -> io::Result<()> {
    for line in wrap(&escape(text), ROOM.line) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)
}

/// A list with a blank line below it, or nothing.
fn list(items: &[String], out: &mut dyn Write) -> io::Result<()> {
    for text in items {
        for (i, line) in wrap(&escape(text), ROOM.line - 2).iter().enumerate() {
            writeln!(out, "{}{line}", if i == 0 { "- " } else { "  " })?;
        }
    }
    if items.is_empty() { Ok(()) } else { writeln!(out) }
}

/// Columns of a pipe table within a mail: the first one gives way.
fn widths(table: &Table) -> Vec<usize> {
    let mut widths: Vec<usize> = table.natural_widths().into_iter().map(|w| w.max(3)).collect();
    let excess = total(&widths).saturating_sub(ROOM.line);
    widths[0] = widths[0].saturating_sub(excess).max(SHORTEST.min(widths[0]));
    widths
}

/// How wide columns are with their bars.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + ROOM.gap * (widths.len() - 1) + ROOM.border
}

/// Pipe tables no wider than a mail.
fn print(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut table = table.clone();
    table.header.iter_mut().for_each(|h| *h = escape(h));
    table.rows.iter_mut().flatten().for_each(|c| c.text = escape(&c.text));
    table.folded(|part| total(&widths(part)) <= ROOM.line).iter().try_for_each(|part| print_part(part, out))
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
