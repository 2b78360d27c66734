//! A page under construction: elements are opened and closed by name, every text is escaped on its way in.

use crate::number::typographic;
use crate::pictures::Picture;

/// Widths at which a chart is drawn: beside its twin, alone, and on a phone, px.
const HALF: f64 = 500.0;
const WHOLE: f64 = 1040.0;
const PHONE: f64 = 350.0;

/// Text made safe and typographic.
pub(super) fn escape(text: &str) -> String {
    crate::escape::xml(&typographic(text))
}

/// [`escape`] for sentences: what stands in backticks is set as code.
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

/// A cell of a table: its text and class.
pub(super) type Cell = (String, &'static str);

impl Page {
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// `<name attributes>`; attributes are the caller's own words, never data.
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
        // What is to be read as it is, or copied, keeps its backticks.
        let text = if name == "pre" { crate::escape::xml(text) } else { sentence(text) };
        self.text.push_str(&format!("<{name}{space}{attributes}>{text}</{name}>\n"));
    }

    /// Text without an element, escaped.
    pub(super) fn say(&mut self, text: &str) {
        self.text.push_str(&sentence(text));
    }

    /// Markup of this crate's own making.
    pub(super) fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// A paragraph for each sentence, none for none.
    pub(super) fn list(&mut self, attributes: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.open("ul", attributes);
        for item in items {
            self.element("li", "", item);
        }
        self.close("ul");
    }

    /// A table that scrolls sideways on its own when the page is narrower.
    pub(super) fn table(&mut self, header: &[(&str, &str)], rows: &[Vec<Cell>]) {
        self.open("div", "class=\"scroll\" tabindex=\"0\"");
        self.open("table", "");
        self.raw("<thead><tr>");
        for (name, class) in header {
            self.raw(&format!("<th scope=\"col\" class=\"{class}\">{}</th>", escape(name)));
        }
        self.raw("</tr></thead>\n<tbody>\n");
        for row in rows {
            self.raw("<tr>");
            // A lone cell is a heading over the rows below it.
            if let [(text, class)] = row.as_slice() {
                self.raw(&format!(
                    "<th colspan=\"{}\" scope=\"rowgroup\" class=\"{class}\">{}</th>",
                    header.len(),
                    escape(text)
                ));
            } else {
                for (text, class) in row {
                    self.raw(&format!("<td class=\"{class}\">{}</td>", sentence(text)));
                }
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody>\n");
        self.close("table");
        self.close("div");
    }

    /// A picture with its title and caption, drawn for a wide page and for a narrow one.
    pub(super) fn figure(&mut self, picture: &Picture) {
        let class = if picture.is_half() { "half" } else { "whole" };
        self.open("figure", &format!("class=\"{class}\""));
        self.element("h3", "", &picture.title);
        let wide = if picture.is_half() { HALF } else { WHOLE };
        for (class, width) in [("wide", wide), ("phone", PHONE)] {
            self.open("div", &format!("class=\"{class}\""));
            let svg = picture.chart.draw(width).inline(&picture.title, &picture.description);
            self.raw(&svg);
            self.close("div");
        }
        self.element("figcaption", "", &picture.caption);
        self.close("figure");
    }

    /// The sign of an arm, as charts draw it.
    pub(super) fn sign(&mut self, arm: u32) {
        let mut svg = crate::chart::Svg::new(14.0);
        svg.height = 14.0;
        svg.open(&crate::chart::theme::arm_class(arm), None, "");
        svg.mark(arm, (7.0, 7.0), 4.6, crate::chart::Mark::Solid);
        svg.close();
        self.raw(&svg.sign());
    }
}
