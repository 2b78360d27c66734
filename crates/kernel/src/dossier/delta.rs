//! Differences between the interfaces of two trees.

use super::interfaces::{Interface, Kind, macros};
use super::{File, events, find};
use schedlab_plan::OneByOne;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// An interface that one tree has and the other has not or has otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct InterfaceChange {
    /// What it is.
    pub kind: Kind,
    /// Its name, in the second tree if it is there.
    pub name: String,
    /// `added`, `removed`, `changed` or `renamed`: the only ones of their kind gone and come with the same definition; a
    /// member also between the same two others.
    pub change: &'static str,
    /// In the first tree.
    pub before: Option<Interface>,
    /// In the second tree.
    pub after: Option<Interface>,
    /// Commits, or subjects of patches, that change it, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
}

/// The interfaces that differ. A definition that only moved is not a change. If a name is defined several times (under
/// `#if`, or in several files), definitions are matched by file and text, then by text, then by file, and the rest in
/// the order of files and lines if they may be the same definition.
pub(super) fn changes(before: &[File], after: &[File]) -> Vec<InterfaceChange> {
    // There are many macros, so only those of files that differ are compared.
    let macros = [(before, after), (after, before)].map(|(of, other)| -> Vec<Interface> {
        let is_same = |file: &&File| find(other, &file.path).is_some_and(|same| same.text == file.text);
        of.iter().filter(|file| !is_same(file)).flat_map(|file| macros(&file.path, &file.unit)).collect()
    });
    let (old, new) = (by_name(before, &macros[0]), by_name(after, &macros[1]));
    let keys: BTreeSet<&(Kind, &str)> = old.keys().chain(new.keys()).one_by_one();
    let mut out = Vec::new();
    for key in keys {
        let (mut a, mut b) = (old.get(key).cloned().unwrap_or_default(), new.get(key).cloned().unwrap_or_default());
        let is_folder =
            |x: &Interface, y: &Interface| x.folder == y.folder || x.folder.is_empty() || y.folder.is_empty();
        let is_same = |x: &Interface, y: &Interface| is_one_text(x, y) && x.condition == y.condition && is_folder(x, y);
        let is_of_one_file = |x: &Interface, y: &Interface| x.place.file == y.place.file;
        pairs(&mut a, &mut b, |x, y| is_same(x, y) && is_of_one_file(x, y));
        pairs(&mut a, &mut b, is_same);
        let mut left: Vec<_> =
            pairs(&mut a, &mut b, is_of_one_file).into_iter().map(|(x, y)| (Some(x), Some(y))).collect();
        left.extend(pairs(&mut a, &mut b, may_be_one).into_iter().map(|(x, y)| (Some(x), Some(y))));
        // An export is removed only if no file exports the name any more, and added only if none did.
        if key.0 == Kind::Export {
            let is_in = |all: &ByName<'_>, one: &Interface| {
                all.get(key).is_some_and(|others| others.iter().any(|other| is_of_one_kernel(one, other)))
            };
            a.retain(|one| !is_in(&new, one));
            b.retain(|one| !is_in(&old, one));
        }
        left.extend(a.into_iter().map(|x| (Some(x), None)).chain(b.into_iter().map(|y| (None, Some(y)))));
        for (before, after) in left {
            let (before, after) = (before.cloned(), after.cloned());
            let change = match (&before, &after) {
                (Some(_), Some(_)) => "changed",
                (Some(_), None) => "removed",
                _ => "added",
            };
            out.push(InterfaceChange {
                kind: key.0,
                name: key.1.to_owned(),
                change,
                before,
                after,
                commits: Vec::new(),
            });
        }
    }
    // New and removed functions belong to the chapter on functions, and new and removed macros are not an interface.
    // The members of a new or removed type are not listed separately.
    let whole: BTreeSet<String> =
        out.iter().filter(|c| c.kind == Kind::Type && c.change != "changed").map(|c| c.name.clone()).collect();
    out.retain(|c| match c.kind {
        Kind::Signature | Kind::Macro => c.change == "changed",
        Kind::Member => !c.name.rsplit_once('.').is_some_and(|(of, _)| whole.contains(of)),
        _ => true,
    });
    renamed(out, [before, after])
}

/// Whether two definitions mean the same to their users.
fn is_one_text(x: &Interface, y: &Interface) -> bool {
    x.detail == y.detail || x.kind == Kind::Tracepoint && events::shown(&x.detail) == events::shown(&y.detail)
}

/// Whether two definitions of one name in different files can be the same one, moved and changed. Not if they are for
/// different architectures, and not for a macro or a static table of a C file.
fn may_be_one(x: &Interface, y: &Interface) -> bool {
    let is_local = |i: &Interface| match i.kind {
        Kind::Operation => true,
        Kind::Macro => i.place.file.ends_with(".c"),
        _ => false,
    };
    arch(x) == arch(y) && !is_local(x) && !is_local(y)
}

/// The architecture that it is for, from its directory below `arch/`.
fn arch(i: &Interface) -> Option<&str> {
    i.place.file.strip_prefix("arch/").and_then(|rest| rest.split('/').next())
}

/// Whether one kernel can have both: they are not for two different architectures.
fn is_of_one_kernel(x: &Interface, y: &Interface) -> bool {
    arch(x).zip(arch(y)).is_none_or(|(x, y)| x == y)
}

/// Takes the matching pairs out of both lists; each one is paired with the first match that is left.
fn pairs<'a>(
    a: &mut Vec<&'a Interface>,
    b: &mut Vec<&'a Interface>,
    is_one: impl Fn(&Interface, &Interface) -> bool,
) -> Vec<(&'a Interface, &'a Interface)> {
    let mut out = Vec::new();
    a.retain(|x| match b.iter().position(|y| is_one(x, y)) {
        Some(at) => {
            out.push((*x, b.remove(at)));
            false
        }
        None => true,
    });
    out
}

type ByName<'a> = BTreeMap<(Kind, &'a str), Vec<&'a Interface>>;

fn by_name<'a>(files: &'a [File], macros: &'a [Interface]) -> ByName<'a> {
    let mut out = ByName::new();
    for i in files.iter().flat_map(|f| &f.interfaces).chain(macros) {
        out.entry((i.kind, i.name.as_str())).or_default().push(i);
    }
    out
}

/// Joins a removed and an added interface into a rename if they have the same identity (see [`stays`]) and no others of
/// their kind do.
fn renamed(mut changes: Vec<InterfaceChange>, sides: [&[File]; 2]) -> Vec<InterfaceChange> {
    let mut said: BTreeMap<(Kind, String), [Vec<usize>; 2]> = BTreeMap::new();
    for (at, c) in changes.iter().enumerate().filter(|(_, c)| c.change != "changed") {
        let side = usize::from(c.before.is_none());
        let Some(stays) = [&c.before, &c.after][side].as_ref().and_then(|i| stays(i, sides[side])) else { continue };
        said.entry((c.kind, stays)).or_default()[side].push(at);
    }
    let mut gone = BTreeSet::new();
    for pair in said.into_values() {
        if let [[removed], [added]] = [&pair[0][..], &pair[1][..]]
            && (changes[*added].kind != Kind::Member || are_alike(&changes[*removed].name, &changes[*added].name))
        {
            changes[*added].before = changes[*removed].before.clone();
            changes[*added].change = "renamed";
            gone.insert(*removed);
        }
    }
    let kept = changes.into_iter().enumerate().filter(|(at, _)| !gone.contains(at));
    kept.map(|(_, change)| change).collect()
}

/// Two members at the same place may still be different ones. As a rename counts only a pair whose names have three
/// letters in a row in common.
fn are_alike(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|name| name.rsplit('.').next().unwrap_or(name).as_bytes());
    a.windows(3).any(|part| !part.contains(&b'_') && b.windows(3).any(|other| other == part))
}

/// Padding: a member that takes its place is new.
fn is_filler(name: &str) -> bool {
    let name = name.trim_matches('_');
    ["pad", "resv", "rsv", "reserv", "unused", "spare", "dummy"].iter().any(|start| name.starts_with(start))
}

/// The part of an interface that stays the same when it is renamed; `None` if unrelated ones may well have the same.
fn stays(i: &Interface, files: &[File]) -> Option<String> {
    /// Structs with fewer members are too similar to each other.
    const MEMBERS: usize = 3;
    let is_distinctive = match i.kind {
        // Two directories cannot be told apart by their definitions.
        Kind::Debugfs | Kind::Procfs => !i.detail.starts_with("debugfs_create_dir") && !i.detail.contains("mkdir"),
        Kind::Sysctl | Kind::CgroupFile | Kind::BootParameter | Kind::MibItem => true,
        // Only options with a prompt.
        Kind::Kconfig => i.detail.contains('"'),
        Kind::ModuleParameter => i.detail.starts_with("module_param_named"),
        Kind::Type | Kind::Member => {
            let of = if i.kind == Kind::Type { &i.name } else { i.name.rsplit_once('.')?.0 };
            let all = &find(files, &i.place.file)?.interfaces;
            let at = all.iter().position(|other| other == i)?;
            let member = |i: &&Interface| i.kind == Kind::Member && i.name.rsplit_once('.').is_some_and(|n| n.0 == of);
            if i.kind == Kind::Type {
                let members = all[at + 1..].iter().take_while(member);
                // An enum constant has nothing but its name.
                let said = |m: &Interface| format!("{} {}", &m.name[of.len()..], m.detail);
                let members: Vec<String> = members.map(said).collect();
                return (members.len() >= MEMBERS).then(|| members.join("; "));
            }
            if is_filler(&i.name[of.len() + 1..]) {
                return None;
            }
            let near = [at.checked_sub(1), Some(at + 1)].map(|at| at.and_then(|at| all.get(at)).filter(member));
            let [before, after] = near.map(|near| near.map_or("", |near| &near.name));
            // The member's name stands after its type. Enum constants have no type, and one bit field is like another.
            let (head, tail) = i.detail.rsplit_once(&i.name[of.len() + 1..])?;
            let is_distinctive = !of.starts_with("enum") && !tail.starts_with(':');
            return is_distinctive.then(|| format!("{of} in {}: {before} {head}*{tail} {after}", i.place.file));
        }
        _ => false,
    };
    (is_distinctive && !i.detail.is_empty()).then(|| i.detail.clone())
}
