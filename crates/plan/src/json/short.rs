//! A JSON answer cut to a given size. The text is read as a tree of slices of itself, so what remains is exactly what
//! was written, in its order. Lists of rows are cut at their ends; lists of numbers are left out whole, because half of
//! a distribution misleads. `shortened` says what was cut.

mod places;
mod tree;

use super::laid_out;
use places::{ListSize, below, notes, places};
use tree::{Node, read, size, write};

/// Largest answer in bytes, by default.
pub const USUAL_BYTES: usize = 20_000;
/// The member that says what was cut.
const SHORTENED: &str = "shortened";
/// Bytes reserved for that member.
const FOR_SHORTENED: usize = 2_000;
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

/// Cuts what takes up most room until the answer fits: lists of rows and long texts by half, the last list only as far
/// as needed, and lists of numbers to nothing.
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
        Node::Leaf(text) | Node::Beginning(text) if text.starts_with('"') => text.len(),
        Node::Leaf(_) | Node::Beginning(_) | Node::Numbers(_) => 0,
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

#[cfg(test)]
mod tests;
