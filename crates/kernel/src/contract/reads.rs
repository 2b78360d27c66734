//! The states that the added code of a series reads, directly or through an accessor.

use super::access::{Access, StateKind, access};
use super::inner::{has_inner, owner};
use super::tree::Tree;
use crate::needs::side::Side;
use crate::series::{Hunk, Line};
use crate::source::lex::{Kind, is_keyword};
use std::collections::{BTreeMap, BTreeSet};

/// The hunks that read a state, by its name and whether it is a member.
pub(super) type Reads = BTreeMap<(String, bool), Vec<usize>>;

/// Most statements of an accessor: a longer function does more than read.
const SHORT: usize = 6;

/// Adds the states that the added lines of hunk number `number` of the file `path` read; the accessors that they call
/// are looked up in `tree`.
pub(super) fn read(hunk: &Hunk, number: usize, path: &str, tree: &mut Tree<'_>, out: &mut Reads) {
    let added = hunk.lines.iter().filter(|line| matches!(line, Line::Added(_)));
    let text = added.map(Line::text).collect::<Vec<_>>().concat();
    let side = Side::of(&text);
    let is_call = |at: &usize| side.is(Some(at + 1), b'(') && !side.is_member(*at);
    let called = (0..side.tokens.len()).filter(is_call).filter_map(|at| side.word(at));
    let called: BTreeSet<&str> = called.filter(|word| !is_keyword(word.as_bytes())).collect();
    let accessors = called.into_iter().flat_map(|name| tree.definitions(name, path));
    let mut found: Vec<_> = accessors.filter_map(|text| read_by_accessor(&text)).flatten().collect();
    let own = accessed(&side, 0).into_iter().filter(|(_, access)| *access == Access::Read);
    found.extend(own.filter_map(|(at, _)| named(&side, at)));
    for state in found.into_iter().flat_map(|state| followed(state, tree)) {
        let hunks = out.entry(state).or_default();
        if hunks.last() != Some(&number) {
            hunks.push(number);
        }
    }
}

/// A state that is named at `at`, and whether it is a member. `->a.b` is `a.b`, named at `b`.
fn named(side: &Side<'_>, at: usize) -> Option<(String, bool)> {
    let (word, is_member) = (side.word(at)?, side.is_member(at));
    match owner(side, at) {
        Some(owner) => Some((format!("{}.{word}", side.word(owner)?), true)),
        None if is_member && has_inner(side, at) => None,
        None => Some((word.to_owned(), is_member)),
    }
}

/// `a.b` if `a` is a struct declared in place, else both names separately: `b` then belongs to the type of `a`.
fn followed((name, is_member): (String, bool), tree: &mut Tree<'_>) -> Vec<(String, bool)> {
    match name.split_once('.') {
        Some((owner, member)) if tree.structs_within(owner, member, None).is_empty() => {
            vec![(owner.to_owned(), true), (member.to_owned(), true)]
        }
        _ => vec![(name, is_member)],
    }
}

/// The words from token `from` on that may be states, and how they are accessed.
fn accessed(side: &Side<'_>, from: usize) -> Vec<(usize, Access)> {
    let kind = |at: usize, word: &str| match side.is_member(at) {
        true => StateKind::Member,
        false if !word.bytes().any(|byte| byte.is_ascii_lowercase()) => StateKind::Flag,
        false => StateKind::Variable,
    };
    // A called name is not a state.
    let places = (from..side.tokens.len()).filter(|&at| !side.is(Some(at + 1), b'('));
    let named = places.filter_map(|at| Some((at, side.word(at).filter(|word| !is_keyword(word.as_bytes()))?)));
    named.filter_map(|(at, word)| Some((at, access(side, at, kind(at, word))?))).collect()
}

/// The states that a function or macro reads, given its text from the parameters on; `None` if it does more than read.
fn read_by_accessor(text: &[u8]) -> Option<Vec<(String, bool)>> {
    let side = Side::of(text);
    let body = side.closing(0)? + 1;
    let statements = side.tokens.iter().filter(|token| token.is(b';')).count();
    // A function that returns nothing is called for its effect. A macro may be just a value.
    let returns = !side.is(Some(body), b'{') || (body..side.tokens.len()).any(|at| side.word(at) == Some("return"));
    if statements > SHORT || !returns {
        return None;
    }
    let own: BTreeSet<&str> =
        (0..side.tokens.len()).filter(|&at| at < body || is_local(&side, at)).filter_map(|at| side.word(at)).collect();
    let mut found = accessed(&side, body);
    let has_member = found.iter().any(|(at, _)| side.is_member(*at));
    // A mask that is applied to a parameter belongs to the caller's data: `(m) & S_IFMT`.
    let is_state =
        |word: &str, at: usize| has_member || word.bytes().any(|b| b.is_ascii_lowercase()) || is_given(&side, at);
    found.retain(|(at, _)| {
        side.is_member(*at) || side.word(*at).is_some_and(|word| !own.contains(word) && is_state(word, *at))
    });
    let only_looks = found.iter().all(|(_, access)| *access == Access::Read);
    let named = found.into_iter().filter_map(|(at, _)| named(&side, at));
    only_looks.then(|| named.collect())
}

/// Whether the word is an argument by itself: `test_tsk_thread_flag(tsk, TIF_NEED_RESCHED)`.
fn is_given(side: &Side<'_>, at: usize) -> bool {
    let is = |place: Option<usize>, marks: [u8; 2]| marks.iter().any(|mark| side.is(place, *mark));
    is(at.checked_sub(1), [b'(', b',']) && is(Some(at + 1), [b')', b','])
}

/// Whether the word is a variable declared there: `int n = …`, `struct sock *sk;`, `typeof(x) y = …`.
fn is_local(side: &Side<'_>, at: usize) -> bool {
    let is_star = |before: &usize| side.is(Some(*before), b'*');
    let Some(before) = (0..at).rev().find(|before| !is_star(before)) else { return false };
    let is_typed = match side.tokens[before].kind {
        Kind::Word => !matches!(side.word(before), Some("return" | "case" | "else" | "goto" | "sizeof" | "do")),
        // A call followed by a name and `=` is a type, as `typeof(x)` is.
        kind => kind == Kind::Mark(b')') && before + 1 == at && side.is(Some(at + 1), b'='),
    };
    is_typed && [b'=', b';', b',', b'['].iter().any(|mark| side.is(Some(at + 1), *mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_is_an_accessor() {
        for (text, expected) in [
            ("(const struct sock *sk)\n{\n\treturn refcount_read(&sk->w) - 1;\n}", Some(&["w"][..])),
            ("(s) test_bit(ST_ARMED, &(s)->flags)", Some(&["ST_ARMED", "flags"])),
            ("(s) ({ typeof(s) _s = (s); _s->w; })", Some(&["w"])),
            ("(struct t *t)\n{\n\tint n;\n\n\tn = READ_ONCE(t->w);\n\treturn n;\n}", Some(&["w"])),
            ("(struct t *t)\n{\n\treturn t->w & limit;\n}", Some(&["w", "limit"])),
            ("(m) (((m) & S_IFMT) == S_IFLNK)", Some(&[])),
            ("(struct t *t)\n{\n\treturn test_flag_of(t, ST_ARMED);\n}", Some(&["ST_ARMED"])),
            ("(struct t *t)\n{\n\treturn t->w++;\n}", None),
            ("(struct t *t)\n{\n\treturn refcount_inc_not_zero(&t->w);\n}", None),
            ("(struct t *t)\n{\n\tasked = 1;\n\treturn t->w;\n}", None),
            ("(struct list *a, struct list *b)\n{\n\t__list_add(a, b, b->next);\n}", None),
            ("(struct t *t)\n{\n\ta();b();c();d();e();f();\n\treturn t->w;\n}", None),
            ("(struct t *t)\n{\n\treturn t->ack[0].w && t->ops.run(t);\n}", Some(&["ack.w", "ops"])),
            ("(s) do { (s)->w = 0; } while (0)", None),
        ] {
            let found = read_by_accessor(text.as_bytes());
            let found = found.map(|found| found.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
            assert_eq!(
                found.as_deref(),
                expected.map(|e| e.iter().map(|e| (*e).to_owned()).collect::<Vec<_>>()).as_deref(),
                "{text}"
            );
        }
    }
}
