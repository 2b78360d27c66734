//! What the headers of a tree contain: all names in their code, as hashes, and where types are defined.

use crate::names::{Names, words};
use crate::source::lex::{Kind, Token, lex};

/// What was found in a set of files.
#[derive(Debug, Default)]
pub struct Headers {
    words: Names,
    /// Names of `#define`s: `sk_state` is one, not a member.
    macros: Names,
    /// Fragments that macros join with `##` to their arguments: those before the argument, and those after it.
    before: Names,
    after: Names,
    /// Names of structs and unions, with each file that defines their members.
    types: Names,
    files: Vec<String>,
}

impl Headers {
    /// Reads one file; the results for all files that the compiler could see are joined.
    pub fn read(path: &str, text: &[u8]) -> Self {
        let mut out = Self { files: vec![path.to_owned()], ..Self::default() };
        let tokens = lex(text, 0..text.len(), true);
        for (at, token) in tokens.iter().enumerate() {
            let inside = &text[token.start..token.end];
            match token.kind {
                Kind::Word => out.words.add(inside, 0),
                Kind::Directive => out.directive(inside),
                Kind::Mark(b'{') => {
                    if let Some(name) = type_before(text, &tokens[..at]) {
                        out.types.add(name, 0);
                    }
                }
                _ => {}
            }
        }
        out.seal();
        out
    }

    fn directive(&mut self, text: &[u8]) {
        words(text).for_each(|word| self.words.add(word, 0));
        let mut rest = text;
        let mut all = words(text);
        let name = all.next().filter(|word| *word == b"define").and(all.next());
        name.into_iter().for_each(|name| self.macros.add(name, 0));
        let parameters = name.map(|name| parameters(text, name)).unwrap_or_default();
        let mut joined = |word: &[u8], is_before: bool| {
            if !word.is_empty() && !parameters.contains(&word) {
                if is_before { &mut self.before } else { &mut self.after }.add(word, 0);
            }
        };
        while let Some(at) = rest.windows(2).position(|pair| pair == b"##") {
            let (before, after) = (rest[..at].trim_ascii_end(), rest[at + 2..].trim_ascii_start());
            let from = before.iter().rposition(|byte| !is_word(byte)).map_or(0, |at| at + 1);
            let to = after.iter().position(|byte| !is_word(byte)).unwrap_or(after.len());
            joined(&before[from..], true);
            joined(&after[..to], false);
            rest = &rest[at + 2..];
        }
    }

    /// Adds the results of other files.
    pub fn join(&mut self, other: Self) {
        let names = [&mut self.words, &mut self.macros, &mut self.before, &mut self.after];
        for (names, others) in names.into_iter().zip([&other.words, &other.macros, &other.before, &other.after]) {
            names.join(others, 0);
        }
        self.types.join(&other.types, self.files.len());
        self.files.extend(other.files);
    }

    /// Sorts the joined results; required before looking anything up.
    pub fn seal(&mut self) {
        let names = [&mut self.words, &mut self.macros, &mut self.before, &mut self.after, &mut self.types];
        names.into_iter().for_each(Names::seal);
    }

    /// Whether the name occurs in their code.
    pub(super) fn has(&self, name: &str) -> bool {
        self.words.has(name.as_bytes())
    }

    /// Whether one of their macros can build this name with `##` from a name that they contain or that `is_known`.
    pub(super) fn make(&self, name: &str, is_known: impl Fn(&str) -> bool) -> bool {
        let name = name.as_bytes();
        let is_known = |rest: &[u8]| std::str::from_utf8(rest).is_ok_and(&is_known);
        let is_there = |rest: &[u8]| rest.len() > 1 && (self.words.has(rest) || is_known(rest));
        let ends = |rest: &[u8]| (1..rest.len()).any(|at| self.after.has(&rest[at..]) && is_there(&rest[..at]));
        let begins = |at: usize| self.before.has(&name[..at]) && (is_there(&name[at..]) || ends(&name[at..]));
        (1..name.len()).any(begins) || ends(name)
    }

    pub(super) fn has_macro(&self, name: &str) -> bool {
        self.macros.has(name.as_bytes())
    }

    /// The files with the members of a struct or union of this name.
    pub(super) fn files_of(&self, of: &str) -> impl Iterator<Item = &str> {
        self.types.files(of.as_bytes()).map(|file| self.files[file].as_str())
    }
}

fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

/// The parameters of `#define NAME(a, b) …`, which stand for arguments in its body.
fn parameters<'a>(text: &'a [u8], name: &[u8]) -> Vec<&'a [u8]> {
    let after = text.windows(name.len()).position(|part| part == name).map_or(text.len(), |at| at + name.len());
    match text[after..].strip_prefix(b"(") {
        Some(rest) => words(rest.split(|&byte| byte == b')').next().unwrap_or_default()).collect(),
        None => Vec::new(),
    }
}

/// The name of the struct or union whose `{` comes next; attributes may come between.
fn type_before<'a>(text: &'a [u8], tokens: &[Token]) -> Option<&'a [u8]> {
    let word = |token: &Token| &text[token.start..token.end];
    let mut name = None;
    for token in tokens.iter().rev().take(8) {
        match token.kind {
            Kind::Word if matches!(word(token), b"struct" | b"union") => return name,
            Kind::Word => name = Some(word(token)),
            Kind::Mark(b'(' | b')') => {}
            _ => return None,
        }
    }
    None
}

/// The body of a struct: all words in it, and the type of each member that is a struct.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) words: Vec<Vec<u8>>,
    /// Member and type.
    pub(super) types: Vec<[Vec<u8>; 2]>,
}

/// All bodies of a struct of this name in a text, merged: they may be in different branches of an `#if`.
pub(super) fn body(text: &[u8], name: &str, out: &mut Body) {
    let tokens = lex(text, 0..text.len(), true);
    let word = |token: &Token| &text[token.start..token.end];
    let opens: Vec<usize> = (0..tokens.len())
        .filter(|&at| tokens[at].is(b'{') && type_before(text, &tokens[..at]) == Some(name.as_bytes()))
        .collect();
    for open in opens {
        let mut depth = 0usize;
        for (at, token) in tokens.iter().enumerate().skip(open) {
            match token.kind {
                Kind::Mark(b'{') => depth += 1,
                Kind::Mark(b'}') if depth == 1 => break,
                Kind::Mark(b'}') => depth -= 1,
                Kind::Word => {
                    out.words.push(word(token).to_vec());
                    if at >= 1 && matches!(word(&tokens[at - 1]), b"struct" | b"union") {
                        let member = tokens[at + 1..].iter().find(|next| next.kind == Kind::Word);
                        let member = member.filter(|next| !matches!(word(next), b"__rcu" | b"__percpu" | b"__user"));
                        out.types.extend(member.map(|member| [member, token].map(|token| word(token).to_vec())));
                    }
                }
                // A macro may define members: its expansion is not looked at.
                _ => {}
            }
        }
    }
}
