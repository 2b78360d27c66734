//! Callers outside of the paths, and calls that no longer match the function that they call.

use super::functions::FunctionChange;
use super::{File, SourceLine};
use crate::source::{Function, passed, taken};
use serde::Serialize;
use std::io::BufRead;

/// Names of functions that other files may call: those whose signature changed, that are new, or that are gone.
#[derive(Debug)]
pub struct Wanted {
    /// Sorted.
    names: Vec<String>,
    /// By the last byte of a name, a bit for each length: rules out most words of a text quickly.
    lengths: [u64; 256],
}

impl Wanted {
    fn new(mut names: Vec<String>) -> Self {
        names.retain(|name| !name.is_empty());
        names.sort();
        names.dedup();
        let mut lengths = [0; 256];
        for name in &names {
            lengths[usize::from(name.as_bytes()[name.len() - 1])] |= 1 << name.len().min(63);
        }
        Self { names, lengths }
    }

    /// The names, sorted.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether one of the names is followed by a parenthesis in the text: a call, or something that looks like one.
    pub fn is_in(&self, text: &[u8]) -> bool {
        let mut rest = text;
        // `skip_until` searches for the byte with the C library's `memchr`, because a tree has about a GB.
        while rest.skip_until(b'(').is_ok_and(|skipped| skipped > 0) {
            let end = text.len() - rest.len();
            if text[end - 1] == b'(' && self.ends(text[..end - 1].trim_ascii_end()) {
                return true;
            }
        }
        false
    }

    /// Whether the text ends with one of the names.
    fn ends(&self, text: &[u8]) -> bool {
        let lengths = text.last().map_or(0, |last| self.lengths[usize::from(*last)]);
        if lengths == 0 {
            return false;
        }
        let length = text.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        lengths & 1 << length.min(63) != 0 && self.number(&text[text.len() - length..]).is_some()
    }

    fn number(&self, word: &[u8]) -> Option<usize> {
        let lengths = self.lengths[usize::from(*word.last()?)];
        let found = self.names.binary_search_by(|name| name.as_bytes().cmp(word));
        found.ok().filter(|_| lengths & 1 << word.len().min(63) != 0)
    }
}

/// A function outside of the paths that calls one that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutsideCaller {
    /// What it calls.
    pub function: String,
    /// Its name.
    pub caller: String,
    /// Its first call there; in the first tree if what it calls is gone.
    pub place: SourceLine,
}

/// A call of the second tree that fitted what it calls in the first one, and does not fit it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotAdapted {
    /// What it calls.
    pub function: String,
    /// The function that the call is in.
    pub caller: String,
    /// Where.
    pub place: SourceLine,
    /// How many arguments it passes.
    pub passed: usize,
    /// How many are taken now; none if the function is gone, and no file read defines it.
    pub taken: Option<usize>,
    /// The caller is outside of the paths.
    pub is_outside: bool,
}

/// The names that are searched for in each tree.
pub(super) fn wanted(changes: &[FunctionChange]) -> [Wanted; 2] {
    let gone: Vec<String> = changes.iter().filter_map(|change| change.gone().map(str::to_owned)).collect();
    // A removed function may still be called.
    let new = changes.iter().filter_map(|change| change.seen().map(str::to_owned)).chain(gone.iter().cloned());
    let new = new.collect();
    [gone, new].map(Wanted::new)
}

/// A call by name, or a definition.
struct Found<'a> {
    file: &'a File,
    function: &'a Function,
    is_outside: bool,
}

/// The places of one name in a tree.
#[derive(Default)]
struct Named<'a> {
    calls: Vec<Found<'a>>,
    defined: Vec<Found<'a>>,
    /// Files that have a macro of that name.
    macros: Vec<&'a str>,
}

impl<'a> Named<'a> {
    /// Whether a call goes to the function at `path`: neither the caller's own file nor a nearer one defines another.
    fn is_of(&self, call: &Found<'_>, path: &str) -> bool {
        let from = call.file.path.as_str();
        let near = |to: &str| from.split('/').zip(to.split('/')).take_while(|(a, b)| a == b).count();
        let is_other = |found: &Found<'_>| {
            let to = found.file.path.as_str();
            // A function in include/ can be called from everywhere.
            let is_nearer = || found.is_seen() && !to.starts_with("include/") && near(to) > near(path);
            to != path && (to == from || is_nearer())
        };
        from == path || !self.macros.contains(&from) && !self.defined.iter().any(is_other)
    }

    /// Adds the calls whose number of arguments satisfies `is_left`.
    fn left(&self, name: &str, path: &str, is_left: &dyn Fn(usize) -> bool, out: &mut Vec<NotAdapted>) {
        for call in self.calls.iter().filter(|call| self.is_of(call, path)) {
            for (line, passed) in passed(&call.file.text[call.function.bytes.clone()], name) {
                let place = SourceLine { file: call.file.path.clone(), line: call.function.first_line + line };
                let (function, caller) = (name.to_owned(), call.function.name.clone());
                if is_left(passed) {
                    out.push(NotAdapted { function, caller, place, passed, taken: None, is_outside: call.is_outside });
                }
            }
        }
    }
}

impl Found<'_> {
    fn is_seen(&self) -> bool {
        is_seen(&self.file.path, &self.function.signature)
    }
}

/// The calls and definitions of the functions that differ: in the files of the paths, and in those found outside.
pub(super) struct Known<'a> {
    names: Wanted,
    /// By the index of the name.
    all: Vec<Named<'a>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(changes: &[FunctionChange], inside: &'a [File], outside: &'a [File]) -> Self {
        let names = changes.iter().flat_map(|change| [change.name.clone(), change.old_name().to_owned()]);
        let names = Wanted::new(names.collect());
        let mut all: Vec<Named<'_>> = names.names.iter().map(|_| Named::default()).collect();
        for (files, is_outside) in [(inside, false), (outside, true)] {
            for file in files {
                for function in &file.unit.functions {
                    for call in function.calls.iter().filter(|call| !call.is_member) {
                        if let Some(number) = names.number(call.name.as_bytes()) {
                            all[number].calls.push(Found { file, function, is_outside });
                        }
                    }
                    if let Some(number) = names.number(function.name.as_bytes()) {
                        all[number].defined.push(Found { file, function, is_outside });
                    }
                }
                for number in file.unit.macros.iter().filter_map(|found| names.number(found.name.as_bytes())) {
                    all[number].macros.push(&file.path);
                }
            }
        }
        Self { names, all }
    }

    fn of(&self, name: &str) -> Option<&Named<'a>> {
        self.names.number(name.as_bytes()).map(|number| &self.all[number])
    }
}

/// For each change, the functions outside that call it.
pub(super) fn callers(changes: &[FunctionChange], trees: &[Known<'_>; 2]) -> Vec<OutsideCaller> {
    let mut out = Vec::new();
    for change in changes {
        let sides = [change.gone().zip(change.before.as_ref()), change.seen().zip(change.after.as_ref())];
        for (tree, side) in trees.iter().zip(sides) {
            let Some((name, place)) = side else { continue };
            let Some(named) = tree.of(name) else { continue };
            for call in named.calls.iter().filter(|call| call.is_outside && named.is_of(call, &place.file)) {
                let first = call.function.calls.iter().find(|one| one.name == name);
                let line = first.map_or(call.function.line, |one| one.line);
                let place = SourceLine { file: call.file.path.clone(), line };
                out.push(OutsideCaller { function: name.to_owned(), caller: call.function.name.clone(), place });
            }
        }
    }
    out
}

/// The calls in the second tree that were not adapted to the change.
pub(super) fn not_adapted(changes: &[FunctionChange], tree: &Known<'_>) -> Vec<NotAdapted> {
    let mut out = Vec::new();
    for change in changes {
        changed(change, tree, &mut out);
        let gone = change.gone().zip(change.before.as_ref());
        let Some(((name, place), named)) = gone.and_then(|gone| Some((gone, tree.of(gone.0)?))) else { continue };
        if named.macros.is_empty() && !named.defined.iter().any(Found::is_seen) {
            named.left(name, &place.file, &|_| true, &mut out);
        }
    }
    out
}

fn changed(change: &FunctionChange, tree: &Known<'_>, out: &mut Vec<NotAdapted>) {
    let name = change.name.as_str();
    let (Some([old, new]), Some(place), Some(named)) = (&change.signatures, &change.after, tree.of(name)) else {
        return;
    };
    let (Some(was), Some(now)) = (taken(old, change.old_name()), taken(new, name)) else { return };
    // Another definition, under an `#if` or for another architecture, may still take the old number of arguments.
    let is_variant = |path: &str| path == place.file || path.starts_with("include/") || path.starts_with("arch/");
    let fits = |found: &Found<'_>| {
        is_variant(&found.file.path) && taken(&found.function.signature, name).is_none_or(|takes| takes == was)
    };
    if was == now || named.defined.iter().any(fits) {
        return;
    }
    let begin = out.len();
    named.left(name, &place.file, &|passed| passed == was, out);
    for call in &mut out[begin..] {
        call.taken = Some(now);
    }
}

/// Whether other files can call it.
pub(super) fn is_seen(path: &str, signature: &str) -> bool {
    path.ends_with(".h") || !signature.split(' ').any(|word| word == "static")
}
