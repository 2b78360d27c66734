//! Whether the texts of a picture are inside it, by their largest possible width: each character is as wide as the
//! widest of its kind in DejaVu Sans, the widest font that a page may fall back to; wide characters are a square.

/// Tolerance for rounding, px.
const SLACK: f64 = 1.0;

fn letter(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | '\u{a0}' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.41,
        'm' | 'M' | 'W' | '%' | '@' | '…' | '—' => 1.0,
        '\u{2e80}'.. => 1.0,
        c if c.is_uppercase() => 0.79,
        'w' | '+' | '−' | '×' | '=' | '<' | '>' | '→' | '←' | '±' | '≤' | '≥' => 0.84,
        _ => 0.64,
    }
}

/// A text with its entity references replaced.
fn plain(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    tag.split_once(&format!(" {name}=\""))?.1.split('"').next()
}

fn number(tag: &str, name: &str) -> Option<f64> {
    attribute(tag, name)?.parse().ok()
}

/// The size of a class of text, px; bold counts as an eighth wider.
fn size(class: &str) -> f64 {
    let has = |name: &str| class.split(' ').any(|c| c == name);
    let small = ["tick", "small", "good", "bad", "same", "open", "moved", "none", "on-light", "on-dark"];
    let px = if small.into_iter().any(has) { 11.0 } else { 12.0 };
    if has("head") || has("num") { 1.12 * px } else { px }
}

/// The texts of every picture that extend beyond its view box, and by how much.
pub(crate) fn outside(text: &str) -> Vec<String> {
    // A picture in a cell of a table has no view box, and no text.
    let pictures =
        text.split("<svg").skip(1).filter(|svg| svg.split('>').next().is_some_and(|h| h.contains("viewBox")));
    pictures.filter_map(|svg| svg.split("</svg>").next()).flat_map(outside_of).collect()
}

fn outside_of(svg: &str) -> Vec<String> {
    let head = svg.split('>').next().unwrap_or_default();
    let view: Vec<f64> =
        attribute(head, "viewBox").into_iter().flat_map(|v| v.split(' ')).flat_map(str::parse).collect();
    let [left, top, width, height] = view[..] else { panic!("no view box: {head}") };
    let mut groups: Vec<(String, String)> = Vec::new();
    let mut found = Vec::new();
    let mut rest = svg;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        rest = after;
        if tag == "/g" {
            groups.pop();
        } else if tag.starts_with('g') && !tag.ends_with('/') {
            let own = |name| attribute(tag, name).unwrap_or_default().to_owned();
            groups.push((own("class"), own("text-anchor")));
        } else if tag.starts_with("text") {
            let (content, after) = rest.split_once("</text>").expect("a text ends");
            rest = after;
            let inherited = |pick: fn(&(String, String)) -> &String| {
                groups.iter().rev().map(pick).find(|value| !value.is_empty()).cloned().unwrap_or_default()
            };
            let class = attribute(tag, "class").map_or_else(|| inherited(|g| &g.0), str::to_owned);
            let anchor = attribute(tag, "text-anchor").map_or_else(|| inherited(|g| &g.1), str::to_owned);
            // Ignore the title of a shortened text, which only a pointer shows.
            let content = content.split("<title>").next().unwrap_or_default();
            let wide = width_of(content, &class);
            let (x, y) = (number(tag, "x").unwrap_or(0.0), number(tag, "y").unwrap_or(0.0));
            let from = match anchor.as_str() {
                "middle" => x - wide / 2.0,
                "end" => x - wide,
                _ => x,
            };
            let beyond = (left - from).max(from + wide - left - width).max(top - y + 9.0).max(y - top - height);
            if beyond > SLACK {
                found.push(format!("{:.1} px beyond {width} × {height}: {content}", beyond));
            }
        }
    }
    found
}

/// The width of a text with or without spans.
fn width_of(content: &str, class: &str) -> f64 {
    let of = |text: &str, class: &str| plain(text).chars().map(letter).sum::<f64>() * size(class);
    if !content.contains("<tspan") {
        return of(content, class);
    }
    let spans = content.split("<tspan").skip(1).filter_map(|span| span.split_once('>'));
    spans
        .map(|(tag, text)| {
            let text = text.split('<').next().unwrap_or_default();
            of(text, attribute(tag, "class").unwrap_or(class)) + number(tag, "dx").unwrap_or(0.0)
        })
        .sum()
}

#[test]
fn the_measure_sees_what_is_outside() {
    let picture =
        |text: &str| format!("<svg viewBox=\"0 0 100 50\"><g class=\"tick\" text-anchor=\"end\">{text}</g></svg>");
    assert!(outside(&picture("<text x=\"90\" y=\"20\">inside</text>")).is_empty());
    for text in [
        "<text x=\"20\" y=\"20\">beyond the left</text>",
        "<text x=\"90\" y=\"60\">below</text>",
        "<text x=\"90\" y=\"20\" text-anchor=\"start\">right</text>",
        "<text x=\"60\" y=\"20\"><tspan class=\"num\">調度器調</tspan><tspan dx=\"6\">x</tspan></text>",
    ] {
        assert_eq!(outside(&picture(text)).len(), 1, "{text}");
    }
}
