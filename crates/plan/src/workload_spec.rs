//! `id[:args]`: how a workload is named on the command line, in a plan and in the manifest.

use crate::setting::Setting;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A workload's name and its arguments, not yet checked against the workload of that name.
///
/// `messaging:5x50,groups=10` has the name `messaging`, the shorthand `5x50` and the argument `groups`. A version may
/// be given (`messaging/1`). The meaning of the arguments belongs to the workload (crate `bench`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkloadSpec {
    /// The id without its version: `messaging`.
    pub name: String,
    /// The version, if written (`messaging/1`).
    pub version: Option<u32>,
    /// The argument without a key (`5x50`), if written.
    pub shorthand: Option<String>,
    /// `key=value` arguments.
    pub args: BTreeMap<String, String>,
}

/// A text that does not have the form `id[:args]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No name before the colon.
    #[error("`{0}` does not name a workload; write `id[:args]`, for example `messaging:5x50,groups=10`")]
    NoName(String),
    /// `name/VERSION` with a version that is not a number.
    #[error("`{0}`: the version after `/` is not a number")]
    BadVersion(String),
    /// A quote without an end.
    #[error("`{0}`: a quote is not closed; put a value that contains one kind of quote into the other")]
    Unclosed(String),
    /// The same key twice.
    #[error("`{spec}`: `{key}` is given twice; give it once")]
    Twice {
        /// The whole text.
        spec: String,
        /// The repeated key or shorthand.
        key: String,
    },
}

impl FromStr for WorkloadSpec {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (id, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let (name, version) = match id.split_once('/') {
            Some((name, v)) => {
                (name.trim(), Some(v.trim().parse().map_err(|_| SpecError::BadVersion(text.to_owned()))?))
            }
            None => (id.trim(), None),
        };
        if name.is_empty() {
            return Err(SpecError::NoName(text.to_owned()));
        }
        let mut spec = Self { name: name.to_owned(), version, shorthand: None, args: BTreeMap::new() };
        // A comma inside a CPU list (`cpus=0-3,8`) or a command line continues the value: a part that is not
        // `key=value` belongs to the part before it.
        let mut last_key: Option<String> = None;
        for part in parts(rest).ok_or_else(|| SpecError::Unclosed(text.to_owned()))? {
            match (key_value(part), &last_key) {
                (Some((key, value)), _) => {
                    if spec.args.insert(key.to_owned(), unquoted(value)).is_some() {
                        return Err(SpecError::Twice { spec: text.to_owned(), key: key.to_owned() });
                    }
                    last_key = Some(key.to_owned());
                }
                (None, Some(key)) => {
                    let value = spec.args.get_mut(key).expect("last_key was inserted");
                    value.push(',');
                    value.push_str(part);
                }
                (None, None) => match &mut spec.shorthand {
                    Some(shorthand) => {
                        shorthand.push(',');
                        shorthand.push_str(part);
                    }
                    None => spec.shorthand = Some(unquoted(part)),
                },
            }
        }
        Ok(spec)
    }
}

impl WorkloadSpec {
    /// The workload of an arm: with the options that the arm sets.
    pub fn with_options(&self, settings: &[Setting]) -> Self {
        let mut spec = self.clone();
        for setting in settings {
            if let Setting::WorkloadOption { key, value } = setting {
                spec.args.remove(&key.replace('-', "_"));
                spec.args.insert(key.clone(), value.clone());
            }
        }
        spec
    }

    /// What arms with these settings share: the workload without the options that one of them sets.
    pub fn shared_by<'s>(&self, settings: impl IntoIterator<Item = &'s Setting>) -> Self {
        let mut spec = self.clone();
        for setting in settings {
            if let Setting::WorkloadOption { key, .. } = setting {
                spec.args.remove(key);
                spec.args.remove(&key.replace('-', "_"));
            }
        }
        spec
    }

    /// The shortest text that distinguishes it from the others: its name, and the options in which it differs from
    /// those of the same name.
    pub fn label_among<'o>(&self, others: impl Iterator<Item = &'o Self>) -> String {
        let namesakes: Vec<&Self> = others.filter(|other| other.name == self.name).collect();
        if namesakes.iter().all(|other| other.args.get("command") != self.args.get("command")) {
            // A workload that runs a command is known by the command.
            if let Some(command) = self.args.get("command") {
                let short = shortened(command);
                let is_one_of_two =
                    |other: &&Self| other.args.get("command").is_some_and(|other| shortened(other) == short);
                return if namesakes.iter().any(is_one_of_two) { command.clone() } else { short };
            }
        }
        if namesakes.is_empty() {
            return self.name.clone();
        }
        let differs =
            |(key, value): &(&String, &String)| namesakes.iter().any(|other| other.args.get(*key) != Some(*value));
        let args: BTreeMap<String, String> =
            self.args.iter().filter(differs).map(|(key, value)| (key.clone(), value.clone())).collect();
        // Without a difference it has another load, or differs in its shorthand.
        let whole = args.is_empty() || self.shorthand.is_some();
        if whole { self.to_string() } else { Self { version: None, args, ..self.clone() }.to_string() }
    }

    /// Adds an argument that was written elsewhere (a long option, a plan's key).
    pub fn add(&mut self, key: &str, value: String) -> Result<(), SpecError> {
        let spec = self.to_string();
        match self.args.insert(key.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(SpecError::Twice { spec, key: key.to_owned() }),
        }
    }
}

/// A command as a name: a script by its beginning.
fn shortened(command: &str) -> String {
    const MOST: usize = 40;
    let words = command.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= MOST { words } else { words.chars().take(MOST - 1).chain(['…']).collect() }
}

/// The parts between commas, trimmed, without empty ones; a comma inside quotes does not separate. `None`: a quote is
/// not closed.
fn parts(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        match text.as_bytes()[at] {
            b',' => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            b'\'' | b'"' => at += closing_quote(&text[at..])?,
            _ => {}
        }
        at += 1;
    }
    parts.push(&text[from..]);
    Some(parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect())
}

/// Where the quote ends with which `text` begins; in double quotes a backslash escapes the next byte.
fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if bytes[0] == b'"' => at += 1,
            b if b == bytes[0] => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// `key=value`, if the key is a word: the `=` in `make CC=gcc` does not separate.
fn key_value(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    let key = key.trim();
    let word = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    word.then_some((key, value.trim()))
}

/// A value that is quoted as a whole, without its quotes; any other value unchanged, including quotes.
fn unquoted(value: &str) -> String {
    if !value.starts_with(['\'', '"']) || closing_quote(value) != Some(value.len() - 1) {
        return value.to_owned();
    }
    let inner = &value[1..value.len() - 1];
    if value.starts_with('\'') {
        return inner.to_owned();
    }
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(escaped @ ('"' | '\\'))) => {
                text.push(escaped);
                chars.next();
            }
            _ => text.push(c),
        }
    }
    text
}

/// The value in a form that reads back: in quotes only if needed.
fn quoted(value: &str, shorthand: bool) -> String {
    let mut pieces = value.split(',');
    let first = pieces.next().unwrap_or_default();
    let stays = |piece: &str| !piece.is_empty() && piece.trim() == piece && key_value(piece).is_none();
    let plain =
        !value.contains(['\'', '"']) && first.trim() == first && (!shorthand || stays(first)) && pieces.all(stays);
    if plain {
        value.to_owned()
    } else if !value.contains('\'') {
        format!("'{value}'")
    } else {
        format!("\"{}\"", value.replace('\\', r"\\").replace('"', "\\\""))
    }
}

impl fmt::Display for WorkloadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(version) = self.version {
            write!(f, "/{version}")?;
        }
        let mut separator = ':';
        if let Some(shorthand) = &self.shorthand {
            write!(f, "{separator}{}", quoted(shorthand, true))?;
            separator = ',';
        }
        for (key, value) in &self.args {
            write!(f, "{separator}{key}={}", quoted(value, false))?;
            separator = ',';
        }
        Ok(())
    }
}

impl TryFrom<String> for WorkloadSpec {
    type Error = SpecError;
    fn try_from(text: String) -> Result<Self, SpecError> {
        text.parse()
    }
}

impl From<WorkloadSpec> for String {
    fn from(spec: WorkloadSpec) -> Self {
        spec.to_string()
    }
}

#[cfg(test)]
mod tests;
