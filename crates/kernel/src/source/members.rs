//! The text between the braces of a type or an initialiser.

use super::conditions::Conditions;
use super::head::{closing, is_attribute, parts, top_level};
use super::lex::{Kind, Token};
use super::scan::{File, directive};
use super::spell::{spell, word};
use super::{Entry, Member};

/// Members of a struct or union. `conditions` are those at its opening brace.
pub(super) fn of_struct(file: &File, body: &[Token], conditions: &mut Conditions) -> Vec<Member> {
    let mut out = Vec::new();
    each(file, body, b';', conditions, |part, condition| declared(file, part, condition, &mut out));
    out
}

/// Constants of an enum.
pub(super) fn of_enum(file: &File, body: &[Token], conditions: &mut Conditions) -> Vec<Member> {
    let mut out = Vec::new();
    each(file, body, b',', conditions, |part, condition| {
        if let Some(first) = part.first().filter(|t| t.kind == Kind::Word) {
            out.push(Member {
                name: word(file.text, first),
                text: spell(file.text, part.get(2..).unwrap_or_default()),
                line: file.line(first.start),
                condition: condition.to_owned(),
            });
        }
    });
    out
}

/// Calls `take` with each part of `body` up to a top-level `end`, without directives, and the conditions at its start.
fn each(file: &File, body: &[Token], end: u8, conditions: &mut Conditions, mut take: impl FnMut(&[Token], &str)) {
    let (mut part, mut depth, mut held): (Vec<Token>, usize, String) = (Vec::new(), 0, String::new());
    for token in body {
        match token.kind {
            Kind::Directive => {
                let (name, rest) = directive(file.text, token);
                conditions.take(&name, &rest, 0, 0);
                continue;
            }
            Kind::Mark(b'(' | b'[' | b'{') => depth += 1,
            Kind::Mark(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            Kind::Mark(mark) if mark == end && depth == 0 => {
                take(&part, &held);
                part.clear();
                continue;
            }
            _ => {}
        }
        if part.is_empty() {
            held = conditions.text();
        }
        part.push(*token);
    }
    take(&part, &held);
}

/// The members that one declaration makes: `int a, *b;`, or those of a struct or union without a name as well.
fn declared(file: &File, part: &[Token], condition: &str, out: &mut Vec<Member>) {
    let mut rest = part;
    if let Some(open) = top_level(part, |t| t.is(b'{'))
        && let Some(close) = closing(part, open)
    {
        rest = &part[close + 1..];
        let is_enum = part.first().is_some_and(|t| word(file.text, t) == "enum");
        if !is_enum && name_of(file, rest).is_none() {
            for inner in parts(&part[open + 1..close], b';') {
                declared(file, inner, condition, out);
            }
            return;
        }
    }
    let declarators = parts(rest, b',');
    let shown = spell(file.text, part);
    for declarator in declarators {
        let Some(name) = name_of(file, declarator) else { continue };
        let (line, condition) = (file.line(name.start), condition.to_owned());
        out.push(Member { name: word(file.text, name), text: shown.clone(), line, condition });
    }
}

/// The name that a declarator gives: `*next`, `bits : 3`, `list[4]`, `(*call)(int)`, `DECLARE_BITMAP(mask, 8)`.
fn name_of<'t>(file: &File, declarator: &'t [Token]) -> Option<&'t Token> {
    let end = top_level(declarator, |t| t.is(b':') || t.is(b'[')).unwrap_or(declarator.len());
    let declarator = &declarator[..end];
    if let Some(open) = top_level(declarator, |t| t.is(b'(')) {
        let close = closing(declarator, open)?;
        let before = open.checked_sub(1).map(|at| &declarator[at]).filter(|t| t.kind == Kind::Word);
        let is_mark = before.is_some_and(|t| is_attribute(&file.text[t.start..t.end]));
        if is_mark {
            return name_of(file, &declarator[..open - 1]);
        }
        return declarator[open + 1..close].iter().find(|t| t.kind == Kind::Word);
    }
    let is_name = |t: &&Token| t.kind == Kind::Word && !is_mark(&file.text[t.start..t.end]);
    declarator.iter().rev().find(is_name)
}

/// `__rcu`, `____cacheline_aligned_in_smp` and the like are no names of members.
fn is_mark(word: &[u8]) -> bool {
    is_attribute(word)
        || word.starts_with(b"____cacheline")
        || matches!(word, b"__packed" | b"__rcu" | b"__user" | b"__percpu" | b"__aligned_u64" | b"__randomize_layout")
}

/// `.member = value` of an initialiser, `first` the number of its first element. Elements in braces are numbered.
pub(super) fn of_table(file: &File, body: &[Token]) -> Vec<Entry> {
    let mut out = Vec::new();
    let body: Vec<Token> = body.iter().copied().filter(|t| t.kind != Kind::Directive).collect();
    let mut element = 0;
    for part in parts(&body, b',') {
        if part.first().is_some_and(|t| t.is(b'.')) {
            entry(file, part, element, &mut out);
            continue;
        }
        // `{ .name = … }` and `[INDEX] = { .name = … }`.
        let Some(open) = top_level(part, |t| t.is(b'{')) else { continue };
        let Some(close) = closing(part, open) else { continue };
        for inner in parts(&part[open + 1..close], b',') {
            entry(file, inner, element, &mut out);
        }
        element += 1;
    }
    out
}

fn entry(file: &File, part: &[Token], element: usize, out: &mut Vec<Entry>) {
    let [dot, member, ..] = part else { return };
    let Some(equals) = top_level(part, |t| t.is(b'=')) else { return };
    if dot.is(b'.') && member.kind == Kind::Word {
        out.push(Entry {
            element,
            member: spell(file.text, &part[1..equals]),
            value: spell(file.text, &part[equals + 1..]),
            line: file.line(member.start),
        });
    }
}
