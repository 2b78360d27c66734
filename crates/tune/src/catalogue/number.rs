//! Numbers as the kernel reads them from a file: in base 0 (lib/kstrtox.c), so `0x10` is 16 and `010` is 8.

/// The number, if the whole text is one.
pub(super) fn kernel_number(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (base, digits) = match hexadecimal {
        Some(digits) => (16, digits),
        None if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        None => (10, digits),
    };
    // The standard library accepts a second sign.
    let number = i128::from_str_radix(digits, base).ok().filter(|_| !digits.starts_with(['+', '-']))?;
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::kernel_number;

    #[test]
    fn numbers_are_in_base_0() {
        for (text, number) in [("12", 12), ("-1", -1), ("+3", 3), ("0", 0), ("0x10", 16), ("-0xf", -15), ("010", 8)] {
            assert_eq!(kernel_number(text), Some(number), "{text}");
        }
        for text in ["", "-", "0x", "0xzz", "09", "1e6", "12 13", "32 tasks", "--1", "0x+1", "thirty"] {
            assert_eq!(kernel_number(text), None, "{text}");
        }
    }
}
