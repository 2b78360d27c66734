//! The states that the code which a series adds reads.

use super::access::{Access, StateKind, access};
use crate::needs::side::Side;
use crate::series::{Hunk, Line};
use crate::source::lex::is_keyword;
use std::collections::BTreeMap;

/// By name, and whether it is a member: the hunks that read it.
pub(super) type Reads = BTreeMap<(String, bool), Vec<usize>>;

/// Adds what the added lines of hunk number `number` read.
pub(super) fn read(hunk: &Hunk, number: usize, out: &mut Reads) {
    let added = hunk.lines.iter().filter(|line| matches!(line, Line::Added(_)));
    let text = added.map(Line::text).collect::<Vec<_>>().concat();
    let side = Side::of(&text);
    for at in 0..side.tokens.len() {
        let Some(word) = side.word(at).filter(|word| !is_keyword(word.as_bytes())) else { continue };
        // What is called is not a state.
        let is_member = side.is_member(at);
        let is_capital = !word.bytes().any(|byte| byte.is_ascii_lowercase());
        let kind = match is_member {
            true => StateKind::Member,
            false if is_capital => StateKind::Flag,
            false => StateKind::Variable,
        };
        if side.is(Some(at + 1), b'(') || access(&side, at, kind) != Some(Access::Read) {
            continue;
        }
        let hunks = out.entry((word.to_owned(), is_member)).or_default();
        if hunks.last() != Some(&number) {
            hunks.push(number);
        }
    }
}
