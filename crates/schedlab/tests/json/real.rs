//! Checks printed output against the registry: each object has exactly the members of its type, at every level.

use crate::page::ANSWERS;
use crate::shapes::{Field, Rust, Shape, Shapes, of_rust};
use serde_json::Value;
use std::collections::BTreeSet;

/// Members of an output in addition to those of its type.
const BESIDE: [&str; 2] = ["schema", "shortened"];
/// Maximum size of an output without `--top`.
pub(crate) const ROOM: usize = 20_000;

/// The types that were seen.
#[derive(Debug, Default)]
pub(crate) struct Met {
    pub(crate) schemas: BTreeSet<String>,
    /// Crate and name.
    pub(crate) types: BTreeSet<(String, String)>,
}

impl Met {
    /// Checks an output as it was printed.
    pub(crate) fn check(&mut self, shapes: &Shapes, text: &str) {
        let value: Value = serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"));
        let schema = value["schema"].as_str().unwrap_or_else(|| panic!("it has no schema: {text:.300}"));
        let own = ANSWERS.iter().find(|answer| answer.schema == schema);
        let (of, name) = &own.unwrap_or_else(|| panic!("{schema} is in no row of the registry")).of;
        self.schemas.insert(schema.to_owned());
        self.object(shapes, (of, name), &value, schema);
    }

    fn object(&mut self, shapes: &Shapes, (of, name): (&str, &str), value: &Value, at: &str) {
        let members = value.as_object().unwrap_or_else(|| panic!("{at} is not an object: {value}"));
        let fields = shapes.members(of, name);
        self.types.insert((shapes.get(of, name).0.to_owned(), name.to_owned()));
        let is_top = !at.contains(['.', '[']);
        for member in members.keys().filter(|member| !is_top || !BESIDE.contains(&member.as_str())) {
            assert!(fields.iter().any(|(_, field)| field.name == *member), "{at}.{member} is not on the page");
        }
        for (its, field) in &fields {
            match members.get(&field.name) {
                Some(value) => self.value(shapes, its, field, &field.of, value, &format!("{at}.{}", field.name)),
                None => assert!(field.optional, "{at} has no {}", field.name),
            }
        }
    }

    fn value(&mut self, shapes: &Shapes, its: &str, field: &Field, rust: &str, value: &Value, at: &str) {
        let mut inner = |rust: &str, value: &Value, at: &str| self.value(shapes, its, field, rust, value, at);
        match of_rust(rust) {
            Rust::Option(_) if value.is_null() => {}
            Rust::Option(of) => inner(of, value, at),
            Rust::List(of) | Rust::Array(of, _) => {
                let entries = value.as_array().unwrap_or_else(|| panic!("{at} is not a list: {value}"));
                entries.iter().for_each(|entry| inner(of, entry, &format!("{at}[]")));
            }
            Rust::ByName(of) => {
                value.as_object().unwrap().values().for_each(|entry| inner(of, entry, &format!("{at}.*")))
            }
            Rust::Several(all) => {
                let entries = value.as_array().unwrap_or_else(|| panic!("{at} is not a list: {value}"));
                assert_eq!(entries.len(), all.len(), "{at}");
                all.iter().zip(entries).for_each(|(of, entry)| inner(of, entry, &format!("{at}[]")));
            }
            Rust::Plain(word) => {
                let is_it = match word {
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number() || value.is_null() || field.or_text && value.is_string(),
                    _ => true,
                };
                assert!(is_it, "{at} is no {word}: {value}");
            }
            Rust::Named(name) => match shapes.get(its, name) {
                (_, Shape::Words(words)) => {
                    let word = value.as_str().unwrap_or_else(|| panic!("{at} is not a word: {value}"));
                    assert!(words.iter().any(|(known, _)| known == word), "{at}: `{word}` is not on the page");
                }
                (of, Shape::Object(_)) => {
                    // A variant without fields is printed as its name.
                    if !value.is_string() {
                        self.object(shapes, (of, name), value, at);
                    }
                }
            },
        }
    }
}
