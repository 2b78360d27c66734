//! An SVG under construction: shapes with classes, colours left to the style sheet. Coordinates that are not finite draw
//! nothing; everything else is written with at most two decimals, so that the bytes are the same everywhere.

use crate::escape::xml;
use crate::number::typographic;
use std::fmt::Write;

/// A picture: size in px, and its content so far.
#[derive(Debug, Clone)]
pub(crate) struct Svg {
    pub(crate) width: f64,
    pub(crate) height: f64,
    body: String,
}

/// The sign of an arm or state at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Filled with the arm's colour.
    Solid,
    /// Outline only.
    Hollow,
    /// Outline with a ring around it.
    Ringed,
}

/// Where a text is anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A coordinate: two decimals, no trailing zeros, never `-0`.
pub(crate) fn px(x: f64) -> String {
    let x = if x.is_finite() { x.clamp(-1e5, 1e5) } else { 0.0 };
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// About how wide a text is at a font size, px: enough to lay out labels.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let narrow = |c: char| {
        matches!(c, 'i' | 'l' | 'j' | '.' | ',' | ':' | ';' | '|' | '\'' | '[' | ']' | ' ' | 't' | 'f' | 'r' | '1')
    };
    let em = |c: char| match c {
        c if narrow(c) => 0.34,
        '%' | '—' => 0.9,
        'm' | 'w' => 0.78,
        c if c.is_uppercase() => 0.72,
        _ => 0.56,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// A text cut so that it fits `room` px.
pub(crate) fn fit(text: &str, size: f64, room: f64) -> String {
    if text_width(text, size) <= room {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        if text_width(&cut, size) + size > room {
            break;
        }
        cut.push(c);
    }
    format!("{}…", cut.trim_end())
}

impl Svg {
    pub(crate) fn new(width: f64) -> Self {
        Self { width, height: 0.0, body: String::new() }
    }

    /// Opens a group; `title` is what a pointer over it shows.
    pub(crate) fn open(&mut self, class: &str, arm: Option<u32>, title: &str) {
        let arm = arm.map(|a| format!(" data-arm=\"{a}\"")).unwrap_or_default();
        let _ = write!(self.body, "<g class=\"{class}\"{arm}>");
        if !title.is_empty() {
            let _ = write!(self.body, "<title>{}</title>", xml(&typographic(title)));
        }
    }

    pub(crate) fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    pub(crate) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        if [x1, y1, x2, y2].iter().all(|v| v.is_finite()) {
            let (x1, y1, x2, y2) = (px(x1), px(y1), px(x2), px(y2));
            let _ = write!(self.body, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
        }
    }

    pub(crate) fn rect(&mut self, class: &str, (x, y): (f64, f64), (w, h): (f64, f64)) {
        if [x, y, w, h].iter().all(|v| v.is_finite()) && w > 0.0 && h > 0.0 {
            let (x, y, w, h) = (px(x), px(y), px(w), px(h));
            let _ = write!(self.body, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/>");
        }
    }

    pub(crate) fn circle(&mut self, class: &str, (x, y): (f64, f64), r: f64) {
        if x.is_finite() && y.is_finite() {
            let _ = write!(self.body, "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>", px(x), px(y), px(r));
        }
    }

    /// A line through points; those that are not finite are left out.
    pub(crate) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let at: Vec<String> = points
            .iter()
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .map(|(x, y)| format!("{},{}", px(*x), px(*y)))
            .collect();
        if at.len() > 1 {
            let _ = write!(self.body, "<polyline class=\"{class}\" points=\"{}\"/>", at.join(" "));
        }
    }

    pub(crate) fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        let at: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
        let _ = write!(self.body, "<polygon class=\"{class}\" points=\"{}\"/>", at.join(" "));
    }

    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        if text.is_empty() || !x.is_finite() || !y.is_finite() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = xml(&typographic(text));
        let _ = write!(self.body, "<text class=\"{class}\" x=\"{}\" y=\"{}\"{anchor}>{text}</text>", px(x), px(y));
    }

    /// The sign of an arm: shape by index, so that it reads without colour too.
    pub(crate) fn mark(&mut self, arm: u32, (x, y): (f64, f64), r: f64, mark: Mark) {
        if !x.is_finite() || !y.is_finite() {
            return;
        }
        let class = if mark == Mark::Solid { "f" } else { "h" };
        match arm % 5 {
            0 => self.circle(class, (x, y), r),
            1 => self.rect(class, (x - 0.88 * r, y - 0.88 * r), (1.76 * r, 1.76 * r)),
            2 => self.polygon(class, &[(x, y - 1.25 * r), (x + 1.25 * r, y), (x, y + 1.25 * r), (x - 1.25 * r, y)]),
            3 => self.polygon(class, &[(x, y - 1.2 * r), (x + 1.15 * r, y + 0.85 * r), (x - 1.15 * r, y + 0.85 * r)]),
            _ => self.polygon(class, &[(x, y + 1.2 * r), (x + 1.15 * r, y - 0.85 * r), (x - 1.15 * r, y - 0.85 * r)]),
        }
        if mark == Mark::Ringed {
            self.circle("ring", (x, y), r + 3.0);
        }
    }

    /// The element, to be inlined in a page that has the style sheet.
    pub(crate) fn inline(&self, title: &str, description: &str) -> String {
        self.element("", title, description, "")
    }

    /// A small sign beside a text that says the same: nothing for a screen reader.
    pub(crate) fn sign(&self) -> String {
        let (w, h) = (px(self.width), px(self.height));
        format!(
            "<svg class=\"chart sign\" aria-hidden=\"true\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\">{}</svg>",
            self.body
        )
    }

    /// A file of its own, on paper, with its style inside.
    pub(crate) fn standalone(&self, title: &str, description: &str) -> String {
        let style = format!(
            "<style>{}</style><rect class=\"paper\" x=\"-12\" y=\"-12\" width=\"100%\" height=\"100%\"/>",
            super::theme::standalone_css()
        );
        self.element(" xmlns=\"http://www.w3.org/2000/svg\"", title, description, &style)
    }

    fn element(&self, namespace: &str, title: &str, description: &str, style: &str) -> String {
        // A file of its own has a margin; in a page the figure has it.
        let margin = if style.is_empty() { 0.0 } else { 12.0 };
        let (w, h) = (px(self.width + 2.0 * margin), px(self.height + 2.0 * margin));
        let origin = px(-margin);
        let size = if style.is_empty() { String::new() } else { format!(" width=\"{w}\" height=\"{h}\"") };
        let (title, description) = (xml(&typographic(title)), xml(&typographic(description)));
        format!(
            "<svg{namespace} class=\"chart\" role=\"img\" viewBox=\"{origin} {origin} {w} {h}\"{size}>\n<title>{title}</title>\
             <desc>{description}</desc>\n{style}{}</svg>\n",
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_finite() {
        assert_eq!(px(1.0), "1");
        assert_eq!(px(-0.001), "0");
        assert_eq!(px(12.345), "12.35");
        assert_eq!(px(f64::NAN), "0");
        assert_eq!(px(f64::INFINITY), "0");
    }

    #[test]
    fn what_is_not_finite_is_not_drawn() {
        let mut svg = Svg::new(100.0);
        svg.circle("f", (f64::NAN, 1.0), 2.0);
        svg.line("grid", (0.0, 0.0), (f64::INFINITY, 0.0));
        svg.polyline("s", &[(0.0, 0.0), (f64::NAN, 1.0), (2.0, 2.0)]);
        assert_eq!(svg.body, "<polyline class=\"s\" points=\"0,0 2,2\"/>");
    }

    #[test]
    fn labels_are_escaped_and_cut() {
        let mut svg = Svg::new(100.0);
        svg.text("", (1.0, 2.0), Anchor::End, "<a & -5>");
        assert!(svg.body.contains("&lt;a &amp; −5&gt;"));
        assert!(fit("a very long label indeed", 12.0, 60.0).ends_with('…'));
        assert_eq!(fit("short", 12.0, 60.0), "short");
    }
}
