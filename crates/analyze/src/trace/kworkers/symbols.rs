//! Functions by address, from the text of `/proc/kallsyms`.

use std::collections::BTreeMap;
use std::fmt;

/// The start addresses of functions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols(BTreeMap<u64, String>);

/// An invalid table of symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolsError {
    /// No line is `ADDRESS TYPE NAME`.
    NoSymbols,
    /// Every address is 0.
    Hidden,
}

impl fmt::Display for SymbolsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSymbols => "no line is `ADDRESS TYPE NAME`, as in /proc/kallsyms",
            Self::Hidden => "every address is 0: the kernel hides them; copy /proc/kallsyms as root",
        })
    }
}

impl std::error::Error for SymbolsError {}

impl Symbols {
    /// Parses the lines of `/proc/kallsyms`; only functions are kept.
    pub fn parse(text: &str) -> Result<Self, SymbolsError> {
        let (mut symbols, mut lines) = (BTreeMap::new(), 0u64);
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            lines += 1;
            if address > 0 && matches!(kind, "t" | "T" | "w" | "W") {
                symbols.entry(address).or_insert_with(|| name.to_owned());
            }
        }
        match (lines, symbols.is_empty()) {
            (0, _) => Err(SymbolsError::NoSymbols),
            (_, true) => Err(SymbolsError::Hidden),
            _ => Ok(Self(symbols)),
        }
    }

    /// The function at an address written in hexadecimal; any other text is returned unchanged.
    pub(super) fn name(&self, text: &str) -> String {
        let address = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        address.and_then(|address| self.0.get(&address)).map_or_else(|| text.to_owned(), String::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_functions_become_names() {
        let text = "ffffffff81000000 T _stext\nffffffff81000010 t flush_to_ldisc\nffffffffc0000000 t f\t[mod]\nffffffff82000000 D data\n";
        let symbols = Symbols::parse(text).unwrap();
        let named = ["0xffffffff81000010", "0xffffffffc0000000", "0xffffffff82000000", "0x12", "by_name"]
            .map(|a| symbols.name(a));
        assert_eq!(named, ["flush_to_ldisc", "f", "0xffffffff82000000", "0x12", "by_name"]);
        assert_eq!(Symbols::parse("0000000000000000 T _stext\n"), Err(SymbolsError::Hidden));
        assert_eq!(Symbols::parse("hello\n\n"), Err(SymbolsError::NoSymbols));
    }
}
