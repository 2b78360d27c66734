//! Escaping for HTML and SVG text and attributes, and for Markdown; for a line on a terminal use [`terminal`]. In all
//! of these, `schedlab_plan::plain` replaces characters that control a terminal or the direction of text.

use schedlab_plan::plain::is_control_char;
pub(crate) use schedlab_plan::plain::line as terminal;

/// Text that is safe in HTML and XML content and in quoted attributes. Characters that control a terminal or the
/// direction of text, and those that XML 1.0 forbids, become `�`.
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
            c if is_control_char(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Text that is safe inside a Markdown table cell or paragraph: no pipe ends the cell, no line break ends the row, and
/// nothing can be mistaken for HTML, a link or a fence that would hide the following text. Numbers and intervals stay
/// unchanged.
pub(crate) fn markdown(text: &str) -> String {
    let text = terminal(text).replace('|', "\\|").replace("](", "]\\(").replace("```", "'''").replace("~~~", "---");
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        // What may begin a tag, a comment or a processing instruction; `p < 0.05` does not.
        let opens = |next: &char| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?');
        if c == '<' && chars.peek().is_some_and(opens) { out.push_str("&lt;") } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out() {
        assert_eq!(xml(r#"<b a="x" b='y'>&"#), "&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
        assert_eq!(xml("a\u{0}\u{1b}[31m"), "a\u{fffd}\u{fffd}[31m");
        assert_eq!(xml("a\u{202e}b"), "a\u{fffd}b");
        assert_eq!(markdown("a|b\nc"), "a\\|b c");
        assert_eq!(markdown("p < 0.05 [-3, 16]"), "p < 0.05 [-3, 16]");
        assert_eq!(markdown("<img src=x onerror=y></a><!--"), "&lt;img src=x onerror=y>&lt;/a>&lt;!--");
        assert_eq!(markdown("[x](http://y)\u{202e}```"), "[x]\\(http://y) '''");
        assert_eq!(terminal("\u{1b}[2Jx"), " [2Jx");
    }
}
