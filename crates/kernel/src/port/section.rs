//! The function, struct or table that a line is in, as `diff -p` names it: by the last line above that begins in column
//! 0.

use crate::lines::without_end;
use crate::source::lex::is_keyword;

/// `diff -p` cuts a section's name here; git cuts it at 80 characters.
const SHORTEST_CUT: usize = 39;

const PER_CPU: &[u8] = b"PER_CPU";

/// A section's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: Vec<u8>,
    /// The line was cut, so the name may be incomplete.
    is_cut: bool,
}

impl Section {
    /// From the text after the second `@@`; `None` if there is none, or if it is a label, which does not name a
    /// function.
    pub(super) fn of_hunk(text: &[u8]) -> Option<Self> {
        let mut section = Self::of_line(text)?;
        section.is_cut = without_end(text).len() >= SHORTEST_CUT && !text.contains(&b'(') && !text.contains(&b'{');
        Some(section)
    }

    /// From a line of the source that begins a section.
    pub(super) fn of_line(line: &[u8]) -> Option<Self> {
        name_of_line(line).map(|name| Self { name: name.to_vec(), is_cut: false })
    }

    /// Whether a hunk's section is this section of the source.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.name == other.name || (self.is_cut && other.name.starts_with(&self.name))
    }
}

/// The function, struct or table that begins on a line of the source; a label begins none.
pub(crate) fn name_of_line(line: &[u8]) -> Option<&[u8]> {
    let line = without_end(line);
    let first = *line.first()?;
    let is_label = line.trim_ascii_end().ends_with(b":") && !line.contains(&b'(');
    if !(first.is_ascii_alphabetic() || first == b'_' || first == b'$') || is_label {
        return None;
    }
    name(line)
}

/// The function, struct or table that a hunk names after its second `@@`; `None` if `diff` has cut it.
pub(crate) fn name_of_hunk(text: &[u8]) -> Option<&[u8]> {
    Section::of_hunk(text).filter(|section| !section.is_cut)?;
    name(without_end(text))
}

/// The name before the first parenthesis, or the last one before `{`, `=` or the end: `int f(int x)`, `struct s {`. For
/// a macro that defines something (`SYSCALL_DEFINE2(name, …)`) it is the name that the macro defines.
fn name(line: &[u8]) -> Option<&[u8]> {
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let end = line.iter().position(|b| matches!(b, b'(' | b'{' | b'=' | b';' | b'[')).unwrap_or(line.len());
    let before =
        if line.get(end) == Some(&b'(') { &line[..end] } else { without_attributes(&line[..end]) }.trim_ascii_end();
    let start = before.iter().rposition(|b| !is_word(b)).map_or(0, |at| at + 1);
    let word = &before[start..];
    let is_per_cpu = word.windows(PER_CPU.len()).any(|part| part == PER_CPU);
    let is_first = start == 0 || is_per_cpu && before[..start].trim_ascii() == b"static";
    let is_macro = line.get(end) == Some(&b'(') && is_first && word.iter().all(|b| !b.is_ascii_lowercase());
    if is_macro {
        let mut rest = &line[end + 1..];
        // `DECLARE_PER_CPU(struct rq, runqueues)`: the type is the first argument.
        if let Some(comma) = rest.iter().position(|byte| *byte == b',').filter(|_| is_per_cpu) {
            rest = rest[comma + 1..].trim_ascii_start();
        }
        let inner = rest.iter().position(|b| !is_word(b)).unwrap_or(rest.len());
        if inner > 0 {
            return Some(&rest[..inner]);
        }
    }
    (!word.is_empty()).then_some(word)
}

/// Whether the section that begins with this name in a file is a function, struct, table or Kconfig option.
pub(super) fn is_named(file: &str, name: &str) -> bool {
    const OF_KCONFIG: &[&str] = &["choice", "endchoice", "endif", "endmenu"];
    let base = file.rsplit('/').next().unwrap_or_default();
    let is_text = [".rst", ".txt", ".yaml", ".md"].iter().any(|end| base.ends_with(end));
    let is_plain = ["Makefile", "Kbuild", "MAINTAINERS", "CREDITS"].iter().any(|start| base.starts_with(start));
    !is_text && !is_plain && !is_keyword(name.as_bytes()) && !OF_KCONFIG.contains(&name)
}

/// Drops the attribute of `static struct ops o __read_mostly`.
fn without_attributes(mut words: &[u8]) -> &[u8] {
    loop {
        words = words.trim_ascii_end();
        match words.iter().rposition(u8::is_ascii_whitespace) {
            Some(at) if words[at + 1..].starts_with(b"__") => words = &words[..at],
            _ => return words,
        }
    }
}

/// What `diff -p` writes after the `@@` of a hunk that begins at this line of the text, from 0.
pub(super) fn heading<'a>(lines: &[&'a [u8]], begin: usize) -> &'a [u8] {
    /// Git cuts the heading here.
    const LONGEST: usize = 80;
    let found = lines[..begin.min(lines.len())].iter().rev().find(|line| Section::of_line(line).is_some());
    let line = found.map_or(&b""[..], |line| without_end(line).trim_ascii_end());
    &line[..line.len().min(LONGEST)]
}

/// The section of each line of a text.
pub(super) fn of_lines(lines: &[&[u8]]) -> (Vec<Section>, Vec<Option<usize>>) {
    let (mut names, mut of) = (Vec::new(), Vec::with_capacity(lines.len()));
    for line in lines {
        if let Some(section) = Section::of_line(line) {
            names.push(section);
        }
        of.push(names.len().checked_sub(1));
    }
    (names, of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sections() {
        let name = |line: &str| Section::of_line(line.as_bytes()).map(|s| String::from_utf8(s.name).unwrap());
        assert_eq!(name("static int foo(struct bar *b)\n").as_deref(), Some("foo"));
        assert_eq!(name("struct gve_rx_ring {\n").as_deref(), Some("gve_rx_ring"));
        assert_eq!(name("SYSCALL_DEFINE2(futex, int, x)\n").as_deref(), Some("futex"));
        assert_eq!(name("DECLARE_PER_CPU(struct rq, runqueues);\n").as_deref(), Some("runqueues"));
        assert_eq!(name("static DEFINE_PER_CPU_SHARED_ALIGNED(struct x *, y) = {\n").as_deref(), Some("y"));
        assert_eq!(name("static DEFINE_PER_CPU(struct x,\n").as_deref(), Some("DEFINE_PER_CPU"));
        assert_eq!(name("static const struct ops o = {\n").as_deref(), Some("o"));
        assert_eq!(name("static struct ops o __read_mostly = {\n").as_deref(), Some("o"));
        assert_eq!(name("out_free:\n"), None);
        assert_eq!(name("\treturn 0;\n"), None);
    }

    #[test]
    fn what_begins_at_the_margin_is_not_always_a_function() {
        assert!(is_named("kernel/x.c", "foo") && is_named("init/Kconfig", "PREEMPT"));
        for (file, name) in [("include/x.h", "do"), ("include/x.h", "enum"), ("mm/Kconfig", "endif")] {
            assert!(!is_named(file, name), "{file} {name}");
        }
        for file in ["Documentation/a.rst", "kernel/Makefile", "MAINTAINERS"] {
            assert!(!is_named(file, "BOOLEAN"), "{file}");
        }
    }

    #[test]
    fn a_cut_name_is_that_of_every_longer_one() {
        let cut = Section::of_hunk(b"struct dentry *kernfs_node_dentry_of_th").unwrap();
        assert!(cut.is(&Section::of_line(b"struct dentry *kernfs_node_dentry_of_that(int x)").unwrap()));
        assert!(!cut.is(&Section::of_line(b"struct dentry *other(int x)").unwrap()));
    }
}
