//! Macros of a file that make a file of debugfs or /sys and are given its name.

use super::interfaces::Kind;
use crate::source::head::{closing, parts};
use crate::source::lex::{self, Token, lex};
use crate::source::{Macro, Unit};

/// How deep macros are followed into others of the file.
const DEEPEST: usize = 4;

/// Each such macro's name, what it makes and which argument is the name of that.
pub(super) fn of(unit: &Unit) -> Vec<(&str, Kind, usize)> {
    // Most files have none.
    let all = &unit.macros[..];
    if !all.iter().any(|m| m.text.contains("debugfs_create") || attribute(&m.text).is_some()) {
        return Vec::new();
    }
    all.iter().filter_map(|m| made(m, all, 0).map(|(kind, at)| (m.name.as_str(), kind, at))).collect()
}

/// `SDM(u32, 0644, busy_factor)` of `#define SDM(type, mode, member) debugfs_create_##type(#member, …)`, `SLAB_ATTR(x)` of
/// `#define SLAB_ATTR(name) … = __ATTR_RW(name)`, and macros that are made of these.
fn made(m: &Macro, all: &[Macro], depth: usize) -> Option<(Kind, usize)> {
    let (parameters, body) = m.text.strip_prefix('(').and_then(|text| text.split_once(')'))?;
    let parameters: Vec<&str> = parameters.split(',').map(str::trim).collect();
    let place = |named: &str| parameters.iter().position(|parameter| *parameter == named);
    if let Some(named) = attribute(body) {
        return Some((Kind::Sysfs, place(named)?));
    }
    if body.contains("debugfs_create") {
        let is_spelled = |parameter: &&str| body.contains(&format!("(#{parameter},"));
        return Some((Kind::Debugfs, parameters.iter().position(is_spelled)?));
    }
    if depth == DEEPEST {
        return None;
    }
    let text = body.as_bytes();
    let tokens = lex(text, 0..text.len(), false);
    let spelled = |part: &[Token]| part.iter().map(|t| &body[t.start..t.end]).collect::<String>();
    tokens.windows(2).enumerate().filter(|(_, two)| two[0].kind == lex::Kind::Word && two[1].is(b'(')).find_map(
        |(at, two)| {
            let (kind, argument) = made(last(all, &body[two[0].start..two[0].end])?, all, depth + 1)?;
            let close = closing(&tokens, at + 1)?;
            let given = parts(&tokens[at + 2..close], b',');
            Some((kind, place(&spelled(given.get(argument)?))?))
        },
    )
}

/// A macro that is defined again counts as at last.
fn last<'a>(all: &'a [Macro], name: &str) -> Option<&'a Macro> {
    all.iter().rev().find(|m| m.name == name)
}

/// What names the file of /sys that a macro makes: `x` of `__ATTR_RO(x)`, or of `.name = __stringify(x)` in an attribute.
fn attribute(text: &str) -> Option<&str> {
    let (_, rest) = match text.split_once("__ATTR") {
        Some((_, rest)) => rest.split_once('(')?,
        None => text.split_once("__stringify(").filter(|_| text.contains("_attribute"))?,
    };
    rest.split([',', ')']).next().map(str::trim)
}
