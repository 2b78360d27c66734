//! A page under construction: elements are opened and closed by name, and every text is escaped when it is added.

use crate::chart::theme::arm_class;
use crate::pictures::{Kind, Picture};
use crate::table::{Align, Cell, Drawn, Table};
use crate::typographic::typographic;

/// Widths at which a chart is drawn, px: half of the page, the whole page, and a phone. The style sheet scales each by
/// 0.85 to 1.25.
const HALF: f64 = 420.0;
const WHOLE: f64 = 900.0;
const PHONE: f64 = 360.0;

/// Width of the longest bar next to a counter, px.
const GAUGE: f64 = 60.0;

/// Escapes a text and applies typography.
pub(super) fn escape(text: &str) -> String {
    crate::escape::xml(&typographic(text))
}

/// [`escape`] for sentences: text in backticks becomes code.
fn sentence(text: &str) -> String {
    let text = escape(text);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text;
    }
    let set = |(i, part): (usize, &&str)| if i % 2 == 1 { format!("<code>{part}</code>") } else { (*part).to_owned() };
    parts.iter().enumerate().map(set).collect()
}

/// The body so far.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// `<name attributes>`; attributes are literals of the caller, never data.
    pub(super) fn open(&mut self, name: &str, attributes: &str) {
        let space = if attributes.is_empty() { "" } else { " " };
        self.text.push_str(&format!("<{name}{space}{attributes}>\n"));
    }

    pub(super) fn close(&mut self, name: &str) {
        self.text.push_str(&format!("</{name}>\n"));
    }

    /// An element with a text in it.
    pub(super) fn element(&mut self, name: &str, attributes: &str, text: &str) {
        let space = if attributes.is_empty() { "" } else { " " };
        // Literal text, and text for copying, keeps its backticks.
        let text = if name == "pre" { crate::escape::xml(text) } else { sentence(text) };
        self.text.push_str(&format!("<{name}{space}{attributes}>{text}</{name}>\n"));
    }

    /// Adds text without an element, escaped.
    pub(super) fn say(&mut self, text: &str) {
        self.text.push_str(&sentence(text));
    }

    /// Adds markup that this crate generated.
    pub(super) fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// A table that scrolls horizontally by itself if the page is narrower, unless it has no rows. HTML allows to omit
    /// the end tags of cells and rows; without them a table is a third smaller.
    pub(super) fn table(&mut self, name: &str, table: &Table) {
        if table.rows.is_empty() {
            return;
        }
        let ground = table.axis.as_ref().map(|axis| format!(" style=\"{}\"", axis.ground())).unwrap_or_default();
        let (name, classes) = (escape(name), classes(table));
        self.raw(&format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"{ground}>\n<table{classes}>"
        ));
        if table.header.iter().any(|name| !name.is_empty()) {
            self.raw("<thead><tr>");
            table.header.iter().for_each(|name| self.raw(&format!("<th>{}", escape(name))));
            self.raw("\n");
        }
        self.raw("<tbody>\n");
        for row in &table.rows {
            self.raw("<tr>");
            match row.as_slice() {
                [title] => {
                    let columns = table.header.len();
                    self.raw(&format!("<th colspan={columns} scope=rowgroup class=group>{}", escape(&title.text)));
                }
                cells => cells.iter().for_each(|cell| self.cell(table, cell)),
            }
            self.raw("\n");
        }
        if let Some(axis) = &table.axis {
            self.raw("<tr><td><td>");
            table.header.iter().skip(2).for_each(|_| self.raw(&format!("<td>{}", axis.axis())));
            self.raw("\n");
        }
        self.raw("</table>\n</div>\n");
    }

    fn cell(&mut self, table: &Table, cell: &Cell) {
        let class = cell.tone.map(|tone| format!(" class={}", tone.class())).unwrap_or_default();
        // The name of a metric or counter may break after each underscore.
        let is_name = !cell.text.contains(char::is_whitespace) && cell.text.contains('_');
        let text = if is_name { escape(&cell.text).replace('_', "_<wbr>") } else { sentence(&cell.text) };
        self.raw(&format!("<td{class}>{text}"));
        match &cell.drawn {
            None => {}
            Some(Drawn::Bar(arm, share)) => {
                self.raw(&format!("<i class={} style=width:{:.0}px></i>", arm_class(*arm), share * GAUGE));
            }
            Some(Drawn::Interval(at, tone, word)) => {
                if !word.is_empty() {
                    self.raw(&format!(" <b class={}>{}</b>", tone.class(), escape(word)));
                }
                if let (Some(axis), Some(at)) = (&table.axis, at) {
                    self.raw(&axis.row(tone.class(), *at));
                }
            }
        }
    }

    /// A picture with its title and caption. A picture as wide as the page is drawn a second time for phones, or
    /// scrolls there.
    pub(super) fn figure(&mut self, picture: &Picture) {
        self.open("figure", if picture.is_half() { "class=\"half\"" } else { "class=\"whole\"" });
        self.element("h3", "", &picture.title);
        let drawn = |width: f64| picture.chart.draw(width).inline(&picture.title, &picture.description);
        match picture.kind {
            _ if picture.is_half() => self.raw(&drawn(HALF)),
            // Ten thousand trials are not drawn twice, and a phone is too narrow for them anyway, so the picture
            // scrolls.
            Kind::Timeline => {
                self.open("div", "class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Trials in order\"");
                self.raw(&drawn(WHOLE));
                self.close("div");
            }
            _ => {
                for (class, width) in [("class=\"wide\"", WHOLE), ("class=\"phone\"", PHONE)] {
                    self.open("div", class);
                    self.raw(&drawn(width));
                    self.close("div");
                }
            }
        }
        if !picture.caption.is_empty() {
            self.element("figcaption", "", &picture.caption);
        }
        self.close("figure");
    }

    /// The sign of an arm, as in charts.
    pub(super) fn sign(&mut self, arm: u32) {
        let mut svg = crate::chart::Svg::new(14.0);
        svg.height = 14.0;
        svg.open(&crate::chart::theme::arm_class(arm), None);
        svg.mark(arm, (7.0, 7.0), 4.6, crate::chart::Mark::Solid);
        svg.close();
        self.raw(&svg.sign());
    }
}

/// Classes that align columns of numbers: `n2` for the second, `nn` for all but the first; `words` for a wide table
/// without numbers, whose cells are below each other on a phone.
fn classes(table: &Table) -> String {
    let numbers = table.align.iter().enumerate().filter(|(_, align)| **align == Align::Right);
    let numbers: Vec<usize> = numbers.map(|(i, _)| i + 1).collect();
    let columns = table.align.len();
    if numbers.is_empty() {
        return if columns > 3 { " class=words".into() } else { String::new() };
    }
    let all = columns > 1 && numbers.len() == columns - 1 && numbers[0] == 2;
    let names: Vec<String> = if all { vec!["nn".into()] } else { numbers.iter().map(|n| format!("n{n}")).collect() };
    format!(" class=\"{}\"", names.join(" "))
}
