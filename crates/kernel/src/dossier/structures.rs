//! The data structures of a feature: their members before and after, and which functions write and read each.

use super::{File, InterfaceChange, Kind, SourceLine};
use crate::contract::{Access, StateKind, access};
use crate::needs::side::Side;
use crate::source::{Member, Type};
use schedlab_plan::InOrder;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// At most this many structs are shown: those whose differing members are used most.
const SHOWN: usize = 12;

/// A struct or union that differs.
#[derive(Debug, Clone, Serialize)]
pub struct Structure {
    /// `struct cfs_rq`.
    pub name: String,
    /// Where it is defined in each tree.
    pub places: [Option<SourceLine>; 2],
    /// Members that differ, in the order of the second tree, those that are gone last.
    pub members: Vec<MemberUse>,
    /// Members that both trees have as they are.
    pub kept: usize,
}

/// A member that one tree has, or has otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct MemberUse {
    /// Its name.
    pub name: String,
    /// Its declaration in each tree.
    pub declared: [Option<String>; 2],
    /// Functions that change it, in each tree.
    pub writers: [BTreeSet<String>; 2],
    /// Functions that only read it.
    pub readers: [BTreeSet<String>; 2],
    /// Structs that have a member of this name: with more than one, accesses to them cannot be distinguished.
    pub namesakes: usize,
}

/// The structs whose members differ. Accesses are found by the member's name.
pub fn structures(interfaces: &[InterfaceChange], before: &[File], after: &[File]) -> Vec<Structure> {
    let is_struct = |name: &&str| name.starts_with("struct ") || name.starts_with("union ");
    let name_of = |change: &InterfaceChange| match change.kind {
        Kind::Type => Some(change.name.clone()),
        Kind::Member => change.name.rsplit_once('.').map(|(of, _)| of.to_owned()),
        _ => None,
    };
    let names: BTreeSet<String> =
        interfaces.iter().filter_map(name_of).filter(|name| is_struct(&name.as_str())).collect();
    let mut out: Vec<Structure> = names.into_iter().filter_map(|name| structure(name, [before, after])).collect();
    let wanted: BTreeSet<String> = out.iter().flat_map(|s| &s.members).map(|member| member.name.clone()).collect();
    let uses = [before, after].map(|files| uses(files, &wanted));
    let namesakes = namesakes(before.iter().chain(after));
    for member in out.iter_mut().flat_map(|structure| &mut structure.members) {
        member.namesakes = namesakes.get(member.name.as_str()).map_or(1, BTreeSet::len);
        for side in [0, 1].into_iter().filter(|&side| member.declared[side].is_some()) {
            let (writers, readers) = uses[side].get(&member.name).cloned().unwrap_or_default();
            member.readers[side] = readers.difference(&writers).cloned().collect();
            member.writers[side] = writers;
        }
    }
    let used = |s: &Structure| {
        let of =
            |m: &MemberUse| m.writers.iter().chain(&m.readers).map(BTreeSet::len).sum::<usize>() / m.namesakes.max(1);
        s.members.iter().map(of).sum::<usize>()
    };
    out.in_order_by_key(|s| (usize::MAX - used(s), s.name.clone()));
    out.truncate(SHOWN);
    out
}

fn structure(name: String, sides: [&[File]; 2]) -> Option<Structure> {
    let found = sides.map(|files| {
        let all = files.iter().flat_map(|file| file.unit.types.iter().map(move |t| (file, t)));
        let mut all = all.filter(|(_, t)| format!("{} {}", t.keyword, t.name) == name);
        all.next()
    });
    let place = |(file, t): (&File, &Type)| SourceLine { file: file.path.clone(), line: t.line };
    let members = |side: usize| found[side].map(|(_, t)| &t.members[..]).unwrap_or_default();
    let text = |side: usize, name: &str| {
        let texts: Vec<&str> = members(side).iter().filter(|m| m.name == name).map(|m| m.text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    };
    let order = members(1).iter().chain(members(0));
    let mut seen = BTreeSet::new();
    let names: Vec<&Member> = order.filter(|member| seen.insert(member.name.as_str())).collect();
    let one = |member: &&Member| {
        let declared = [text(0, &member.name), text(1, &member.name)];
        let use_ = MemberUse {
            name: member.name.clone(),
            declared,
            writers: Default::default(),
            readers: Default::default(),
            namesakes: 1,
        };
        (use_.declared[0] != use_.declared[1]).then_some(use_)
    };
    let differing: Vec<MemberUse> = names.iter().filter_map(one).collect();
    let kept = names.len() - differing.len();
    (!differing.is_empty()).then(|| Structure { places: found.map(|f| f.map(place)), members: differing, kept, name })
}

/// For each member, the functions that write it and those that name it.
type Uses = BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)>;

fn uses(files: &[File], wanted: &BTreeSet<String>) -> Uses {
    let mut out = Uses::new();
    for file in files {
        for function in &file.unit.functions {
            let side = Side::of(&file.text[function.bytes.clone()]);
            for at in 0..side.tokens.len() {
                let Some(word) = side.word(at).filter(|word| wanted.contains(*word)) else { continue };
                let Some(does) = access(&side, at, StateKind::Member) else { continue };
                let (writers, readers) = out.entry(word.to_owned()).or_default();
                let to = if does == Access::Read { readers } else { writers };
                to.insert(function.name.clone());
            }
        }
    }
    out
}

/// For each member name, the structs of both trees that have such a member.
fn namesakes<'a>(files: impl Iterator<Item = &'a File>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut out: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for found in files.flat_map(|file| &file.unit.types).filter(|t| t.keyword != "enum") {
        for member in &found.members {
            out.entry(&member.name).or_default().insert(&found.name);
        }
    }
    out
}
