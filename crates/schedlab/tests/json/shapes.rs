//! The types that are printed, parsed from their sources: fields with their comments, and the words of enums.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Types with their own serialisation, and the types that it yields.
const PRINTED_AS: [(&str, &str); 6] = [
    // A word, or an object with the old name.
    ("Status", "Value"),
    ("Problem", "String"),
    ("Setting", "String"),
    ("WorkloadSpec", "String"),
    ("PathBuf", "String"),
    ("Value", "Value"),
];

/// A member of an object.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Its Rust type.
    pub(crate) of: String,
    pub(crate) means: String,
    /// Its members become members of the object itself.
    pub(crate) flattened: bool,
    /// Whether it may be absent.
    pub(crate) optional: bool,
    /// Whether values that are not numbers may be printed as text.
    pub(crate) or_text: bool,
}

/// The JSON form of a type.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Object(Vec<Field>),
    /// One of these words, with their meanings.
    Words(Vec<(String, String)>),
}

/// Types by name; several types may have the same name, in different crates.
#[derive(Debug, Default)]
pub(crate) struct Shapes(BTreeMap<String, Vec<(String, Shape)>>);

impl Shapes {
    /// Reads all our crates below `crates`.
    pub(crate) fn of(crates: &Path) -> Self {
        let (mut files, mut shapes) = (Vec::new(), Self::default());
        sources(crates, &mut files);
        files.sort();
        for file in files {
            let relative = file.strip_prefix(crates).unwrap().display().to_string();
            let of = relative.split('/').next().unwrap().to_owned();
            shapes.read(&of, &std::fs::read_to_string(&file).unwrap());
        }
        shapes
    }

    /// The type of this name in this crate, else the only one of this name; returned with its crate.
    pub(crate) fn get(&self, of: &str, name: &str) -> (&str, &Shape) {
        let all = self.0.get(name).unwrap_or_else(|| panic!("no type that is printed is called {name} (from {of})"));
        let own = all.iter().find(|(its, _)| its == of);
        let (its, shape) = own.or(all.first().filter(|_| all.len() == 1)).unwrap_or_else(|| panic!("several {name}"));
        (its, shape)
    }

    /// Adds every printed type of a source file.
    fn read(&mut self, of: &str, source: &str) {
        let mut lines = source.lines().map(str::trim);
        let (mut printed, mut rules) = (false, String::new());
        while let Some(line) = lines.next() {
            if line.starts_with("#[derive") {
                (printed, rules) = (line.contains("Serialize"), String::new());
            } else if line.starts_with("#[serde") {
                rules += line;
            } else if printed && !line.starts_with("#[") && !line.starts_with("///") {
                let (kind, name) = declared(line);
                let is_word = rules.contains("into = \"String\"");
                match kind {
                    "struct" if !is_word => self.add(of, name, Shape::Object(fields(&mut lines))),
                    "enum" if !is_word => self.add(of, name, variants(&mut lines, &rules)),
                    _ => {}
                }
                printed = false;
            }
        }
    }

    fn add(&mut self, of: &str, name: &str, shape: Shape) {
        let all = self.0.entry(name.to_owned()).or_default();
        assert!(all.iter().all(|(its, _)| its != of), "two types of {of} that are printed are called {name}");
        all.push((of.to_owned(), shape));
    }

    /// Describes a Rust type for readers of JSON, and collects the types in it.
    pub(crate) fn in_words(&self, of: &str, rust: &str, met: &mut Vec<(String, String)>) -> String {
        match of_rust(rust) {
            Rust::Option(inner) => format!("{} or null", self.in_words(of, inner, met)),
            Rust::List(inner) => format!("list of {}", self.in_words(of, inner, met)),
            Rust::Array(inner, times) => format!("{times} × {}", self.in_words(of, inner, met)),
            Rust::ByName(inner) => format!("by name {}", self.in_words(of, inner, met)),
            Rust::Several(all) => {
                let all: Vec<String> = all.iter().map(|one| self.in_words(of, one, met)).collect();
                format!("[{}]", all.join(", "))
            }
            Rust::Plain(word) => word.into(),
            Rust::Named(name) => {
                let (its, shape) = self.get(of, name);
                if let Shape::Words(words) = shape {
                    let words: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
                    return words.join(", ");
                }
                met.push((its.to_owned(), name.to_owned()));
                format!("[{name}](#{})", name.to_lowercase())
            }
        }
    }

    /// The members of an object, including those of flattened ones.
    pub(crate) fn members(&self, of: &str, name: &str) -> Vec<(String, Field)> {
        let (its, Shape::Object(fields)) = self.get(of, name) else { panic!("{name} is not an object") };
        let one = |field: &Field| match field.flattened {
            true => self.members(its, &field.of),
            false => vec![(its.to_owned(), field.clone())],
        };
        fields.iter().flat_map(one).collect()
    }
}

/// The structure of a Rust type.
pub(crate) enum Rust<'a> {
    Option(&'a str),
    List(&'a str),
    Array(&'a str, &'a str),
    ByName(&'a str),
    Several(Vec<&'a str>),
    Plain(&'static str),
    Named(&'a str),
}

pub(crate) fn of_rust(rust: &str) -> Rust<'_> {
    let rust = rust.trim_start_matches("&'static ").trim_start_matches("&'a ").trim();
    let inside = |prefix: &str, suffix: &str| rust.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
    if let Some(inner) = inside("Option<", ">") {
        return Rust::Option(inner);
    }
    if let Some(inner) = inside("Box<", ">") {
        return of_rust(inner);
    }
    if let Some(inner) = inside("Vec<", ">").or(inside("BTreeSet<", ">")) {
        return Rust::List(inner);
    }
    if let Some(inner) = inside("BTreeMap<", ">").and_then(|inner| inner.split_once(", ")) {
        return Rust::ByName(inner.1);
    }
    if let Some(inner) = inside("[", "]") {
        return inner.split_once("; ").map_or(Rust::List(inner), |(inner, times)| Rust::Array(inner, times));
    }
    if let Some(inner) = inside("(", ")") {
        return Rust::Several(inner.split(", ").collect());
    }
    let name = rust.rsplit("::").next().unwrap().split('<').next().unwrap();
    let name = PRINTED_AS.iter().find(|(own, _)| *own == name).map_or(name, |(_, printed)| printed);
    match name {
        "u64" | "u32" | "u16" | "u8" | "i16" | "i32" | "i64" | "usize" => Rust::Plain("integer"),
        "f64" => Rust::Plain("number"),
        "bool" => Rust::Plain("boolean"),
        "String" | "str" | "char" => Rust::Plain("string"),
        "Value" => Rust::Plain("anything"),
        _ => Rust::Named(name),
    }
}

fn sources(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let is_ours = !path.ends_with("tests") && !path.ends_with("target");
        match path.is_dir() {
            true if is_ours => sources(&path, into),
            false if path.extension().is_some_and(|end| end == "rs") => into.push(path),
            _ => {}
        }
    }
}

/// `pub(crate) struct Name<'a> {` is a struct of this name.
fn declared(line: &str) -> (&str, &str) {
    let mut words = line.split([' ', '<', '(']).filter(|word| !matches!(*word, "pub" | "crate)" | "super)"));
    let kind = words.next().unwrap_or_default();
    (if line.ends_with('{') { kind } else { "" }, words.next().unwrap_or_default())
}

fn fields<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Vec<Field> {
    let (mut fields, mut means, mut rules) = (Vec::new(), String::new(), String::new());
    for line in lines.by_ref().take_while(|line| !line.starts_with('}')) {
        if let Some(comment) = line.strip_prefix("///") {
            means = format!("{means} {}", comment.trim());
        } else if line.starts_with("#[serde") {
            rules += line;
        } else if !line.starts_with("#[") && !line.starts_with("//") && !line.is_empty() {
            let (name, of) = line.split_once(": ").unwrap_or_else(|| panic!("what is the field `{line}`?"));
            let name = name.rsplit(' ').next().unwrap();
            let (of, rules) = (of.trim_end_matches(',').to_owned(), std::mem::take(&mut rules));
            let name = rule(&rules, "rename").unwrap_or(name);
            let field = Field {
                name: name.into(),
                of,
                means: std::mem::take(&mut means).trim().to_owned(),
                flattened: rules.contains("flatten"),
                optional: rules.contains("skip_serializing_if"),
                or_text: rules.contains("crate::number"),
            };
            if !rules.contains("serde(skip)") {
                fields.push(field);
            }
        }
    }
    fields
}

/// The value of `key = "…"` in serde attributes.
fn rule<'a>(rules: &'a str, key: &str) -> Option<&'a str> {
    rules.split_once(&format!("{key} = \"")).and_then(|(_, rest)| rest.split('"').next())
}

/// Words if no variant has fields, else an object with the fields of all variants.
fn variants<'a>(lines: &mut impl Iterator<Item = &'a str>, rules: &str) -> Shape {
    let rule = |key: &str| rule(rules, key);
    let (mut words, mut held, mut means) = (Vec::new(), Vec::new(), String::new());
    while let Some(line) = lines.next().filter(|line| !line.starts_with('}')) {
        if let Some(comment) = line.strip_prefix("///") {
            means = format!("{means} {}", comment.trim());
            continue;
        }
        if line.starts_with('#') || line.starts_with("//") || line.is_empty() {
            continue;
        }
        let name = line.split([' ', '(', ',']).next().unwrap();
        let (word, said) = (cased(name, rule("rename_all")), std::mem::take(&mut means).trim().to_owned());
        let own = |of: &str, name: &str| Field {
            name: name.to_owned(),
            of: of.to_owned(),
            means: said.clone(),
            flattened: false,
            optional: true,
            or_text: false,
        };
        if line.ends_with('{') {
            let of_variant = fields(lines).into_iter().map(|field| Field { optional: true, ..field });
            match rule("tag") {
                Some(_) => held.extend(of_variant),
                // A variant that contains a whole object is described by that object's members.
                None => held.push(own("Value", &word)),
            }
        } else if let Some((_, of)) = line.split_once('(') {
            let of = of.trim_end_matches(['(', ')', ',']);
            held.push(own(of, rule("content").unwrap_or(&word)));
        }
        words.push((word, said));
    }
    if held.is_empty() && rule("tag").is_none() {
        return Shape::Words(words);
    }
    if let Some(tag) = rule("tag") {
        let all: Vec<String> = words.iter().map(|(word, said)| format!("`{word}`: {said}")).collect();
        let means = all.join(" ");
        let tag =
            Field { name: tag.into(), of: "String".into(), means, flattened: false, optional: false, or_text: false };
        held.insert(0, tag);
    }
    // A member that several variants share is listed once.
    let mut members: Vec<Field> = Vec::new();
    for field in held {
        match members.iter_mut().find(|known| known.name == field.name) {
            Some(known) if !known.means.contains(&field.means) => known.means += &format!(" Or: {}", field.means),
            Some(_) => {}
            None => members.push(field),
        }
    }
    Shape::Object(members)
}

fn cased(name: &str, rule: Option<&str>) -> String {
    match rule {
        Some("lowercase") => name.to_lowercase(),
        Some(_) => {
            let mut word = String::new();
            for letter in name.chars() {
                if letter.is_uppercase() && !word.is_empty() {
                    word.push(if rule == Some("kebab-case") { '-' } else { '_' });
                }
                word.extend(letter.to_lowercase());
            }
            word
        }
        None => name.to_owned(),
    }
}
