//! The lists of an answer by their place in it: the size of each, and what was cut from it.

use super::tree::{Node, size};
use std::collections::BTreeMap;

/// Lists of numbers up to this length are pairs, intervals, or one value per arm: they are kept.
const FEW_NUMBERS: usize = 16;
/// Lists of words up to this length are kept.
const FEW_WORDS: usize = 4;

/// A place in the answer: `workloads[].metrics[]`.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ListSize {
    /// Bytes, without those of lists inside.
    pub(super) bytes: usize,
    /// Entries of the longest list there.
    pub(super) longest: usize,
    /// Entries of all lists there.
    pub(super) entries: usize,
    pub(super) is_numbers: bool,
    /// Whether it contains more than plain values.
    is_rows: bool,
}

impl ListSize {
    /// At least this many entries are kept.
    pub(super) fn least(&self) -> usize {
        match (self.is_rows, self.is_numbers) {
            (true, _) => 1,
            (_, true) => FEW_NUMBERS,
            _ => FEW_WORDS,
        }
    }
}

/// All lists, by their place.
pub(super) fn places(tree: &Node<'_>) -> BTreeMap<String, ListSize> {
    let mut found = BTreeMap::new();
    look(tree, "", "", &mut found);
    found
}

/// `list` is the list that contains a node; the node's bytes are counted there.
fn look(node: &Node<'_>, at: &str, list: &str, found: &mut BTreeMap<String, ListSize>) {
    let mut note = |entries: usize, bytes: usize, is_numbers: bool, is_rows: bool| {
        let place = found.entry(at.to_owned()).or_default();
        place.longest = place.longest.max(entries);
        place.entries += entries;
        place.bytes += bytes;
        place.is_numbers |= is_numbers;
        place.is_rows |= is_rows;
    };
    match node {
        Node::Leaf(text) | Node::Beginning(text) => {
            if let Some(place) = found.get_mut(list) {
                place.bytes += text.len() + 2;
            }
        }
        Node::Numbers(entries) => note(entries.len(), size(node), !entries.is_empty(), false),
        Node::List(entries) => {
            let is_rows = entries.iter().any(|entry| !matches!(entry, Node::Leaf(_) | Node::Beginning(_)));
            note(entries.len(), 0, false, is_rows);
            let inside = format!("{at}[]");
            entries.iter().for_each(|entry| look(entry, &inside, at, found));
        }
        Node::Object(members) | Node::ByName(members) => {
            let own = matches!(node, Node::ByName(_));
            if own {
                note(members.len(), 0, false, true);
            }
            let list = if own { at } else { list };
            for (name, member) in members {
                if let Some(place) = found.get_mut(list) {
                    place.bytes += name.len() + 8;
                }
                look(member, &below(at, name), list, found);
            }
        }
    }
}

pub(super) fn below(at: &str, name: &str) -> String {
    let name = name.trim_matches('"');
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

/// What was cut, and where: objects of JSON.
pub(super) fn notes(before: &BTreeMap<String, ListSize>, after: &BTreeMap<String, ListSize>) -> Vec<String> {
    // What was inside something that was cut is not listed separately.
    let kept = |at: &String| after.get(at).map_or(0, |place| place.entries);
    let is_cut = |at: &str| before.get(at).is_some_and(|place| kept(&at.to_owned()) < place.entries);
    let within_cut = |at: &String| at.match_indices("[]").any(|(end, _)| is_cut(&at[..end]));
    let all = before.iter().filter(|(at, place)| kept(at) < place.entries && !within_cut(at));
    all.map(|(at, place)| format!("{{\"list\":\"{at}\",\"entries\":{},\"kept\":{}}}", place.entries, kept(at)))
        .collect()
}
