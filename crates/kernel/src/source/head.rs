//! What the tokens before a `{` or a `;` at file scope declare.

use super::lex::{Kind, Token};

/// What a declaration declares, by positions in its tokens.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The word before the parameters, and the closing parenthesis.
    Function {
        name: usize,
        close: usize,
    },
    /// `struct`, `union` or `enum`, and its tag.
    Type {
        keyword: usize,
        tag: Option<usize>,
    },
    /// The word that is initialised, and the `=`.
    Object {
        name: usize,
        equals: usize,
    },
    Other,
}

/// Words before a parenthesis that are an attribute or a type, never the function's name.
const ATTRIBUTES: &[&[u8]] = &[
    b"__attribute__",
    b"__attribute",
    b"__aligned",
    b"__section",
    b"__printf",
    b"__scanf",
    b"__alloc_size",
    b"__assume_aligned",
    b"__cond_lock",
    b"__acquire",
    b"__release",
    b"__no_sanitize",
    b"__target",
    b"__copy",
    b"__alias",
    b"__nonnull",
    b"__declspec",
    b"__guarded_by",
    b"__counted_by",
    b"__diagnose_as",
    b"__asm__",
    b"asm",
    b"typeof",
    b"__typeof__",
    b"_Alignas",
    b"__typeof",
    b"__ref_of",
    b"__overloadable",
    b"__realloc_size",
    b"__cleanup",
    b"__designated_init",
    b"__page_aligned",
];

pub(super) fn is_attribute(word: &[u8]) -> bool {
    const STARTS: &[&[u8]] =
        &[b"__acquires", b"__releases", b"__must_hold", b"__cond_acquires", b"__requires", b"__excludes"];
    ATTRIBUTES.contains(&word) || STARTS.iter().any(|start| word.starts_with(start))
}

pub(super) fn is_type_word(word: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"void",
        b"int",
        b"long",
        b"short",
        b"char",
        b"unsigned",
        b"signed",
        b"bool",
        b"float",
        b"double",
        b"const",
        b"volatile",
    ];
    WORDS.contains(&word)
}

pub(super) fn shape(text: &[u8], head: &[Token]) -> Shape {
    let word = |at: usize| &text[head[at].start..head[at].end];
    if let Some(equals) = top_level(head, |t| t.is(b'=')) {
        let before = || head[..equals].iter().enumerate().rev();
        let mut depth = 0usize;
        for (at, token) in before() {
            match token.kind {
                Kind::Mark(b']' | b')') => depth += 1,
                Kind::Mark(b'[' | b'(') => depth = depth.saturating_sub(1),
                Kind::Word if depth == 0 && !word(at).starts_with(b"__") => return Shape::Object { name: at, equals },
                _ => {}
            }
        }
        // `static int (*hook)(void) = …`, or a name between attributes with two underscores.
        let named = before().find(|(_, t)| t.kind == Kind::Word);
        return named.map_or(Shape::Other, |(name, _)| Shape::Object { name, equals });
    }
    if let Some(shape) = function(text, head) {
        return shape;
    }
    let keyword = (0..head.len()).find(|&at| matches!(word(at), b"struct" | b"union" | b"enum"));
    keyword.map_or(Shape::Other, |keyword| {
        let is_tag = |at: &usize| head[*at].kind == Kind::Word && !is_mark(word(*at));
        let tag = ((keyword + 1)..head.len()).take_while(|&at| !head[at].is(b'(')).find(is_tag);
        Shape::Type { keyword, tag }
    })
}

/// `__packed`, `____cacheline_aligned_in_smp` and the like are neither tags of types nor names of members.
pub(super) fn is_mark(word: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"__packed",
        b"__rcu",
        b"__user",
        b"__percpu",
        b"__aligned_u64",
        b"__randomize_layout",
        b"randomized_struct_fields_start",
    ];
    is_attribute(word) || word.starts_with(b"____cacheline") || WORDS.contains(&word)
}

fn function(text: &[u8], head: &[Token]) -> Option<Shape> {
    let mut at = 0;
    while at < head.len() {
        if !head[at].is(b'(') {
            at += 1;
            continue;
        }
        let close = closing(head, at)?;
        let before = at.checked_sub(1).map(|b| &head[b]).filter(|t| t.kind == Kind::Word);
        let name = before.map(|t| &text[t.start..t.end]);
        match name {
            Some(name) if is_attribute(name) => at = close + 1,
            // `int (*handler(int number))(int)`: the name is inside.
            _ if head.get(at + 1).is_some_and(|t| t.is(b'*')) && head.get(close + 1).is_some_and(|t| t.is(b'(')) => {
                let inner = ((at + 1)..close).find(|&i| head[i].is(b'(') && head[i - 1].kind == Kind::Word)?;
                return Some(Shape::Function { name: inner - 1, close: closing(head, inner)? });
            }
            Some(name) if !is_type_word(name) => return Some(Shape::Function { name: at - 1, close }),
            // `int (name)(int)`: the parentheses prevent the expansion of a macro of that name.
            _ if close == at + 2
                && head[at + 1].kind == Kind::Word
                && head.get(close + 1).is_some_and(|t| t.is(b'(')) =>
            {
                return Some(Shape::Function { name: at + 1, close: closing(head, close + 1)? });
            }
            _ => at = close + 1,
        }
    }
    None
}

/// Where the parenthesis, bracket or brace at `open` closes.
pub(crate) fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Mark(b'(' | b'[' | b'{') => depth += 1,
            Kind::Mark(b')' | b']' | b'}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The first token outside of parentheses, brackets and braces that `is` one.
pub(super) fn top_level(tokens: &[Token], is: impl Fn(&Token) -> bool) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            _ if depth == 0 && is(token) => return Some(at),
            Kind::Mark(b'(' | b'[' | b'{') => depth += 1,
            Kind::Mark(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// `tokens` cut at each top-level `mark`.
pub(crate) fn parts(tokens: &[Token], mark: u8) -> Vec<&[Token]> {
    let (mut out, mut rest) = (Vec::new(), tokens);
    while let Some(at) = top_level(rest, |t| t.is(mark)) {
        out.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    if !rest.is_empty() {
        out.push(rest);
    }
    out
}
