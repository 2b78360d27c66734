//! Numbers as the kernel reads them from a file: in base 0 (lib/kstrtox.c), so `0x10` is 16 and `010` is 8.

/// The number, if the whole text is one.
pub(crate) fn kernel_number(text: &str) -> Option<i128> {
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

/// Whether the kernel shows the numbers that were asked for, written otherwise. Some files are read in base 10.
pub(crate) fn are_same_numbers(asked: &str, shown: &str) -> bool {
    let is_same = |(asked, shown): (&str, &str)| {
        let number = shown.parse::<i128>().ok();
        number.is_some() && (kernel_number(asked) == number || asked.parse().ok() == number)
    };
    asked.split(' ').count() == shown.split(' ').count() && asked.split(' ').zip(shown.split(' ')).all(is_same)
}

#[cfg(test)]
mod tests {
    use super::{are_same_numbers, kernel_number};

    #[test]
    fn a_number_is_the_same_in_another_base() {
        for (asked, shown) in [("010", "8"), ("0x10", "16"), ("+3", "3"), ("010", "10"), ("0x1 010 3", "1 8 3")] {
            assert!(are_same_numbers(asked, shown), "{asked} {shown}");
        }
        for (asked, shown) in [("010", "9"), ("8", "010x"), ("on", "on"), ("1 2", "1"), ("1", "1 1"), ("", "")] {
            assert!(!are_same_numbers(asked, shown), "{asked} {shown}");
        }
    }

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
