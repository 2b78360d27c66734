//! One tree: where words are, and which functions change a state, directly or by what they call.

use super::access::{Access, StateKind, access};
use super::pointers::overwritten;
use crate::names::{Names, words};
use crate::needs::side::Side;
use crate::source::{Function, Unit, assigned, code_lines, scan};
use schedlab_plan::{InOrder, OneByOne};
use std::collections::{BTreeMap, BTreeSet};

/// A path and what the file holds.
pub type Text = (String, Vec<u8>);

/// A word in more files than this is common: a path through it means nothing.
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

/// What a file holds.
struct Code {
    unit: Unit,
    /// Functions by the member that they are put into: of tables, and `x->member = function;`.
    registered: Vec<(String, String)>,
}

/// How a function changes a state.
#[derive(Debug, Clone, Default)]
pub(super) struct How {
    pub(super) file: String,
    pub(super) line: usize,
    /// What it does itself, and how often.
    pub(super) does: BTreeMap<Access, usize>,
    /// What it calls that does: the function, and the member that it is called through.
    pub(super) calls: BTreeMap<String, Option<String>>,
}

/// By name of the function.
pub(super) type Reach = BTreeMap<String, How>;

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

    /// What is common in one of two trees counts as common in both: otherwise it would show up as a difference.
    pub(super) fn pair(source: &'a [Text], target: &'a [Text]) -> [Self; 2] {
        let [mut a, mut b] = [source, target].map(Self::new);
        a.common.join(&b.common, 0);
        a.common.seal();
        b.common.clone_from(&a.common);
        [a, b]
    }

    /// The files that hold a word, none of a common one.
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

    fn code(&mut self, file: usize) -> &Code {
        let text = &self.files[file].1;
        self.read[file].get_or_insert_with(|| {
            let unit = scan(text);
            let entries = unit.tables.iter().flat_map(|table| &table.entries);
            let entries = entries.map(|entry| (entry.member.clone(), entry.value.trim_start_matches('&').to_owned()));
            let assigned = unit.functions.iter().flat_map(|function| assigned(&text[function.bytes.clone()]));
            let assigned = assigned.map(|(member, name)| (member.to_owned(), name.to_owned()));
            let registered = entries.chain(assigned).collect();
            Code { unit, registered }
        })
    }

    pub(super) fn unit(&mut self, file: usize) -> &Unit {
        &self.code(file).unit
    }

    /// The functions that change a state themselves, in the files that name it or the struct that it is a member of.
    pub(super) fn writers(&mut self, name: &str, kind: StateKind, files: &[usize], of: Option<&str>) -> Reach {
        let (mut out, all) = (Reach::new(), self.files);
        let of_struct = of.map(|of| self.rare(of)).unwrap_or_default();
        for file in files.iter().chain(&of_struct).copied().collect::<BTreeSet<usize>>() {
            let (path, text) = &all[file];
            for function in &self.unit(file).functions {
                let text = &text[function.bytes.clone()];
                for found in of.map(|of| overwritten(text, of)).unwrap_or_default() {
                    *entry(&mut out, path, function).does.entry(found).or_default() += 1;
                }
                if !text.windows(name.len()).any(|part| part == name.as_bytes()) {
                    continue;
                }
                let side = Side::of(text);
                let named = (0..side.tokens.len()).filter(|&at| side.word(at) == Some(name));
                for found in named.filter_map(|at| access(&side, at, kind)).filter(|found| *found != Access::Read) {
                    *entry(&mut out, path, function).does.entry(found).or_default() += 1;
                }
            }
        }
        out
    }

    /// Functions that call those of `known`, by name or through a member that they are registered as.
    pub(super) fn callers(&mut self, known: &Reach) -> Reach {
        let (mut out, mut registered, all) = (Reach::new(), BTreeMap::<String, String>::new(), self.files);
        let places: BTreeMap<&String, Vec<usize>> = known.keys().map(|name| (name, self.rare(name))).one_by_one();
        let is_known = |name: &String| places.get(name).is_some_and(|files| !files.is_empty());
        for file in places.values().flatten().copied().collect::<BTreeSet<usize>>() {
            let code = self.code(file);
            let found = code.registered.iter().filter(|(_, value)| is_known(value));
            registered.extend(found.cloned());
            for function in &code.unit.functions {
                let named = |call: &&crate::source::Call| !call.is_member && call.name != function.name;
                for call in function.calls.iter().filter(named).filter(|call| is_known(&call.name)) {
                    entry(&mut out, &all[file].0, function).calls.insert(call.name.clone(), None);
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
                        let calls = &mut entry(&mut out, &all[file].0, function).calls;
                        calls.entry(target.clone()).or_insert_with(|| Some(call.name.clone()));
                    }
                }
            }
        }
        out
    }

    /// The code of a function of this name, of that in the file `near` if it is there.
    pub(super) fn lines(&mut self, name: &str, near: &str) -> Option<Vec<String>> {
        let (mut files, all) = (self.rare(name), self.files);
        files.in_order_by_key(|file| all[*file].0 != near);
        files.into_iter().find_map(|file| {
            let function = self.unit(file).functions.iter().find(|function| function.name == name)?;
            Some(code_lines(&all[file].1, function))
        })
    }
}

fn entry<'r>(reach: &'r mut Reach, path: &str, function: &Function) -> &'r mut How {
    let new = || How { file: path.to_owned(), line: function.line, ..How::default() };
    reach.entry(function.name.clone()).or_insert_with(new)
}
