//! The state contract. Ported code may compile and yet have no effect, because nothing in the target writes what it
//! reads. For each member, variable and flag that added code reads, this finds the functions that change it, in the
//! tree that the series comes from and in the target: directly, through a call, or through a member that a function is
//! registered in, up to two steps away.
//!
//! There is no type analysis: a member counts only if a single struct has a member of that name, and functions with the
//! same name are treated as one.

mod access;
mod inner;
mod pointers;
mod reads;
mod tree;

pub use access::{Access, StateKind};
pub(crate) use access::{access, start as object_start};
pub use tree::Text;

use crate::port::Port;
use crate::series::Patch;
use crate::source::Invocation;
use inner::outer;
use schedlab_plan::InOrder;
use std::collections::{BTreeMap, BTreeSet};
use tree::{Tree, WriterInfo, Writers};

/// Percent of its lines that a function must have in common in both trees. Below this it was rewritten, and the two
/// cannot be compared.
const ALIKE_PERCENT: usize = 70;

/// A state that added code reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// The struct that a member belongs to.
    pub of: Option<String>,
    /// How it is named in code.
    pub kind: StateKind,
    /// Numbers of the findings whose hunks read it.
    pub read_by: Vec<usize>,
    /// Functions that change it themselves: in the tree that the series is from, in the target.
    pub writers: [Vec<String>; 2],
    /// What differs, the nearest first.
    pub differences: Vec<Difference>,
    /// Functions that change it in one tree only and were rewritten between the trees.
    pub rewritten: usize,
}

/// A function that both trees have and that changes a state in one of them only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The function.
    pub function: String,
    /// Where it is in the tree in which it changes the state.
    pub file: String,
    /// Line of the function's name there.
    pub line: usize,
    /// That tree is the target; else the one that the series is from.
    pub is_in_target: bool,
    /// How the function changes the state.
    pub does: Vec<Access>,
    /// The calls that lead to the change, one after the other; `->member` for a call through a member. Empty if the
    /// function changes the state itself.
    pub through: Vec<String>,
}

/// What was found for a series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contract {
    /// States whose writers were found in at least one tree.
    pub states: Vec<State>,
    /// Members of several structs, which cannot be distinguished by name.
    pub ambiguous: Vec<String>,
}

/// Compares the two trees, each with the series applied. The files given are those in which the code could be written.
pub fn contract(patches: &[Patch], port: &Port, source: &[Text], target: &[Text]) -> Contract {
    let mut trees = Tree::pair(source, target);
    let mut reads = reads::Reads::new();
    let hunks =
        patches.iter().flat_map(|patch| &patch.files).flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk)));
    for (number, (file, hunk)) in hunks.enumerate() {
        if file.is_c() && port.findings.get(number).is_some_and(|found| !found.is_present) {
            reads::read(hunk, number, file.path(), &mut trees[0], &mut reads);
        }
    }
    let mut out = Contract::default();
    for ((name, is_member), read_by) in reads {
        let mut files = [0, 1].map(|tree| trees[tree].rare(outer(&name)));
        if files.iter().any(Vec::is_empty) {
            continue;
        }
        let (kind, of) = match kind_of(&mut trees, &name, is_member, &mut files) {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(()) => {
                out.ambiguous.push(name);
                continue;
            }
        };
        let mut state = State { name, of, kind, read_by, ..State::new() };
        compare(&mut trees, &files, &mut state);
        if state.writers.iter().any(|writers| !writers.is_empty()) {
            out.states.push(state);
        }
    }
    out
}

/// How the state is named in code, and the struct that it belongs to; `None` if it is not a state. Looks in both trees.
/// `Err` if several structs have a member of this name, or several files a variable.
fn kind_of(
    trees: &mut [Tree<'_>; 2],
    name: &str,
    is_member: bool,
    files: &mut [Vec<usize>; 2],
) -> Result<Option<(StateKind, Option<String>)>, ()> {
    let is_capital = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let (mut structs, mut is_constant, mut variables) = (BTreeSet::new(), false, [Vec::new(), Vec::new()]);
    let mut is_lock = true;
    for (number, tree) in trees.iter_mut().enumerate() {
        if let Some((owner, member)) = name.split_once('.') {
            for [of, text] in tree.structs_within(owner, member, Some(&files[number])) {
                is_lock &= locks(&text);
                structs.insert(of);
            }
            continue;
        }
        for &file in &files[number] {
            let unit = tree.unit(file);
            for found in unit.types.iter().filter(|found| found.members.iter().any(|member| member.name == name)) {
                if found.keyword == "enum" {
                    is_constant = true;
                } else {
                    structs.insert(found.name.clone());
                    let declared = found.members.iter().filter(|member| member.name == name);
                    is_lock &= declared.into_iter().all(|member| locks(&member.text));
                }
            }
            is_constant |= unit.macros.iter().any(|found| found.name == name && !found.text.starts_with('('));
            let defines = |call: &Invocation| {
                let is_one = ["DEFINE_PER_CPU", "DEFINE_STATIC_KEY"].iter().any(|by| call.name.starts_with(by));
                is_one && call.function.is_none() && call.arguments.iter().any(|argument| argument == name)
            };
            if unit.variables.iter().any(|found| found.name == name) || unit.invocations.iter().any(defines) {
                variables[number].push(file);
            }
        }
    }
    if is_member {
        return if is_lock {
            Ok(None)
        } else if structs.len() > 1 {
            Err(())
        } else {
            Ok(structs.pop_first().map(|of| (StateKind::Member, Some(of))))
        };
    }
    if is_capital {
        return Ok(is_constant.then_some((StateKind::Flag, None)));
    }
    match variables.each_ref().map(Vec::len) {
        [1, 1] => {
            // If no header names the variable, the name means something else in other files.
            for ((tree, files), of) in trees.iter().zip(files).zip(variables) {
                if !files.iter().any(|file| tree.path(*file).ends_with(".h")) {
                    *files = of;
                }
            }
            Ok(Some((StateKind::Variable, None)))
        }
        [0, _] | [_, 0] => Ok(None),
        _ => Err(()),
    }
}

/// Whether a member is declared as a lock. Taking a lock changes nothing that other code reads.
fn locks(declared: &str) -> bool {
    const LOCKS: &[&str] = &[
        "spinlock_t",
        "raw_spinlock_t",
        "arch_spinlock_t",
        "rwlock_t",
        "seqlock_t",
        "seqcount_t",
        "local_lock_t",
        "mutex",
        "rt_mutex",
        "ww_mutex",
        "rw_semaphore",
        "percpu_rw_semaphore",
        "semaphore",
        "lockdep_map",
    ];
    !declared.contains(['*', '(']) && LOCKS.iter().any(|lock| has_word(declared, lock))
}

impl State {
    /// Nothing in the target changes it.
    pub fn is_dead(&self) -> bool {
        self.writers[1].is_empty()
    }

    /// The target does not change the state as the added code expects.
    pub fn differs(&self) -> bool {
        self.is_dead() || !self.differences.is_empty()
    }

    fn new() -> Self {
        Self {
            name: String::new(),
            of: None,
            kind: StateKind::Member,
            read_by: Vec::new(),
            writers: Default::default(),
            differences: Vec::new(),
            rewritten: 0,
        }
    }
}

/// Functions that change the state: directly, by one call, by two, and so on.
type Levels = [Writers; 5];

/// Calls from a listed function to one that changes the state. A change that takes more calls in the other tree is not
/// a difference.
const STEPS: usize = 2;

/// A function that changes the state, directly or through calls, in one of the trees only.
struct Candidate<'a> {
    steps: usize,
    tree: usize,
    name: &'a str,
    how: &'a WriterInfo,
}

fn compare(trees: &mut [Tree<'_>; 2], files: &[Vec<usize>; 2], state: &mut State) {
    let mut both: [Levels; 2] = Default::default();
    for ((tree, files), levels) in trees.iter_mut().zip(files).zip(&mut both) {
        levels[0] = tree.writers(&state.name, state.kind, files, state.of.as_deref());
        for level in 1..levels.len() {
            levels[level] = tree.callers(&levels[level - 1]);
        }
    }
    state.writers = [0, 1].map(|tree| both[tree][0].keys().cloned().collect());
    let only = [0, 1].map(|tree| -> BTreeSet<String> {
        let called = both[tree].iter().flat_map(Writers::values).flat_map(|how| how.calls.keys());
        called.filter(|called| !trees[1 - tree].has(called)).cloned().collect()
    });
    let is_new = |tree: usize, called: &str| only[tree].contains(called);
    for Candidate { steps, tree, name, how } in candidates(&both, &is_new) {
        let [Some(a), Some(b)] = [0, 1].map(|tree| trees[tree].lines(name, &how.file)) else { continue };
        let (through, does) = chain(&both[tree], name, &|called| is_new(tree, called));
        let (here, there) = if tree == 0 { (&a, &b) } else { (&b, &a) };
        let is_common = |word: &str| trees[1 - tree].is_common(word);
        let is_called = |called: &str| here.iter().any(|line| has_word(line, called));
        let levels = &both[1 - tree];
        if is_called_alike(&through, there, levels) || is_moved(name, steps, levels, there, &is_common, &is_called) {
            continue;
        }
        let does = match levels[0].get(name).filter(|_| through.is_empty()) {
            Some(other) => beyond(how, other, levels, name, &is_called),
            None => does,
        };
        if does.is_empty() {
            continue;
        }
        if alike(&a, &b) < ALIKE_PERCENT {
            state.rewritten += 1;
            continue;
        }
        let (function, file, is_in_target) = (name.to_owned(), how.file.clone(), tree == 1);
        state.differences.push(Difference { function, file, line: how.line, is_in_target, does, through });
    }
}

/// Whether the function makes the same call in the other tree, or uses a macro that makes it. The difference is then in
/// the function called.
fn is_called_alike(through: &[String], there: &[String], levels: &Levels) -> bool {
    let Some(called) = through.first().map(|first| first.trim_start_matches("->")) else { return false };
    let is_by_macro = |word: &str| {
        let mut macros = levels.iter().filter_map(|reach| reach.get(word)).filter(|how| how.is_macro);
        macros.any(|how| how.calls.contains_key(called))
    };
    there.iter().flat_map(|line| words_of(line)).any(|word| word == called || is_by_macro(word))
}

/// Whether the function reaches the state in the other tree by a call that it does not make in this one: then the
/// change has only moved.
fn is_moved(
    name: &str,
    steps: usize,
    levels: &Levels,
    there: &[String],
    is_common: &dyn Fn(&str) -> bool,
    is_called: &dyn Fn(&str) -> bool,
) -> bool {
    // Callers of a common word are not followed.
    let is_far = |word: &str| is_common(word) && levels.iter().take(steps + 1).any(|reach| reach.contains_key(word));
    ways(levels, name, steps + 1).any(|called| !is_called(called))
        || there.iter().flat_map(|line| words_of(line)).any(|word| is_far(word) && !is_called(word))
}

/// The accesses that a function makes in one tree only, although it changes the state in both. An access that the other
/// tree makes in a helper not called here has only moved, and does not count.
fn beyond(
    how: &WriterInfo,
    other: &WriterInfo,
    there: &Levels,
    name: &str,
    is_called: &dyn Fn(&str) -> bool,
) -> Vec<Access> {
    let calls = there[1].get(name).into_iter().flat_map(|how| how.calls.keys());
    let helpers: Vec<&WriterInfo> =
        calls.filter(|called| !is_called(called)).filter_map(|called| there[0].get(called)).collect();
    let mut does = how.beyond(other);
    does.retain(|access| !helpers.iter().any(|helper| helper.does.contains(access)));
    does
}

/// Nearest first, those of the target before equally near ones. `is_new`: a name that one tree has and the other has
/// not.
fn candidates<'a>(both: &'a [Levels; 2], is_new: &dyn Fn(usize, &str) -> bool) -> Vec<Candidate<'a>> {
    let level = |tree: usize, name: &str| both[tree].iter().position(|reach| reach.contains_key(name));
    let helped = |tree: usize, name: &str| {
        let calls = both[tree].iter().filter_map(|reach| reach.get(name)).flat_map(|how| how.calls.keys());
        calls.into_iter().any(|called| is_new(tree, called))
    };
    let mut found = Vec::new();
    for tree in [0, 1] {
        let other = 1 - tree;
        for (steps, reach) in both[tree].iter().enumerate().take(STEPS + 1) {
            for (name, how) in reach.iter().filter(|(name, _)| level(tree, name) == Some(steps)) {
                let calls = || how.calls.keys();
                // A helper that the other tree lacks cannot be compared, so its caller is listed.
                let calls_new =
                    || calls().any(|called| is_new(tree, called) && level(tree, called).is_some_and(|l| l < steps));
                let is_more = match level(other, name) {
                    None => {
                        steps == 0
                            || calls_new()
                            || calls().any(|called| level(other, called).is_some_and(|l| l < steps))
                    }
                    // The missing accesses may be in a helper that the function calls there.
                    Some(0) if steps == 0 && helped(other, name) => false,
                    Some(0) if steps == 0 => !how.beyond(&both[other][0][name]).is_empty(),
                    Some(level) => level > steps || level == steps && calls_new(),
                };
                if is_more {
                    found.push(Candidate { steps, tree, name, how });
                }
            }
        }
    }
    found.in_order_by_key(|one| (one.steps, 1 - one.tree, one.name));
    found
}

/// What a function that does not change the state itself calls to change it: functions, or members for calls through
/// them. Ways of up to `steps` calls, or else the shortest ones.
fn ways<'a>(levels: &'a Levels, name: &str, steps: usize) -> impl Iterator<Item = &'a str> {
    let at = levels.iter().position(|reach| reach.contains_key(name)).unwrap_or(0);
    let near = levels.iter().take(at.max(steps) + 1).filter(move |_| at > 0);
    let calls = near.filter_map(|reach| reach.get(name)).flat_map(|how| &how.calls).collect::<Vec<_>>();
    calls.into_iter().map(|(called, member)| member.as_deref().unwrap_or(called))
}

/// The calls from a function down to one that changes the state, and how that one changes it. If a function on the way
/// calls a new one, that call is followed.
fn chain(levels: &Levels, name: &str, is_new: &dyn Fn(&str) -> bool) -> (Vec<String>, Vec<Access>) {
    let (mut through, mut name) = (Vec::new(), name.to_owned());
    loop {
        let Some(at) = levels.iter().position(|reach| reach.contains_key(&name)) else { return (through, Vec::new()) };
        let how = &levels[at][&name];
        if at == 0 {
            return (through, how.does.iter().copied().collect());
        }
        let leads = |called: &str| levels[..at].iter().any(|reach| reach.contains_key(called));
        let new = how.calls.iter().find(|(called, _)| leads(called) && is_new(called));
        let next = new.or_else(|| how.calls.iter().find(|(called, _)| leads(called)));
        let Some((called, member)) = next else { return (through, Vec::new()) };
        through.extend(member.as_ref().map(|member| format!("->{member}")));
        through.push(called.clone());
        name.clone_from(called);
    }
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

fn has_word(line: &str, word: &str) -> bool {
    words_of(line).any(|other| other == word)
}

/// Percent of the lines that both have.
pub(crate) fn alike(a: &[String], b: &[String]) -> usize {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    a.iter().for_each(|line| *left.entry(line).or_default() += 1);
    let is_there =
        |line: &&String| left.get_mut(line.as_str()).is_some_and(|n| n.checked_sub(1).map(|less| *n = less).is_some());
    let both = b.iter().filter(is_there).count();
    200 * both / (a.len() + b.len()).max(1)
}
