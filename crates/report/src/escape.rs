//! Escaping for HTML and SVG text and attributes, and for Markdown cells.

/// Text safe in HTML and XML content and in quoted attributes. Control characters that XML 1.0 forbids become `�`.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Text safe inside a Markdown table cell or paragraph: no pipe ends the cell, no line break ends the row.
pub(crate) fn markdown(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// Text safe on a terminal: no escape sequence of somebody else's log reaches it.
pub(crate) fn terminal(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out() {
        assert_eq!(xml(r#"<b a="x" b='y'>&"#), "&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
        assert_eq!(xml("a\u{0}\u{1b}[31m"), "a\u{fffd}\u{fffd}[31m");
        assert_eq!(markdown("a|b\nc"), "a\\|b c");
        assert_eq!(terminal("\u{1b}[2Jx"), " [2Jx");
    }
}
