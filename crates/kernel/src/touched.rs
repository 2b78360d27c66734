//! The names that a commit touches.

use crate::lines::{split, without_end};
use crate::names::words;
use crate::port::{section_name, section_of_line};
use crate::series::{FilePatch, Line};
use std::collections::BTreeSet;

/// Functions, structs and tables that contain the changed lines of C, and names of several words in those lines and in
/// changed lines of Kconfig. `texts` are the files as the commit leaves them. If a file is not given (or is created or
/// deleted, so that the diff has all of it), the hunk and its heading are used instead.
pub fn touched(files: &[FilePatch], texts: &[Option<Vec<u8>>]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut add = |name: &[u8]| _ = std::str::from_utf8(name).map(|name| out.insert(name.to_owned()));
    for (file, text) in files.iter().zip(texts) {
        if file.is_c() {
            sections(file, text.as_deref(), &mut add);
        } else if !is_kconfig(file) {
            continue;
        }
        let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
        let lines = lines.filter(|line| !matches!(line, Line::Context(_)));
        lines.flat_map(|line| words(line.text())).filter(|word| is_distinctive(word)).for_each(&mut add);
    }
    out
}

fn is_kconfig(file: &FilePatch) -> bool {
    file.path().rsplit('/').next().is_some_and(|name| name.starts_with("Kconfig"))
}

/// Names that any commit may touch.
const EVERYWHERE: [&[u8]; 10] = [
    b"DEFINE_PER_CPU",
    b"EXPORT_SYMBOL",
    b"EXPORT_SYMBOL_GPL",
    b"IS_ENABLED",
    b"READ_ONCE",
    b"WARN_ON_ONCE",
    b"WRITE_ONCE",
    b"__always_inline",
    b"preempt_disable",
    b"task_struct",
];

/// The word has a `_` between two of its letters.
fn is_distinctive(word: &[u8]) -> bool {
    if EVERYWHERE.contains(&word) {
        return false;
    }
    let first = word.iter().position(|b| *b != b'_').unwrap_or(word.len());
    let last = word.iter().rposition(|b| *b != b'_').unwrap_or(first);
    !word[0].is_ascii_digit() && word.get(first..last).is_some_and(|inside| inside.contains(&b'_'))
}

/// The sections of the changed lines: removed lines are looked up in the old text, which is the new text with the hunks
/// reverted, added lines in the new text.
fn sections<'a>(file: &'a FilePatch, text: Option<&'a [u8]>, add: &mut dyn FnMut(&[u8])) {
    let lines = text.map(split);
    let (mut old, mut new, mut at) = (Standing::default(), Standing::default(), 0);
    for hunk in &file.hunks {
        let count = hunk.new_side().len();
        let begin = hunk.new_start - usize::from(count > 0 && hunk.new_start > 0);
        match &lines {
            Some(lines) => lines.get(at..begin).into_iter().flatten().for_each(|line| {
                old.step(line);
                new.step(line);
            }),
            None => {
                old = Standing { section: section_name(&hunk.section), has_body: true };
                new = old;
            }
        }
        at = begin + count;
        for line in &hunk.lines {
            let section = match line {
                Line::Context(text) => {
                    old.step(text);
                    new.step(text);
                    None
                }
                Line::Removed(text) => old.step(text),
                Line::Added(text) => new.step(text),
            };
            section.into_iter().for_each(&mut *add);
        }
    }
}

/// Position in a walk through the lines of a text.
#[derive(Debug, Default, Clone, Copy)]
struct Standing<'a> {
    section: Option<&'a [u8]>,
    has_body: bool,
}

impl<'a> Standing<'a> {
    /// The section of the next line. A section ends at a closing brace in the first column or, without a body, at a
    /// semicolon.
    fn step(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let line = without_end(line);
        // The return type of a function may be on a line of its own: the name follows.
        let begins = section_of_line(line).filter(|_| line.iter().any(|b| b"({=;[".contains(b)));
        if begins.is_some() {
            *self = Self { section: begins, has_body: false };
        }
        let here = self.section;
        self.has_body |= line.contains(&b'{');
        let text = line.trim_ascii_end();
        let is_at_margin = line.first().is_some_and(|b| !b.is_ascii_whitespace());
        let is_whole = is_at_margin && text.contains(&b'{') && (text.ends_with(b"}") || text.ends_with(b"};"));
        if line.starts_with(b"}") || is_whole || !self.has_body && text.ends_with(b";") {
            self.section = None;
        }
        here
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "int aaa_fn(int x)\n{\n\treturn x;\n}\n\n/* Of bbb. */\nint bbb_fn(int x)\n{\n\tx++;\nout:\n\treturn x;\n}\n\n\
        static int\nccc_fn(int x)\n{\n\treturn x;\n}\nint ddd_fn(int x);\n";

    /// The names touched by a change of line `at`, with as many context lines as git shows.
    fn of(at: usize, is_text_known: bool) -> Vec<String> {
        let lines: Vec<&str> = TEXT.lines().collect();
        let (from, to) = (at.saturating_sub(4), (at + 3).min(lines.len()));
        let heading = lines[..from].iter().rev().find(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()));
        let mut diff =
            format!("--- a/x.c\n+++ b/x.c\n@@ -{0},{1} +{0},{1} @@ {2}\n", from + 1, to - from, heading.unwrap_or(&""));
        for (number, line) in lines.iter().enumerate().take(to).skip(from) {
            diff += &if number + 1 == at { format!("-\tx;\n+{line}\n") } else { format!(" {line}\n") };
        }
        let files = crate::parse(diff.as_bytes()).remove(0).files;
        touched(&files, &[is_text_known.then(|| TEXT.into())]).into_iter().collect()
    }

    #[test]
    fn a_changed_line_counts_for_the_function_that_it_stands_in() {
        for is_text_known in [true, false] {
            // The changed line before it is `x;`, which ends no section.
            for (at, name) in [(3, "aaa_fn"), (4, "aaa_fn"), (8, "bbb_fn"), (9, "bbb_fn"), (17, "ccc_fn")] {
                assert_eq!(of(at, is_text_known), [name], "line {at}, {is_text_known}");
            }
            assert_eq!(of(6, is_text_known), [""; 0], "a comment between two functions");
            assert_eq!(of(2, is_text_known), ["aaa_fn"], "of the first line of the file there is no heading");
        }
    }

    #[test]
    fn what_stands_behind_the_last_function_is_none_of_it() {
        let text = "int aaa_fn(int x)\n{\n\ta();\n\tb();\n}\n/* end */\n";
        let diff = "--- a/x.c\n+++ b/x.c\n@@ -3,3 +3,4 @@ int aaa_fn(int x)\n \ta();\n \tb();\n }\n+/* end */\n";
        let files = crate::parse(diff.as_bytes()).remove(0).files;
        assert!(touched(&files, &[Some(text.into())]).is_empty());
    }

    #[test]
    fn far_from_its_heading_a_line_is_placed_by_the_text() {
        let body = "\tx++;\n".repeat(9);
        let gap = "#define A 1\n".repeat(9);
        let text = format!("int aaa_fn(int x)\n{{\n{body}}}\n{gap}#define LAST_ONE 2\n");
        let diff = "--- a/x.c\n+++ b/x.c\n@@ -19,3 +19,4 @@ int aaa_fn(int x)\n #define A 1\n #define A 1\n #define A 1\n+#define LAST_ONE 2\n";
        let files = crate::parse(diff.as_bytes()).remove(0).files;
        let found =
            |text: Option<String>| touched(&files, &[text.map(String::into_bytes)]).into_iter().collect::<Vec<_>>();
        assert_eq!(found(Some(text)), ["LAST_ONE"]);
        assert_eq!(found(None), ["LAST_ONE", "aaa_fn"]);
    }

    #[test]
    fn distinctive_names_have_an_underscore_inside() {
        let distinctive = ["wake_up", "__a_b", "a__b"];
        assert!(distinctive.iter().all(|word| is_distinctive(word.as_bytes())));
        assert!(["wake", "_x", "__init__", "_", "___", "1_2"].iter().all(|word| !is_distinctive(word.as_bytes())));
    }

    #[test]
    fn options_of_kconfig_are_names_too() {
        let diff = |file: &str| {
            format!(
                "--- a/{file}\n+++ b/{file}\n@@ -1 +1,2 @@ config X86\n config X86\n+\tselect ARCH_SUPPORTS_RT if EXPERT\n"
            )
        };
        let found = |file: &str| touched(&crate::parse(diff(file).as_bytes()).remove(0).files, &[None]);
        for file in ["arch/x86/Kconfig", "kernel/Kconfig.preempt"] {
            assert_eq!(found(file).into_iter().collect::<Vec<_>>(), ["ARCH_SUPPORTS_RT"], "{file}");
        }
        assert!(found("Documentation/rt.rst").is_empty());
    }
}
