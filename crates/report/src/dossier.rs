//! The dossier of a kernel feature as Markdown, as an HTML page and as pictures of calls. Chapters follow the template
//! of the design; what only an engineer can write is a marked slot.

mod chapters;
mod flow;

use crate::escape;
use schedlab_kernel::dossier::Dossier;
use std::io::{self, Write};

/// What a dossier is about.
#[derive(Debug, Clone)]
pub struct DossierSubject {
    /// Its heading.
    pub title: String,
    /// What was compared, before and after.
    pub sides: [String; 2],
    /// The folders and files it is limited to; empty: all.
    pub paths: Vec<String>,
    /// One line for each commit, the oldest first; empty where no history was given.
    pub commits: Vec<String>,
}

/// A piece of a page.
enum Block {
    Heading(usize, String),
    Text(String),
    Table(Vec<&'static str>, Vec<Vec<String>>),
    /// A key function's number.
    Picture(usize),
}

/// The dossier as Markdown. Pictures are linked as `flow-N.svg` beside it; [`dossier_pictures`] draws them.
pub fn dossier_markdown(subject: &DossierSubject, dossier: &Dossier, out: &mut dyn Write) -> io::Result<()> {
    for block in chapters::blocks(subject, dossier) {
        match block {
            Block::Heading(level, text) => writeln!(out, "{} {}\n", "#".repeat(level), escape::markdown(&text))?,
            Block::Text(text) => writeln!(out, "{}\n", escape::markdown(&text))?,
            Block::Table(header, rows) => {
                writeln!(out, "| {} |\n|{}", header.join(" | "), "---|".repeat(header.len()))?;
                for row in rows {
                    let cells: Vec<String> = row.iter().map(|c| escape::markdown(c)).collect();
                    writeln!(out, "| {} |", cells.join(" | "))?;
                }
                writeln!(out)?;
            }
            Block::Picture(number) => {
                let name = escape::markdown(&dossier.key_functions[number].name);
                writeln!(out, "![calls of {name}](flow-{}.svg)\n", number + 1)?;
            }
        }
    }
    Ok(())
}

/// The dossier as one HTML file with its pictures in it.
pub fn dossier_html(subject: &DossierSubject, dossier: &Dossier, out: &mut dyn Write) -> io::Result<()> {
    let title = escape::xml(&subject.title);
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>"
    )?;
    writeln!(out, "body{{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}}")?;
    writeln!(out, "table{{border-collapse:collapse;font-size:14px}}td,th{{border:1px solid #ccc;padding:2px 6px;")?;
    writeln!(
        out,
        "text-align:left;vertical-align:top;overflow-wrap:anywhere}}svg{{max-width:100%}}</style>\n</head>\n<body>"
    )?;
    for block in chapters::blocks(subject, dossier) {
        match block {
            Block::Heading(level, text) => writeln!(out, "<h{level}>{}</h{level}>", escape::xml(&text))?,
            Block::Text(text) => writeln!(out, "<p>{}</p>", escape::xml(&text))?,
            Block::Table(header, rows) => {
                let head: String = header.iter().map(|h| format!("<th>{h}</th>")).collect();
                writeln!(out, "<table>\n<tr>{head}</tr>")?;
                for row in rows {
                    let cells: String = row.iter().map(|c| format!("<td>{}</td>", escape::xml(c))).collect();
                    writeln!(out, "<tr>{cells}</tr>")?;
                }
                writeln!(out, "</table>")?;
            }
            Block::Picture(number) => writeln!(out, "{}", flow::picture(&dossier.key_functions[number]))?,
        }
    }
    writeln!(out, "</body>\n</html>")
}

/// The pictures that the Markdown links: file name and SVG.
pub fn dossier_pictures(dossier: &Dossier) -> Vec<(String, String)> {
    let pictured = dossier.key_functions.iter().enumerate().filter(|(_, f)| flow::has_calls(f));
    pictured.map(|(at, f)| (format!("flow-{}.svg", at + 1), flow::picture(f))).collect()
}
