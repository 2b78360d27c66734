//! One tree: which files contain a word, and which functions change a state, directly or through their calls.

use super::access::{Access, StateKind, access, is_either};
use super::inner::{declared_within, outer, places};
use super::pointers::overwritten;
use crate::names::{Names, words};
use crate::needs::side::Side;
use crate::source::{Macro, Unit, assigned, code_lines, scan};
use schedlab_plan::{InOrder, OneByOne};
use std::collections::{BTreeMap, BTreeSet};

/// A path, and the content of the file.
pub type Text = (String, Vec<u8>);

/// A word in more files than this is common, and not followed: a path through it means nothing.
const COMMON: usize = 120;
/// A member that more functions than this are registered in is too generic to follow.
const REGISTERED: usize = 40;

pub(super) struct Tree<'a> {
    files: &'a [Text],
    words: Names,
    /// Words that are common here or in the other tree.
    common: Names,
    read: Vec<Option<Code>>,
}

/// What was read of a file.
struct Code {
    unit: Unit,
    /// Functions by the member that they are registered in: by tables, and by `x->member = function;`.
    registered: Vec<(String, String)>,
    /// What each macro calls, in the order of the unit's macros.
    of_macros: Vec<Vec<String>>,
}

/// How a function changes a state.
#[derive(Debug, Clone, Default)]
pub(super) struct WriterInfo {
    pub(super) file: String,
    pub(super) line: usize,
    /// How it changes the state itself.
    pub(super) does: BTreeSet<Access>,
    /// It sets or clears the state in one statement, depending on a condition.
    is_either: bool,
    /// It is a macro.
    pub(super) is_macro: bool,
    /// Functions it calls that change the state, each with the member that it is called through.
    pub(super) calls: BTreeMap<String, Option<String>>,
}

/// Ways to give a state a value. One in place of another is often the same change, written differently.
const VALUES: [Access; 3] = [Access::Set, Access::Change, Access::Transfer];

impl WriterInfo {
    /// Accesses of this function that its counterpart in the other tree does not make, unless the other does the same,
    /// written differently.
    pub(super) fn beyond(&self, other: &WriterInfo) -> Vec<Access> {
        let is_either = self.is_either || other.is_either;
        let is_value = |access: &Access| VALUES.contains(access) || is_either && *access == Access::Clear;
        let is_reworded = other.does.difference(&self.does).any(is_value);
        let is_done = |access: &Access| other.is_either && matches!(access, Access::Set | Access::Clear);
        let lacks = |access: &&Access| !(is_done(access) || is_reworded && is_value(access));
        self.does.difference(&other.does).filter(lacks).copied().collect()
    }
}

/// By name of the function or macro. Macros are followed, but not compared.
pub(super) type Writers = BTreeMap<String, WriterInfo>;

impl<'a> Tree<'a> {
    fn new(files: &'a [Text]) -> Self {
        let mut all = Names::default();
        for (file, (_, text)) in files.iter().enumerate() {
            let mut own = Names::default();
            words(text).filter(|word| word.len() > 1).for_each(|word| own.add(word, file));
            own.seal();
            all.join(&own, 0);
        }
        all.seal();
        Self { files, common: all.in_more_files_than(COMMON), words: all, read: files.iter().map(|_| None).collect() }
    }

    /// A word that is common in one of the two trees counts as common in both: otherwise it would show up as a
    /// difference.
    pub(super) fn pair(source: &'a [Text], target: &'a [Text]) -> [Self; 2] {
        let [mut a, mut b] = [source, target].map(Self::new);
        a.common.join(&b.common, 0);
        a.common.seal();
        b.common.clone_from(&a.common);
        [a, b]
    }

    /// The files that contain a word; none for a common one.
    pub(super) fn rare(&self, word: &str) -> Vec<usize> {
        if self.common.has(word.as_bytes()) { Vec::new() } else { self.words.files(word.as_bytes()).collect() }
    }

    /// Whether any file holds the word.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.has(word.as_bytes())
    }

    pub(super) fn path(&self, file: usize) -> &'a str {
        &self.files[file].0
    }

    /// Whether a word is in too many files to be followed.
    pub(super) fn is_common(&self, word: &str) -> bool {
        self.common.has(word.as_bytes())
    }

    fn code(&mut self, file: usize) -> &Code {
        let text = &self.files[file].1;
        self.read[file].get_or_insert_with(|| {
            let unit = scan(text);
            let entries = unit.tables.iter().flat_map(|table| &table.entries);
            let entries = entries.map(|entry| (entry.member.clone(), entry.value.trim_start_matches('&').to_owned()));
            let assigned = unit.functions.iter().flat_map(|function| assigned(&text[function.bytes.clone()]));
            let assigned = assigned.map(|(member, name)| (member.to_owned(), name.to_owned()));
            let registered = entries.chain(assigned).collect();
            let of_macros = unit.macros.iter().map(called).collect();
            Code { unit, registered, of_macros }
        })
    }

    pub(super) fn unit(&mut self, file: usize) -> &Unit {
        &self.code(file).unit
    }

    /// The structs with a member `owner` that is declared in place and contains `member`, each with the declaration of
    /// `member`. Looks in the given files, or in all that name `owner`.
    pub(super) fn structs_within(&mut self, owner: &str, member: &str, files: Option<&[usize]>) -> Vec<[String; 2]> {
        let (mut out, files) = (Vec::new(), files.map_or_else(|| self.rare(owner), <[usize]>::to_vec));
        for file in files {
            for found in &self.unit(file).types {
                let owners = found.members.iter().filter(|one| one.name == owner);
                let members = owners.flat_map(|owner| declared_within(&owner.text)).filter(|one| one.name == member);
                out.extend(members.map(|one| [found.name.clone(), one.text]));
            }
        }
        out
    }

    /// The functions that change a state themselves, in the files that name the state or its struct.
    pub(super) fn writers(&mut self, name: &str, kind: StateKind, files: &[usize], of: Option<&str>) -> Writers {
        let (mut out, all) = (Writers::new(), self.files);
        let of_struct = of.map(|of| self.rare(of)).unwrap_or_default();
        for file in files.iter().chain(&of_struct).copied().collect::<BTreeSet<usize>>() {
            let (path, text) = &all[file];
            let unit = self.unit(file);
            let functions = unit.functions.iter().map(|one| (&one.name, one.line, &text[one.bytes.clone()]));
            let macros = unit.macros.iter().map(|one| (&one.name, one.line, one.text.as_bytes()));
            for (writer, line, text) in functions.chain(macros) {
                for found in of.map(|of| overwritten(text, of)).unwrap_or_default() {
                    entry(&mut out, path, writer, line).does.insert(found);
                }
                let word = outer(name);
                if !text.windows(word.len()).any(|part| part == word.as_bytes()) {
                    continue;
                }
                let side = Side::of(text);
                for at in places(&side, name) {
                    let Some(found) = access(&side, at, kind).filter(|found| *found != Access::Read) else { continue };
                    let how = entry(&mut out, path, writer, line);
                    how.does.insert(found);
                    how.is_either |= found == Access::Set && is_either(&side, at);
                }
            }
        }
        out
    }

    /// Functions that call one of `known`, by name or through a member that it is registered in.
    pub(super) fn callers(&mut self, known: &Writers) -> Writers {
        let (mut out, mut registered, all) = (Writers::new(), BTreeMap::<String, String>::new(), self.files);
        let places: BTreeMap<&String, Vec<usize>> = known.keys().map(|name| (name, self.rare(name))).one_by_one();
        let is_known = |name: &String| places.get(name).is_some_and(|files| !files.is_empty());
        for file in places.values().flatten().copied().collect::<BTreeSet<usize>>() {
            let code = self.code(file);
            let found = code.registered.iter().filter(|(_, value)| is_known(value));
            registered.extend(found.cloned());
            for function in &code.unit.functions {
                let named = |call: &&crate::source::Call| !call.is_member && call.name != function.name;
                for call in function.calls.iter().filter(named).filter(|call| is_known(&call.name)) {
                    let how = entry(&mut out, &all[file].0, &function.name, function.line);
                    how.calls.insert(call.name.clone(), None);
                }
            }
            for (found, calls) in code.unit.macros.iter().zip(&code.of_macros) {
                for call in calls.iter().filter(|call| is_known(call)) {
                    let how = entry(&mut out, &all[file].0, &found.name, found.line);
                    how.is_macro = true;
                    how.calls.insert(call.clone(), None);
                }
            }
        }
        let mut members = BTreeMap::new();
        for (member, target) in registered {
            let files = self.rare(&member);
            let mut functions = BTreeSet::new();
            for &file in &files {
                let here = self.code(file).registered.iter().filter(|(other, _)| *other == member);
                functions.extend(here.map(|(_, function)| function.clone()));
            }
            if functions.len() <= REGISTERED {
                members.insert(member, (target, files));
            }
        }
        for file in members.values().flat_map(|(_, files)| files.clone()).collect::<BTreeSet<usize>>() {
            for function in &self.unit(file).functions {
                for call in function.calls.iter().filter(|call| call.is_member) {
                    if let Some((target, _)) = members.get(&call.name) {
                        let calls = &mut entry(&mut out, &all[file].0, &function.name, function.line).calls;
                        calls.entry(target.clone()).or_insert_with(|| Some(call.name.clone()));
                    }
                }
            }
        }
        out
    }

    /// The functions and macros of this name, from their parameters on: those of the file `near` if it has any, else
    /// those of headers.
    pub(super) fn definitions(&mut self, name: &str, near: &str) -> Vec<Vec<u8>> {
        let all = self.files;
        let places = self.words.files(name.as_bytes()).map(|file| (file, &all[file].0));
        let (own, headers): (Vec<_>, Vec<_>) =
            places.filter(|(_, path)| *path == near || path.ends_with(".h")).partition(|(_, path)| *path == near);
        if headers.len() > COMMON {
            return Vec::new();
        }
        for files in [own, headers] {
            // Most files only call it, and parsing a file takes long.
            let files = files.into_iter().map(|(file, _)| file).filter(|file| may_define(&all[*file].1, name));
            let found: Vec<_> =
                files.collect::<Vec<_>>().into_iter().flat_map(|file| self.defined(file, name)).collect();
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    fn defined(&mut self, file: usize, name: &str) -> Vec<Vec<u8>> {
        let text = &self.files[file].1;
        let unit = self.unit(file);
        let functions = unit.functions.iter().filter(|found| found.name == name && found.by.is_none());
        let functions = functions.filter_map(|found| {
            let whole = &text[found.bytes.clone()];
            let side = Side::of(whole);
            let at = (0..side.tokens.len()).find(|&at| side.word(at) == Some(name) && side.is(Some(at + 1), b'('))?;
            Some(whole[side.tokens[at + 1].start..].to_vec())
        });
        let macros = unit.macros.iter().filter(|found| found.name == name && found.text.starts_with('('));
        functions.chain(macros.map(|found| found.text.clone().into_bytes())).collect()
    }

    /// The code of a function of this name; preferably the one in the file `near`.
    pub(super) fn lines(&mut self, name: &str, near: &str) -> Option<Vec<String>> {
        let (mut files, all) = (self.rare(name), self.files);
        files.in_order_by_key(|file| all[*file].0 != near);
        files.into_iter().find_map(|file| {
            let function = self.unit(file).functions.iter().find(|function| function.name == name)?;
            Some(code_lines(&all[file].1, function))
        })
    }
}

fn entry<'r>(reach: &'r mut Writers, path: &str, name: &str, line: usize) -> &'r mut WriterInfo {
    reach.entry(name.to_owned()).or_insert_with(|| WriterInfo { file: path.to_owned(), line, ..WriterInfo::default() })
}

/// Whether a line that is not indented has `name(`, as a signature and a `#define` have.
fn may_define(text: &[u8], name: &str) -> bool {
    let call = format!("{name}(");
    let lines =
        text.split(|byte| *byte == b'\n').filter(|line| line.first().is_some_and(|byte| !byte.is_ascii_whitespace()));
    lines.into_iter().any(|line| line.windows(call.len()).any(|part| part == call.as_bytes()))
}

/// What a macro calls: `kthread_run`, for example, wakes the thread.
fn called(found: &Macro) -> Vec<String> {
    if !found.text.contains('(') {
        return Vec::new();
    }
    let side = Side::of(found.text.as_bytes());
    let is_call = |at: &usize| side.is(Some(*at + 1), b'(') && !side.is_member(*at);
    let words = (0..side.tokens.len()).filter(is_call).filter_map(|at| side.word(at));
    words.filter(|word| *word != found.name).map(str::to_owned).collect()
}
