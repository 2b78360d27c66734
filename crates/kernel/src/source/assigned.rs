//! Functions that code assigns to a member: `ops->pick = pick_next;`.

use super::lex::is_word;

/// Each `x->MEMBER = NAME;` and `x.MEMBER = &NAME;` of a text, as member and name.
pub(crate) fn assigned(text: &[u8]) -> impl Iterator<Item = (&str, &str)> {
    let equals = text.iter().enumerate().filter(|(_, byte)| **byte == b'=').map(|(at, _)| at);
    equals.filter_map(|at| {
        let before = text[..at].trim_ascii_end();
        let member = before.len() - before.iter().rev().take_while(|byte| is_word(**byte)).count();
        let is_member = before[..member].ends_with(b"->") || before[..member].ends_with(b".");
        let after = text[at + 1..].trim_ascii_start();
        let after = after.strip_prefix(b"&").unwrap_or(after);
        let name = after.iter().take_while(|byte| is_word(**byte)).count();
        let is_whole = name > 0 && after[name..].trim_ascii_start().starts_with(b";");
        let words = || Some((std::str::from_utf8(&before[member..]).ok()?, std::str::from_utf8(&after[..name]).ok()?));
        words().filter(|(member, _)| is_member && is_whole && !member.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_get_a_name() {
        let text = b"o->pick = my_pick; a.b.c=&d ; x = y; o->n = 1 + z; o->p == q; o->r = f(x); = ; ->= s;";
        assert_eq!(assigned(text).collect::<Vec<_>>(), [("pick", "my_pick"), ("c", "d")]);
    }
}
