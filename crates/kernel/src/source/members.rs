//! The text between the braces of a type or an initialiser.

use super::conditions::Conditions;
use super::head::{closing, is_attribute, is_mark, parts, top_level};
use super::lex::{Kind, Token, is_keyword};
use super::scan::{File, directive};
use super::spell::{spell, word};
use super::{Entry, Member, Skipped};

/// Nesting depth of anonymous types that is read; the kernel has four levels. The limit protects the stack.
const DEEPEST: usize = 64;

/// Members of a struct or union, and what could not be read of them. `conditions` are those at its opening brace.
pub(super) fn of_struct(file: &File, body: &[Token], conditions: &mut Conditions) -> (Vec<Member>, Vec<Skipped>) {
    let (tokens, along) = Along::of(file, body, conditions);
    let mut members = Members { file, along, out: Vec::new(), skipped: Vec::new() };
    parts(&tokens, b';').into_iter().for_each(|part| members.declared(part, 0));
    (members.out, members.skipped)
}

/// Constants of an enum.
pub(super) fn of_enum(file: &File, body: &[Token], conditions: &mut Conditions) -> Vec<Member> {
    let (tokens, along) = Along::of(file, body, conditions);
    let constant = |part: &[Token]| {
        let name = part.first().filter(|t| t.kind == Kind::Word)?;
        Some(Member {
            name: word(file.text, name),
            text: spell(file.text, part.get(2..).unwrap_or_default()),
            line: file.line(name.start),
            condition: along.at(name),
        })
    };
    parts(&tokens, b',').into_iter().filter_map(constant).collect()
}

/// The conditions within a body: each with the byte from which it applies.
pub(super) struct Along(Vec<(usize, String)>);

impl Along {
    /// Also returns the body without directives and without the text under `#if 0`.
    pub(super) fn of(file: &File, body: &[Token], conditions: &mut Conditions) -> (Vec<Token>, Self) {
        let (mut tokens, mut from) = (Vec::with_capacity(body.len()), vec![(0, conditions.text())]);
        for token in body {
            if token.kind == Kind::Directive {
                let (name, rest) = directive(file.text, token);
                conditions.take(&name, &rest, 0, 0);
                from.push((token.end, conditions.text()));
            } else if !conditions.is_dead() {
                tokens.push(*token);
            }
        }
        (tokens, Self(from))
    }

    pub(super) fn at(&self, token: &Token) -> String {
        let after = self.0.partition_point(|(from, _)| *from <= token.start);
        self.0[..after].last().map_or_else(String::new, |(_, held)| held.clone())
    }
}

/// The members of a struct or union, collected.
struct Members<'a> {
    file: &'a File<'a>,
    along: Along,
    out: Vec<Member>,
    skipped: Vec<Skipped>,
}

impl Members<'_> {
    /// The members of one declaration: `int a, *b;`, or those of an anonymous struct or union.
    fn declared(&mut self, part: &[Token], depth: usize) {
        if let Some(grouped) = group(self.file, part) {
            return self.nested(&part[1], grouped, depth + 1);
        }
        let mut rest = part;
        if let Some(open) = top_level(part, |t| t.is(b'{'))
            && let Some(close) = closing(part, open)
        {
            rest = &part[close + 1..];
            let is_enum = part.first().is_some_and(|t| word(self.file.text, t) == "enum");
            if !is_enum && name_of(self.file, rest).is_none() {
                return self.nested(&part[open], &part[open + 1..close], depth + 1);
            }
        }
        let declarators = parts(rest, b',');
        for (at, declarator) in declarators.iter().enumerate() {
            let Some(name) = name_of(self.file, declarator) else { continue };
            let (line, condition) = (self.file.line(name.start), self.along.at(name));
            // In `int a, *b;` each member gets the type, so that a change of the other one is not a change of it.
            let of_type = part.iter().take_while(|t| t.kind == Kind::Word && t.start < first(&declarators, self.file));
            let text = match (declarators.len(), at) {
                (1, _) => spell(self.file.text, part),
                (_, 0) => spell(self.file.text, &part[..part.len() - rest.len() + declarator.len()]),
                _ => spell(self.file.text, of_type.chain(*declarator)),
            };
            self.out.push(Member { name: word(self.file.text, name), text, line, condition });
        }
    }

    /// The members of an anonymous type, from between its braces.
    fn nested(&mut self, open: &Token, body: &[Token], depth: usize) {
        if depth > DEEPEST {
            let (line, what) = (self.file.line(open.start), format!("types in one another, more than {DEEPEST} deep"));
            return self.skipped.push(Skipped { line, what });
        }
        parts(body, b';').into_iter().for_each(|inner| self.declared(inner, depth));
    }
}

/// The members in `struct_group(NAME, MEMBERS)` and its like (include/linux/stddef.h), which are members of the struct
/// around it as well.
fn group<'t>(file: &File, part: &'t [Token]) -> Option<&'t [Token]> {
    let [macro_name, open, ..] = part else { return None };
    let before_members = match &file.text[macro_name.start..macro_name.end] {
        b"struct_group" => 1,
        b"struct_group_attr" | b"struct_group_tagged" => 2,
        b"__struct_group" => 3,
        _ => return None,
    };
    let close = closing(part, 1).filter(|_| open.is(b'('))?;
    let mut members = &part[2..close];
    for _ in 0..before_members {
        let comma = top_level(members, |t| t.is(b','))?;
        members = &members[comma + 1..];
    }
    Some(members)
}

/// Where the first name of a declaration is.
fn first(declarators: &[&[Token]], file: &File) -> usize {
    declarators.first().and_then(|declarator| name_of(file, declarator)).map_or(0, |name| name.start)
}

/// The name that a declarator gives: `*next`, `bits : 3`, `list[4]`, `(*call)(int)`, `DECLARE_BITMAP(mask, 8)`.
fn name_of<'t>(file: &File, declarator: &'t [Token]) -> Option<&'t Token> {
    // Markers of the layout such as `__cacheline_group_begin(tx)` cannot be named by code.
    if declarator.first().is_some_and(|t| file.text[t.start..t.end].starts_with(b"__cacheline_group_")) {
        return None;
    }
    let end = top_level(declarator, |t| t.is(b':') || t.is(b'[')).unwrap_or(declarator.len());
    let declarator = &declarator[..end];
    if let Some(open) = top_level(declarator, |t| t.is(b'(')) {
        let close = closing(declarator, open)?;
        let before = open.checked_sub(1).map(|at| &declarator[at]).filter(|t| t.kind == Kind::Word);
        let is_mark = before.is_some_and(|t| is_attribute(&file.text[t.start..t.end]));
        if is_mark {
            return name_of(file, &declarator[..open - 1]);
        }
        let inside = &declarator[open + 1..close];
        let is_type_first = before.is_some_and(|t| file.text[t.start..t.end].ends_with(b"DECLARE_FLEX_ARRAY"))
            || top_level(inside, |t| t.is(b',')).is_some() && inside.first().is_some_and(|t| is_type(file, t));
        let mut names = inside.iter().filter(|t| t.kind == Kind::Word && !is_type(file, t));
        // `DECLARE_FLEX_ARRAY(struct entry, entries)`, `__bpf_md_ptr(struct sock *, sk)`; `(*const call)(int)`.
        return if is_type_first { names.next_back() } else { names.next() };
    }
    let is_name = |t: &&Token| t.kind == Kind::Word && !is_mark(&file.text[t.start..t.end]);
    declarator.iter().rev().find(is_name)
}

/// Whether the token is a word that begins a type.
fn is_type(file: &File, token: &Token) -> bool {
    is_keyword(&file.text[token.start..token.end])
}

/// `.member = value` entries of an initialiser. Elements in braces are numbered. `conditions` are those at its opening
/// brace.
pub(super) fn of_table(file: &File, body: &[Token], conditions: &mut Conditions) -> Vec<Entry> {
    let (tokens, along) = Along::of(file, body, conditions);
    let (mut out, mut element) = (Vec::new(), 0);
    for part in parts(&tokens, b',') {
        if part.first().is_some_and(|t| t.is(b'.')) {
            out.extend(entry(file, part, element, &along));
            continue;
        }
        // `{ .name = … }` and `[INDEX] = { .name = … }`.
        let Some(open) = top_level(part, |t| t.is(b'{')) else { continue };
        let Some(close) = closing(part, open) else { continue };
        let entries = parts(&part[open + 1..close], b',').into_iter();
        out.extend(entries.filter_map(|inner| entry(file, inner, element, &along)));
        element += 1;
    }
    out
}

fn entry(file: &File, part: &[Token], element: usize, along: &Along) -> Option<Entry> {
    let [dot, member, ..] = part else { return None };
    let equals = top_level(part, |t| t.is(b'='))?;
    (dot.is(b'.') && member.kind == Kind::Word).then(|| Entry {
        element,
        member: spell(file.text, &part[1..equals]),
        value: spell(file.text, &part[equals + 1..]),
        line: file.line(member.start),
        condition: along.at(member),
    })
}

#[cfg(test)]
mod tests {
    use crate::source::scan;

    #[test]
    fn members_in_a_group_are_the_structs() {
        let text = b"struct skb {\n\tint a;\n\tstruct_group(headers,\n\t/* private: */\n\t__u8 off[0];\n\t__u8 type:3;\n\
            #ifdef CONFIG_X\n\tint x, y;\n#endif\n\t); /* end headers */\n\tstruct_group_tagged(skb_list, list,\n\t\tstruct skb *next;\n\t);\n\
            \t__struct_group(tag, name, __packed,\n\t\tunion {\n\t\t\tint in;\n\t\t};\n\t);\n\
            \tunion {\n\t\tDECLARE_FLEX_ARRAY(struct entry, entries);\n\t};\n\
            \t__bpf_md_ptr(struct sock *, sk);\n\tint (*const call)(int a);\n\tDECLARE_BITMAP(mask, 8);\n\
            \t\t__cacheline_group_begin(tx);\n\tint z;\n\t__cacheline_group_end(tx);\n};\n";
        let unit = scan(text);
        let members = &unit.types[0].members;
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["a", "off", "type", "x", "y", "next", "in", "entries", "sk", "call", "mask", "z"]);
        assert!(members[3].condition.contains("CONFIG_X") && members[2].condition.is_empty(), "{members:?}");
    }
}
