//! A recording's metadata: lines `key value`, so that a newer recorder can add more and an older reader skips it.

use std::collections::BTreeMap;

/// Facts of a recording by key; FORMAT.md lists the keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About(BTreeMap<String, String>);

/// Most facts that are kept from a file.
const MAX_FACTS: usize = 1000;

impl About {
    /// Sets a fact; an empty value counts as absent.
    pub fn set(&mut self, key: &str, value: impl ToString) {
        let value = value.to_string();
        if value.is_empty() {
            self.0.remove(key);
        } else {
            self.0.insert(key.to_owned(), value);
        }
    }

    /// A fact; empty if the recording does not have it.
    pub fn get(&self, key: &str) -> &str {
        self.0.get(key).map_or("", |value| value)
    }

    /// A fact that is a number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key).parse().ok()
    }

    /// All facts, by key.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let escaped = |value: &str| value.replace('\\', "\\\\").replace('\n', "\\n");
        self.all().flat_map(|(key, value)| format!("{key} {}\n", escaped(value)).into_bytes()).collect()
    }

    /// Invalid lines are skipped.
    pub(super) fn decode(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().filter_map(|line| line.split_once(' ')).take(MAX_FACTS);
        Self(lines.map(|(key, value)| (key.to_owned(), unescaped(value))).collect())
    }
}

fn unescaped(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        plain.push(match (c, c == '\\') {
            (_, false) => c,
            (_, true) => match chars.next() {
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            },
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_whatever_is_in_them() {
        let mut about = About::default();
        about.set("command", "sh -c 'a\nb \\n c'");
        about.set("cpus", 2);
        about.set("hostname", "lab");
        about.set("hostname", "");
        let back = About::decode(&about.encode());
        assert_eq!(back, about);
        assert_eq!((back.get("command"), back.number("cpus")), ("sh -c 'a\nb \\n c'", Some(2)));
        assert_eq!((back.get("hostname"), back.number("command")), ("", None));
    }

    #[test]
    fn what_is_no_fact_is_passed_over() {
        let about = About::decode(b"alone\n\xff x\nkey value with words\n\n");
        assert_eq!(about.get("key"), "value with words");
    }
}
