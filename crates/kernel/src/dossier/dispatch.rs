//! Which functions call an operation: calls through a member, judged by the type of what the member is taken from.

use super::functions::Named;
use super::{Caller, File};
use crate::contract::object_start;
use crate::names::words;
use crate::needs::declared::variables;
use crate::needs::side::Side;
use crate::source::head::parts;
use crate::source::{Entry, Function, Table, Type, assigned, taken};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How many functions are named that call it perhaps.
const PERHAPS: usize = 12;

/// Members that are macros of other members are followed this deep; `sk_prot` is one, `skc_prot` of `__sk_common`.
const DEEPEST: usize = 4;

/// Where a function is put into a member.
#[derive(Clone, Copy)]
pub(super) enum Registration<'a> {
    Table(&'a File, &'a Table, &'a Entry),
    /// By a function, as `ops->MEMBER = function;`.
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

/// The functions that call an operation.
#[derive(Default)]
pub(super) struct Found {
    /// Through the type that it is registered in.
    pub(super) surely: BTreeSet<Caller>,
    /// Through what has no known type, the first of them.
    pub(super) perhaps: Vec<Caller>,
    /// How many more of these there are.
    pub(super) more: usize,
}

/// What a tree has for it.
pub(super) struct Dispatches<'a> {
    files: &'a [File],
    functions: Vec<(&'a File, &'a Function)>,
    /// Numbers of functions by the members that they call.
    calls: BTreeMap<&'a str, Vec<usize>>,
    types: Vec<(&'a File, &'a Type)>,
    /// Numbers of structs by tag.
    structs: BTreeMap<&'a str, Vec<usize>>,
    registrations: Vec<Registration<'a>>,
    /// Numbers of registrations by function.
    registered: BTreeMap<&'a str, Vec<usize>>,
}

/// Names of structs; none: not known.
type Types = Vec<String>;

/// A function's text, and the structs that its variables are declared as.
struct Code<'a> {
    side: Side<'a>,
    variables: Vec<(String, String)>,
}

impl<'a> Code<'a> {
    fn of(file: &'a File, function: &Function) -> Self {
        let text = &file.text[function.bytes.clone()];
        Self { side: Side::of(text), variables: variables(text) }
    }

    /// What the member at `at` is taken from.
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
        let (calls, structs, registered) = Default::default();
        let mut out = Self { files, functions, calls, types, structs, registrations, registered };
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

    /// Where this function is registered; others of its name are in files of their own.
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
                match self.calls_it(named, (file, function), member, &of, takes) {
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

    /// The types that a function is registered in.
    fn registered_in(&self, named: &Named<'a>, registration: Registration<'a>, name: &str) -> Types {
        match registration {
            Registration::Table(_, table, _) if table.of.is_empty() => {
                let by = table.name.split('(').next().unwrap_or_default();
                let macros = self.files.iter().flat_map(|file| &file.unit.macros);
                let body = macros.into_iter().find(|found| found.name == by).map_or("", |found| &found.text);
                let tag = body.split_once("struct ").map_or("", |(_, rest)| rest).split(|c: char| !is_word(c)).next();
                tag.filter(|tag| !tag.is_empty()).map(str::to_owned).into_iter().collect()
            }
            // The last word of its type: a typedef's name is none of a struct.
            Registration::Table(_, table, _) if table.of.ends_with("_t") => Vec::new(),
            Registration::Table(_, table, _) => vec![table.of.clone()],
            Registration::Code(file, function, member) => {
                let code = Code::of(file, function);
                let side = &code.side;
                let is_put = |at: &usize| {
                    let value = if side.is(Some(at + 2), b'&') { at + 3 } else { at + 2 };
                    side.is(Some(at + 1), b'=') && side.word(*at) == Some(member) && side.word(value) == Some(name)
                };
                let at = (0..side.tokens.len()).find(|at| side.is_member(*at) && is_put(at));
                at.map_or(Vec::new(), |at| self.of_expression(named, (file, &code), code.object(at), 0))
            }
        }
    }

    /// Whether a function calls this member of such a type: for sure, or perhaps; `None`: it is another one's.
    fn calls_it(
        &self,
        named: &Named<'a>,
        (file, function): (&'a File, &'a Function),
        member: &str,
        of: &Types,
        takes: Option<usize>,
    ) -> Option<bool> {
        let code = Code::of(file, function);
        let side = &code.side;
        let is_call = |at: &usize| side.is(Some(at + 1), b'(') && side.word(*at) == Some(member) && side.is_member(*at);
        let mut found = None;
        for at in (0..side.tokens.len()).filter(is_call) {
            let object = code.object(at);
            let mut through = self.of_expression(named, (file, &code), object.clone(), 0);
            if through.is_empty() {
                through.extend(side.word(object.end - 1).filter(|word| is_telling(word)).map(str::to_owned));
                through.retain(|word| of.contains(word));
            }
            let is_among = through.iter().any(|through| of.contains(through));
            if is_among && through.len() == 1 {
                return Some(true);
            }
            let is_open = is_among || through.is_empty() || of.is_empty();
            if is_open && takes.zip(code.passed(at)).is_none_or(|(takes, passed)| takes == passed) {
                found = Some(false);
            }
        }
        found
    }

    /// The type of `a->b[1].c` and its like.
    fn of_expression(
        &self,
        named: &Named<'a>,
        (file, code): (&File, &Code<'_>),
        range: Range<usize>,
        depth: usize,
    ) -> Types {
        let side = &code.side;
        let Some((mut at, mut types)) = self.of_first(named, (file, code), &range, depth) else { return Vec::new() };
        while at < range.end && !types.is_empty() {
            let name = match side.tokens[at].kind {
                _ if side.is(Some(at), b'[') => {
                    at = side.closing(at).map_or(usize::MAX, |close| close + 1);
                    continue;
                }
                _ if side.is(Some(at), b'.') => at + 1,
                _ if side.is(Some(at), b'-') && side.is(Some(at + 1), b'>') => at + 2,
                _ => return Vec::new(),
            };
            types = side.word(name).map_or(Vec::new(), |name| self.of_member(&types, name, 0));
            at = name + 1;
        }
        types
    }

    /// The type of what an expression begins with, and where that ends.
    fn of_first(
        &self,
        named: &Named<'a>,
        (file, code): (&File, &Code<'_>),
        range: &Range<usize>,
        depth: usize,
    ) -> Option<(usize, Types)> {
        /// Parentheses in one another.
        const DEEPEST: usize = 16;
        let side = &code.side;
        let is_mark = |at: &usize| side.is(Some(*at), b'*') || side.is(Some(*at), b'&');
        let at = range.clone().find(|at| !is_mark(at)).filter(|_| depth < DEEPEST)?;
        if side.is(Some(at), b'(') {
            if let Some(cast) = tag(side, at + 1) {
                return Some((range.end, vec![cast.to_owned()]));
            }
            let close = side.closing(at)?;
            return Some((close + 1, self.of_expression(named, (file, code), at + 1..close, depth + 1)));
        }
        let word = side.word(at)?;
        if !side.is(Some(at + 1), b'(') {
            let all = code.variables.iter().filter(|(variable, _)| variable == word).map(|(_, of)| of.clone());
            let mut types = Types::new();
            all.for_each(|of| {
                if !types.contains(&of) {
                    types.push(of)
                }
            });
            return Some((at + 1, if types.is_empty() { self.of_object(file, word) } else { types }));
        }
        let close = side.closing(at + 1)?;
        let inside = at + 2..close;
        let second = || inside.clone().find(|at| side.is(Some(*at), b',')).and_then(|comma| tag(side, comma + 1));
        let types = match word {
            "container_of" | "container_of_const" => second().map(str::to_owned).into_iter().collect(),
            "READ_ONCE" | "smp_load_acquire" | "this_cpu_ptr" | "raw_cpu_ptr" => {
                self.of_expression(named, (file, code), inside, depth + 1)
            }
            "per_cpu_ptr" => {
                let end = inside.clone().find(|at| side.is(Some(*at), b','))?;
                self.of_expression(named, (file, code), inside.start..end, depth + 1)
            }
            _ if word.starts_with("rcu_dereference") => {
                let end = inside.clone().find(|at| side.is(Some(*at), b',')).unwrap_or(inside.end);
                self.of_expression(named, (file, code), inside.start..end, depth + 1)
            }
            _ => returned(named, word),
        };
        Some((close + 1, types))
    }

    /// An object at file scope: a table, or what the file declares at its margin.
    fn of_object(&self, file: &File, name: &str) -> Types {
        let tables = self.files.iter().flat_map(|file| &file.unit.tables);
        if let Some(table) = tables.into_iter().find(|table| table.name == name && !table.of.is_empty()) {
            return Some(&table.of).filter(|of| !of.ends_with("_t")).cloned().into_iter().collect();
        }
        let is_it = |line: &&[u8]| {
            line.first().is_some_and(u8::is_ascii_alphabetic) && words(line).any(|word| word == name.as_bytes())
        };
        let declared = file.text.split(|byte| *byte == b'\n').filter(is_it).flat_map(variables);
        declared.filter(|(variable, _)| variable == name).map(|(_, of)| of).take(1).collect()
    }

    /// The structs that a member of one of these is, or points to; none if it is not known of one.
    fn of_member(&self, types: &Types, name: &str, depth: usize) -> Types {
        let mut out = Types::new();
        for of in types {
            let all: Vec<_> = self.structs.get(of.as_str()).into_iter().flatten().map(|at| self.types[*at]).collect();
            let members = || all.iter().flat_map(|(_, found)| &found.members).filter(|member| member.name == name);
            let declared = members().flat_map(|member| variables(member.text.as_bytes()));
            let mut found: Types = declared.filter(|(variable, _)| variable == name).map(|(_, of)| of).collect();
            if members().next().is_none() && depth < DEEPEST {
                let macros = all.iter().flat_map(|(file, _)| &file.unit.macros).find(|found| found.name == name);
                let path = macros.map_or("", |found| found.text.as_str());
                let is_path = !path.is_empty() && path.chars().all(|c| is_word(c) || c == '.');
                if is_path {
                    found = path.split('.').fold(vec![of.clone()], |of, part| self.of_member(&of, part, depth + 1));
                }
            }
            if found.is_empty() {
                return Vec::new();
            }
            found.into_iter().for_each(|of| {
                if !out.contains(&of) {
                    out.push(of)
                }
            });
        }
        out
    }
}

/// The struct that a function returns a pointer to.
fn returned(named: &Named<'_>, name: &str) -> Types {
    let mut out = Types::new();
    for (_, function) in named.get(name).into_iter().flatten().filter(|(_, function)| function.by.is_none()) {
        let found = variables(function.signature.as_bytes()).into_iter().find(|(variable, _)| variable == name);
        let Some((_, of)) = found else { return Vec::new() };
        if !out.contains(&of) {
            out.push(of);
        }
    }
    out
}

/// The tag of `struct TAG` or `const struct TAG` that stands there.
fn tag<'s>(side: &'s Side<'_>, at: usize) -> Option<&'s str> {
    let at = if side.word(at) == Some("const") { at + 1 } else { at };
    side.word(at + 1).filter(|_| side.word(at) == Some("struct"))
}

/// Whether the name of a variable or member tells its type, if that is a struct's name: `p->sched_class`.
fn is_telling(name: &str) -> bool {
    name.trim_matches('_').contains('_')
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
