//! Members of a struct that is declared in another one and has a name there: `icsk_ack.pending` of
//! `struct inet_connection_sock { struct { __u8 pending; } icsk_ack; }`.

use super::access::opening;
use crate::needs::side::Side;
use crate::source::{Member, scan};

/// The first name of a state: `a` of `a.b`.
pub(super) fn outer(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The member `a` of `->a.name` and `->a[1].name`, `name` at `at`.
pub(super) fn owner(side: &Side<'_>, at: usize) -> Option<usize> {
    let mut owner = at.checked_sub(2).filter(|_| side.is(Some(at - 1), b'.'))?;
    while side.is(Some(owner), b']') {
        owner = opening(side, owner)?.checked_sub(1)?;
    }
    Some(owner).filter(|&owner| side.word(owner).is_some() && side.is_member(owner))
}

/// Whether the code accesses a member of the state at `at`, and does not call it: `name.a`, `name[1].a`.
pub(super) fn has_inner(side: &Side<'_>, at: usize) -> bool {
    let mut next = at + 1;
    while let Some(close) = side.closing(next).filter(|_| side.is(Some(next), b'[')) {
        next = close + 1;
    }
    side.is(Some(next), b'.') && side.word(next + 1).is_some() && !side.is(Some(next + 2), b'(')
}

/// Where a state is named. For `a.name` also where `a` stands alone: what changes `a` changes `name`.
pub(super) fn places(side: &Side<'_>, name: &str) -> Vec<usize> {
    let Some((outer, inner)) = name.split_once('.') else {
        return (0..side.tokens.len()).filter(|&at| side.word(at) == Some(name)).collect();
    };
    let is_it = |at: usize| match side.word(at) {
        Some(word) if word == inner => owner(side, at).is_some_and(|at| side.word(at) == Some(outer)),
        Some(word) => word == outer && !has_inner(side, at),
        None => false,
    };
    (0..side.tokens.len()).filter(|&at| is_it(at)).collect()
}

/// The members in the braces of a member's declaration.
pub(super) fn declared_within(text: &str) -> Vec<Member> {
    let braces = text.find('{').zip(text.rfind('}'));
    let alone = braces.map(|(open, close)| format!("struct within {};", &text[open..=close]));
    let types = alone.map(|text| scan(text.as_bytes()).types).unwrap_or_default();
    types.into_iter().flat_map(|one| one.members).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_member_of_a_member() {
        let code =
            "x->ack.w = 1; memset(&x->ack, 0, 4); y->w = x->other.w; x->ack[i].w++; x->ack.v = ack.w; x->ack.run();";
        let side = Side::of(code.as_bytes());
        let lines: Vec<usize> = places(&side, "ack.w").iter().map(|&at| side.tokens[at].start).collect();
        let of = |what: &str| code.find(what).unwrap();
        assert_eq!(lines, [of("w = 1"), of("ack, 0"), of("w++"), of("ack.run")]);
        assert_eq!(places(&side, "v").len(), 1);
        let names = |text: &str| declared_within(text).into_iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names("struct { __u8 pending; __u8 quick:5, retry:3; } icsk_ack"), ["pending", "quick", "retry"]);
        assert!(names("struct t *ack").is_empty());
    }
}
