//! The files of golden traces: text unchanged, and dumps of binary ones.

use schedlab_analyze::trace::Reader;
use std::path::{Path, PathBuf};

/// Their directory.
pub(crate) fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces")
}

/// Whether a file is a golden trace.
pub(crate) fn is_trace(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "txt" || e == "dump")
}

/// The bytes of a dump: hex pairs, `00*12` for twelve of them, and text in quotes; lines that begin with `#` are
/// comments.
fn bytes_of(dump: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in dump.lines().filter(|line| !line.starts_with('#')) {
        if let Some(text) = line.strip_prefix('"').and_then(|line| line.strip_suffix('"')) {
            let text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
            bytes.extend(text.as_bytes());
            continue;
        }
        for token in line.split_whitespace() {
            let (byte, times) = token.split_once('*').unwrap_or((token, "1"));
            let byte = u8::from_str_radix(byte, 16).expect("a hex pair");
            bytes.extend(std::iter::repeat_n(byte, times.parse().expect("a number of times")));
        }
    }
    bytes
}

/// A golden trace by its name.
pub(crate) fn open(name: &str, wanted: schedlab_trace::Kinds) -> Reader {
    let dump = std::fs::read_to_string(dir().join(format!("{name}.dump")));
    let text = || std::fs::read(dir().join(format!("{name}.txt"))).expect("a golden trace");
    let bytes = dump.map_or_else(|_| text(), |dump| bytes_of(&dump));
    Reader::open(name, Box::new(bytes), wanted).expect("a trace")
}
