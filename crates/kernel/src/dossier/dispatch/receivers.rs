//! The struct type of an expression, followed through declarations without preprocessing.

use super::super::File;
use super::super::functions::Named;
use super::{Code, Dispatches, Registration};
use crate::needs::declared::variables;
use crate::needs::side::Side;
use crate::source::Type;
use std::ops::Range;

/// How deep members that are macros for other members are followed; `sk_prot` is one, for `skc_prot` of `__sk_common`.
const DEEPEST: usize = 4;

impl<'a> Dispatches<'a> {
    /// The struct that an expression like `a->b[1].c` is, or points to; `None` if it is not known.
    pub(super) fn of_expression(
        &self,
        named: &Named<'a>,
        code: &Code<'a>,
        range: Range<usize>,
        depth: usize,
    ) -> Option<String> {
        let side = &code.side;
        let (mut at, mut of) = self.of_first(named, code, &range, depth)?;
        while at < range.end {
            if side.is(Some(at), b'[') {
                at = side.closing(at)? + 1;
                continue;
            }
            at += if side.is(Some(at), b'.') { 1 } else { 2 };
            of = self.of_member(&of, side.word(at).filter(|_| side.is_member(at))?, 0)?;
            at += 1;
        }
        Some(of)
    }

    /// The struct of the first part of an expression, and where that part ends.
    fn of_first(
        &self,
        named: &Named<'a>,
        code: &Code<'a>,
        range: &Range<usize>,
        depth: usize,
    ) -> Option<(usize, String)> {
        /// Nested parentheses.
        const DEEPEST: usize = 16;
        let side = &code.side;
        let is_mark = |at: &usize| side.is(Some(*at), b'*') || side.is(Some(*at), b'&');
        let at = range.clone().find(|at| !is_mark(at)).filter(|_| depth < DEEPEST)?;
        let open = if side.is(Some(at), b'(') { at } else { at + 1 };
        if open >= range.end || !side.is(Some(open), b'(') {
            let word = side.word(at)?;
            let is_declared = code.variables.iter().any(|(variable, _)| variable == word);
            let of = if is_declared { one(&code.variables, word) } else { self.of_object(code.file, word) };
            return Some((at + 1, of?));
        }
        if open == at
            && let Some(cast) = tag(side, at + 1)
        {
            return Some((range.end, cast.to_owned()));
        }
        let close = side.closing(open)?;
        let comma = (open..close).find(|at| side.is(Some(*at), b','));
        let word = if open == at { "" } else { side.word(at)? };
        let of = match word {
            "container_of" | "container_of_const" => tag(side, comma? + 1).map(str::to_owned),
            ""
            | "READ_ONCE"
            | "smp_load_acquire"
            | "this_cpu_ptr"
            | "raw_cpu_ptr"
            | "per_cpu_ptr"
            | "rcu_dereference"
            | "rcu_dereference_protected"
            | "rcu_dereference_check"
            | "rcu_dereference_raw" => self.of_expression(named, code, open + 1..comma.unwrap_or(close), depth + 1),
            _ => {
                let functions = named.get(word)?.iter().filter(|(_, function)| function.by.is_none());
                let returned = functions.flat_map(|(_, function)| variables(function.signature.as_bytes()));
                one(&returned.collect::<Vec<_>>(), word)
            }
        };
        Some((close + 1, of?))
    }

    /// An object at file scope: a table of the file, a declaration of the file, or a table of another file.
    fn of_object(&self, file: &'a File, name: &str) -> Option<String> {
        let mut others = Vec::new();
        for number in self.tables.get(name).into_iter().flatten() {
            let Registration::Table(other, table, _) = self.registrations[*number] else { continue };
            // `of` is the last word of the type; the name of a typedef is not a struct's tag.
            let of = if table.of.ends_with("_t") { "" } else { &table.of };
            if other.path == file.path {
                return Some(of.to_owned()).filter(|of| !of.is_empty());
            }
            others.push((name.to_owned(), of.to_owned()));
        }
        let mut margin = self.margin.borrow_mut();
        if margin.0 != file.path {
            *margin = (&file.path, at_margin(&file.text));
        }
        one(&margin.1, name).or_else(|| one(&others, name).filter(|of| !of.is_empty()))
    }

    /// The struct that a member is, or points to.
    fn of_member(&self, of: &str, name: &str, depth: usize) -> Option<String> {
        let all = || self.structs.get(of).into_iter().flatten().map(|at| self.types[*at]);
        let mut declared = Vec::new();
        for (_, found) in all() {
            for member in found.members.iter().filter(|member| member.name == name) {
                declared.extend(variables(member.text.as_bytes()));
            }
        }
        let is_member = |(_, found): (&File, &Type)| found.members.iter().any(|member| member.name == name);
        if depth >= DEEPEST || all().any(is_member) {
            return one(&declared, name);
        }
        let mut macros = all().flat_map(|(file, _)| &file.unit.macros);
        let path = &macros.find(|found| found.name == name)?.text;
        let mut of = of.to_owned();
        for part in path.split('.') {
            of = self.of_member(&of, part, depth + 1)?;
        }
        Some(of)
    }
}

/// The variables declared on lines that begin in column 0, up to their value or to the parameters of a function.
fn at_margin(text: &[u8]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| line.first().is_some_and(u8::is_ascii_alphabetic)) {
        let end = line.iter().position(|byte| matches!(byte, b'(' | b'=' | b'{')).unwrap_or(line.len());
        if line[..end].windows(6).any(|word| word == b"struct") {
            out.extend(variables(&line[..end]));
        }
    }
    out
}

/// The struct type of the variables of this name, if all have the same.
fn one(variables: &[(String, String)], name: &str) -> Option<String> {
    let mut all = variables.iter().filter(|(variable, _)| variable == name);
    let (_, of) = all.next()?;
    all.all(|(_, other)| other == of).then(|| of.clone())
}

/// The tag of `struct TAG` or `const struct TAG` at this token.
fn tag<'s>(side: &'s Side<'_>, at: usize) -> Option<&'s str> {
    let at = if side.word(at) == Some("const") { at + 1 } else { at };
    side.word(at + 1).filter(|_| side.word(at) == Some("struct"))
}
