//! The kernel's own symbol table: /proc/kallsyms, including modules and BPF programs. Pure. Source: kernel/kallsyms.c.

use crate::parse_error::{FileLine, ParseError};
use schedlab_plan::InOrder;

const FILE: &str = "/proc/kallsyms";

/// Functions, ordered by address; they do not overlap.
#[derive(Debug, Default)]
pub struct KernelSymbols<'a>(Vec<KernelSymbol<'a>>);

/// A function of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    /// Its first address.
    pub start: u64,
    /// The address of the next symbol, of whatever kind.
    pub end: u64,
    /// Its name.
    pub name: &'a str,
    /// Its module, or `bpf`; `None` for the kernel proper.
    pub module: Option<&'a str>,
}

/// One line.
struct Line<'a> {
    address: u64,
    is_code: bool,
    symbol: KernelSymbol<'a>,
    /// Of several names for one address, the one with the lowest rank is shown.
    rank: u32,
}

impl<'a> KernelSymbols<'a> {
    /// Parses the whole table. Empty if the kernel hides its addresses from us (`kernel.kptr_restrict`): then all are
    /// 0.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        let lines = text.lines().enumerate().map(|(at, text)| line(text, FileLine { file: FILE, line: at + 1 }));
        let mut lines = lines.collect::<Result<Vec<Line<'a>>, _>>()?;
        lines.retain(|line| line.address != 0);
        lines.in_order_by_key(|line| (line.address, !line.is_code, line.rank));
        lines.dedup_by_key(|line| line.address);
        let ends: Vec<u64> = lines.iter().skip(1).map(|line| line.address).chain([u64::MAX]).collect();
        let code = lines.into_iter().zip(ends).filter(|(line, _)| line.is_code);
        Ok(Self(code.map(|(line, end)| KernelSymbol { end, ..line.symbol }).collect()))
    }

    /// Whether the kernel hides its addresses.
    pub fn is_hidden(&self) -> bool {
        self.0.is_empty()
    }

    /// The function with this name, the first if there are several.
    pub fn named(&self, name: &str) -> Option<&KernelSymbol<'a>> {
        self.0.iter().find(|symbol| symbol.name == name)
    }

    /// The function at an address.
    pub fn at(&self, address: u64) -> Option<&KernelSymbol<'a>> {
        let after = self.0.partition_point(|symbol| symbol.start <= address);
        self.0[..after].last().filter(|symbol| address < symbol.end)
    }
}

/// `ffffffff81000000 T _text` or `ffffffffc0001000 t nf_hook\t[nf_tables]`.
fn line(text: &str, place: FileLine) -> Result<Line<'_>, ParseError> {
    let mut words = text.split_ascii_whitespace();
    let word = words.next().unwrap_or_default();
    let address = u64::from_str_radix(word, 16).map_err(|_| place.error(word, "address"))?;
    let kind = words.next().filter(|kind| kind.len() == 1).ok_or_else(|| place.error(text, "type of symbol"))?;
    let name = words.next().ok_or_else(|| place.error(text, "name of a symbol"))?;
    let module = words.next().map(|m| m.trim_matches(['[', ']']));
    let symbol = KernelSymbol { start: address, end: u64::MAX, name, module };
    Ok(Line { address, is_code: matches!(kind, "t" | "T" | "w" | "W"), symbol, rank: rank(kind, name) })
}

/// Global names rank first; markers of the linker script and aliases of the position-independent start-up code rank
/// last.
fn rank(kind: &str, name: &str) -> u32 {
    const MARKERS: [&str; 6] = ["_text", "_stext", "_etext", "_sinittext", "_einittext", "__pi_"];
    let is_marker = MARKERS.iter().any(|marker| name.starts_with(marker)) || name.contains("_text_start");
    let is_local = kind == "t";
    let underscores = name.bytes().take_while(|b| *b == b'_').count().min(9) as u32;
    u32::from(is_marker) * 100 + u32::from(is_local) * 10 + underscores
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "0000000000000000 A fixed_percpu_data\n\
        ffffffff81000000 T _stext\n\
        ffffffff81000000 t first_function\n\
        ffffffff81000100 T __memcpy\n\
        ffffffff81000100 W memcpy\n\
        ffffffff81000100 t __pi_memcpy\n\
        ffffffff81000180 T schedule\n\
        ffffffff81000200 D some_data\n\
        ffffffffc0000040 t nft_do_chain\t[nf_tables]\n\
        ffffffffc0000010 t bpf_prog_abc\t[bpf]\n";

    fn name(address: u64) -> Option<String> {
        let symbols = KernelSymbols::parse(TABLE).unwrap();
        symbols.at(address).map(|s| format!("{}{}", s.name, s.module.map_or(String::new(), |m| format!(" {m}"))))
    }

    #[test]
    fn an_address_has_the_function_that_holds_it() {
        let expected = [
            (0xffff_ffff_80ff_ffff, None),
            (0xffff_ffff_8100_0000, Some("first_function")),
            (0xffff_ffff_8100_00ff, Some("first_function")),
            (0xffff_ffff_8100_0100, Some("memcpy")),
            (0xffff_ffff_8100_01ff, Some("schedule")),
            (0xffff_ffff_8100_0200, None),
            (0xffff_ffff_c000_0011, Some("bpf_prog_abc bpf")),
            (0xffff_ffff_c000_0041, Some("nft_do_chain nf_tables")),
        ];
        for (address, function) in expected {
            assert_eq!(name(address).as_deref(), function, "{address:#x}");
        }
    }

    #[test]
    fn hidden_addresses_are_seen_as_such() {
        let hidden = "0000000000000000 T _text\n0000000000000000 t schedule\n";
        assert!(KernelSymbols::parse(hidden).unwrap().is_hidden());
        assert!(!KernelSymbols::parse(TABLE).unwrap().is_hidden());
        assert!(KernelSymbols::parse(hidden).unwrap().named("schedule").is_none());
        assert!(KernelSymbols::parse("").unwrap().is_hidden());
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        for (text, expected) in [
            ("ffffffff81000000 T a\nnonsense T b\n", "/proc/kallsyms, line 2: expected address, found `nonsense`"),
            ("ffffffff81000000 T\n", "expected name of a symbol"),
            ("ffffffff81000000 schedule\n", "expected type of symbol"),
            ("\n", "expected address, found ``"),
        ] {
            let why = KernelSymbols::parse(text).unwrap_err().to_string();
            assert!(why.contains(expected), "{why}");
        }
    }
}
