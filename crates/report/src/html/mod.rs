//! One self-contained HTML file: no network, no font, no library. The first line is the claim; pictures come before the
//! tables with their numbers.

mod blocks;
mod build;
mod data;

use crate::chart::theme;
use crate::document::{Landmark, Section};
use crate::sections::{self, Subject};
use crate::{Input, labels};
use build::Page;
use std::io::{self, Write};

/// The findings as one HTML file without any external reference.
pub fn html(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let findings = input.findings;
    let subject = Subject::new(*input);
    let sections = sections::whole(&subject);
    let (above, main): (Vec<&Section>, Vec<&Section>) = sections.iter().partition(|s| s.landmark != Landmark::Body);
    let mut page = Page::default();
    page.element("p", "class=\"kicker\"", &findings.title);
    for section in above {
        blocks::section(&mut page, section);
        if section.landmark == Landmark::Head {
            page.element("p", "class=\"byline\"", &byline(input));
        }
    }
    page.open("nav", "aria-label=\"Contents\"");
    main.iter().for_each(|section| page.element("a", &format!("href=\"#{}\"", section.id), &section.title));
    page.close("nav");
    page.open("main", "");
    main.into_iter().for_each(|section| blocks::section(&mut page, section));
    page.close("main");
    let rows = Vec::from_iter((0..findings.workloads.len()).map(|index| subject.rows(index)));
    let script = format!(
        "<div id=\"tip\" hidden></div>\n<script id=\"data\" type=\"application/json\">{}</script>\n<script>\n{}</script>\n",
        data::of(findings, &rows),
        script()
    );
    whole(&sections::headline(findings).0, &format!("{}{script}", page.into_text()), out)
}

/// A page of findings without trials: its first section is its head.
pub(crate) fn document(kicker: &str, sections: &[Section<'_>], out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::default();
    let Some((head, sections)) = sections.split_first() else { return Ok(()) };
    let title = &head.title;
    page.open("header", "");
    page.element("p", "class=\"kicker\"", kicker);
    page.element("h1", "", title);
    blocks::blocks(&mut page, title, &head.blocks);
    page.close("header");
    page.open("main", "");
    sections.iter().for_each(|section| blocks::section(&mut page, section));
    page.close("main");
    whole(title, &page.into_text(), out)
}

/// The file around a body.
fn whole(title: &str, body: &str, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <style>\n:root{{{}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{}}}}}\n{}{}</style>\n</head>\n<body>\n{body}\
         </body>\n</html>\n",
        build::escape(title),
        theme::properties(false),
        theme::properties(true),
        theme::CHART_CSS,
        include_str!("page.css"),
    )
}

/// The machine and the time of the run, and its design.
fn byline(input: &Input<'_>) -> String {
    let design = input.findings.rules.design.clone();
    let parts = [labels::provenance(input.manifest), design, format!("schedlab {}", input.manifest.schedlab_version)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// The script for a page, without the comments and the indentation of its source.
fn script() -> String {
    let lines = include_str!("page.js").lines().map(str::trim_start).filter(|l| !l.starts_with("//"));
    lines.flat_map(|l| [l, "\n"]).collect()
}
