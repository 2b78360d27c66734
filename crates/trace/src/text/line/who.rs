//! The tracing thread, and its context.

use crate::event::Context;

/// Stands for an unknown thread, as in traces of other formats: then no thread is the cause.
const NOBODY: &str = "0";

/// The id in `comm-123`, `comm-123 (  100)` or, from perf script, `comm 123`.
pub(super) fn thread(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let text = match text.strip_suffix(')').and_then(|t| t.rsplit_once('(')) {
        Some((before, tgid)) if tgid.trim().bytes().all(|b| b.is_ascii_digit() || b == b'-') => before.trim_end(),
        _ => text,
    };
    let digits = text.len() - text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let comm = &text[..digits];
    if &text[digits..] == "1" && is_past_its_exit(text) {
        return Some(NOBODY);
    }
    // perf script can print pid/tid, and puts spaces after a name.
    let ends = comm.ends_with(['-', '/']) || comm.ends_with(' ') && !comm.trim().is_empty();
    (ends && digits < text.len()).then_some(&text[digits..])
}

/// `:-1    -1`, with `-1/-1` for pid and tid: this is how perf script prints a thread that no longer has an id. In
/// tracefs' format it would be thread 1 with an odd name; such a thread is then unknown.
fn is_past_its_exit(text: &str) -> bool {
    let ids = text.trim_start().strip_prefix(":-1");
    ids.is_some_and(|ids| ids.starts_with(' ') && matches!(ids.trim_start(), "-1" | "-1/-1"))
}

/// `d..2.`, `dNh3`: the third character is the context. In kernels with the PREEMPT_RT patches, up to 6.11, it is the
/// fourth (`dN.h2..`), and the third is `L` or a dot. No header is needed to tell these apart, because what is at that
/// position in the other form, a depth or that `L`, is never one of these letters.
pub(super) fn flags(word: &str) -> Option<Context> {
    if !(4..=8).contains(&word.len()) || !word.is_ascii() {
        return None;
    }
    let signs = word.as_bytes();
    Some(Context::from_common_flags(place(signs[2]).or_else(|| place(signs[3])).unwrap_or(0)))
}

/// The kernel's bits for an interrupt character.
fn place(sign: u8) -> Option<u8> {
    const HARD: u8 = 0x08;
    const SOFT: u8 = 0x10;
    const NMI: u8 = 0x40;
    match sign {
        b'h' => Some(HARD),
        b's' => Some(SOFT),
        b'H' => Some(HARD | SOFT),
        b'Z' => Some(NMI | HARD),
        b'z' => Some(NMI),
        _ => None,
    }
}
