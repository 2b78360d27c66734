//! Who traced, and where its code was.

use crate::event::Context;

/// Stands for a thread that is not known, as in the traces of other formats: no thread has done it.
const NOBODY: &str = "0";

/// The id in `comm-123`, `comm-123 (  100)` or, of perf script, `comm 123`.
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
    // perf script prints pid/tid if it is asked to, and blanks after a name.
    let ends = comm.ends_with(['-', '/']) || comm.ends_with(' ') && !comm.trim().is_empty();
    (ends && digits < text.len()).then_some(&text[digits..])
}

/// `:-1    -1`, with `-1/-1` for pid and tid: so perf script prints a thread that has no id any more. In the words of
/// tracefs it would be thread 1 by an odd name; that one is not known, then.
fn is_past_its_exit(text: &str) -> bool {
    let ids = text.trim_start().strip_prefix(":-1");
    ids.is_some_and(|ids| ids.starts_with(' ') && matches!(ids.trim_start(), "-1" | "-1/-1"))
}

/// `d..2.`, `dNh3`: the third sign is where the code was. In kernels with the patches of PREEMPT_RT, up to 6.11, it is
/// the fourth (`dN.h2..`): the third is `L` or a dot. No header is needed to tell these from each other, since what is
/// there in the other one, a depth or that `L`, is never one of these letters.
pub(super) fn flags(word: &str) -> Option<Context> {
    if !(4..=8).contains(&word.len()) || !word.is_ascii() {
        return None;
    }
    let signs = word.as_bytes();
    Some(Context::from_common_flags(place(signs[2]).or_else(|| place(signs[3])).unwrap_or(0)))
}

/// The kernel's bits for a sign of an interrupt.
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
