//! Which functions call an operation. For calls through a member, the type of the object that the member belongs to
//! decides.

mod receivers;

use super::functions::Named;
use super::{Caller, File};
use crate::contract::object_start;
use crate::needs::declared::variables;
use crate::needs::side::Side;
use crate::source::head::parts;
use crate::source::{Entry, Function, Table, Type, assigned, taken};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// At most this many possible callers are listed.
const PERHAPS: usize = 12;

/// Where a function is assigned to a member.
#[derive(Clone, Copy)]
pub(super) enum Registration<'a> {
    Table(&'a File, &'a Table, &'a Entry),
    /// In a function: `ops->MEMBER = function;`.
    Code(&'a File, &'a Function, &'a str),
}

impl<'a> Registration<'a> {
    fn member(self) -> &'a str {
        match self {
            Self::Table(.., entry) => &entry.member,
            Self::Code(.., member) => member,
        }
    }

    fn file(self) -> &'a str {
        let (Self::Table(file, ..) | Self::Code(file, ..)) = self;
        &file.path
    }

    /// `table.member`, or `function().member`.
    pub(super) fn shown(self) -> String {
        match self {
            Self::Table(_, table, entry) => format!("{}.{}", table.name, entry.member),
            Self::Code(_, function, member) => format!("{}().{member}", function.name),
        }
    }
}

/// The callers of an operation.
#[derive(Default)]
pub(super) struct Found {
    /// They call through the type that the function is registered in.
    pub(super) surely: BTreeSet<Caller>,
    /// They call through an object of unknown type; only the first ones are kept.
    pub(super) perhaps: Vec<Caller>,
    /// How many more of these there are.
    pub(super) more: usize,
}

/// An index of a tree for finding these calls.
pub(super) struct Dispatches<'a> {
    files: &'a [File],
    functions: Vec<(&'a File, &'a Function)>,
    /// Numbers of functions, by the members that they call.
    calls: BTreeMap<&'a str, Vec<usize>>,
    types: Vec<(&'a File, &'a Type)>,
    /// Numbers of structs, by tag.
    structs: BTreeMap<&'a str, Vec<usize>>,
    registrations: Vec<Registration<'a>>,
    /// Numbers of registrations, by function and by table.
    registered: BTreeMap<&'a str, Vec<usize>>,
    tables: BTreeMap<&'a str, Vec<usize>>,
    /// The file-scope declarations of the file that was looked up last.
    margin: RefCell<(&'a str, Vec<(String, String)>)>,
}

/// A function's text, and the struct types of its variables.
struct Code<'a> {
    file: &'a File,
    side: Side<'a>,
    variables: Vec<(String, String)>,
}

impl<'a> Code<'a> {
    fn of(file: &'a File, function: &Function) -> Self {
        let text = &file.text[function.bytes.clone()];
        Self { file, side: Side::of(text), variables: variables(text) }
    }

    /// The expression before the member at `at`.
    fn object(&self, at: usize) -> Range<usize> {
        let mark = if self.side.is(at.checked_sub(1), b'.') { 1 } else { 2 };
        object_start(&self.side, at)..at - mark
    }

    /// How many arguments the call at `at` passes.
    fn passed(&self, at: usize) -> Option<usize> {
        let close = self.side.closing(at + 1)?;
        Some(parts(&self.side.tokens[at + 2..close], b',').len())
    }
}

impl<'a> Dispatches<'a> {
    pub(super) fn new(files: &'a [File], named: &Named<'a>) -> Self {
        let (functions, types, registrations) = Default::default();
        let (calls, structs, registered, tables) = Default::default();
        let margin = RefCell::default();
        let mut out = Self { files, functions, calls, types, structs, registrations, registered, tables, margin };
        for file in files {
            for function in &file.unit.functions {
                let number = out.functions.len();
                for call in function.calls.iter().filter(|call| call.is_member) {
                    out.calls.entry(&call.name).or_default().push(number);
                }
                out.functions.push((file, function));
                let assigned = assigned(&file.text[function.bytes.clone()]);
                for (member, value) in assigned.filter(|(_, value)| named.contains_key(value)) {
                    out.register(value, Registration::Code(file, function, member));
                }
            }
            for table in &file.unit.tables {
                if !table.entries.is_empty() {
                    out.tables.entry(&table.name).or_default().push(out.registrations.len());
                }
                for entry in &table.entries {
                    let value = entry.value.trim_start_matches('&');
                    out.register(value, Registration::Table(file, table, entry));
                }
            }
            for found in file.unit.types.iter().filter(|found| found.keyword == "struct") {
                out.structs.entry(&found.name).or_default().push(out.types.len());
                out.types.push((file, found));
            }
        }
        out
    }

    fn register(&mut self, function: &'a str, registration: Registration<'a>) {
        self.registered.entry(function).or_default().push(self.registrations.len());
        self.registrations.push(registration);
    }

    /// Where this function is registered. Other functions of the same name are registered in their own files.
    pub(super) fn registered(&self, named: &Named<'a>, file: &File, function: &Function) -> Vec<Registration<'a>> {
        let is_local = file.path.ends_with(".c") && function.signature.split(' ').any(|word| word == "static");
        let others = named.get(function.name.as_str()).map_or(&[][..], Vec::as_slice);
        let is_of = |registration: &&Registration<'a>| {
            let path = registration.file();
            path == file.path || !is_local && others.iter().all(|(other, _)| other.path != path)
        };
        let all = self.registered.get(function.name.as_str()).into_iter().flatten();
        all.map(|number| &self.registrations[*number]).filter(is_of).copied().collect()
    }

    /// Who calls the function through a member that it is registered as.
    pub(super) fn of(&self, named: &Named<'a>, file: &File, function: &Function) -> Found {
        let mut out = Found::default();
        let mut perhaps = BTreeSet::new();
        let name = function.name.as_str();
        let takes = taken(&function.signature, name);
        for registration in self.registered(named, file, function) {
            let (member, of) = (registration.member(), self.registered_in(named, registration, name));
            for number in self.calls.get(member).into_iter().flatten() {
                let (file, function) = self.functions[*number];
                let caller = Caller { function: function.name.clone(), file: file.path.clone(), is_outside: false };
                match self.calls_it(named, &Code::of(file, function), member, of.as_deref(), takes) {
                    Some(true) => _ = out.surely.insert(caller),
                    Some(false) => _ = perhaps.insert(caller),
                    None => {}
                }
            }
        }
        perhaps.retain(|caller| !out.surely.contains(caller));
        out.more = perhaps.len().saturating_sub(PERHAPS);
        out.perhaps.extend(perhaps.into_iter().take(PERHAPS));
        out
    }

    /// The struct that a function is registered in.
    fn registered_in(&self, named: &Named<'a>, registration: Registration<'a>, name: &str) -> Option<String> {
        match registration {
            Registration::Table(_, table, _) if table.of.is_empty() => {
                let by = table.name.split('(').next();
                let mut macros = self.files.iter().flat_map(|file| &file.unit.macros);
                let body = &macros.find(|found| Some(&*found.name) == by)?.text;
                variables(body.as_bytes()).into_iter().next().map(|(_, of)| of)
            }
            // `of` is the last word of the type; the name of a typedef is not a struct's tag.
            Registration::Table(_, table, _) => Some(&table.of).filter(|of| !of.ends_with("_t")).cloned(),
            Registration::Code(file, function, member) => {
                let code = Code::of(file, function);
                let side = &code.side;
                let is_put = |at: &usize| {
                    let value = if side.is(Some(at + 2), b'&') { at + 3 } else { at + 2 };
                    side.is(Some(at + 1), b'=') && side.word(*at) == Some(member) && side.word(value) == Some(name)
                };
                let at = (0..side.tokens.len()).find(|at| side.is_member(*at) && is_put(at))?;
                self.of_expression(named, &code, code.object(at), 0)
            }
        }
    }

    /// Whether a function calls this member of such a struct: `true` for sure, `false` perhaps; `None` if it only calls
    /// members of other structs.
    fn calls_it(
        &self,
        named: &Named<'a>,
        code: &Code<'a>,
        member: &str,
        of: Option<&str>,
        takes: Option<usize>,
    ) -> Option<bool> {
        let side = &code.side;
        let mut found = None;
        for at in 0..side.tokens.len() {
            if !(side.is(Some(at + 1), b'(') && side.word(at) == Some(member) && side.is_member(at)) {
                continue;
            }
            let object = code.object(at);
            let through = self.of_expression(named, code, object.clone(), 0);
            let through = through.as_deref().or_else(|| {
                object.end.checked_sub(1).and_then(|at| side.word(at)).filter(|w| is_distinctive(w) && of == Some(w))
            });
            if through.is_some() && through == of {
                return Some(true);
            }
            let is_open = through.is_none() || of.is_none();
            if is_open && takes.zip(code.passed(at)).is_none_or(|(takes, passed)| takes == passed) {
                found = Some(false);
            }
        }
        found
    }
}

/// Whether the name of a variable or member says which struct it is of: `p->sched_class`.
fn is_distinctive(name: &str) -> bool {
    name.trim_matches('_').contains('_')
}
