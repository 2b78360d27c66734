//! Changes to a state that do not name it: through a pointer to it, or by overwriting the whole object.

use super::access::{Access, argument, by_address, ends_value, of_value, value, written};
use crate::needs::declared::variables;
use crate::needs::side::Side;
use crate::source::lex::Kind;

/// What is done through `p` after `p = &x->state`, with the `&` at `and`; `None` if the address is not stored in a
/// variable.
pub(super) fn through(side: &Side<'_>, and: usize) -> Option<Access> {
    let kept = kept_in(side, and)?;
    let pointer = side.word(kept)?;
    for at in (and..side.tokens.len()).filter(|&at| side.word(at) == Some(pointer) && !side.is_member(at)) {
        let is_another = side.is(Some(at + 1), b'=') && !side.is(Some(at + 2), b'=');
        let done = if is_dereferenced(side, at) {
            dereferenced(side, at)
        } else if let Some(close) = side.closing(at + 1).filter(|_| side.is(Some(at + 1), b'[')) {
            written(side, at, at, close + 1)
        } else if is_another {
            break;
        } else if side.is(Some(at + 1), b'-') && side.is(Some(at + 2), b'>') {
            of_value(side, at + 3)
        } else if [b'(', b','].iter().any(|mark| side.is(at.checked_sub(1), *mark)) {
            argument(side, at).map_or(Access::Read, |(by, rest)| by_address(side, by, rest))
        } else {
            Access::Read
        };
        if done != Access::Read {
            return Some(done);
        }
    }
    Some(Access::Read)
}

/// The variable that the address is stored in: `p` of `p = &x->state`, of `p = (void *)&x->state` and of `p = y ?
/// &x->state : NULL`.
fn kept_in(side: &Side<'_>, and: usize) -> Option<usize> {
    let mut depth = 0usize;
    for at in (1..and).rev() {
        match side.tokens[at].kind {
            Kind::Mark(b')' | b']') => depth += 1,
            Kind::Mark(b'(' | b'[') => depth = depth.checked_sub(1)?,
            Kind::Mark(b';' | b'{' | b'}' | b',') if depth == 0 => return None,
            Kind::Mark(b'=') if depth == 0 => return Some(at - 1).filter(|&kept| !side.is_member(kept)),
            _ => {}
        }
    }
    None
}

/// Whether the name at `at` is dereferenced (`*p`), as opposed to a product (one that is not assigned to) or a
/// declaration such as `struct t *s, *p = NULL`.
fn is_dereferenced(side: &Side<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(2).filter(|_| side.is(Some(at - 1), b'*')) else { return false };
    let is_set = side.is(Some(at + 1), b'=') && !side.is(Some(at + 2), b'=');
    match side.is(Some(before), b')') || side.is(Some(before), b',') {
        true => is_set && side.is(Some(before), b')'),
        false => !ends_value(side, before),
    }
}

/// What is done to `*p`, or `(*p)`, with `p` at `at`.
fn dereferenced(side: &Side<'_>, at: usize) -> Access {
    let (mut start, mut end) = (at - 1, at + 1);
    while side.is(start.checked_sub(1), b'(') && side.is(Some(end), b')') {
        (start, end) = (start - 1, end + 1);
    }
    written(side, at, start, end)
}

/// How a function overwrites whole objects of `struct OF` through pointers: `memset(s, 0, sizeof(*s))`, `*s = *t`.
pub(super) fn overwritten(text: &[u8], of: &str) -> Vec<Access> {
    const WHOLE: [&[u8]; 3] = [b"mem", b"*", b"="];
    let has = |what: &[u8]| text.windows(what.len()).any(|part| part == what);
    if !has(of.as_bytes()) || !WHOLE.iter().any(|what| has(what)) {
        return Vec::new();
    }
    let side = Side::of(text);
    let mut pointers = variables(text);
    // `*p` of `struct t **p` is a pointer.
    let is_twice = |at: usize| [1, 2].iter().all(|back| side.is(at.checked_sub(*back), b'*'));
    let is_of_pointers = |name: &str| (0..side.tokens.len()).any(|at| is_twice(at) && side.word(at) == Some(name));
    pointers.retain(|(name, kind)| kind == of && !is_of_pointers(name));
    let is_pointer = |at: usize| {
        let word = side.word(at).filter(|_| !side.is_member(at));
        word.is_some_and(|word| pointers.iter().any(|(pointer, _)| pointer == word))
    };
    (0..side.tokens.len()).filter(|&at| is_pointer(at)).filter_map(|at| overwrites(&side, at, of)).collect()
}

fn overwrites(side: &Side<'_>, at: usize, of: &str) -> Option<Access> {
    let before = at.checked_sub(2)?;
    if is_dereferenced(side, at) {
        let is_set = side.is(Some(at + 1), b'=') && !side.is(Some(at + 2), b'=');
        return is_set.then_some(if side.is(Some(at + 2), b'*') { Access::Transfer } else { Access::Set });
    }
    let by = side.word(before).filter(|_| side.is(Some(at - 1), b'('))?;
    let (_, second) = argument(side, at)?;
    let (size, done) = match by {
        "memset" => (argument(side, second)?.1, value(side, None, second)),
        "memcpy" | "memmove" => (argument(side, second)?.1, Access::Transfer),
        "memzero_explicit" => (second, Access::Clear),
        _ => return None,
    };
    // Only the whole object counts: `sizeof(*s)` or `sizeof(struct s)`, with nothing after it.
    let close = side.closing(size + 1).filter(|_| side.word(size) == Some("sizeof"))?;
    let is_whole = side.is(Some(size + 2), b'*') || side.word(size + 3) == Some(of);
    (is_whole && side.is(Some(close + 1), b')')).then_some(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_are_overwritten_as_a_whole() {
        use Access::{Clear, Set, Transfer};
        for (body, expected) in [
            ("memset(s, 0, sizeof(*s));", &[Clear][..]),
            ("memset(s, 0xff, sizeof(struct sock));", &[Set]),
            ("memcpy(s, t, sizeof(*s)); *s = *t; if (a) *s = (struct sock){ .a = 1 };", &[Transfer, Transfer, Set]),
            ("memset(s, 0, sizeof(*s) - 8); memset(s, 0, offsetof(struct sock, b)); memset(s, 0, n);", &[]),
            ("memset(s->a, 0, sizeof(s->a)); memcpy(d, s, sizeof(*s)); x = y * s == 1; if (*s == 1) f();", &[]),
            ("memset(t, 0, sizeof(*t)); memzero_explicit(s, sizeof(*s));", &[Clear]),
            ("struct sock *a, *b = NULL, *c = s; g(a, *b, c);", &[]),
            ("struct sock **all = f(s); *all = NULL; *s = *t;", &[Transfer]),
        ] {
            let text = format!("void f(struct sock *s, struct task *t)\n{{\n\t{body}\n}}\n");
            assert_eq!(overwritten(text.as_bytes(), "sock"), expected, "{body}");
        }
    }
}
