//! Estimates the width of a text without a font: accurate enough to lay out labels.

use crate::typographic::typographic;

/// The approximate width of a text at a font size, px. The widths are those of DejaVu Sans, the widest of the
/// sans-serif fonts that a page may fall back to, so that nothing overlaps with it.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'l' | 'j' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | '\u{a0}' | 'I' => 0.34,
        'f' | 'r' | 't' | '[' | ']' | '(' | ')' | '-' | '/' | '`' => 0.41,
        'm' | 'M' | 'W' | '%' | '@' | '—' | '…' => 1.0,
        'w' | '+' | '−' | '×' | '=' | '→' | '←' | '<' | '>' => 0.84,
        c if is_wide(c) => 1.0,
        c if c.is_uppercase() => 0.79,
        _ => 0.64,
    };
    typographic(text).chars().map(em).sum::<f64>() * size
}

/// Whether a character fills a square: those of Chinese, Japanese and Korean, and pictographs (the large blocks of
/// Unicode's UAX 11).
fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}')
}

/// Ratio of the width of a bold text to that of a normal one.
pub(crate) const BOLD: f64 = 1.12;

/// [`text_width`] of a bold text.
pub(crate) fn bold_width(text: &str, size: f64) -> f64 {
    BOLD * text_width(text, size)
}

/// A text cut so that it fits `room` px.
pub(crate) fn fit(text: &str, size: f64, room: f64) -> String {
    if text_width(text, size) <= room {
        return text.to_owned();
    }
    let mut cut = text.to_owned();
    while cut.pop().is_some() && text_width(cut.trim_end(), size) + text_width("…", size) > room {}
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_cut_where_the_room_ends() {
        assert!(fit("a very long label indeed", 12.0, 60.0).ends_with('…'));
        assert!(text_width(&fit("a very long label indeed", 12.0, 60.0), 12.0) <= 60.0);
        assert_eq!(fit("short", 12.0, 60.0), "short");
        // Seven squares of 12 px are 84 px.
        assert_eq!(fit("調度器的基準線", 12.0, 84.0), "調度器的基準線");
        assert_eq!(fit("調度器的基準線", 12.0, 60.0), "調度器的…");
    }
}
