//! How many arguments a call passes, and how many a function takes.

use super::head::{closing, parts};
use super::lex::{Kind, Token, lex};

/// The calls of `name` in a function's text: the line of each, from 0, and its number of arguments. Calls with an
/// argument that a macro may expand to several are left out.
pub(crate) fn passed(text: &[u8], name: &str) -> Vec<(usize, usize)> {
    let tokens: Vec<Token> = lex(text, 0..text.len(), true).into_iter().filter(|t| t.kind != Kind::Directive).collect();
    let is_it = |at: usize| &text[tokens[at].start..tokens[at].end] == name.as_bytes();
    let is_member =
        |at: usize| at > 0 && (tokens[at - 1].is(b'.') || at > 1 && tokens[at - 1].is(b'>') && tokens[at - 2].is(b'-'));
    let mut out = Vec::new();
    let body = tokens.iter().position(|t| t.is(b'{')).unwrap_or(0);
    for at in
        (body..tokens.len().saturating_sub(1)).filter(|&at| tokens[at + 1].is(b'(') && is_it(at) && !is_member(at))
    {
        let Some(close) = closing(&tokens, at + 1) else { continue };
        let given = parts(&tokens[at + 2..close], b',');
        let word = |t: &Token| &text[t.start..t.end];
        let is_macro = |part: &&[Token]| match part {
            [only] => {
                only.kind == Kind::Word && !word(only).iter().any(u8::is_ascii_lowercase) && word(only) != b"NULL"
            }
            _ => false,
        };
        let is_rest = |part: &&[Token]| part.iter().any(|t| word(t) == b"__VA_ARGS__");
        let line = text[..tokens[at].start].iter().filter(|&&byte| byte == b'\n').count();
        if !(given.iter().any(is_rest) || given.len() == 1 && given.iter().any(is_macro)) {
            out.push((line, given.len()));
        }
    }
    out
}

/// How many arguments a function of this signature takes; `None` if any number, or not known.
pub(crate) fn taken(signature: &str, name: &str) -> Option<usize> {
    let text = signature.as_bytes();
    let tokens = lex(text, 0..text.len(), false);
    let is_name = |two: &[Token]| &text[two[0].start..two[0].end] == name.as_bytes() && two[1].is(b'(');
    let open = tokens.windows(2).position(is_name)? + 1;
    let inside = &tokens[open + 1..closing(&tokens, open)?];
    if inside.windows(3).any(|three| three.iter().all(|t| t.is(b'.'))) {
        return None;
    }
    let is_void = matches!(inside, [only] if &text[only.start..only.end] == b"void");
    Some(if is_void { 0 } else { parts(inside, b',').len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_counted() {
        for (signature, wanted) in [
            ("void f(void)", Some(0)),
            ("void f()", Some(0)),
            ("static int f(int(*cb)(int, int), struct s *s) __must_hold(x)", Some(2)),
            ("void f(const char *format, ...)", None),
            ("DEFINE_X(f, int a)", None),
        ] {
            assert_eq!(taken(signature, "f"), wanted, "{signature}");
        }
        let text = b"void g(void)\n{\n\tf();\n\tf(1, h(2, 3),\n\t  (struct s){ 1, 2 });\n\tx->f(1);\n#define f(a, b)\n\tf(ARGS);\n\tf(NULL);\n}\n";
        assert_eq!(passed(text, "f"), [(2, 0), (3, 3), (8, 1)]);
    }
}
