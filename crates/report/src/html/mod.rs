//! One self-contained HTML file: no network, no font, no library. The first line is the claim; pictures come before the
//! tables that hold their numbers.

mod build;
mod designs;
mod environment;
mod numbers;
mod opening;
mod workload;

use crate::{Input, chart::theme};
use build::Page;
use std::io::{self, Write};

/// The findings as one HTML file without any reference outside itself.
pub fn html(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::default();
    opening::write(&mut page, input);
    page.open("main", "");
    designs::scalings(&mut page, input);
    for index in 0..input.findings.workloads.len() {
        workload::write(&mut page, input, index);
    }
    environment::write(&mut page, input);
    page.close("main");
    let title = build::escape(&opening::headline(input.findings));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>\n:root{{{}}}\n@media (prefers-color-scheme: dark){{:root{{{}}}}}\n{}{}</style>\n</head>\n<body>\n{}\
         <div id=\"tip\" hidden></div>\n<script>\n{}</script>\n</body>\n</html>\n",
        theme::properties(false),
        theme::properties(true),
        include_str!("page.css"),
        theme::CHART_CSS,
        page.into_text(),
        include_str!("page.js"),
    )
}
