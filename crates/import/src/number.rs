//! Numbers as C's printf writes them in the user's locale: `1,234.56` (en_US), `1.234,56` (de_DE), `1 234,56` with a
//! narrow no-break space (fr_FR), `1’234.56` (de_CH), `12,34,567` (en_IN).

/// Characters that are only used to group digits.
const GROUPING: [char; 5] = ['\u{202f}', '\u{a0}', '\u{2019}', '\'', '_'];

/// A number that may be grouped: three digits after the last point or comma are a group, any other number of digits is
/// a fraction. This suits perf, whose grouped numbers have zero, two or six decimals.
pub(crate) fn grouped(text: &str) -> Option<f64> {
    let last = text.rfind(['.', ',']);
    match last.map(|at| text.len() - at - 1) {
        Some(3) | None => parse(text, None),
        Some(_) => parse(text, last),
    }
}

/// A number that is not grouped: it has at most one point or comma, which begins the fraction.
pub(crate) fn plain(text: &str) -> Option<f64> {
    let at = text.find(['.', ',']);
    if at != text.rfind(['.', ',']) {
        return None;
    }
    parse(text, at)
}

/// Parses digits with the fraction after byte `fraction`; grouping characters are dropped. Returns only finite numbers.
fn parse(text: &str, fraction: Option<usize>) -> Option<f64> {
    let mut digits = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '0'..='9' => digits.push(c),
            '-' if at == 0 => digits.push(c),
            '.' | ',' if fraction == Some(at) => digits.push('.'),
            '.' | ',' if fraction.is_none_or(|f| at < f) && at > 0 => {}
            c if GROUPING.contains(&c) && at > 0 => {}
            _ => return None,
        }
    }
    if !digits.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    digits.parse::<f64>().ok().filter(|x| x.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_agree_on_the_value() {
        for text in ["1234567", "1,234,567", "1.234.567", "1\u{202f}234\u{202f}567", "1’234’567", "12,34,567"] {
            assert_eq!(grouped(text), Some(1_234_567.0), "{text}");
        }
        for text in ["1234.56", "1,234.56", "1.234,56", "1 234,56".replace(' ', "\u{a0}").as_str(), "1'234.56"] {
            assert_eq!(grouped(text), Some(1234.56), "{text}");
        }
        assert_eq!(grouped("1,708.761321"), Some(1708.761321));
        assert_eq!(
            (plain("0,123"), plain("0.123"), plain("-3"), plain("8")),
            (Some(0.123), Some(0.123), Some(-3.0), Some(8.0))
        );
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", ".", ",5,", "1.2.3,", "1e5", "0x10", "inf", "nan", "1-2", "12%", "’1", "<not"] {
            assert_eq!(plain(text), None, "{text}");
        }
        for text in ["", ",", "1,", "a1", "1e5"] {
            assert_eq!(grouped(text), None, "{text}");
        }
        assert_eq!(plain("1,234,567"), None, "grouping has no place here");
    }
}
