//! Which `#if` conditions apply to a line.

/// The stack of open conditionals. The include guard of a header is not a condition.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions {
    open: Vec<Open>,
    /// The name in a preceding `#ifndef NAME` or equivalent: followed by `#define NAME` it is an include guard.
    guard: Option<String>,
}

#[derive(Debug, Clone)]
struct Open {
    holds: String,
    /// The conditions of the earlier branches, for `#else`.
    before: String,
    /// Brace depth at the `#if`, and at the end of its first branch.
    depth: usize,
    first: Option<usize>,
    /// Length of the scanner's unfinished declaration at the `#if`.
    head: usize,
}

/// What a directive means to the scanner.
pub(super) enum Effect {
    /// Continue with this brace depth and length of the unfinished declaration.
    Continue { depth: usize, head: usize },
    /// `#if 0`: skip everything up to its `#else` or `#endif`.
    Dead,
}

impl Conditions {
    /// Handles the directive `name` with its normalised `rest`, at a brace depth and with an unfinished declaration.
    pub(super) fn take(&mut self, name: &str, rest: &str, depth: usize, head: usize) -> Effect {
        let guard = self.guard.take();
        match name {
            "if" | "ifdef" | "ifndef" => {
                let holds = match name {
                    "ifdef" => rest.to_owned(),
                    "ifndef" => format!("!{rest}"),
                    _ => rest.to_owned(),
                };
                if self.open.is_empty() {
                    self.guard = guarding(name, rest);
                }
                let before = negated(&holds);
                self.open.push(Open { holds, before, depth, first: None, head });
                if name == "if" && rest == "0" {
                    return Effect::Dead;
                }
            }
            "else" | "elif" | "elifdef" | "elifndef" => {
                if let Some(open) = self.open.last_mut() {
                    open.first.get_or_insert(depth);
                    open.holds = if name == "else" {
                        open.before.clone()
                    } else {
                        format!("{} && {}", open.before, joined(rest))
                    };
                    open.before = format!("{} && {}", open.before, negated(rest));
                    return Effect::Continue { depth: open.depth, head: open.head };
                }
            }
            "endif" => {
                if let Some(open) = self.open.pop() {
                    return Effect::Continue { depth: open.first.unwrap_or(depth), head };
                }
            }
            "define" if guard.as_deref() == rest.split([' ', '(']).next() && guard.is_some() => {
                if let Some(open) = self.open.last_mut() {
                    (open.holds, open.before) = (String::new(), String::new());
                }
            }
            _ => {}
        }
        Effect::Continue { depth, head }
    }

    /// Whether the position is under `#if 0`.
    pub(super) fn is_dead(&self) -> bool {
        self.open.iter().any(|open| open.holds == "0")
    }

    /// All conditions that apply here, joined by `&&`.
    pub(super) fn text(&self) -> String {
        let held: Vec<&str> =
            self.open.iter().map(|o| o.holds.as_str()).filter(|h| !h.is_empty() && *h != "!0").collect();
        match held[..] {
            [only] => only.to_owned(),
            _ => held.into_iter().map(joined).collect::<Vec<_>>().join(" && "),
        }
    }
}

/// A condition as an operand of `&&`: in parentheses if it has a top-level `||`.
pub(crate) fn joined(condition: &str) -> String {
    let (mut depth, bytes) = (0i32, condition.as_bytes());
    let has_or = bytes.windows(2).any(|pair| {
        depth += i32::from(pair[0] == b'(') - i32::from(pair[0] == b')');
        depth == 0 && pair == b"||"
    });
    if has_or { format!("({condition})") } else { condition.to_owned() }
}

/// The name that an include guard tests: `#ifndef NAME`, or `#if !defined(NAME) || defined(TRACE_HEADER_MULTI_READ)` in
/// a header that is meant to be read again.
fn guarding(directive: &str, rest: &str) -> Option<String> {
    let name = match directive {
        "ifndef" => rest,
        "if" => rest.split("||").next()?.trim().strip_prefix("!defined")?.trim_matches(['(', ')', ' ']),
        _ => return None,
    };
    let is_name = !name.is_empty() && name.bytes().all(super::lex::is_word);
    is_name.then(|| name.to_owned())
}

fn negated(condition: &str) -> String {
    let is_name = condition.bytes().all(super::lex::is_word);
    match condition.strip_prefix('!') {
        Some(name) if name.bytes().all(super::lex::is_word) => name.to_owned(),
        _ if is_name => format!("!{condition}"),
        _ => format!("!({condition})"),
    }
}
