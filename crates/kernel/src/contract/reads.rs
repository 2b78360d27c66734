//! The states that the code which a series adds reads, itself or through an accessor.

use super::access::{Access, StateKind, access};
use super::inner::{has_inner, owner};
use super::tree::Tree;
use crate::needs::side::Side;
use crate::series::{Hunk, Line};
use crate::source::lex::{Kind, is_keyword};
use std::collections::{BTreeMap, BTreeSet};

/// By name, and whether it is a member: the hunks that read it.
pub(super) type Reads = BTreeMap<(String, bool), Vec<usize>>;

/// Statements of an accessor, at most: a longer function does more than to look.
const SHORT: usize = 6;

/// Adds what the added lines of hunk number `number`, of the file `path`, read; `tree` has the accessors that they call.
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

/// `a.b` where `a` is declared with its members, else both by themselves: `b` is of the struct that `a` has.
fn followed((name, is_member): (String, bool), tree: &mut Tree<'_>) -> Vec<(String, bool)> {
    match name.split_once('.') {
        Some((owner, member)) if tree.structs_within(owner, member, None).is_empty() => {
            vec![(owner.to_owned(), true), (member.to_owned(), true)]
        }
        _ => vec![(name, is_member)],
    }
}

/// The words from the token `from` on that may be states, and what is done to them.
fn accessed(side: &Side<'_>, from: usize) -> Vec<(usize, Access)> {
    let kind = |at: usize, word: &str| match side.is_member(at) {
        true => StateKind::Member,
        false if !word.bytes().any(|byte| byte.is_ascii_lowercase()) => StateKind::Flag,
        false => StateKind::Variable,
    };
    // What is called is not a state.
    let places = (from..side.tokens.len()).filter(|&at| !side.is(Some(at + 1), b'('));
    let named = places.filter_map(|at| Some((at, side.word(at).filter(|word| !is_keyword(word.as_bytes()))?)));
    named.filter_map(|(at, word)| Some((at, access(side, at, kind(at, word))?))).collect()
}

/// The states that a function or macro reads, its text from the parameters on; `None` if it does more than to look.
fn read_by_accessor(text: &[u8]) -> Option<Vec<(String, bool)>> {
    let side = Side::of(text);
    let body = side.closing(0)? + 1;
    let statements = side.tokens.iter().filter(|token| token.is(b';')).count();
    // What returns nothing is called for what it does. A macro may be the value alone.
    let returns = !side.is(Some(body), b'{') || (body..side.tokens.len()).any(|at| side.word(at) == Some("return"));
    if statements > SHORT || !returns {
        return None;
    }
    let own: BTreeSet<&str> =
        (0..side.tokens.len()).filter(|&at| at < body || is_local(&side, at)).filter_map(|at| side.word(at)).collect();
    let mut found = accessed(&side, body);
    let has_member = found.iter().any(|(at, _)| side.is_member(*at));
    // A mask of a parameter is of whatever the caller has: `(m) & S_IFMT`.
    let is_state =
        |word: &str, at: usize| has_member || word.bytes().any(|b| b.is_ascii_lowercase()) || is_given(&side, at);
    found.retain(|(at, _)| {
        side.is_member(*at) || side.word(*at).is_some_and(|word| !own.contains(word) && is_state(word, *at))
    });
    let only_looks = found.iter().all(|(_, access)| *access == Access::Read);
    let named = found.into_iter().filter_map(|(at, _)| named(&side, at));
    only_looks.then(|| named.collect())
}

/// Whether it is an argument by itself: `test_tsk_thread_flag(tsk, TIF_NEED_RESCHED)`.
fn is_given(side: &Side<'_>, at: usize) -> bool {
    let is = |place: Option<usize>, marks: [u8; 2]| marks.iter().any(|mark| side.is(place, *mark));
    is(at.checked_sub(1), [b'(', b',']) && is(Some(at + 1), [b')', b','])
}

/// Whether it is a variable that is declared there: `int n = …`, `struct sock *sk;`, `typeof(x) y = …`.
fn is_local(side: &Side<'_>, at: usize) -> bool {
    let is_star = |before: &usize| side.is(Some(*before), b'*');
    let Some(before) = (0..at).rev().find(|before| !is_star(before)) else { return false };
    let is_typed = match side.tokens[before].kind {
        Kind::Word => !matches!(side.word(before), Some("return" | "case" | "else" | "goto" | "sizeof" | "do")),
        // A call that a value follows is a type.
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
