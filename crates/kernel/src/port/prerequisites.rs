//! Finds the prerequisite commits of a series in the source's history: those that introduced names that it needs and
//! the target lacks, and those that added lines that its hunks expect and the target does not have.

use super::series::{Port, Read};
use crate::gnu::Verdict;
use crate::needs::Need;
use crate::series::{FilePatch, Line, Patch};
use schedlab_plan::InOrder;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What the target lacks for a series, and the hunks that need it.
#[derive(Debug, Default)]
pub struct Missed {
    /// Names, with the indices of the findings that need them, from 0. A name that only the compiler reported has no
    /// finding.
    names: BTreeMap<String, BTreeSet<usize>>,
    /// By file, lines without leading and trailing white space.
    lines: HashMap<String, HashMap<Vec<u8>, BTreeSet<usize>>>,
}

/// A commit on which a series depends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prerequisite {
    /// Index into the candidates, from 0.
    pub candidate: usize,
    /// Names that it introduced.
    pub names: Vec<String>,
    /// Number of lines in hunks that it added and the target does not have.
    pub lines: usize,
    /// The hunks that need its names or lines.
    pub hunks: BTreeSet<usize>,
}

/// Shorter lines occur everywhere.
const SHORTEST_LINE: usize = 6;

/// Collects what is missing: the `needs` of each finding, what the compiler reported, and for hunks that fail or need
/// fuzz the old lines that are nowhere in their file. What an earlier patch of the series adds is not missing.
pub fn missed<E>(
    patches: &[Patch],
    port: &Port,
    needs: &[Vec<Need>],
    built: &[Need],
    read: &mut Read<'_, E>,
) -> Result<Missed, E> {
    let mut out = Missed::default();
    for (number, needs) in needs.iter().enumerate() {
        needs.iter().for_each(|need| {
            out.names.entry(need.name.clone()).or_default().insert(number);
        });
    }
    built.iter().for_each(|need| {
        out.names.entry(need.name.clone()).or_default();
    });
    let mut findings = port.findings.iter().enumerate();
    let mut added: HashSet<&[u8]> = HashSet::new();
    for file in patches.iter().flat_map(|patch| &patch.files) {
        let found: Vec<_> = findings.by_ref().take(file.hunks.len()).collect();
        let Some(path) = found.first().map(|(_, finding)| &finding.file) else { continue };
        let text = read(path)?.unwrap_or_default();
        let there: HashSet<&[u8]> = crate::split(&text).into_iter().map(<[u8]>::trim_ascii).collect();
        for (hunk, (number, finding)) in file.hunks.iter().zip(&found) {
            let is_torn = matches!(finding.verdict, Verdict::Fails | Verdict::Fuzz) && !finding.is_present;
            let old = hunk.old_side().into_iter().map(<[u8]>::trim_ascii).filter(|_| is_torn && !text.is_empty());
            for line in old.filter(|line| line.len() >= SHORTEST_LINE && !there.contains(line) && !added.contains(line))
            {
                let lines = out.lines.entry(path.clone()).or_default();
                lines.entry(line.to_vec()).or_default().insert(*number);
            }
        }
        added.extend(added_lines(file).map(<[u8]>::trim_ascii));
    }
    Ok(out)
}

fn added_lines(file: &FilePatch) -> impl Iterator<Item = &[u8]> {
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
    lines.filter(|line| matches!(line, Line::Added(_))).map(Line::text)
}

impl Missed {
    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.lines.is_empty()
    }

    /// The commits that introduced what is missing. Those with most names come first, then those with most lines, then
    /// the oldest. `candidates` are the changes of each commit of the source before the series, newest first. A name
    /// counts for the oldest commit that adds it and does not remove it elsewhere; a line counts for the newest commit
    /// that adds it to its file.
    pub fn prerequisites(&self, candidates: &[Vec<FilePatch>]) -> Vec<Prerequisite> {
        let mut found: BTreeMap<usize, Prerequisite> = BTreeMap::new();
        let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
        let mut written: HashSet<(&str, &[u8])> = HashSet::new();
        for (number, files) in candidates.iter().enumerate() {
            for name in self.brought(files) {
                by_name.insert(name, number);
            }
            for file in files {
                let Some((path, lines)) = file.new.as_ref().and_then(|new| self.lines.get_key_value(new)) else {
                    continue;
                };
                for (line, hunks) in added_lines(file).filter_map(|line| lines.get_key_value(line.trim_ascii())) {
                    if written.insert((path, line)) {
                        let one = entry(&mut found, number);
                        one.lines += 1;
                        one.hunks.extend(hunks);
                    }
                }
            }
        }
        for (name, number) in by_name {
            let one = entry(&mut found, number);
            one.names.push(name.to_owned());
            one.hunks.extend(&self.names[name]);
        }
        let mut out: Vec<Prerequisite> = found.into_values().collect();
        // Of equal commits the oldest comes first, since the others may build on it.
        out.in_order_by_key(|one| Reverse((one.names.len(), one.lines, one.candidate)));
        out
    }

    /// Names that a commit adds and does not remove.
    fn brought(&self, files: &[FilePatch]) -> Vec<&str> {
        let (mut added, mut removed) = (HashSet::new(), HashSet::new());
        for line in files.iter().flat_map(|file| &file.hunks).flat_map(|hunk| &hunk.lines) {
            let names = crate::names::words(line.text()).filter_map(|word| std::str::from_utf8(word).ok());
            let names = names.filter_map(|word| self.names.get_key_value(word)).map(|(name, _)| name.as_str());
            match line {
                Line::Added(_) => added.extend(names),
                Line::Removed(_) => removed.extend(names),
                Line::Context(_) => {}
            }
        }
        // A commit that creates a header or another file introduces it.
        let made = files.iter().filter(|file| file.old.is_none()).filter_map(|file| file.new.as_deref());
        let made: Vec<&str> = made.collect();
        let is_made = |name: &str| {
            made.iter().any(|path| path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')))
        };
        added.extend(self.names.keys().map(String::as_str).filter(|name| !made.is_empty() && is_made(name)));
        added.difference(&removed).copied().collect()
    }
}

fn entry(found: &mut BTreeMap<usize, Prerequisite>, candidate: usize) -> &mut Prerequisite {
    let new = || Prerequisite { candidate, names: Vec::new(), lines: 0, hunks: BTreeSet::new() };
    found.entry(candidate).or_insert_with(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_commits_that_brought_as_much_the_oldest_comes_first() {
        let header = |name: &str| format!("--- /dev/null\n+++ b/{name}.h\n@@ -0,0 +1 @@\n+int {name};\n");
        let read = |text: &str| crate::parse(text.as_bytes()).remove(0).files;
        // Newest first, the order in which a history is read.
        let candidates = [read(&header("c")), read(&(header("a") + &header("b"))), read(&header("d"))];
        let names = ["a", "b", "c", "d"].map(|name| (name.to_owned(), BTreeSet::from([0]))).into();
        let missed = Missed { names, lines: HashMap::new() };
        let order: Vec<usize> = missed.prerequisites(&candidates).iter().map(|one| one.candidate).collect();
        assert_eq!(order, [1, 2, 0]);
    }
}
