//! Which `#if` conditions apply to a line.

/// The stack of open conditionals. The guard of a header against being read twice is not a condition.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions {
    open: Vec<Open>,
    /// The name of `#ifndef NAME` or its like, which was the last directive: `#define NAME` after it makes it a header's
    /// guard.
    guard: Option<String>,
}

#[derive(Debug, Clone)]
struct Open {
    holds: String,
    /// Those of the branches before, for `#else`.
    before: String,
    /// Brace depth where it began, and at the end of its first branch.
    depth: usize,
    first: Option<usize>,
    /// How long the scanner's unfinished declaration was.
    head: usize,
}

/// What a directive means to the scanner.
pub(super) enum Effect {
    /// Goes on: brace depth and length of the unfinished declaration as given.
    Continue { depth: usize, head: usize },
    /// `#if 0`: nothing counts up to its `#else` or `#endif`.
    Dead,
}

impl Conditions {
    /// Takes directive `name` with its `rest`, which is normalised, at a brace depth and with a declaration begun.
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

    /// Under `#if 0`.
    pub(super) fn is_dead(&self) -> bool {
        self.open.iter().any(|open| open.holds == "0")
    }

    /// All that hold here, joined by `&&`.
    pub(super) fn text(&self) -> String {
        let held: Vec<&str> =
            self.open.iter().map(|o| o.holds.as_str()).filter(|h| !h.is_empty() && *h != "!0").collect();
        match held[..] {
            [only] => only.to_owned(),
            _ => held.into_iter().map(joined).collect::<Vec<_>>().join(" && "),
        }
    }
}

/// As a part of an `&&`: in parentheses if it has an `||` outside of any.
pub(crate) fn joined(condition: &str) -> String {
    let (mut depth, bytes) = (0i32, condition.as_bytes());
    let has_or = bytes.windows(2).any(|pair| {
        depth += i32::from(pair[0] == b'(') - i32::from(pair[0] == b')');
        depth == 0 && pair == b"||"
    });
    if has_or { format!("({condition})") } else { condition.to_owned() }
}

/// The name that a guard asks for: `#ifndef NAME`, and `#if !defined(NAME) || defined(TRACE_HEADER_MULTI_READ)` of a
/// header that is meant to be read again.
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
