//! The functions of a program or library. They come from the symbol table of its ELF file; if it is stripped, from its
//! separate debug file; otherwise from its exported symbols (a library always exports something, but mostly not the
//! functions that use the time). Debug information is not read, so inlined functions count as part of the function that
//! contains them.

use object::read::elf::ElfFile64;
use object::{NativeEndian, Object, ObjectSegment, ObjectSymbol, SymbolKind};
use schedlab_plan::InOrder;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Larger files are not read, because none of them is a program.
const MAX_BYTES: u64 = 1 << 30;

/// A function of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImageSymbol {
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) name: String,
}

/// An image's functions, ordered by address, and how offsets in its file map to addresses.
#[derive(Debug, Default)]
pub(crate) struct ImageSymbols {
    segments: Vec<Segment>,
    symbols: Vec<ImageSymbol>,
    table: Table,
}

/// Where the symbols are from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Table {
    #[default]
    Whole,
    /// What the file exports: it is stripped, and there is no debug file at this path.
    Exported(Option<PathBuf>),
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    file_offset: u64,
    length: u64,
    address: u64,
}

impl ImageSymbols {
    /// Reads a file, and its debug file below `debug_root` (`/usr/lib/debug`) if it has no symbol table itself.
    pub(crate) fn read(path: &Path, debug_root: &Path) -> Result<Self, String> {
        let (mut found, build_id) = Self::parse(&whole(path)?)?;
        if found.table == Table::Whole {
            return Ok(found);
        }
        let debug = build_id.map(|id| debug_file(debug_root, &id));
        let parsed = debug.as_ref().and_then(|debug| Self::parse(&whole(debug).ok()?).ok());
        match parsed {
            Some((parsed, _)) if parsed.table == Table::Whole => {
                (found.symbols, found.table) = (parsed.symbols, Table::Whole);
            }
            _ => found.table = Table::Exported(debug),
        }
        Ok(found)
    }

    /// Parses an ELF file for 64-bit machines with our byte order; also returns its build id.
    pub(crate) fn parse(data: &[u8]) -> Result<(Self, Option<Vec<u8>>), String> {
        let elf = ElfFile64::<NativeEndian>::parse(data);
        let elf = elf.map_err(|error| format!("it is not an ELF file we can read ({error})"))?;
        let segments = elf.segments().map(|segment| {
            let (file_offset, length) = segment.file_range();
            Segment { file_offset, length, address: segment.address() }
        });
        let segments = segments.collect();
        let mut symbols: Vec<ImageSymbol> = elf.symbols().filter_map(|s| function(&s)).collect();
        let mut table = Table::Whole;
        if symbols.is_empty() {
            symbols = elf.dynamic_symbols().filter_map(|s| function(&s)).collect();
            table = Table::Exported(None);
        }
        // Among aliases, the longest function comes first; a symbol without a length ends where the next begins.
        symbols.in_order_by(|a, b| (a.start, b.length, &a.name).cmp(&(b.start, a.length, &b.name)));
        symbols.dedup_by_key(|symbol| symbol.start);
        for at in 0..symbols.len().saturating_sub(1) {
            if symbols[at].length == 0 {
                symbols[at].length = symbols[at + 1].start - symbols[at].start;
            }
        }
        let build_id = elf.build_id().ok().flatten().map(<[u8]>::to_vec);
        Ok((Self { segments, symbols, table }, build_id))
    }

    /// The address to which an offset in the file is linked.
    pub(crate) fn address_of(&self, file_offset: u64) -> Option<u64> {
        let holds = |s: &&Segment| file_offset.checked_sub(s.file_offset).is_some_and(|into| into < s.length);
        let segment = self.segments.iter().find(holds)?;
        segment.address.checked_add(file_offset - segment.file_offset)
    }

    /// The function at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&ImageSymbol> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        self.symbols[..after].last().filter(|symbol| address - symbol.start < symbol.length)
    }

    /// Whether only exported functions have names; if so, also the path of the debug file that would name the others.
    pub(crate) fn only_exported(&self) -> Option<Option<&Path>> {
        match &self.table {
            Table::Whole => None,
            Table::Exported(debug) => Some(debug.as_deref()),
        }
    }

    /// There is no function in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}

fn whole(path: &Path) -> Result<Vec<u8>, String> {
    let said = |error: io::Error| error.to_string();
    let mut file = schedlab_sys::regular::open(path).map_err(said)?;
    if file.metadata().map_err(said)?.len() > MAX_BYTES {
        return Err("it is not a file of a program".into());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(said)?;
    Ok(bytes)
}

fn function<'d>(symbol: &impl ObjectSymbol<'d>) -> Option<ImageSymbol> {
    let is_code = symbol.kind() == SymbolKind::Text && symbol.is_definition();
    let name = symbol.name().ok().filter(|name| is_code && !name.is_empty())?;
    Some(ImageSymbol { start: symbol.address(), length: symbol.size(), name: readable(name) })
}

/// Rust names as in the source, without their hash; others unchanged.
fn readable(symbol: &str) -> String {
    rustc_demangle::try_demangle(symbol).map_or_else(|_| symbol.to_owned(), |name| format!("{name:#}"))
}

/// `.build-id/ab/cdef….debug`, where distributions put debug files.
fn debug_file(root: &Path, build_id: &[u8]) -> PathBuf {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let (first, rest) = build_id.split_at(build_id.len().min(1));
    root.join(".build-id").join(hex(first)).join(hex(rest) + ".debug")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This test program itself, which is not stripped.
    fn own() -> ImageSymbols {
        ImageSymbols::read(&std::env::current_exe().unwrap(), Path::new("/nowhere")).unwrap()
    }

    #[test]
    fn a_function_of_this_program_is_found_by_its_place_in_the_file() {
        let own = own();
        let mut mine = own.symbols.iter().filter(|s| s.name.contains("a_function_of_this_program_is_found"));
        let symbol = mine.next().expect("test binaries have symbols");
        assert!(symbol.length > 0);
        let segment = own.segments.iter().find(|s| symbol.start.wrapping_sub(s.address) < s.length).unwrap();
        let in_file = symbol.start - segment.address + segment.file_offset;
        let address = own.address_of(in_file + 3).unwrap();
        assert_eq!(address, symbol.start + 3);
        assert_eq!(own.at(address).unwrap(), symbol);
        assert_ne!(own.at(symbol.start + symbol.length), Some(symbol), "a function ends");
    }

    #[test]
    fn what_is_no_program_is_said() {
        let why = ImageSymbols::read(Path::new("/dev/null"), Path::new("/nowhere")).unwrap_err();
        assert!(why.contains("only regular files are opened"), "{why}");
        let why = ImageSymbols::read(Path::new("/proc/self/status"), Path::new("/nowhere")).unwrap_err();
        assert!(why.contains("not an ELF file"), "{why}");
        assert!(ImageSymbols::read(Path::new("/no/such/file"), Path::new("/nowhere")).is_err());
    }

    #[test]
    fn a_program_cut_anywhere_is_read_or_refused() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for part in 0..40 {
            let _ = ImageSymbols::parse(&whole[..whole.len() * part / 40]);
        }
        let mut damaged = whole[..whole.len().min(1 << 20)].to_vec();
        for at in 16..200 {
            let kept = std::mem::replace(&mut damaged[at], 0xff);
            let _ = ImageSymbols::parse(&damaged);
            damaged[at] = kept;
        }
    }

    /// A library with two functions, one of them exported; `None` without a compiler.
    fn library(dir: &Path) -> Option<PathBuf> {
        let (source, library) = (dir.join("two.c"), dir.join("two.so"));
        let text = "static __attribute__((noinline)) int hidden_one(int x) { return x * 7 + 1; }\n\
                    int exported_one(int x) { return hidden_one(x) + hidden_one(x + 1); }\n";
        std::fs::write(&source, text).unwrap();
        let run = |program: &str, arguments: &[&str]| {
            std::process::Command::new(program).args(arguments).current_dir(dir).status().is_ok_and(|s| s.success())
        };
        let made = run("cc", &["-shared", "-fPIC", "-O1", "-Wl,--build-id", "-o", "two.so", "two.c"])
            && run("objcopy", &["--only-keep-debug", "two.so", "two.debug"])
            && run("strip", &["two.so"]);
        made.then_some(library)
    }

    #[test]
    #[allow(clippy::print_stderr)] // A skip says why.
    fn a_stripped_library_has_the_names_of_its_debug_file_or_says_that_it_lacks_them() {
        let dir = std::env::temp_dir().join(format!("schedlab-image-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let Some(library) = library(&dir) else {
            eprintln!("schedlab-skip: a_stripped_library_has_the_names_of_its_debug_file: needs cc, objcopy and strip");
            return;
        };
        let names = |found: &ImageSymbols| -> Vec<String> {
            let ours = found.symbols.iter().filter(|s| s.name.ends_with("_one"));
            ours.map(|s| s.name.clone()).collect()
        };
        let alone = ImageSymbols::read(&library, &dir).unwrap();
        assert_eq!(names(&alone), ["exported_one"]);
        let debug = alone.only_exported().unwrap().unwrap().to_owned();
        assert!(debug.starts_with(dir.join(".build-id")), "{}", debug.display());
        std::fs::create_dir_all(debug.parent().unwrap()).unwrap();
        std::fs::write(&debug, "not an ELF file").unwrap();
        assert_eq!(names(&ImageSymbols::read(&library, &dir).unwrap()), ["exported_one"]);
        std::fs::rename(dir.join("two.debug"), &debug).unwrap();
        let whole = ImageSymbols::read(&library, &dir).unwrap();
        assert_eq!((names(&whole).len(), whole.only_exported()), (2, None), "{whole:?}");
        let hidden = whole.symbols.iter().find(|s| s.name == "hidden_one").unwrap();
        assert_eq!(whole.at(hidden.start + 1), Some(hidden));
        assert_eq!(alone.at(hidden.start + 1), None, "not taken for the one before it");
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn names_of_rust_are_readable_and_others_untouched() {
        assert_eq!(readable("_ZN4core3ptr13drop_in_place17h0123456789abcdefE"), "core::ptr::drop_in_place");
        assert_eq!(readable("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(readable("__libc_write"), "__libc_write");
        assert_eq!(readable("_ZNSt6vectorIiE4pushEi"), "_ZNSt6vectorIiE4pushEi", "C++ is left as it is");
    }

    #[test]
    fn debug_files_lie_where_distributions_put_them() {
        let path = debug_file(Path::new("/usr/lib/debug"), &[0xab, 0xcd, 0xef]);
        assert_eq!(path, Path::new("/usr/lib/debug/.build-id/ab/cdef.debug"));
        debug_file(Path::new("/"), &[]);
    }
}
