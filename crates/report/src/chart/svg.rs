//! An SVG under construction: shapes with classes; the colours are in the style sheet. Shapes with coordinates that are
//! not finite are not drawn; other coordinates have at most one decimal, so that the bytes are few and the same
//! everywhere. Shapes of the same kind are one path, so that a picture of thousands of trials stays small.

use super::mark::{Mark, SMALLEST_SHAPE, is_circle, outline};
use super::measure::{BOLD, fit, text_width};
use super::path::PathData;
use crate::escape::xml;
use crate::typographic::typographic;
use std::fmt::Write;

/// In a picture that is a file of its own: the margin around it and the height of the two lines above it, px.
const MARGIN: f64 = 12.0;
const HEAD: f64 = 44.0;

/// A picture: size in px, and its content so far.
#[derive(Debug, Clone)]
pub(crate) struct Svg {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Positions of the trials, for the page's script: the attribute `data-plot` of an inlined picture.
    pub(crate) plot: String,
    body: String,
}

/// Where a text is anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn attribute(self) -> &'static str {
        match self {
            Self::Start => "",
            Self::Middle => " text-anchor=\"middle\"",
            Self::End => " text-anchor=\"end\"",
        }
    }
}

/// A coordinate: one decimal, no trailing zero, never `-0`.
pub(crate) fn px(x: f64) -> String {
    let x = if x.is_finite() { x.clamp(-1e5, 1e5) } else { 0.0 };
    let text = format!("{x:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.into() }
}

fn class_attribute(class: &str) -> String {
    if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") }
}

/// The font size of a class of text, as in `chart.css`, px; bold text counts as an eighth wider.
fn font_size(class: &str) -> f64 {
    match class {
        "head" | "num" => BOLD * 12.0,
        "" | "soft" => 12.0,
        _ => 11.0,
    }
}

fn is_finite((x, y): (f64, f64)) -> bool {
    x.is_finite() && y.is_finite()
}

impl Svg {
    pub(crate) fn new(width: f64) -> Self {
        Self { width, height: 0.0, plot: String::new(), body: String::new() }
    }

    /// Opens a group; the group of an arm can be highlighted.
    pub(crate) fn open(&mut self, class: &str, arm: Option<u32>) {
        let arm = arm.map(|a| format!(" data-arm=\"{a}\"")).unwrap_or_default();
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(self.body, "<g{class}{arm}>");
    }

    /// Opens a group with its own origin and its own horizontal unit, so that equally spaced shapes have short
    /// coordinates.
    pub(crate) fn open_steps(&mut self, class: &str, arm: u32, (x, y): (f64, f64), step: f64) {
        let (x, y) = (px(x), px(y));
        let _ = write!(
            self.body,
            "<g class=\"{class}\" data-arm=\"{arm}\" transform=\"translate({x} {y})scale({step:.4} 1)\">"
        );
    }

    pub(crate) fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.lines(class, [(from, to)]);
    }

    /// Lines as one path; lines with an end that is not finite are left out.
    pub(crate) fn lines(&mut self, class: &str, lines: impl IntoIterator<Item = ((f64, f64), (f64, f64))>) {
        let mut path = PathData::default();
        for (from, to) in lines.into_iter().filter(|(from, to)| is_finite(*from) && is_finite(*to)) {
            path.move_to(from);
            path.line_to(to);
        }
        self.path(class, "", &path.into_text());
    }

    /// A path, unless it is empty; `attributes` begins with a blank.
    fn path(&mut self, class: &str, attributes: &str, d: &str) {
        if !d.is_empty() {
            let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            let _ = write!(self.body, "<path{class}{attributes} d=\"{d}\"/>");
        }
    }

    /// Rectangles as one path: corner and size of each.
    pub(crate) fn rects(&mut self, class: &str, rects: impl IntoIterator<Item = ((f64, f64), (f64, f64))>) {
        let mut path = PathData::default();
        for ((x, y), (w, h)) in rects.into_iter().filter(|(at, size)| is_finite(*at) && is_finite(*size)) {
            path.move_to((x, y));
            [(x + w, y), (x + w, y + h), (x, y + h)].into_iter().for_each(|corner| path.line_to(corner));
            path.close();
        }
        self.path(class, "", &path.into_text());
    }

    /// Dots of a radius as one path.
    pub(crate) fn dots(&mut self, class: &str, radius: f64, at: impl IntoIterator<Item = (f64, f64)>) {
        let mut path = PathData::default();
        for at in at.into_iter().filter(|at| is_finite(*at)) {
            path.move_to(at);
            path.line_by((0, 0));
        }
        self.path(class, &format!(" stroke-width=\"{}\"", px(2.0 * radius)), &path.into_text());
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
        let mut at = points.iter().copied().filter(|at| is_finite(*at));
        let Some(first) = at.next() else { return };
        let mut path = PathData::default();
        path.move_to(first);
        at.for_each(|at| path.line_to(at));
        self.path(class, "", &path.into_text());
    }

    pub(crate) fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        let at: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
        let _ = write!(self.body, "<polygon class=\"{class}\" points=\"{}\"/>", at.join(" "));
    }

    /// A text, shortened at the edge of the picture.
    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        self.text_within(class, at, anchor, text, f64::INFINITY);
    }

    /// A text, shortened to `room` px or at the edge of the picture; then its title, which a pointer shows, has the
    /// whole text.
    pub(crate) fn text_within(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str, room: f64) {
        self.put_text((&class_attribute(class), anchor.attribute()), class, at, anchor, text, room);
    }

    /// The first argument has the attributes to write; `class` and `anchor` are those that apply, which may be a
    /// group's.
    fn put_text(
        &mut self,
        (before, behind): (&str, &str),
        class: &str,
        (x, y): (f64, f64),
        anchor: Anchor,
        text: &str,
        room: f64,
    ) {
        if text.is_empty() || !x.is_finite() || !y.is_finite() {
            return;
        }
        // A label that would extend a little beyond the edge, such as that of a tick, is moved instead of cut.
        let half = text_width(text, font_size(class)) / 2.0;
        let is_movable = anchor == Anchor::Middle && room.is_infinite() && 2.0 * half <= self.width;
        let x = if is_movable { x.clamp(half, self.width - half) } else { x };
        let room = if is_movable { room } else { room.min(self.room(x, anchor)) };
        let shown = fit(text, font_size(class), room);
        let title = if shown == text { String::new() } else { format!("<title>{}</title>", xml(&typographic(text))) };
        let shown = xml(&typographic(&shown));
        let _ = write!(self.body, "<text{before} x=\"{}\" y=\"{}\"{behind}>{shown}{title}</text>", px(x), px(y));
    }

    /// Width from an anchor to the edge of the picture, px.
    fn room(&self, x: f64, anchor: Anchor) -> f64 {
        match anchor {
            Anchor::Start => self.width - x,
            Anchor::Middle => 2.0 * x.min(self.width - x),
            Anchor::End => x,
        }
    }

    /// A line of text in parts, each with its class, separated by `gap` px whatever the font's widths are. A part that
    /// would leave the picture is shortened; the title then has the whole text.
    pub(crate) fn line_of_text(&mut self, (x, y): (f64, f64), anchor: Anchor, gap: f64, parts: &[(&str, &str)]) {
        let mut room = self.room(x, anchor);
        let (mut spans, mut whole, mut is_cut) = (String::new(), Vec::new(), false);
        for (class, part) in parts.iter().filter(|(_, part)| !part.is_empty()) {
            whole.push(*part);
            if is_cut {
                continue;
            }
            let dx = if spans.is_empty() { String::new() } else { format!(" dx=\"{}\"", px(gap)) };
            let shown = fit(part, font_size(class), room);
            is_cut = shown != *part;
            room -= text_width(&shown, font_size(class)) + gap;
            let _ = write!(spans, "<tspan class=\"{class}\"{dx}>{}</tspan>", xml(&typographic(&shown)));
        }
        if is_cut {
            let _ = write!(spans, "<title>{}</title>", xml(&typographic(&whole.join(" "))));
        }
        if !spans.is_empty() && x.is_finite() && y.is_finite() {
            let _ = write!(self.body, "<text x=\"{}\" y=\"{}\"{}>{spans}</text>", px(x), px(y), anchor.attribute());
        }
    }

    /// Several texts with the same class and anchor.
    pub(crate) fn labels<'t>(
        &mut self,
        class: &str,
        anchor: Anchor,
        labels: impl IntoIterator<Item = ((f64, f64), &'t str)>,
    ) {
        let _ = write!(self.body, "<g class=\"{class}\"{}>", anchor.attribute());
        labels.into_iter().for_each(|(at, text)| self.put_text(("", ""), class, at, anchor, text, f64::INFINITY));
        self.body.push_str("</g>");
    }

    /// The sign of an arm, with a shape by index, so that it is recognized without colour.
    pub(crate) fn mark(&mut self, arm: u32, at: (f64, f64), r: f64, mark: Mark) {
        self.marks(arm, [at], r, mark);
    }

    /// Signs of an arm as one path of closed shapes, so that the outlines remain visible where signs overlap.
    pub(crate) fn marks(&mut self, arm: u32, at: impl IntoIterator<Item = (f64, f64)>, r: f64, mark: Mark) {
        let at: Vec<(f64, f64)> = at.into_iter().filter(|at| is_finite(*at)).collect();
        match mark {
            Mark::Solid if r < SMALLEST_SHAPE => return self.dots("d", r, at),
            // Many circles drawn as dots on larger dots take a third of the bytes.
            Mark::Solid if is_circle(arm) && at.len() > 2 => {
                self.dots("hole", r + 0.7, at.iter().copied());
                return self.dots("d", r, at);
            }
            Mark::Hollow if is_circle(arm) && at.len() > 2 => {
                self.dots("d", r + 0.7, at.iter().copied());
                return self.dots("hole", r - 0.7, at);
            }
            _ => {}
        }
        let shapes = |arm: u32, r: f64| {
            let mut path = PathData::default();
            at.iter().for_each(|at| outline(&mut path, arm, *at, r));
            path.into_text()
        };
        self.path(if mark == Mark::Solid { "f" } else { "h" }, "", &shapes(arm, r));
        if mark == Mark::Ringed {
            self.path("ring", "", &shapes(0, r + 3.0));
        }
    }

    /// The element, to be inlined in a page that contains the style sheet.
    pub(crate) fn inline(&self, title: &str, description: &str) -> String {
        let plot = if self.plot.is_empty() { String::new() } else { format!(" data-plot=\"{}\"", self.plot) };
        self.element(&plot, title, description, "")
    }

    /// A small sign next to a text with the same meaning; hidden from screen readers.
    pub(crate) fn sign(&self) -> String {
        let (w, h) = (px(self.width), px(self.height));
        format!(
            "<svg class=\"chart sign\" aria-hidden=\"true\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\">{}</svg>",
            self.body
        )
    }

    /// A picture in a cell of a table; the style sheet sets its size.
    pub(crate) fn cell(&self, class: &str) -> String {
        format!("<svg class=\"{class}\">{}</svg>", self.body.trim_end())
    }

    /// A file of its own with a background and its own style. Above the picture are its title and `place`: of what, on
    /// which machine, when. Image viewers show neither `title` nor `desc`.
    pub(crate) fn standalone(&self, title: &str, place: &str, description: &str) -> String {
        let mut head = Self::new(self.width);
        head.text("head", (0.0, 12.0), Anchor::Start, title);
        head.text("small", (0.0, 29.0), Anchor::Start, place);
        let style = format!(
            "<style>{}</style><rect class=\"paper\" x=\"-12\" y=\"{}\" width=\"100%\" height=\"100%\"/>\
             <g transform=\"translate(0 -{HEAD})\">{}</g>",
            super::theme::standalone_css(),
            px(-MARGIN - HEAD),
            head.body
        );
        self.element(" xmlns=\"http://www.w3.org/2000/svg\"", title, description, &style)
    }

    fn element(&self, attributes: &str, title: &str, description: &str, style: &str) -> String {
        // A file of its own has a margin and a head; on a page the figure provides these.
        let (margin, head) = if style.is_empty() { (0.0, 0.0) } else { (MARGIN, HEAD) };
        let (w, h) = (px(self.width + 2.0 * margin), px(self.height + head + 2.0 * margin));
        let (left, top) = (px(-margin), px(-margin - head));
        let size = if style.is_empty() { String::new() } else { format!(" width=\"{w}\" height=\"{h}\"") };
        let (title, description) = (xml(&typographic(title)), xml(&typographic(description)));
        format!(
            "<svg{attributes} class=\"chart\" role=\"img\" viewBox=\"{left} {top} {w} {h}\"{size}>\n<title>{title}</title>\
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
        assert_eq!(px(12.345), "12.3");
        assert_eq!(px(-0.04), "0");
        assert_eq!(px(f64::NAN), "0");
        assert_eq!(px(f64::INFINITY), "0");
    }

    #[test]
    fn what_is_not_finite_is_not_drawn() {
        let mut svg = Svg::new(100.0);
        svg.circle("f", (f64::NAN, 1.0), 2.0);
        svg.line("grid", (0.0, 0.0), (f64::INFINITY, 0.0));
        svg.marks(3, [(f64::NAN, 1.0)], 2.0, Mark::Solid);
        svg.polyline("s", &[(0.0, 0.0), (f64::NAN, 1.0), (2.0, 2.0)]);
        assert_eq!(svg.body, "<path class=\"s\" d=\"m0 0l2 2\"/>");
    }

    #[test]
    fn a_label_at_the_edge_is_moved_and_not_cut() {
        let mut svg = Svg::new(100.0);
        svg.text("tick", (98.0, 10.0), Anchor::Middle, "60 ms");
        svg.text("tick", (2.0, 10.0), Anchor::Middle, "60 ms");
        let moved = text_width("60 ms", 11.0) / 2.0;
        let at = [100.0 - moved, moved].map(|x| format!("x=\"{}\"", px(x)));
        assert!(at.iter().all(|at| svg.body.contains(at)) && !svg.body.contains('…'), "{}", svg.body);
    }

    #[test]
    fn labels_are_escaped() {
        let mut svg = Svg::new(100.0);
        svg.text("", (1.0, 2.0), Anchor::End, "<a & -5>");
        assert!(svg.body.contains("&lt;a &amp; −5&gt;"));
    }
}
