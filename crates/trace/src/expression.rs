//! C constant expressions, as they occur in the kernel's print formats: numbers, `| ^ & << >> + - * ~` and parentheses.

/// Deepest nesting of parentheses that is evaluated; print formats have four levels.
const DEEPEST: u32 = 32;

/// The value of a whole expression; `None` if it is not constant.
pub(crate) fn evaluate(text: &str) -> Option<u64> {
    let mut parser = Parser { rest: text.trim() };
    let value = parser.binary(0, 0)?;
    parser.rest.is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
}

/// Operators, with their precedence.
const OPERATORS: [(&str, u8); 8] = [("<<", 4), (">>", 4), ("|", 1), ("^", 2), ("&", 3), ("+", 5), ("-", 5), ("*", 6)];

impl Parser<'_> {
    fn binary(&mut self, loosest: u8, depth: u32) -> Option<u64> {
        let mut left = self.unary(depth)?;
        while let Some((operator, binding)) = self.operator().filter(|o| o.1 > loosest) {
            self.advance(operator.len());
            let right = self.binary(binding, depth + 1)?;
            left = apply(operator, left, right)?;
        }
        Some(left)
    }

    fn operator(&self) -> Option<(&'static str, u8)> {
        OPERATORS.into_iter().find(|(text, _)| self.rest.starts_with(text))
    }

    fn unary(&mut self, depth: u32) -> Option<u64> {
        if depth > DEEPEST {
            return None;
        }
        if self.rest.starts_with('~') {
            self.advance(1);
            return self.unary(depth + 1).map(|v| !v);
        }
        if self.rest.starts_with('(') {
            self.advance(1);
            let value = self.binary(0, depth + 1)?;
            self.rest.starts_with(')').then(|| self.advance(1))?;
            return Some(value);
        }
        self.number()
    }

    fn number(&mut self) -> Option<u64> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let digits = self.rest[..end].trim_end_matches(['u', 'U', 'l', 'L']);
        let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None => digits.parse().ok()?,
        };
        self.advance(end);
        Some(value)
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest[bytes..].trim_start();
    }
}

fn apply(operator: &str, left: u64, right: u64) -> Option<u64> {
    let shift = u32::try_from(right).ok();
    Some(match operator {
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "<<" => left.checked_shl(shift?)?,
        ">>" => left.checked_shr(shift?)?,
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        _ => left.wrapping_mul(right),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_constants_have_their_values() {
        let cases = [
            ("4096", 4096),
            ("(2048-1)", 2047),
            ("0x10 | 0x01", 0x11),
            ("((((0x0 | 0x1 | 0x40) + 1) << 1) - 1)", (0x42 << 1) - 1),
            ("1 << 2 + 1", 8),
            ("7 - 2 - 1", 4),
            ("6 & 3 | 8", 10),
            ("~0UL & 0xff", 0xff),
            (" 3*4 ", 12),
        ];
        for (text, value) in cases {
            assert_eq!(evaluate(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_constant_has_no_value() {
        for text in ["", "REC->prev_state", "(1", "1)", "1 +", "1 << 64", "0x", "1 1", "é"] {
            assert_eq!(evaluate(text), None, "{text}");
        }
        assert_eq!(evaluate(&"(".repeat(100_000)), None);
        assert_eq!(evaluate(&"~".repeat(100_000)), None);
    }
}
