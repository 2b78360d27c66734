//! Whether an `#if` condition holds in a kernel configuration.

use anyhow::{Context, Result};
use schedlab_kernel::source::{Function, code_lines, inner_conditions};
use std::collections::HashSet;
use std::path::Path;

/// The options of a build: `CONFIG_X`, and `CONFIG_X_MODULE` for modules.
pub(crate) struct Configuration(HashSet<String>);

impl Configuration {
    pub(crate) fn read(build: &Path) -> Result<Self> {
        let path = build.join(".config");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let set = text.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| match value {
            "m" => format!("{name}_MODULE"),
            _ => name.to_owned(),
        });
        Ok(Self(set.collect()))
    }

    /// `None` if the condition depends on more than options.
    pub(crate) fn holds(&self, condition: &str) -> Option<bool> {
        let tokens: Vec<String> = tokens(condition);
        let mut reader = Reader { of: self, tokens: &tokens, at: 0 };
        let holds = reader.any();
        if reader.at == tokens.len() { holds } else { None }
    }

    /// The lines of a function that remain in this configuration.
    pub(crate) fn left(&self, text: &[u8], function: &Function) -> Vec<String> {
        if self.holds(&function.condition) == Some(false) {
            return Vec::new();
        }
        let conditions = inner_conditions(text, function);
        let lines = code_lines(text, function).into_iter().zip(conditions);
        let left = lines.filter(|(line, held)| self.holds(held) != Some(false) && !line.starts_with('#'));
        left.map(|(line, _)| line).collect()
    }
}

struct Reader<'a> {
    of: &'a Configuration,
    tokens: &'a [String],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, wanted: &str) -> bool {
        let is = self.tokens.get(self.at).is_some_and(|token| token == wanted);
        self.at += usize::from(is);
        is
    }

    fn any(&mut self) -> Option<bool> {
        let mut out = self.all();
        while self.take("||") {
            out = match (out, self.all()) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        out
    }

    fn all(&mut self) -> Option<bool> {
        let mut out = self.one();
        while self.take("&&") {
            out = match (out, self.one()) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        out
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("!") {
            return self.one().map(|holds| !holds);
        }
        if self.take("(") {
            let holds = self.any();
            return if self.take(")") { holds } else { None };
        }
        let Some(word) = self.tokens.get(self.at) else { return Some(true) };
        self.at += 1;
        if ["defined", "IS_ENABLED", "IS_BUILTIN", "IS_REACHABLE"].contains(&word.as_str()) {
            return self.one();
        }
        match word.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ if word.starts_with("CONFIG_") => Some(self.of.0.contains(word)),
            // No assembler reads C files, and no other compiler or checker is used.
            "__ASSEMBLY__" | "__CHECKER__" | "__clang__" => Some(false),
            _ if word.starts_with("__SANITIZE_") => Some(false),
            "__KERNEL__" => Some(true),
            _ => None,
        }
    }
}

/// Words, `&&`, `||`, and other marks one by one.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut last = ' ';
    for c in text.chars() {
        let joins = is_word(c) && is_word(last) || ['&', '|'].contains(&c) && c == last;
        match out.last_mut().filter(|_| joins) {
            Some(token) => token.push(c),
            None if c.is_whitespace() => {}
            None => out.push(c.to_string()),
        }
        last = c;
    }
    out
}
