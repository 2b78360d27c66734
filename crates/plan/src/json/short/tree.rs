//! A JSON answer as a tree of slices of its own text, so that what remains of it is exactly what was written.

use super::laid_out;

/// An object with more members than this, none of which contains others, is treated as a list by name.
const MANY: usize = 32;

#[derive(Debug, Clone)]
pub(super) enum Node<'a> {
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

/// A number, or several that belong together.
fn is_number(node: &Node<'_>) -> bool {
    match node {
        Node::Leaf(text) => !text.starts_with('"'),
        Node::Numbers(_) => true,
        _ => false,
    }
}

/// Reads a value from the beginning of text written by serde_json, and removes it from the text.
pub(super) fn read<'a>(rest: &mut &'a str) -> Node<'a> {
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
pub(super) fn write(node: &Node<'_>, out: &mut String) {
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

/// Its size in bytes after the layout.
pub(super) fn size(tree: &Node<'_>) -> usize {
    let mut text = String::new();
    write(tree, &mut text);
    laid_out(&text).len()
}
