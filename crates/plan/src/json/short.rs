//! A JSON answer cut to a given size. The text is read as a tree of slices of itself, so what remains is exactly what
//! was written, in its order. Lists of rows are cut at their ends; lists of numbers are left out whole, because half of
//! a distribution misleads. `shortened` says what was cut.

use super::laid_out;
use std::collections::BTreeMap;

/// Largest answer in bytes, by default.
pub const USUAL_BYTES: usize = 20_000;
/// The member that says what was cut.
const SHORTENED: &str = "shortened";
/// Bytes reserved for that member.
const FOR_SHORTENED: usize = 2_000;
/// Lists of numbers up to this length are pairs, intervals, or one value per arm: they are kept.
const FEW_NUMBERS: usize = 16;
/// Lists of words up to this length are kept.
const FEW_WORDS: usize = 4;
/// An object with more members than this, none of which contains others, is treated as a list by name.
const MANY: usize = 32;
/// Texts are not cut to fewer bytes.
const SHORT_TEXT: usize = 400;

/// How much of an answer is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// At most this many bytes.
    Bytes(usize),
    /// At most this many entries of each list of rows; lists of numbers only while they fit in the usual size.
    Entries(usize),
    /// All.
    All,
}

impl Room {
    /// As in `--top N`: none given, 0, or a number.
    pub fn of(top: Option<usize>) -> Self {
        match top {
            None => Self::Bytes(USUAL_BYTES),
            Some(0) => Self::All,
            Some(entries) => Self::Entries(entries),
        }
    }
}

#[derive(Debug, Clone)]
enum Node<'a> {
    Leaf(&'a str),
    /// A text that was cut, with its first quote.
    Beginning(&'a str),
    /// Numbers, or pairs of numbers: half of a distribution misleads.
    Numbers(Vec<Node<'a>>),
    List(Vec<Node<'a>>),
    Object(Vec<(&'a str, Node<'a>)>),
    /// An object with arbitrary names: a list.
    ByName(Vec<(&'a str, Node<'a>)>),
}

/// A place in the answer: `workloads[].metrics[]`.
#[derive(Debug, Default, Clone, Copy)]
struct ListSize {
    /// Bytes, without those of lists inside.
    bytes: usize,
    /// Entries of the longest list there.
    longest: usize,
    /// Entries of all lists there.
    entries: usize,
    is_numbers: bool,
    /// It contains more than plain values.
    is_rows: bool,
}

impl ListSize {
    /// At least this many entries are kept.
    fn least(&self) -> usize {
        match (self.is_rows, self.is_numbers) {
            (true, _) => 1,
            (_, true) => FEW_NUMBERS,
            _ => FEW_WORDS,
        }
    }
}

/// An object as written by serde_json, laid out and cut to this size.
pub(super) fn shortened(small: &str, room: Room) -> String {
    let whole = laid_out(small);
    let is_enough = match room {
        Room::All => true,
        Room::Bytes(most) => whole.len() < most,
        Room::Entries(_) => false,
    };
    if is_enough {
        return whole;
    }
    let mut tree = read(&mut &small[..]);
    let before = places(&tree);
    match room {
        Room::Bytes(most) => {
            for cuts in [Cuts::Numbers, Cuts::All] {
                to_bytes(&mut tree, most.saturating_sub(FOR_SHORTENED), cuts);
            }
        }
        Room::Entries(most) => {
            for (place, found) in before.iter().filter(|(_, found)| !found.is_numbers) {
                cut(&mut tree, "", place, most.max(found.least()));
            }
            to_bytes(&mut tree, USUAL_BYTES - FOR_SHORTENED, Cuts::Numbers);
        }
        Room::All => {}
    }
    let notes = notes(&before, &places(&tree));
    let mut text = String::new();
    write(&tree, &mut text);
    if !notes.is_empty() && text.ends_with('}') {
        text.pop();
        let between = if text.ends_with('{') { "" } else { "," };
        text += &format!("{between}\"{SHORTENED}\":[{}]}}", notes.join(","));
    }
    laid_out(&text)
}

/// What [`to_bytes`] may cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cuts {
    All,
    Numbers,
}

/// Cuts what takes up most room until the answer fits: lists of rows and long texts by half, and the last list only as far
/// as needed; lists of numbers to nothing.
fn to_bytes(tree: &mut Node<'_>, most: usize, cuts: Cuts) {
    while size(tree) > most {
        let places = places(tree);
        let can_be_cut = |(_, place): &(&String, &ListSize)| {
            place.longest > place.least() && (place.is_numbers || cuts == Cuts::All)
        };
        let largest = places.iter().filter(can_be_cut).max_by_key(|(_, place)| place.bytes);
        let text = if cuts == Cuts::All { longest_text(tree) } else { 0 };
        match largest {
            Some((_, place)) if text > place.bytes.max(SHORT_TEXT) => cut_texts(tree, (text / 2).max(SHORT_TEXT)),
            Some((at, place)) => cut_list(tree, most, at, place),
            None if text > SHORT_TEXT => cut_texts(tree, (text / 2).max(SHORT_TEXT)),
            None => return,
        }
    }
}

fn cut_list(tree: &mut Node<'_>, most: usize, at: &str, place: &ListSize) {
    if place.is_numbers {
        return cut(tree, "", at, 0);
    }
    let fits = |kept: usize| {
        let mut tree = tree.clone();
        cut(&mut tree, "", at, kept);
        size(&tree) <= most
    };
    let (mut kept, mut too_many) = (place.longest.div_ceil(2).max(place.least()), place.longest);
    if fits(kept) {
        while too_many - kept > 1 {
            let middle = kept.midpoint(too_many);
            if fits(middle) { kept = middle } else { too_many = middle }
        }
    }
    cut(tree, "", at, kept);
}

fn size(tree: &Node<'_>) -> usize {
    let mut text = String::new();
    write(tree, &mut text);
    laid_out(&text).len()
}

/// All lists, by their place.
fn places(tree: &Node<'_>) -> BTreeMap<String, ListSize> {
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

/// A number, or several that belong together.
fn is_number(node: &Node<'_>) -> bool {
    match node {
        Node::Leaf(text) => !text.starts_with('"'),
        Node::Numbers(_) => true,
        _ => false,
    }
}

fn below(at: &str, name: &str) -> String {
    let name = name.trim_matches('"');
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

/// Cuts the lists at a place to this many entries; of numbers listed by name, the largest are kept.
fn cut(node: &mut Node<'_>, at: &str, place: &str, kept: usize) {
    match node {
        Node::Leaf(_) | Node::Beginning(_) => {}
        Node::Numbers(entries) => {
            if at == place {
                entries.truncate(kept);
            }
        }
        Node::List(entries) => {
            if at == place {
                entries.truncate(kept);
            }
            let inside = format!("{at}[]");
            entries.iter_mut().for_each(|entry| cut(entry, &inside, place, kept));
        }
        Node::Object(members) => {
            members.iter_mut().for_each(|(name, member)| cut(member, &below(at, name), place, kept))
        }
        Node::ByName(members) => {
            if at == place && members.len() > kept {
                let number = |node: &Node<'_>| if let Node::Leaf(text) = node { text.parse().ok() } else { None };
                members.sort_by(|(_, a), (_, b)| {
                    let (a, b): (Option<f64>, Option<f64>) = (number(a), number(b));
                    b.unwrap_or(0.0).total_cmp(&a.unwrap_or(0.0))
                });
                members.truncate(kept);
            }
        }
    }
}

/// Bytes of the longest text that can be cut.
fn longest_text(node: &Node<'_>) -> usize {
    match node {
        Node::Leaf(text) | Node::Beginning(text) => {
            if text.starts_with('"') {
                text.len()
            } else {
                0
            }
        }
        Node::Numbers(_) => 0,
        Node::List(entries) => entries.iter().map(longest_text).max().unwrap_or(0),
        Node::Object(members) | Node::ByName(members) => {
            members.iter().map(|(_, member)| longest_text(member)).max().unwrap_or(0)
        }
    }
}

fn cut_texts(node: &mut Node<'_>, most: usize) {
    match node {
        Node::Leaf(text) | Node::Beginning(text) => {
            if text.starts_with('"') && text.len() > most {
                *node = Node::Beginning(&text[..before(text, most)]);
            }
        }
        Node::Numbers(_) => {}
        Node::List(entries) => entries.iter_mut().for_each(|entry| cut_texts(entry, most)),
        Node::Object(members) | Node::ByName(members) => {
            members.iter_mut().for_each(|(_, member)| cut_texts(member, most));
        }
    }
}

/// The last position up to `most` at which a character of a quoted text, or an escape in it, ends.
fn before(quoted: &str, most: usize) -> usize {
    let (bytes, mut at, mut end) = (quoted.as_bytes(), 1, 1);
    while at <= most {
        end = at;
        at += match &bytes[at..] {
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            _ => quoted[at..].chars().next().map_or(1, char::len_utf8),
        };
    }
    end
}

/// What was cut, and where: objects of JSON.
fn notes(before: &BTreeMap<String, ListSize>, after: &BTreeMap<String, ListSize>) -> Vec<String> {
    // What was inside something that was cut is not listed separately.
    let kept = |at: &String| after.get(at).map_or(0, |place| place.entries);
    let is_cut = |at: &str| before.get(at).is_some_and(|place| kept(&at.to_owned()) < place.entries);
    let within_cut = |at: &String| at.match_indices("[]").any(|(end, _)| is_cut(&at[..end]));
    let all = before.iter().filter(|(at, place)| kept(at) < place.entries && !within_cut(at));
    all.map(|(at, place)| format!("{{\"list\":\"{at}\",\"entries\":{},\"kept\":{}}}", place.entries, kept(at)))
        .collect()
}

/// Reads a value from the beginning of text written by serde_json, and removes it from the text.
fn read<'a>(rest: &mut &'a str) -> Node<'a> {
    match rest.as_bytes().first() {
        Some(b'{') => {
            let members = entries(rest, '}', |rest| {
                let name = leaf(rest);
                *rest = rest.strip_prefix(':').unwrap_or(rest);
                (name, read(rest))
            });
            let is_by_name = members.len() > MANY && members.iter().all(|(_, member)| matches!(member, Node::Leaf(_)));
            if is_by_name { Node::ByName(members) } else { Node::Object(members) }
        }
        Some(b'[') => {
            let entries = entries(rest, ']', read);
            if entries.iter().all(is_number) { Node::Numbers(entries) } else { Node::List(entries) }
        }
        _ => Node::Leaf(leaf(rest)),
    }
}

fn entries<'a, T>(rest: &mut &'a str, end: char, mut one: impl FnMut(&mut &'a str) -> T) -> Vec<T> {
    let mut all = Vec::new();
    *rest = &rest[1..];
    while !rest.is_empty() && !rest.starts_with(end) {
        all.push(one(rest));
        *rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    *rest = rest.strip_prefix(end).unwrap_or(rest);
    all
}

fn leaf<'a>(rest: &mut &'a str) -> &'a str {
    let bytes = rest.as_bytes();
    let end = if bytes.first() == Some(&b'"') {
        let mut at = 1;
        while at < bytes.len() && bytes[at] != b'"' {
            at += 1 + usize::from(bytes[at] == b'\\');
        }
        at + 1
    } else {
        bytes.iter().position(|byte| matches!(byte, b',' | b'}' | b']')).unwrap_or(bytes.len())
    };
    let (leaf, after) = rest.split_at(end.min(bytes.len()));
    *rest = after;
    leaf
}

/// As serde_json writes it, in one line.
fn write(node: &Node<'_>, out: &mut String) {
    let mut between = "";
    match node {
        Node::Beginning(text) => {
            out.push_str(text);
            out.push_str("…\"");
        }
        Node::Leaf(text) => out.push_str(text),
        Node::Numbers(entries) | Node::List(entries) => {
            out.push('[');
            for entry in entries {
                out.push_str(std::mem::replace(&mut between, ","));
                write(entry, out);
            }
            out.push(']');
        }
        Node::Object(members) | Node::ByName(members) => {
            out.push('{');
            for (name, member) in members {
                out.push_str(std::mem::replace(&mut between, ","));
                out.push_str(name);
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests;
