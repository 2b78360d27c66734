//! Finds in the source the tests that can skip themselves: their body prints the skip marker, or calls a function of
//! the same package that does. Those that did not skip have really run, and the summary says so.

use std::collections::BTreeSet;

const MARKER: &str = "schedlab-skip: ";

/// A function of a file: its name, whether it has `#[test]`, its text.
#[derive(Debug)]
struct Function<'a> {
    name: &'a str,
    is_test: bool,
    body: String,
}

/// Names of the tests in one package's files that can skip themselves.
pub(super) fn gated_tests(files: &[String]) -> BTreeSet<String> {
    let functions: Vec<Function> = files.iter().flat_map(|text| functions(text)).collect();
    let mut gates: BTreeSet<&str> = functions.iter().filter(|f| f.body.contains(MARKER)).map(|f| f.name).collect();
    loop {
        let before = gates.len();
        for function in &functions {
            if gates.iter().any(|gate| calls(&function.body, gate)) {
                gates.insert(function.name);
            }
        }
        if gates.len() == before {
            break;
        }
    }
    functions.iter().filter(|f| f.is_test && gates.contains(f.name)).map(|f| f.name.to_owned()).collect()
}

/// Functions of a file formatted by rustfmt: each ends with a `}` at the indentation of its `fn`, or on the same line.
fn functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = name_of_fn(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = if line.trim_end().ends_with('}') {
            at
        } else {
            let closing = format!("{indent}}}");
            lines[at..].iter().position(|l| *l == closing).map_or(at, |n| at + n)
        };
        let above = lines[..at].iter().rev().take_while(|l| {
            let l = l.trim_start();
            l.starts_with("#[") || l.starts_with("//")
        });
        let is_test = above.into_iter().any(|l| l.trim() == "#[test]");
        found.push(Function { name, is_test, body: lines[at + usize::from(at < end)..=end].join("\n") });
    }
    found
}

fn name_of_fn(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    for word in ["pub(crate) ", "pub(super) ", "pub ", "const "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let rest = rest.strip_prefix("fn ")?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(&rest[..end])
}

/// `name(` as a call of a function, not of a method such as an iterator's `.skip(1)`.
fn calls(body: &str, name: &str) -> bool {
    body.match_indices(name).any(|(at, _)| {
        let before = body[..at].chars().next_back();
        let bounded = !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
        bounded && body[at + name.len()..].starts_with('(')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
fn ordinary() -> usize {
    [1, 2].iter().skip(1).count()
}

mod tests {
    #[test]
    fn pure() {
        assert_eq!(ordinary(), 1);
    }

    /// Prints the reason.
    #[test]
    #[expect(clippy::unwrap_used)]
    fn direct() {
        if !root() {
            skip("direct: needs root");
            return;
        }
    }

    #[test]
    fn through_another() {
        let Some(group) = group_or_skip("through_another") else { return };
    }

    fn group_or_skip(test: &str) -> Option<()> {
        skip(test);
        None
    }

    fn skip(why: &str) {
        eprintln!("schedlab-skip: {why}");
    }
}
"#;

    #[test]
    fn gated_tests_are_found_through_their_helpers() {
        let found = gated_tests(&[FILE.into()]);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["direct", "through_another"]);
    }

    #[test]
    fn a_package_without_the_marker_has_none() {
        assert!(gated_tests(&["#[test]\nfn skip() {\n    a().skip(2);\n}\n".into()]).is_empty());
    }
}
