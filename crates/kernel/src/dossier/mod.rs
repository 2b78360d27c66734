//! What two states of a kernel's source differ in: interfaces, functions, who calls them, what operations they serve.

mod bodies;
mod calls;
mod commits;
mod delta;
mod functions;
mod history;
mod interfaces;
mod kconfig;
mod lines;
mod maintainers;
mod makers;
mod mentions;
mod modules;
mod patched;
mod similar;
mod structures;
mod syscall_table;
mod sysctl;

pub use bodies::{Body, BodyLine, body};
pub use calls::{Caller, KeyFunction};
pub use commits::came_with;
pub use delta::InterfaceChange;
pub use functions::{FunctionChange, Status};
pub(crate) use history::is_of_one_series;
pub use history::{Event, Reference, copied_from, fixed, references};
pub use interfaces::{Interface, Kind};
pub use maintainers::{Maintainers, Subsystem, SubsystemChange, by_subsystem};
pub use mentions::{Mention, mentions, names as documented_names};
pub use modules::ModuleCalls;
pub use patched::{Files, patch_file};
pub use similar::{Similar, similar};
pub use structures::{MemberUse, Structure, structures};

use crate::source::{Unit, scan};
use serde::Serialize;

/// One file of a tree: its path in it, its bytes and what was read of them.
#[derive(Debug)]
pub struct File {
    /// Relative, with `/`.
    pub path: String,
    /// As on the disk.
    pub text: Vec<u8>,
    unit: Unit,
    /// What it offers to user space, modules and tracers.
    pub interfaces: Vec<Interface>,
}

impl File {
    /// Reads a C file, a Kconfig, a table of system calls, or what assembly exports; of other files nothing but their lines is known.
    pub fn read(path: String, text: Vec<u8>) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default();
        let unit = if crate::is_c(name) { scan(&text) } else { Unit::default() };
        let interfaces = match name {
            _ if name.starts_with("Kconfig") => kconfig::of(&path, &text),
            _ if name.ends_with(".tbl") && path.contains("syscall") => syscall_table::of(&path, &text),
            _ if name.ends_with(".S") => interfaces::of_assembly(&path, &text),
            _ => interfaces::of(&path, &unit),
        };
        Self { path, text, unit, interfaces }
    }
}

/// A line of a file, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceLine {
    /// Path in its tree.
    pub file: String,
    /// From 1.
    pub line: usize,
}

/// What was found.
#[derive(Debug)]
pub struct Dossier {
    /// Files that differ, are new or are gone, by path.
    pub files: Vec<FileChange>,
    /// By kind and name.
    pub interfaces: Vec<InterfaceChange>,
    /// By file and name.
    pub functions: Vec<FunctionChange>,
    /// The highest rank first.
    pub key_functions: Vec<KeyFunction>,
    /// Calls of the functions that differ, between files or folders.
    pub module_calls: Vec<ModuleCalls>,
    /// What could not be read, in both trees.
    pub skipped: Vec<SkippedPlace>,
    /// Files read of each tree.
    pub files_read: [usize; 2],
}

/// How a file differs: lines as `diff -u` would count them.
#[derive(Debug, Serialize)]
pub struct FileChange {
    /// Path in its tree.
    pub path: String,
    /// Lines that only the second tree has.
    pub added: usize,
    /// Lines that only the first tree has.
    pub removed: usize,
    /// `new`, `gone` or `changed`.
    pub status: &'static str,
    /// No text: git shows it as `Bin`, and no lines are counted.
    pub binary: bool,
}

/// Something that the scanner could not read.
#[derive(Debug, Serialize)]
pub struct SkippedPlace {
    /// 0 for the first tree, 1 for the second.
    pub tree: usize,
    /// Where.
    pub place: SourceLine,
    /// The text there.
    pub what: String,
}

/// Compares two trees; each is sorted by path, and no path comes twice in one.
pub fn compare(before: &[File], after: &[File]) -> Dossier {
    let functions = functions::changes(before, after);
    let trees = [before, after].map(calls::Tree::new);
    let key_functions = calls::key_functions(&functions, &trees);
    let skipped = |tree: usize, files: &[File]| -> Vec<SkippedPlace> {
        let of = |file: &File| -> Vec<SkippedPlace> {
            let place = |line| SourceLine { file: file.path.clone(), line };
            file.unit
                .skipped
                .iter()
                .map(|s| SkippedPlace { tree, place: place(s.line), what: s.what.clone() })
                .collect()
        };
        files.iter().flat_map(of).collect()
    };
    Dossier {
        files: file_changes(before, after),
        interfaces: delta::changes(before, after),
        module_calls: modules::module_calls(&functions, &trees),
        functions,
        key_functions,
        skipped: [skipped(0, before), skipped(1, after)].into_iter().flatten().collect(),
        files_read: [before.len(), after.len()],
    }
}

/// Of files that are sorted by path.
fn find<'a>(files: &'a [File], path: &str) -> Option<&'a File> {
    files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|at| &files[at])
}

fn file_changes(before: &[File], after: &[File]) -> Vec<FileChange> {
    let mut paths: Vec<&str> = before.iter().chain(after).map(|f| f.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let change = |path: &str| {
        let [old, new] = [before, after].map(|files| find(files, path).map(|file| &file.text[..]));
        if old == new {
            return None;
        }
        let binary = [old, new].into_iter().flatten().any(is_binary);
        let mut numbers = lines::Numbers::default();
        let [a, b] = [old, new].map(|text| numbers.of(&crate::split(text.filter(|_| !binary).unwrap_or_default())));
        let (added, removed) = lines::difference(&a, &b);
        let status = match (old, new) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "changed",
        };
        Some(FileChange { path: path.to_owned(), added, removed, status, binary })
    };
    paths.into_iter().filter_map(change).collect()
}

/// As git decides it: a zero byte among the first (`buffer_is_binary` in its `xdiff-interface.c`).
fn is_binary(text: &[u8]) -> bool {
    const FIRST: usize = 8000;
    text[..text.len().min(FIRST)].contains(&0)
}
