//! The C files of a tree, and the names that each function and macro in them refers to.

use super::objects::{Code, plain};
use anyhow::{Context, Result};
use schedlab_kernel::source::{Function, Unit};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// All C files and headers in folders of a tree, by path.
pub(crate) fn units(tree: &Path, folders: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
    let (mut out, mut open) = (Vec::new(), folders.iter().map(|folder| tree.join(folder)).collect::<Vec<_>>());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?.flatten() {
            let (path, kind) = (entry.path(), entry.file_type()?);
            let is_c = path.extension().is_some_and(|end| end == "c" || end == "h");
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() && is_c {
                let name = path.strip_prefix(tree).unwrap_or(&path).display().to_string();
                out.push((name, std::fs::read(&path)?));
            }
        }
    }
    out.sort();
    Ok(out)
}

const HEADER: &str = ".h";

/// The files that are compiled together: a file, all headers, and the smaller files of the scheduler, which two others
/// include.
fn compiled_in(path: &str) -> &str {
    match path {
        _ if path.ends_with(HEADER) => HEADER,
        "kernel/sched/core.c" | "kernel/sched/fair.c" => path,
        _ if path.starts_with("kernel/sched/") => "kernel/sched",
        _ => path,
    }
}

/// The words of a text that may be names.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The name that a function has in objects: `sys_futex` of `SYSCALL_DEFINE6(futex, …)`.
pub(crate) fn built_name(function: &Function) -> String {
    match function.by.as_deref().and_then(|by| by.split_once("SYSCALL_DEFINE")) {
        None => plain(&function.name).to_owned(),
        Some((kind, _)) if kind.contains("COMPAT") => format!("compat_sys_{}", function.name),
        Some(_) => format!("sys_{}", function.name),
    }
}

/// Names that each function or macro of the sources refers to.
#[derive(Default)]
pub(crate) struct Static {
    pub(crate) functions: HashMap<String, HashSet<String>>,
    macros: HashMap<String, HashSet<String>>,
    /// The file of each function, because a function can only inline what its file includes.
    places: HashMap<String, HashSet<String>>,
    /// For each function, those of the searched names that are in its text.
    mentions: HashMap<String, HashSet<String>>,
}

impl Static {
    /// `holds` tells whether an `#if` condition may hold.
    pub(crate) fn add(&mut self, (path, unit): (&str, &Unit), holds: &dyn Fn(&str) -> bool) {
        for function in unit.functions.iter().filter(|function| holds(&function.condition)) {
            self.places.entry(built_name(function)).or_default().insert(compiled_in(path).to_owned());
            let calls = self.functions.entry(built_name(function)).or_default();
            calls.extend(function.calls.iter().filter(|call| !call.is_member).map(|call| plain(&call.name).to_owned()));
        }
        for one in unit.macros.iter().filter(|one| holds(&one.condition)) {
            self.macros.entry(one.name.clone()).or_default().extend(words(&one.text).map(str::to_owned));
        }
    }

    /// Records which of `wanted` occur in each function of the file, as calls or otherwise.
    pub(crate) fn mention(
        &mut self,
        (unit, text): (&Unit, &[u8]),
        wanted: &HashSet<String>,
        holds: &dyn Fn(&str) -> bool,
    ) {
        for function in unit.functions.iter().filter(|function| holds(&function.condition)) {
            let text = String::from_utf8_lossy(&text[function.bytes.clone()]);
            let found = words(&text).filter(|word| wanted.contains(*word)).map(str::to_owned);
            self.mentions.entry(built_name(function)).or_default().extend(found);
        }
    }

    /// Whether `from` calls `to` according to the source: directly, through macros, or through functions that its code
    /// does not call because they were inlined.
    pub(crate) fn leads(&self, from: &str, to: &str, code: &Code) -> bool {
        self.find(from, code, &|name| name == to).is_some()
    }

    /// Whether one function can be inlined in another: it is in the same file or in a header.
    pub(crate) fn is_near(&self, from: &str, name: &str) -> bool {
        let [from, of] = [from, name].map(|name| self.places.get(name));
        // A header can be compiled with any file.
        let is_free = |places: &HashSet<String>| places.contains(HEADER);
        of.is_none_or(|of| is_free(of) || from.is_none_or(|from| is_free(from) || !from.is_disjoint(of)))
    }

    /// The first name that satisfies `is`, among those that `from` refers to.
    pub(crate) fn find(&self, from: &str, code: &Code, is: &dyn Fn(&str) -> bool) -> Option<String> {
        let (mut open, mut seen) = (vec![from.to_owned()], HashSet::new());
        while let Some(name) = open.pop() {
            let is_left = !code.calls.contains(&name) || code.parts.contains(&name);
            let is_inside = name == from || is_left && self.is_near(from, &name);
            let functions = self.functions.get(&name).filter(|_| is_inside);
            let mentions = self.mentions.get(&name).filter(|_| is_inside);
            if let Some(found) = mentions.into_iter().flatten().find(|word| is(word)) {
                return Some(found.clone());
            }
            for next in functions.into_iter().chain(self.macros.get(&name)).flatten() {
                if is(next) {
                    return Some(next.clone());
                }
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        None
    }
}
