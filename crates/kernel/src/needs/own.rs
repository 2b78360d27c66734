//! The file that a hunk changes, and what is visible to the hunk's lines in it.

use super::declared::variables;
use super::headers::{Body, Headers, body};
use super::uses::Added;
use crate::port::Read;
use crate::series::{Hunk, Line};
use crate::source::{Function, scan};

/// A file of the tree.
pub(super) struct Own<'a> {
    pub(super) path: String,
    text: &'a [u8],
    lines: Vec<&'a [u8]>,
    functions: Vec<Function>,
    /// All its names, and those outside of functions.
    pub(super) all: Headers,
    outside: Headers,
}

/// What is visible to the lines of one hunk.
pub(super) struct Scope {
    names: Option<Headers>,
    /// Each variable with its struct; a variable with two structs is ambiguous.
    types: Vec<(String, String)>,
}

impl<'a> Own<'a> {
    pub(super) fn new(path: &str, text: &'a [u8]) -> Self {
        let lines = crate::split(text);
        let functions = scan(text).functions;
        let mut is_inside = vec![false; lines.len() + 1];
        for function in &functions {
            is_inside[function.line.min(lines.len())..function.last_line.min(lines.len())].fill(true);
        }
        // A directive inside a body is visible everywhere below it.
        let is_kept = |(at, line): &(usize, &&[u8])| !is_inside[*at] || line.trim_ascii_start().starts_with(b"#");
        let outside: Vec<&[u8]> = lines.iter().enumerate().filter(is_kept).map(|(_, line)| *line).collect();
        let (all, outside) = (Headers::read(path, text), Headers::read(path, &outside.concat()));
        Self { path: path.to_owned(), text, lines, functions, all, outside }
    }

    /// The scope of a hunk in this function, including the other hunks of the patch that change it. If there is not
    /// exactly one function, only what added lines declare has a type.
    pub(super) fn scope(&self, function: Option<&str>, parts: &[&Added]) -> Scope {
        let named = self.functions.iter().filter(|f| Some(&*f.name) == function);
        let bodies: Vec<Vec<u8>> =
            named.map(|f| self.lines[f.first_line - 1..f.last_line.min(self.lines.len())].concat()).collect();
        let types = bodies.iter().flat_map(|body| variables(body)).chain(parts.iter().flat_map(|p| p.types.clone()));
        let names = (!bodies.is_empty()).then(|| Headers::read(&self.path, &bodies.concat()));
        Scope { names, types: types.collect() }
    }

    /// How many of a hunk's added lines are nowhere in the file, and how many there are; lines of punctuation only do
    /// not count.
    pub(super) fn lacks(&self, hunk: &Hunk) -> [usize; 2] {
        let is_code = |text: &[u8]| text.iter().any(u8::is_ascii_alphanumeric);
        let added = hunk.lines.iter().filter(|line| matches!(line, Line::Added(text) if is_code(text)));
        let is_there = |line: &Line| self.lines.iter().any(|own| own.trim_ascii() == line.text().trim_ascii());
        added.fold([0; 2], |[gone, all], line| [gone + usize::from(!is_there(line)), all + 1])
    }

    /// Whether a name is visible to the lines of the scope. If the scope is not a function of the file, all names of
    /// the file count.
    pub(super) fn sees(&self, name: &str, scope: &Scope) -> bool {
        match &scope.names {
            Some(names) => self.outside.has(name) || names.has(name),
            None => self.all.has(name),
        }
    }

    /// The struct that `a->b` is, found from the declaration of `a`, and its body. `None` if it is not known.
    pub(super) fn type_of<E>(
        &self,
        names: &[String],
        scope: &Scope,
        headers: &Headers,
        read: &mut Read<'_, E>,
    ) -> Result<Option<(String, Body)>, E> {
        let Some((first, rest)) = names.split_first() else { return Ok(None) };
        let mut found = scope.types.iter().filter(|(name, _)| name == first).map(|(_, of)| of);
        let of = if first == "current" { Some("task_struct".to_owned()) } else { found.next().cloned() };
        let Some(mut of) = of.filter(|of| found.all(|other| other == of)) else { return Ok(None) };
        let mut found = self.body(&of, headers, read)?;
        for name in rest {
            let types = found.iter().flat_map(|body| &body.types);
            let Some([_, next]) = types.rev().find(|[member, _]| member == name.as_bytes()) else { return Ok(None) };
            of = String::from_utf8_lossy(next).into_owned();
            found = self.body(&of, headers, read)?;
        }
        Ok(found.map(|body| (of, body)))
    }

    fn body<E>(&self, of: &str, headers: &Headers, read: &mut Read<'_, E>) -> Result<Option<Body>, E> {
        let mut out = Body::default();
        body(self.text, of, &mut out);
        for file in headers.files_of(of) {
            if let Some(text) = read(file)? {
                body(&text, of, &mut out);
            }
        }
        Ok((!out.words.is_empty()).then_some(out))
    }
}
