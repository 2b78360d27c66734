//! How similar two versions of a function are, as text and as code.

use super::configured::tokens;
use std::collections::HashMap;

/// Wrappers whose value is their argument: they generate no code, or none that differs for a single access.
const TRANSPARENT: [&str; 12] = [
    "READ_ONCE",
    "data_race",
    "likely",
    "unlikely",
    "rcu_dereference",
    "rcu_dereference_raw",
    "rcu_dereference_rtnl",
    "rcu_dereference_bh",
    "rcu_access_pointer",
    "__force",
    "smp_load_acquire",
    "ACCESS_PRIVATE",
];
/// Words of a declaration that generate no code.
const SILENT: [&str; 8] =
    ["const", "inline", "__always_inline", "__maybe_unused", "notrace", "__rcu", "__read_mostly", "__must_check"];

/// Whether two texts are the same except for annotations that generate no code.
pub(crate) fn but_annotations(before: &[String], after: &[String]) -> bool {
    bare(before) == bare(after)
}

fn bare(lines: &[String]) -> Vec<String> {
    let mut left: Vec<String> = tokens(&lines.join(" "));
    left.retain(|token| !SILENT.contains(&token.as_str()));
    let mut out: Vec<String> = Vec::new();
    // For each open parenthesis, whether it is dropped, and whether a comma in it becomes `=`.
    let mut open: Vec<(bool, bool)> = Vec::new();
    for token in left {
        match token.as_str() {
            "(" => {
                let before = out.last().map(String::as_str).unwrap_or_default();
                let is_write = before == "WRITE_ONCE";
                let goes = is_write || TRANSPARENT.contains(&before);
                if goes {
                    out.pop();
                } else {
                    out.push(token);
                }
                open.push((goes, is_write));
            }
            ")" => {
                if !open.pop().is_some_and(|(goes, _)| goes) {
                    out.push(token);
                }
            }
            "," if open.last().is_some_and(|&(_, is_write)| is_write) => out.push("=".to_owned()),
            _ => out.push(token),
        }
    }
    out
}

/// Whether the texts are the same if some names are consistently replaced by others.
pub(crate) fn but_names(before: &[String], after: &[String]) -> bool {
    let [before, after] = [before, after].map(|lines| tokens(&lines.join(" ")));
    let is_name = |token: &str| token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let (mut there, mut back) = (HashMap::new(), HashMap::new());
    before.len() == after.len()
        && before.iter().zip(&after).all(|(a, b)| {
            let same = *there.entry(a.clone()).or_insert_with(|| b.clone()) == *b
                && *back.entry(b.clone()).or_insert_with(|| a.clone()) == *a;
            same && (a == b || is_name(a) && is_name(b))
        })
}

/// How two versions of code that differ are similar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alike {
    /// They differ only in offsets from a register: positions of members.
    Offsets,
    /// They also differ in constants.
    Constants,
    /// The same instructions with other registers, or in another order.
    Order,
    /// None of these.
    No,
}

pub(crate) fn alike(before: &[String], after: &[String]) -> Alike {
    let of = |lines: &[String], how: fn(&str) -> String| lines.iter().map(|line| how(line)).collect::<Vec<String>>();
    let is = |how: fn(&str) -> String| of(before, how) == of(after, how);
    let sorted = |lines: &[String]| {
        let mut out = of(lines, |line| line.split_whitespace().next().unwrap_or_default().to_owned());
        out.sort();
        out
    };
    if is(without_offsets) {
        Alike::Offsets
    } else if is(|line| without_constants(&without_offsets(line))) {
        Alike::Constants
    } else if sorted(before) == sorted(after) {
        Alike::Order
    } else {
        Alike::No
    }
}

/// `0x18(%rax)` and `(%rax)` are the same; so are names of variables with and without an offset.
fn without_offsets(line: &str) -> String {
    let mut out = String::new();
    for part in line.split_inclusive('(') {
        let end = part.trim_end_matches('(');
        let kept = end.trim_end_matches(|c: char| c.is_ascii_hexdigit() || c == 'x');
        let is_number = end[kept.len()..].starts_with("0x");
        out.push_str(if is_number && part.ends_with('(') { kept.trim_end_matches('-') } else { end });
        if part.ends_with('(') {
            out.push('(');
        }
    }
    out
}

/// `$0x18` becomes `$`, and `name+0x18` becomes `name`.
fn without_constants(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("0x") {
        let (left, right) = rest.split_at(at);
        out.push_str(left.trim_end_matches(['+', '-']));
        rest = right[2..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out + rest
}
