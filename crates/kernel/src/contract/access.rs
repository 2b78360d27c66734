//! How code accesses a member, a variable or a flag, judged by the tokens around its name.

use super::pointers;
use crate::needs::side::Side;
use crate::source::lex::Kind;

/// How a state is accessed at a place where it is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Nothing is changed.
    Read,
    /// It is assigned a value, also one computed from its old value (`>>= 1`), or a flag is set.
    Set,
    /// It is assigned 0, `NULL` or `false`, or a flag is cleared.
    Clear,
    /// It is incremented or decremented, or its address is passed to a function that may change it.
    Change,
    /// It is assigned the same member of another object.
    Transfer,
}

/// How a state is named in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateKind {
    /// `a->NAME`.
    Member,
    /// A variable at file scope, including per-CPU ones.
    Variable,
    /// A constant: a bit that is set and cleared in some other variable.
    Flag,
}

/// How the token `at`, the name of the state, is accessed; `None` if the name means something else there.
pub(crate) fn access(side: &Side<'_>, at: usize, kind: StateKind) -> Option<Access> {
    let is_member = side.is_member(at);
    match kind {
        StateKind::Member if is_member => Some(of_value(side, at)),
        StateKind::Variable if !is_member => Some(of_value(side, at)),
        StateKind::Flag if !is_member => Some(of_flag(side, at)),
        _ => None,
    }
}

pub(super) fn of_value(side: &Side<'_>, at: usize) -> Access {
    let Some(mut end) = end(side, at + 1) else { return Access::Read };
    let mut start = start(side, at);
    // `(x->w) = 0`, and `per_cpu(w, cpu) = 0`.
    while let Some(open) = start.checked_sub(1).filter(|&open| side.is(Some(open), b'(')) {
        let by = open.checked_sub(1).and_then(|by| side.word(by));
        let is_variable_of_cpu = matches!(by, Some("per_cpu" | "get_cpu_var"));
        let is_alone = side.is(Some(end), b')') && !open.checked_sub(1).is_some_and(|before| ends_value(side, before));
        match side.closing(open).filter(|_| is_variable_of_cpu || is_alone) {
            Some(close) => (start, end) = (if is_variable_of_cpu { open - 1 } else { open }, close + 1),
            None => break,
        }
    }
    let before = start.checked_sub(1);
    // A cast ends with `*)`.
    let is_cast = |at: usize| side.is(Some(at), b')') && side.is(at.checked_sub(1), b'*');
    let is_and = |at: usize| ends_value(side, at) && !is_cast(at) || side.is(Some(at), b'&');
    let is_address = side.is(before, b'&') && !start.checked_sub(2).is_some_and(is_and);
    if is_address {
        let passed = || argument(side, start - 1).map_or(Access::Read, |(by, rest)| by_address(side, by, rest));
        return pointers::through(side, start - 1).unwrap_or_else(passed);
    }
    written(side, at, start, end)
}

/// What is done to it by the macro that takes it as an argument, or by the operators around `start..end`; `at` is its
/// name.
pub(super) fn written(side: &Side<'_>, at: usize, start: usize, end: usize) -> Access {
    if let Some((by, rest)) = argument(side, start).filter(|_| side.is(start.checked_sub(1), b'(')) {
        match by {
            "WRITE_ONCE" | "rcu_assign_pointer" | "RCU_INIT_POINTER" | "smp_store_mb" => {
                return value(side, Some(at), rest);
            }
            "swap" | "get_user" | "__get_user" => return Access::Change,
            _ if by.contains("this_cpu_") || by.contains("raw_cpu_") => {
                let is_read = by.contains("read") || by.contains("ptr");
                let changed = if by.ends_with("_write") { value(side, Some(at), rest) } else { Access::Change };
                return if is_read { Access::Read } else { changed };
            }
            _ => {}
        }
    }
    let is_twice = |at: usize, mark: u8| side.is(Some(at), mark) && side.is(Some(at + 1), mark);
    let is_counted = |at: usize| is_twice(at, b'+') || is_twice(at, b'-');
    if is_counted(end) || start.checked_sub(2).is_some_and(is_counted) {
        return Access::Change;
    }
    if side.is(Some(end), b'=') {
        return if side.is(Some(end + 1), b'=') { Access::Read } else { value(side, Some(at), end + 1) };
    }
    // Incrementing and shifting are different kinds of access.
    let is_shifted = (is_twice(end, b'<') || is_twice(end, b'>')) && side.is(Some(end + 2), b'=');
    let is_assigned = side.is(Some(end + 1), b'=') && side.tokens[end].end == side.tokens[end + 1].start;
    match side.tokens.get(end).map(|token| token.kind).filter(|_| is_assigned) {
        _ if is_shifted => Access::Set,
        Some(Kind::Mark(b'|' | b'*' | b'/' | b'%' | b'^')) => Access::Set,
        Some(Kind::Mark(b'&')) => Access::Clear,
        Some(Kind::Mark(b'+' | b'-')) => Access::Change,
        _ => Access::Read,
    }
}

/// The position after `[…]` and `.inner`, which belong to the state; `None` if `->` follows, because the access is then
/// to what it points to.
fn end(side: &Side<'_>, mut at: usize) -> Option<usize> {
    loop {
        if side.is(Some(at), b'[') {
            at = side.closing(at)? + 1;
        } else if side.is(Some(at), b'.') {
            at += 2;
        } else if side.is(Some(at), b'-') && side.is(Some(at + 1), b'>') {
            return None;
        } else {
            return Some(at);
        }
    }
}

/// The first token of `a->b[1].name`, `name` at `at`.
pub(crate) fn start(side: &Side<'_>, mut at: usize) -> usize {
    while side.is_member(at) {
        let Some(mut owner) = at.checked_sub(if side.is(at.checked_sub(1), b'.') { 2 } else { 3 }) else { return at };
        while side.is(Some(owner), b']') || side.is(Some(owner), b')') {
            let Some(open) = opening(side, owner) else { return at };
            let is_after_value = open.checked_sub(1).is_some_and(|before| ends_value(side, before));
            owner = if is_after_value { open - 1 } else { return open };
        }
        at = owner;
    }
    at
}

/// Whether the token is a word, a number or a closing bracket: a `&` after it is not the address operator.
pub(super) fn ends_value(side: &Side<'_>, at: usize) -> bool {
    match side.tokens.get(at).map(|token| token.kind) {
        Some(Kind::Word) => !matches!(side.word(at), Some("return" | "case" | "else" | "sizeof")),
        Some(kind) => matches!(kind, Kind::Number | Kind::Mark(b')' | b']')),
        None => false,
    }
}

pub(super) fn opening(side: &Side<'_>, close: usize) -> Option<usize> {
    let mut depth = 0usize;
    (0..=close).rev().find(|&at| {
        match side.tokens[at].kind {
            Kind::Mark(b')' | b']' | b'}') => depth += 1,
            Kind::Mark(b'(' | b'[' | b'{') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// The function called with the token among its arguments, and where its next argument begins, or the end of the call.
pub(super) fn argument<'a>(side: &'a Side<'_>, at: usize) -> Option<(&'a str, usize)> {
    let mut depth = 0usize;
    let open = (0..at).rev().find(|&at| match side.tokens[at].kind {
        Kind::Mark(b')' | b']' | b'}') => {
            depth += 1;
            false
        }
        Kind::Mark(b'(') if depth == 0 => true,
        Kind::Mark(b'(' | b'[' | b'{') => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => false,
    })?;
    let by = open.checked_sub(1).and_then(|by| side.word(by))?;
    let mut next = at;
    while next < side.tokens.len() {
        match side.tokens[next].kind {
            Kind::Mark(b'(' | b'[' | b'{') => next = side.closing(next)?,
            Kind::Mark(b',') => return Some((by, next + 1)),
            Kind::Mark(b')' | b';') => break,
            _ => {}
        }
        next += 1;
    }
    Some((by, next))
}

/// Words in the names of functions that only read what they get the address of. The name has to decide because the body
/// may be a macro, or in a file that is not read. A lock is not a state.
const READ_ONLY_CALLEES: &[&str] = &[
    "_read_",
    "_READ_",
    "_load_acquire_",
    "_test_",
    "_empty_",
    "_pending_",
    "_for_each_",
    "_first_entry_",
    "_last_entry_",
    "_next_entry_",
    "_list_entry_",
    "_rb_entry_",
    "_container_of_",
    "_memcmp_",
    "_strcmp_",
    "_equal_",
    "_print_",
    "_printk_",
    "_printf_",
    "_debug_",
    "_dereference_",
    "_deref_",
    "_guard_",
    "_assert_",
    "_held_",
    "_lock_",
    "_unlock_",
    "_trylock_",
    "_is_locked_",
    "_copy_to_",
    "_wake_up_",
    "_wait_",
    "_waitqueue_",
    "_sizeof_",
    "_typeof_",
    "_offsetof_",
    "_counter_sum_",
    "mask_weight_",
    "map_weight_",
    "_likely_",
    "_unlikely_",
    "_IS_ERR_",
];

pub(super) fn by_address(side: &Side<'_>, callee: &str, rest: usize) -> Access {
    let name = format!("_{callee}_");
    // `rq_list_init(&x->list)` has the same effect as `x->list = NULL`.
    let is_init = callee.ends_with("_init") || callee.starts_with("init_") || callee.starts_with("INIT_");
    if !callee.contains("_and_") && READ_ONLY_CALLEES.iter().any(|words| name.contains(words)) {
        Access::Read
    } else if callee.ends_with("clear_bit") || callee.starts_with("memset") || callee.contains("zero") {
        Access::Clear
    } else if callee.ends_with("set_bit") {
        Access::Set
    } else if is_init && side.is(Some(rest), b')') {
        Access::Clear
    } else if is_init || callee.ends_with("_set") || callee == "smp_store_release" {
        value(side, None, rest)
    } else {
        Access::Change
    }
}

/// The access by assigning the expression that begins at `from` to the state at `at`, if it has a name there.
pub(super) fn value(side: &Side<'_>, at: Option<usize>, from: usize) -> Access {
    let is_end = |at: &usize| match side.tokens[*at].kind {
        Kind::Mark(b';' | b',') => true,
        Kind::Mark(b')') => opening(side, *at).is_none_or(|open| open < from),
        _ => false,
    };
    let end = (from..side.tokens.len()).find(is_end).unwrap_or(side.tokens.len());
    if end == from + 1 && is_zero(side, from) {
        return Access::Clear;
    }
    let Some(at) = at else { return Access::Set };
    let text = |at: usize| &side.text[side.tokens[at].start..side.tokens[at].end];
    let whole = |at: usize| &side.text[side.tokens[start(side, at)].start..side.tokens[at].end];
    let is_counted = |at: usize| (side.is(Some(at), b'+') || side.is(Some(at), b'-')) && !side.is(Some(at + 1), b'>');
    let same = (from..end).find(|&other| text(other) == text(at) && side.is_member(other) == side.is_member(at));
    match same {
        Some(other) if whole(other) != whole(at) => Access::Transfer,
        Some(other) if is_counted(other + 1) => Access::Change,
        _ => Access::Set,
    }
}

fn is_zero(side: &Side<'_>, at: usize) -> bool {
    let text = side.tokens.get(at).map(|token| &side.text[token.start..token.end]);
    matches!(text, Some(b"0" | b"0U" | b"0UL" | b"0ULL" | b"0L" | b"NULL" | b"false"))
}

/// Whether the state `at` is assigned 0 in one branch of a conditional: `x->w = y ? 1 : 0`.
pub(super) fn is_either(side: &Side<'_>, at: usize) -> bool {
    let ends = |at: usize| [b';', b'{', b'}'].iter().any(|mark| side.is(Some(at), *mark));
    let rest = || (at..side.tokens.len()).take_while(|&at| !ends(at));
    let Some(asks) = rest().find(|&at| side.is(Some(at), b'?')) else { return false };
    let answers = rest().filter(|&at| at == asks || at > asks && side.is(Some(at), b':'));
    answers.into_iter().any(|at| is_zero(side, at + 1))
}

/// What a function does to a flag among its arguments, in any position: `set_bit`, `sock_reset_flag`,
/// `blk_queue_flag_set`. Its name must contain a word for a bit or a flag: otherwise it may set something else to the
/// constant, as `atomic_set` does.
fn by_name(by: &str) -> Option<Access> {
    let has = |words: &[&str]| by.split('_').any(|word| words.contains(&word));
    match () {
        () if !has(&["bit", "bits", "flag", "flags"]) || has(&["test"]) && !has(&["and"]) => None,
        // Its arguments decide what is cleared and what is set.
        () if has(&["mask", "change", "assign", "toggle", "flip", "mod", "update"]) => Some(Access::Change),
        () if has(&["clear", "reset", "unset"]) => Some(Access::Clear),
        () if has(&["set"]) => Some(Access::Set),
        // `sock_flag(sk, FLAG)` tests the flag.
        () => None,
    }
}

/// `set_bit(FLAG, …)`, `sock_reset_flag(sk, FLAG)`, `x |= FLAG`, `x &= ~FLAG`. A constant that is only assigned or
/// compared is not a flag.
fn of_flag(side: &Side<'_>, at: usize) -> Access {
    let mut inside = at;
    // `set_bit(BIT(FLAG), …)`.
    for _ in 0..3 {
        let Some((by, _)) = argument(side, inside) else { break };
        if let Some(done) = by_name(by) {
            return done;
        }
        inside = (0..inside).rev().find(|&i| side.word(i) == Some(by)).unwrap_or(0);
    }
    let mut depth = 0usize;
    for i in (1..at).rev() {
        let next = |mark: u8| side.is(Some(i - 1), mark) && side.tokens[i - 1].end == side.tokens[i].start;
        match side.tokens[i].kind {
            Kind::Mark(b')' | b']') => depth += 1,
            // The value of a call counts, not its arguments.
            Kind::Mark(b'(' | b'[') if depth == 0 && ends_value(side, i - 1) => return Access::Read,
            Kind::Mark(b'(' | b'[') => depth = depth.saturating_sub(1),
            Kind::Mark(b';' | b'{' | b'}') => return Access::Read,
            Kind::Mark(b'=') if depth == 0 && next(b'|') => return Access::Set,
            Kind::Mark(b'=') if depth == 0 && next(b'&') => return Access::Clear,
            _ => {}
        }
    }
    Access::Read
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str, name: &str, kind: StateKind) -> Vec<Access> {
        let side = Side::of(code.as_bytes());
        (0..side.tokens.len())
            .filter(|&at| side.word(at) == Some(name))
            .filter_map(|at| access(&side, at, kind))
            .collect()
    }

    #[test]
    fn members_and_variables() {
        use Access::{Change, Clear, Read, Set, Transfer};
        for (code, expected) in [
            ("x->w = y;", &[Set][..]),
            ("x->w = 0;", &[Clear]),
            ("a->b[i].w = NULL;", &[Clear]),
            ("x->w == 0;", &[Read]),
            ("if (a && x->w) f();", &[Read]),
            ("if (a & x->w) f();", &[Read]),
            ("x->w |= 4;", &[Set]),
            ("x->w &= ~4;", &[Clear]),
            ("x->w += n; x->w++; --x->w; x->w >>= 1; x->w *= 2;", &[Change, Change, Change, Set, Set]),
            ("if (x->w >= 1 || x->w >> 1) f();", &[Read, Read]),
            ("refcount_sub(n, &x->w);", &[Change]),
            ("return refcount_read(&x->w) > n;", &[Read]),
            ("atomic_set(&x->w, 0); atomic_set(&(x->y)->w, 1);", &[Clear, Set]),
            ("WRITE_ONCE(x->w, 0); WRITE_ONCE(x->w, v);", &[Clear, Set]),
            ("READ_ONCE(x->w);", &[Read]),
            ("new->w = old->w;", &[Transfer, Read]),
            ("x->w = x->w >> 1; x->w = x->w + 1;", &[Set, Read, Change, Read]),
            ("x->w.deep = 1; x->w->deep = 1;", &[Set, Read]),
            ("if (test_and_set_bit(3, &x->w)) set_bit(1, &x->w);", &[Set, Set]),
            ("spin_lock(&x->w); guard(mutex)(&x->w); lockdep_sock_is_held(&x->w.deep);", &[Read, Read, Read]),
            ("scoped_guard (raw_spinlock_irqsave, &x->w) f(); CLASS(fd, f)(x->w);", &[Read, Read]),
            ("f(x->w, 0); w = 1;", &[Read]),
            ("(x->w) = 0; ((x->w))++; if ((x->w) == 0) f();", &[Clear, Change, Read]),
            ("cmpxchg(&x->w, 1, 0); atomic_try_cmpxchg(&x->w, &o, 0);", &[Change, Change]),
            ("consume_credit(&x->w); mark_ready(&x->w); reset_clock(&x->w); block_tx(&x->w);", &[Change; 4]),
            ("rq_list_init(&x->w); INIT_LIST_HEAD(&x->w); atomic_init(&x->w, 1);", &[Clear, Clear, Set]),
            ("drop_entry(&x->w); acquire_slot(&x->w);", &[Change, Change]),
            ("int *p = &x->w; f(p); *p = 1;", &[Change]),
            ("p = &x->w; if (*p == 1) *p = 0;", &[Clear]),
            ("p = &x->w; (*p)++; p = &y->v; *p = 0;", &[Change]),
            ("p = &x->w; p = &y->v; *p = 0;", &[Read]),
            ("p = &x->w; p->deep = 2; q = &x->w; g(q->a * q->b);", &[Set, Read]),
            ("p = &x->w; WRITE_ONCE(*p, 2); q = &x->w; swap(*q, y);", &[Set, Change]),
            ("u64 *p = &x->w; p[0] = 0; q = (void *)&x->w; *q = 1;", &[Clear, Set]),
            ("p = y ? &x->w : NULL; *p = 0; strscpy((char *)&x->w, s, 4);", &[Clear, Change]),
            (
                "bump_locked(&x->w); update_wake_stats(&x->w); get_user(x->w, p); y = z & x->w;",
                &[Change, Change, Change, Read],
            ),
            ("if (mutex_is_locked(&x->w)) wake_up(&x->w);", &[Read, Read]),
            ("p = &x->w; spin_lock(p); y = atomic_read(p) * p;", &[Read]),
            (
                "list_for_each_entry(p, &x->w, l) f(list_first_entry(&x->w, T, l)); mutex_unlock(&x->w);",
                &[Read, Read, Read],
            ),
        ] {
            assert_eq!(of(code, "w", StateKind::Member), expected, "{code}");
        }
        assert_eq!(
            of("w = 1; this_cpu_inc(w); x->w = 2; y = __this_cpu_read(w);", "w", StateKind::Variable),
            [Set, Change, Read]
        );
        assert_eq!(
            of("per_cpu(w, 3) = 0; y = per_cpu(w, cpu); per_cpu(w, i)++;", "w", StateKind::Variable),
            [Clear, Read, Change]
        );
    }

    #[test]
    fn a_value_that_is_0_in_one_of_two_cases() {
        for (code, expected) in [
            ("x->w = y ? 1 : 0;", true),
            ("WRITE_ONCE(x->w, y ? NULL : z);", true),
            ("x->w = y ? 1 : 2; z = y ? 0 : 1;", false),
            ("x->w = 0;", false),
        ] {
            let side = Side::of(code.as_bytes());
            let at = (0..side.tokens.len()).find(|&at| side.word(at) == Some("w")).unwrap();
            assert_eq!(is_either(&side, at), expected, "{code}");
        }
    }

    #[test]
    fn flags() {
        use Access::{Change, Clear, Read, Set};
        for (code, expected) in [
            ("set_bit(F, &x->w); clear_bit(F, &x->w);", &[Set, Clear][..]),
            ("if (test_bit(F, &x->w)) y = 1;", &[Read]),
            ("if (test_and_set_bit(F, &x->w)) return;", &[Set]),
            ("x->flags |= F | G; x->flags &= ~F;", &[Set, Clear]),
            ("x->flags &= ~(F | G); x->flags = F;", &[Clear, Read]),
            ("x = y & F; if (x == F) return F;", &[Read, Read, Read]),
            ("if (x & F) y = 0;", &[Read]),
            ("sock_set_flag(sk, F); sock_reset_flag(sk, F);", &[Set, Clear]),
            ("set_bit(BIT(F), &x);", &[Set]),
            ("blk_queue_flag_set(F, q); blk_queue_flag_clear(F, q);", &[Set, Clear]),
            ("if (blk_queue_flag_test_and_set(F, q)) return; io_set_flags(io, a, F);", &[Set, Set]),
            ("change_bit(F, &x); __assign_bit(F, &x, y); set_mask_bits(&x, F, 0);", &[Change; 3]),
            ("if (sock_flag(sk, F) || wait_on_bit(&x, F, y) || queue_flag_test(F, q)) return;", &[Read; 3]),
            ("atomic_set(&x->w, F); set_current_state(F);", &[Read, Read]),
        ] {
            assert_eq!(of(code, "F", StateKind::Flag), expected, "{code}");
        }
    }
}
