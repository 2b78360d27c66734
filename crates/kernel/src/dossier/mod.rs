//! How two states of a kernel's source differ: interfaces, functions, their callers, and the operation tables that they
//! are in.

mod bodies;
mod calls;
mod commits;
mod delta;
mod dispatch;
mod events;
mod files;
mod functions;
mod history;
mod interfaces;
mod kconfig;
mod lines;
mod maintainers;
mod makers;
mod mentions;
mod modules;
mod outside;
mod patched;
mod similar;
mod structures;
mod syscall_table;
mod sysctl;
mod system_calls;

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
pub use outside::{NotAdapted, OutsideCaller, Wanted};
pub use patched::{Files, patch_file};
pub use similar::{Similar, similar};
pub use structures::{MemberUse, Structure, structures};

use crate::source::{Unit, scan};
use serde::Serialize;

/// One file of a tree: its path, its bytes, and what was parsed.
#[derive(Debug)]
pub struct File {
    /// Relative, with `/`.
    pub path: String,
    /// The bytes on the disk.
    pub text: Vec<u8>,
    unit: Unit,
    /// What it offers to user space, modules and tracers.
    pub interfaces: Vec<Interface>,
}

impl File {
    /// Parses a C file, a Kconfig file, a table of system calls, or the exports of an assembly file; of other files
    /// only the lines are known.
    pub fn read(path: String, text: Vec<u8>) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default();
        let unit = if crate::is_c(name) { unit(&text) } else { Unit::default() };
        let interfaces = match name {
            _ if name.starts_with("Kconfig") => kconfig::of(&path, &text),
            _ if name.ends_with(".tbl") && path.contains("syscall") => syscall_table::of(&path, &text),
            _ if name.ends_with(".S") => interfaces::of_assembly(&path, &text),
            _ => interfaces::of(&path, &unit),
        };
        Self { path, text, unit, interfaces }
    }

    /// Parses a C file outside of the paths: only functions and their calls.
    pub fn outside(path: String, text: Vec<u8>) -> Self {
        Self { unit: unit(&text), path, text, interfaces: Vec::new() }
    }
}

fn unit(text: &[u8]) -> Unit {
    let mut unit = scan(text);
    system_calls::name(&mut unit);
    unit
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
    /// Functions outside of the paths that call one that is new, gone or has another signature.
    pub outside: Vec<OutsideCaller>,
    /// Calls in the second tree that do not fit any more.
    pub not_adapted: Vec<NotAdapted>,
    /// Calls of the functions that differ, between files or folders.
    pub module_calls: Vec<ModuleCalls>,
    /// What could not be read, in both trees.
    pub skipped: Vec<SkippedPlace>,
    /// Files read of each tree.
    pub files_read: [usize; 2],
}

/// How a file differs: lines as `diff -u` would count them.
#[derive(Debug, Default, Serialize)]
pub struct FileChange {
    /// Path in its tree.
    pub path: String,
    /// Lines that only the second tree has.
    pub added: usize,
    /// Lines that only the first tree has.
    pub removed: usize,
    /// `new`, `gone`, `changed` or `renamed`.
    pub status: &'static str,
    /// Its path in the first tree, if it has another one now: most lines stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Modes as git writes them, before and after, where patches change them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<[String; 2]>,
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

/// Compares two trees; each must be sorted by path, without duplicates.
pub fn compare(before: &[File], after: &[File]) -> Dossier {
    compare_in(before, after, &mut |_| Default::default())
}

/// As [`compare`], for parts of two trees. `find` returns the files in the rest of each tree that contain a wanted
/// name, parsed by [`File::outside`].
pub fn compare_in(before: &[File], after: &[File], find: &mut dyn FnMut(&[Wanted; 2]) -> [Vec<File>; 2]) -> Dossier {
    let functions = functions::changes(before, after);
    let found = find(&outside::wanted(&functions));
    let known = [0, 1].map(|side| outside::Known::new(&functions, [before, after][side], &found[side]));
    let callers = outside::callers(&functions, &known);
    let trees = [before, after].map(calls::Tree::new);
    let key_functions = calls::key_functions(&functions, &trees, &callers);
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
        files: files::changes(before, after),
        interfaces: delta::changes(before, after),
        module_calls: modules::module_calls(&functions, &trees),
        not_adapted: outside::not_adapted(&functions, &known[1]),
        outside: callers,
        functions,
        key_functions,
        skipped: [skipped(0, before), skipped(1, after)].into_iter().flatten().collect(),
        files_read: [before.len(), after.len()],
    }
}

/// Needs files that are sorted by path.
fn find<'a>(files: &'a [File], path: &str) -> Option<&'a File> {
    files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|at| &files[at])
}
