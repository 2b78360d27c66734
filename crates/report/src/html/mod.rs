//! One self-contained HTML file: no network, no font, no library. The first line is the claim; pictures come before the
//! tables that hold their numbers.

mod blocks;
mod build;
mod data;
mod environment;
mod inside;
mod numbers;
mod opening;
mod workload;

use crate::pictures::Rows;
use crate::{Input, chart::theme, designs, pictures, words};
use build::Page;
use schedlab_analyze::Findings;
use std::io::{self, Write};

/// The findings as one HTML file without any reference outside itself.
pub fn html(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::default();
    opening::write(&mut page, input);
    page.open("main", "");
    scalings(&mut page, input.findings);
    let mut all: Vec<Rows> = Vec::new();
    for index in 0..input.findings.workloads.len() {
        let Some(rows) = pictures::rows_of(input, index) else { continue };
        workload::write(&mut page, input, index, &rows);
        all.push(rows);
    }
    environment::write(&mut page, input);
    page.close("main");
    let title = build::escape(&opening::headline(input.findings));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>\n:root{{{}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{}}}}}\n{}{}</style>\n</head>\n<body>\n{}\
         <div id=\"tip\" hidden></div>\n<script id=\"data\" type=\"application/json\">{}</script>\n<script>\n{}</script>\n</body>\n\
         </html>\n",
        theme::properties(false),
        theme::properties(true),
        theme::CHART_CSS,
        include_str!("page.css"),
        page.into_text(),
        data::of(input.findings, &all),
        script(),
    )
}

/// How swept options scale, a section of its own.
fn scalings(page: &mut Page, findings: &Findings) {
    if findings.scalings.is_empty() {
        return;
    }
    page.open("section", "class=\"workload\" id=\"scaling\"");
    page.element("h2", "", "Scaling");
    for (number, scaling) in findings.scalings.iter().enumerate() {
        let picture = pictures::scaling(findings, number);
        blocks::print(page, &designs::scaling(scaling, &words::arms(findings), &findings.workloads, picture));
    }
    page.close("section");
}

/// The script as the page holds it: without the comments and the indentation of its source.
fn script() -> String {
    let lines = include_str!("page.js").lines().map(str::trim_start).filter(|l| !l.starts_with("//"));
    lines.flat_map(|l| [l, "\n"]).collect()
}
