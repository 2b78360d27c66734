//! How wide a text will be, without a font at hand: enough to lay out labels.

/// About how wide a text is at a font size, px: enough to lay out labels. The widths are those of DejaVu Sans, the widest
/// of the sans-serif faces a page may fall back to, so that nothing collides in it.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'l' | 'j' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | '\u{a0}' | 'I' => 0.32,
        'f' | 'r' | 't' | '[' | ']' | '(' | ')' | '-' | '/' | '`' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '—' | '…' => 0.96,
        '+' | '−' | '×' | '=' | '→' | '<' | '>' => 0.84,
        c if c.is_uppercase() => 0.72,
        _ => 0.63,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// [`text_width`] of a bold text.
pub(crate) fn bold_width(text: &str, size: f64) -> f64 {
    1.12 * text_width(text, size)
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
    }
}
