//! Macros of a file that create a file of /sys, debugfs or /proc, or a sysctl, whose name is one of their arguments.

use super::interfaces::{Kind, is_attribute_of_sysfs};
use crate::source::head::{closing, parts};
use crate::source::lex::{self, Token, lex};
use crate::source::{Macro, Unit};

/// How deep macros are followed into others of the file.
const DEEPEST: usize = 4;

/// The name of each such macro, what it creates, and which argument is the name of that.
pub(super) fn of(unit: &Unit) -> Vec<(&str, Kind, usize)> {
    // Most files have no such macros.
    const WORDS: [&str; 5] = ["debugfs_create", "ATTR", "attr", ".procname", ".fop"];
    let all = &unit.macros[..];
    let mut known: Vec<(&str, Kind, usize)> = Vec::new();
    if !all.iter().any(|m| WORDS.iter().any(|word| m.text.contains(word))) {
        return known;
    }
    // First the macros that create files themselves, then those that use them, and so on.
    let mut left: Vec<&Macro> = all.iter().collect();
    for _ in 0..=DEEPEST {
        let (mut found, mut rest) = (Vec::new(), Vec::new());
        for m in left {
            match made(m, &known) {
                Some((kind, argument)) => found.push((m.name.as_str(), kind, argument)),
                None => rest.push(m),
            }
        }
        known.extend(found);
        left = rest;
    }
    known
}

/// `SDM(u32, 0644, busy_factor)` with `#define SDM(type, mode, member) debugfs_create_##type(#member, …)`,
/// `SLAB_ATTR(x)` with `#define SLAB_ATTR(name) … = __ATTR_RW(name)`, and macros that use these.
fn made(m: &Macro, known: &[(&str, Kind, usize)]) -> Option<(Kind, usize)> {
    let (parameters, body) = m.text.strip_prefix('(').and_then(|text| text.split_once(')'))?;
    let parameters: Vec<&str> = parameters.split(',').map(str::trim).collect();
    let place = |named: &str| parameters.iter().position(|parameter| *parameter == named);
    let tokens = lex(body.as_bytes(), 0..body.len(), false);
    if let Some(found) = by_member(body, &tokens, &place) {
        return Some(found);
    }
    if body.contains("debugfs_create") {
        let is_spelled = |parameter: &&str| body.contains(&format!("(#{parameter},"));
        return Some((Kind::Debugfs, parameters.iter().position(is_spelled)?));
    }
    let spelled = |part: &[Token]| part.iter().map(|t| &body[t.start..t.end]).collect::<String>();
    let is_call = |two: &&[Token]| two[0].kind == lex::Kind::Word && two[1].is(b'(');
    tokens.windows(2).enumerate().filter(|(_, two)| is_call(two)).find_map(|(at, two)| {
        let name = &body[two[0].start..two[0].end];
        let (kind, argument) = match is_attribute_of_sysfs(name) {
            true => (Kind::Sysfs, 0),
            // If a macro is defined again, the last definition counts.
            false => known.iter().rev().find(|(other, ..)| *other == name).map(|&(_, kind, at)| (kind, at))?,
        };
        let given = parts(&tokens[at + 2..closing(&tokens, at + 1)?], b',');
        Some((kind, place(&spelled(given.get(argument)?))?))
    })
}

/// `.procname = NAME` of a sysctl; `.name = NAME`, `(NAME)` or `__stringify(NAME)` of an attribute or of a file of
/// /proc.
fn by_member(body: &str, tokens: &[Token], place: &dyn Fn(&str) -> Option<usize>) -> Option<(Kind, usize)> {
    let text = |at: usize| tokens.get(at).map_or("", |t| &body[t.start..t.end]);
    let at = (1..tokens.len()).find(|&at| text(at - 1) == "." && matches!(text(at), "name" | "procname"))?;
    let value = (at + 2..at + 5).map(text).find(|word| !matches!(*word, "(" | "#" | "__stringify"))?;
    let kind = match () {
        () if text(at + 1) != "=" => return None,
        () if text(at) == "procname" => Kind::Sysctl,
        () if body.contains(".attr") || body.contains("_attribute") => Kind::Sysfs,
        () if body.contains(".fop") => Kind::Procfs,
        () => return None,
    };
    Some((kind, place(value)?))
}
