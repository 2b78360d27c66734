//! The dossier of a kernel feature as Markdown, as an HTML page, and as pictures of calls. Chapters follow the template
//! of the design. What only an engineer can write is in slots, which a new version of the dossier keeps.

mod chapters;
mod differences;
mod entries;
mod flow;
mod measured;
mod modules;
mod sentences;
mod slots;
mod term;

pub use measured::{Measured, measured};
pub use sentences::Lang;
pub use slots::{OldPage, dossier_slots};

use crate::escape;
use schedlab_kernel::dossier::{Body, Dossier, Event, Mention, Similar, Structure, SubsystemChange};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The topic of a dossier, and what is known besides the two states of the source.
#[derive(Debug, Default)]
pub struct DossierSubject {
    /// Its heading.
    pub title: String,
    /// What was compared, before and after.
    pub sides: [String; 2],
    /// The folders and files it is limited to; empty: all.
    pub paths: Vec<String>,
    /// The language.
    pub lang: Lang,
    /// Commits or patches, the oldest first; empty if no history was given.
    pub events: Vec<Event>,
    /// Whether these are commits of a checkout.
    pub is_checkout: bool,
    /// Parts of the input that were left out, one sentence each.
    pub problems: Vec<String>,
    /// Later commits, the oldest first.
    pub later: Vec<Event>,
    /// Lines by subsystem; empty without a file MAINTAINERS.
    pub subsystems: Vec<SubsystemChange>,
    /// Places where the documentation names changed interfaces.
    pub mentions: Vec<Mention>,
    /// Places where a similar feature may be found.
    pub similar: Vec<Similar>,
    /// Additional content of the template for a term.
    pub term: Option<Term>,
    /// A measured run.
    pub measured: Option<Measured>,
    /// How often functions ran.
    pub hits: Option<Hits>,
    /// Text that an engineer wrote into the previous version, by slot.
    pub slots: BTreeMap<String, String>,
}

/// Data structures and functions line by line.
#[derive(Debug)]
pub struct Term {
    /// Structures, the most used first.
    pub structures: Vec<Structure>,
    /// Bodies of the key functions, in their order.
    pub bodies: Vec<Body>,
}

/// How often functions ran.
#[derive(Debug)]
pub struct Hits {
    /// The source of the counts, and what was counted.
    pub source: String,
    /// By function.
    pub counts: BTreeMap<String, u64>,
}

/// A piece of a page.
enum Block {
    Heading(usize, String),
    Text(String),
    /// Headings and rows.
    Table(Vec<&'static str>, Vec<Vec<String>>),
    /// A key function's number.
    Picture(usize),
    /// The call flow from a key function, and the number of its picture.
    EntryPicture {
        number: usize,
        entry: usize,
    },
    /// The picture of calls between modules.
    ModulePicture,
    /// The picture of the run.
    MeasuredPicture,
    /// Lines that are printed unchanged.
    Lines(Vec<String>),
    /// The name and content of a slot.
    Slot(String, String),
}

/// The dossier as Markdown. Pictures are linked as `flow-N.svg` beside it; [`dossier_pictures`] draws them.
pub fn dossier_markdown(subject: &DossierSubject, dossier: &Dossier, out: &mut dyn Write) -> io::Result<()> {
    let blocks = chapters::blocks(subject, dossier);
    let page: String = blocks.iter().map(|block| as_markdown(block, subject, dossier)).collect();
    writeln!(out, "{page}{}", slots::seal(&page))
}

fn as_markdown(block: &Block, subject: &DossierSubject, dossier: &Dossier) -> String {
    match block {
        Block::Heading(level, text) => format!("{} {}\n\n", "#".repeat(*level), escape::markdown(text)),
        Block::Text(text) => format!("{}\n\n", escape::markdown(text)),
        Block::Table(header, rows) => {
            let row = |row: &Vec<String>| {
                format!("| {} |\n", row.iter().map(|c| escape::markdown(c)).collect::<Vec<_>>().join(" | "))
            };
            let rows: String = rows.iter().map(row).collect();
            format!("| {} |\n|{}\n{rows}\n", header.join(" | "), "---|".repeat(header.len()))
        }
        Block::Picture(number) => {
            let name = subject.lang.with(sentences::CALLS_OF, &[&dossier.key_functions[*number].name]);
            format!("![{}](flow-{}.svg)\n\n", escape::markdown(&name), number + 1)
        }
        Block::EntryPicture { number, entry } => {
            let name = subject.lang.with(sentences::FLOW_FROM, &[&dossier.key_functions[*entry].name]);
            format!("![{}]({})\n\n", escape::markdown(&name), entries::file(*number))
        }
        Block::ModulePicture => {
            format!("![{}]({}.svg)\n\n", escape::markdown(subject.lang.of(sentences::MODULE_CALLS)), modules::NAME)
        }
        Block::MeasuredPicture => format!("![{0}]({0}.svg)\n\n", measured::NAME),
        // Indented, because text inside a fence could close it.
        Block::Lines(lines) => {
            let line =
                |line: &String| format!("    {}\n", escape::terminal(&line.replace('\t', "        ")).trim_end());
            lines.iter().map(line).collect::<String>() + "\n"
        }
        Block::Slot(name, text) => slots::marked(name, text),
    }
}

/// The dossier as one HTML file with its pictures in it.
pub fn dossier_html(subject: &DossierSubject, dossier: &Dossier, out: &mut dyn Write) -> io::Result<()> {
    let (title, code) = (escape::xml(&subject.title), subject.lang.code());
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"{code}\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>"
    )?;
    writeln!(out, "body{{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}}")?;
    writeln!(out, "table{{border-collapse:collapse;font-size:14px}}td,th{{border:1px solid #ccc;padding:2px 6px;")?;
    writeln!(out, "text-align:left;vertical-align:top;overflow-wrap:anywhere}}svg{{max-width:100%}}")?;
    writeln!(out, "pre{{font-size:13px;overflow-x:auto}}.slot{{border-left:4px solid #c90;padding-left:1em}}")?;
    writeln!(out, ".add{{background:#dfd}}.del{{background:#fdd}}</style>\n</head>\n<body>")?;
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
            Block::Picture(number) => writeln!(out, "{}", flow::picture(&dossier.key_functions[number], subject.lang))?,
            Block::EntryPicture { entry, .. } => {
                writeln!(out, "{}", entries::picture(dossier, entry, subject.lang))?;
            }
            Block::ModulePicture => writeln!(out, "{}", modules::picture(dossier, subject.lang))?,
            Block::MeasuredPicture => {
                let picture = subject.measured.as_ref().and_then(|run| run.picture.as_deref());
                writeln!(out, "{}", picture.unwrap_or_default())?;
            }
            Block::Lines(lines) => {
                let line = |line: &String| match line.chars().nth(term::SIGN) {
                    Some('+') => format!("<span class=\"add\">{}</span>\n", escape::xml(line)),
                    Some('-') => format!("<span class=\"del\">{}</span>\n", escape::xml(line)),
                    _ => format!("{}\n", escape::xml(line)),
                };
                writeln!(out, "<pre>{}</pre>", lines.iter().map(line).collect::<String>())?;
            }
            Block::Slot(_, text) => {
                let parts: String = text.trim().split("\n\n").map(|p| format!("<p>{}</p>", escape::xml(p))).collect();
                writeln!(out, "<div class=\"slot\">{parts}</div>")?;
            }
        }
    }
    writeln!(out, "</body>\n</html>")
}

/// The pictures that the Markdown links: file name and SVG.
pub fn dossier_pictures(subject: &DossierSubject, dossier: &Dossier) -> Vec<(String, String)> {
    let pictured = dossier.key_functions.iter().enumerate().filter(|(_, f)| flow::has_calls(f));
    let flows = pictured.map(|(at, f)| (format!("flow-{}.svg", at + 1), flow::picture(f, subject.lang)));
    let modules = modules::has_picture(dossier).then(|| modules::picture(dossier, subject.lang));
    let modules = modules.map(|svg| (format!("{}.svg", modules::NAME), svg));
    let entries = entries::entries(dossier).into_iter().take(entries::MOST).enumerate();
    let entries = entries.map(|(at, entry)| (entries::file(at), entries::picture(dossier, entry, subject.lang)));
    let run = subject.measured.as_ref().and_then(|run| run.picture.clone());
    entries.chain(flows).chain(modules).chain(run.map(|svg| (format!("{}.svg", measured::NAME), svg))).collect()
}
