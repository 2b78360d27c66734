//! Typographic signs and line breaks.

/// The same text with real minus signs before digits, and without breaks before `%` or inside an interval, for HTML and
/// SVG.
pub(crate) fn typographic(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut in_interval = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        in_interval = match c {
            '[' => next.is_ascii_digit() || matches!(next, '-' | '+'),
            ']' => false,
            _ => in_interval,
        };
        out.push(match c {
            '-' if !before.is_alphanumeric() && next.is_ascii_digit() => '−',
            // A number and its sign stay on one line.
            ' ' if in_interval || (before.is_ascii_digit() && matches!(next, '%' | '×')) => '\u{a0}',
            c => c,
        });
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_signs_only_before_numbers() {
        assert_eq!(
            typographic("-1.5 % [-2, +1] two-sided slice-10 2-3"),
            "−1.5\u{a0}% [−2,\u{a0}+1] two-sided slice-10 2-3"
        );
    }
}
