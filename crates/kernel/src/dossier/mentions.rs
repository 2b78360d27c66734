//! Places in the documentation that name an interface.

use super::{InterfaceChange, Kind, SourceLine};
use crate::names::words;
use serde::Serialize;
use std::collections::BTreeMap;

/// An interface that the documentation names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mention {
    /// Its name.
    pub name: String,
    /// The first place.
    pub place: SourceLine,
    /// Files that name it.
    pub files: usize,
}

/// The names of changed interfaces that documentation could contain: those that users, administrators and tracers see.
/// A name that could be an English word is not looked for.
pub fn names(interfaces: &[InterfaceChange]) -> Vec<String> {
    use Kind::{Export, Macro, Member, Operation, Signature, Type};
    let is_seen = |kind: Kind| !matches!(kind, Export | Type | Member | Operation | Signature | Macro);
    let is_distinctive = |name: &str| name.len() > 4 && name.bytes().any(|b| b == b'_' || b.is_ascii_uppercase());
    let is_word = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let names = interfaces.iter().filter(|c| is_seen(c.kind)).map(|c| c.name.trim_end_matches('='));
    let mut out: Vec<String> = names.filter(|n| is_distinctive(n) && is_word(n)).map(str::to_owned).collect();
    out.sort();
    out.dedup();
    out
}

/// Looks for the names in files of documentation, given by path.
pub fn mentions(names: &[String], files: &[(String, Vec<u8>)]) -> Vec<Mention> {
    let mut found: BTreeMap<&str, Mention> = BTreeMap::new();
    for (path, text) in files {
        let mut here: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
            for word in words(line).filter_map(|word| std::str::from_utf8(word).ok()) {
                let name = word.strip_prefix("CONFIG_").unwrap_or(word);
                if let Ok(number) = names.binary_search_by(|other| other.as_str().cmp(name)) {
                    here.entry(&names[number]).or_insert(at + 1);
                }
            }
        }
        for (name, line) in here {
            let new = || Mention { name: name.to_owned(), place: SourceLine { file: path.clone(), line }, files: 0 };
            found.entry(name).or_insert_with(new).files += 1;
        }
    }
    found.into_values().collect()
}
