//! File names, and the lines of a text of arbitrary bytes.

/// The lines of a text, each with its newline; the last one may have none.
pub fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

/// Whether a file name is that of a C file.
pub fn is_c(path: &str) -> bool {
    path.ends_with(".c") || path.ends_with(".h")
}

/// A line without its newline and the carriage return before it.
pub(crate) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
