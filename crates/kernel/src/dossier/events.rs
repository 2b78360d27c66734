//! Tracepoints that a macro of the file defines: `#define DEFINE_SQ_EVENT(name) DEFINE_EVENT(sq_event, sq_##name, …)`.

use crate::source::head::{closing, parts};
use crate::source::lex::{Kind, Token, lex};
use crate::source::{Invocation, Macro, Unit};

/// How deep macros are followed into others of the file, and how many expansions one invocation may have: nested macros
/// multiply.
const DEEPEST: usize = 4;
const MOST: usize = 1000;

/// The macros of a file in whose text an event is defined, or another such macro is used.
pub(super) fn macros(unit: &Unit) -> Vec<&Macro> {
    unit.macros.iter().filter(|m| m.text.starts_with('(') && m.text.contains("EVENT")).collect()
}

/// What an invocation of one of these macros defines; `None` if it is none of them.
pub(super) fn expanded(macros: &[&Macro], i: &Invocation) -> Option<Vec<Invocation>> {
    let (mut out, mut left) = (Vec::new(), MOST);
    expand(macros, i, DEEPEST, &mut left, &mut out)?;
    (!out.is_empty()).then_some(out)
}

fn expand(macros: &[&Macro], i: &Invocation, depth: usize, left: &mut usize, out: &mut Vec<Invocation>) -> Option<()> {
    // If a macro is defined again, the last definition counts.
    let found = macros.iter().rev().find(|m| m.name == i.name).filter(|_| depth > 0 && *left > 0)?;
    *left -= 1;
    let (parameters, body) = found.text.strip_prefix('(')?.split_once(')')?;
    let parameters: Vec<&str> = parameters.split(',').map(str::trim).collect();
    let tokens = lex(body.as_bytes(), 0..body.len(), false);
    let text = |token: &Token| &body[token.start..token.end];
    let mut at = 0;
    while at + 1 < tokens.len() {
        let Some(close) = closing(&tokens, at + 1).filter(|_| tokens[at + 1].is(b'(')) else {
            at += 1;
            continue;
        };
        let (name, inner) = (text(&tokens[at]), &tokens[at + 2..close]);
        let given = |part: &[Token]| substituted(body, part, &parameters, &i.arguments);
        let arguments = parts(inner, b',').into_iter().map(given).collect();
        let made =
            Invocation { name: name.to_owned(), arguments, condition: i.condition.clone(), function: None, ..*i };
        if tokens[at].kind == Kind::Word && expand(macros, &made, depth - 1, left, out).is_none() && defines(name) {
            out.push(made);
        }
        at = close + 1;
    }
    Some(())
}

/// An event's definition as readers of its records see it: without the second argument of `__assign_str(field, value)`,
/// which is also in `__string(field, value)` and was dropped in 6.10.
pub(super) fn shown(detail: &str) -> String {
    ["__assign_str(", "__assign_rel_str("].iter().fold(detail.to_owned(), |text, by| first_arguments(&text, by))
}

/// The text with only the first argument of each call of `by`.
fn first_arguments(text: &str, by: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(by) {
        let mut depth = 0i32;
        let close = after.bytes().position(|byte| {
            depth += i32::from(byte == b'(') - i32::from(byte == b')');
            depth < 0
        });
        let (inside, after) = after.split_at(close.unwrap_or(after.len()));
        out = out + before + by + inside.split(',').next().unwrap_or_default();
        rest = after;
    }
    out + rest
}

fn defines(name: &str) -> bool {
    ["DEFINE_EVENT", "TRACE_EVENT", "DECLARE_TRACE"].iter().any(|start| name.starts_with(start))
}

/// An argument in a macro's text, with the macro's parameters replaced; `##` joins the tokens on either side.
fn substituted(body: &str, part: &[Token], parameters: &[&str], given: &[String]) -> String {
    let mut out = String::new();
    let mut end = part.first().map_or(0, |token| token.start);
    for token in part {
        let text = &body[token.start..token.end];
        if token.is(b'#') {
            out.truncate(out.trim_end().len());
            end = token.end + body[token.end..].len() - body[token.end..].trim_start().len();
            continue;
        }
        out += body.get(end..token.start).unwrap_or_default();
        let parameter = parameters.iter().position(|parameter| *parameter == text);
        out += parameter.and_then(|at| given.get(at)).map_or(text, String::as_str);
        end = token.end;
    }
    out
}
