//! Whether a word of C declares a name or uses one, judged by the words around it.

use super::side::Side;
use crate::source::lex::{Kind, is_keyword};

/// Keywords after which a name is used, not declared.
const BEFORE_USE: &[&str] = &["return", "goto", "else", "case", "sizeof", "typeof", "do", "defined"];

/// Whether a name is declared here: a type comes before it, or it is a further name in a list of declarators.
pub(super) fn is_declared(side: &Side<'_>, at: usize) -> bool {
    let is_type = |word: &str| !BEFORE_USE.contains(&word);
    let Some(before) = at.checked_sub(1) else { return false };
    // An anonymous type, or a typedef: `} name;`.
    if side.is(Some(before), b'}') && [b';', b'[', b','].iter().any(|mark| side.is(Some(at + 1), *mark)) {
        return true;
    }
    // `static DEFINE_MUTEX(lock);` is a call. An upper-case name at the beginning of a line, with its type on the line
    // above, is declared.
    if side.is(Some(at + 1), b'(') && !word_is_lower(side, at) {
        let is_typed = side.word(before).is_some_and(|word| is_type(word) && is_type_of_c(word));
        return is_typed && side.begins_line(at) && side.is_at_margin(at);
    }
    if let Some(word) = side.word(before) {
        // The second word of `else foo();` is not a declaration, nor is a word after a macro that ends the line before.
        return is_type(word) && (!side.begins_line(at) || side.is_at_margin(at));
    }
    let stars = (0..at).rev().take_while(|&i| side.is(Some(i), b'*')).count();
    let Some(before) = before.checked_sub(stars) else { return false };
    if stars > 0 && !side.is(Some(before), b',') {
        return is_pointer(side, at, before);
    }
    is_constant(side, at, before) || is_listed(side, at, before)
}

/// `TYPE *name`; `before` is the token before the star. In `a * b` that token is a value: a declaration has its type at
/// the beginning of a line, or is among parameters.
fn is_pointer(side: &Side<'_>, at: usize, before: usize) -> bool {
    if side.is(Some(before), b'(') {
        // A function pointer as member: `(*call)(int)`.
        return side.is(Some(at + 1), b')') && side.is(Some(at + 2), b'(');
    }
    let first = (0..=at).rev().find(|&i| side.begins_line(i)).unwrap_or(0);
    let is_plain = (first..before).all(|i| side.word(i).is_some());
    let is_parameter = before > 0
        && side.word(before - 1).is_some_and(|w| matches!(w, "struct" | "union" | "enum" | "const" | "unsigned"));
    // `f(int *a, u32 *b)`.
    let is_parameter = is_parameter
        || before > 0
            && (side.is(Some(before - 1), b'(') || side.is(Some(before - 1), b','))
            && side.word(before).is_some_and(is_type_of_c);
    let is_typed = side.word(before).is_some_and(|word| !BEFORE_USE.contains(&word));
    is_typed && (is_plain || is_parameter) && (side.is_at_margin(at) || !side.is(Some(at + 1), b'('))
}

/// A type that is no struct: `int`, `u32`, `size_t`.
fn is_type_of_c(word: &str) -> bool {
    let is_sized = word.len() <= 3 && word.starts_with(['u', 's']) && word[1..].parse::<u8>().is_ok();
    const WORDS: &[&str] = &["int", "long", "short", "char", "unsigned", "signed", "void", "bool"];
    is_sized || WORDS.contains(&word) || word.ends_with("_t")
}

/// `NAME,` and `NAME = 1,` on a line of an enum; if the `{` is not in the text, only upper-case names count.
fn is_constant(side: &Side<'_>, at: usize, before: usize) -> bool {
    let is_element = side.is(Some(before), b',') || side.is(Some(before), b'{');
    let goes_on = [b',', b'=', b'}'].iter().any(|mark| side.is(Some(at + 1), *mark));
    if !(is_element && goes_on && side.begins_line(at)) {
        return false;
    }
    let mut depth = 0;
    for i in (0..at).rev() {
        match side.tokens[i].kind {
            Kind::Mark(b'}' | b')') => depth += 1,
            Kind::Mark(b'{' | b'(') if depth > 0 => depth -= 1,
            Kind::Mark(b'(') => return false,
            Kind::Mark(b'{') => {
                let words = [i.checked_sub(1), i.checked_sub(2)].map(|i| i.and_then(|i| side.word(i)));
                return words.contains(&Some("enum"));
            }
            _ => {}
        }
    }
    !word_is_lower(side, at)
}

/// A further name in `int a = 1, *b;`: the list began with a declared name on this line, outside of parentheses.
fn is_listed(side: &Side<'_>, at: usize, before: usize) -> bool {
    let first = (0..=at).rev().find(|&i| side.begins_line(i)).unwrap_or(0);
    let depth = (first..at).fold(0i32, |depth, i| match side.tokens[i].kind {
        Kind::Mark(b'(' | b'[' | b'{') => depth + 1,
        Kind::Mark(b')' | b']' | b'}') => depth - 1,
        _ => depth,
    });
    let next = (first + 1..at).find(|&i| !side.is(Some(i), b'*'));
    side.is(Some(before), b',')
        && depth == 0
        && side.word(first).is_some()
        && next.is_some_and(|i| side.word(i).is_some())
}

pub(super) fn word_is_lower(side: &Side<'_>, at: usize) -> bool {
    side.word(at).is_some_and(|word| word.bytes().any(|byte| byte.is_ascii_lowercase()))
}

/// The variables that `struct T *a, b` declares; `at` is the type's name.
pub(super) fn declared(side: &Side<'_>, at: usize) -> Vec<String> {
    let (mut out, mut at) = (Vec::new(), at + 1);
    loop {
        while side.is(Some(at), b'*') || matches!(side.word(at), Some("const" | "__rcu" | "__user" | "__percpu")) {
            at += 1;
        }
        let Some(word) = side.word(at).filter(|word| !is_keyword(word.as_bytes())) else { return out };
        out.push(word.to_owned());
        if !side.is(Some(at + 1), b',') {
            return out;
        }
        at += 2;
    }
}

/// The type of each variable that a text declares as `struct T x`.
pub(crate) fn variables(text: &[u8]) -> Vec<(String, String)> {
    let side = Side::of(text);
    let mut out = Vec::new();
    for at in 1..side.tokens.len() {
        if side.word(at - 1) == Some("struct")
            && let Some(name) = side.word(at)
        {
            out.extend(declared(&side, at).into_iter().map(|variable| (variable, name.to_owned())));
        }
    }
    out
}
