//! What a series defines although the file has it already: a compiler would refuse it, and the part is there.

use super::series::{Finding, Port, Read};
use crate::names::words;
use crate::series::{Hunk, Line, Patch};
use crate::source::scan;
use std::collections::{BTreeMap, HashMap};

/// The struct of a member, or nothing; a name; and the `#if` condition that it stands under.
type Defined = (String, String, String);

/// Notes for each hunk that is taken which functions and members it defines a second time. `read` answers the files of the
/// tree as they were before the series.
pub fn twice<E>(patches: &[Patch], port: &mut Port, read: &mut Read<'_, E>) -> Result<(), E> {
    let mut texts: HashMap<&str, &[u8]> = HashMap::new();
    let mut findings = port.findings.iter_mut();
    for (patch, made) in patches.iter().zip(&port.made) {
        for file in &patch.files {
            let mut found: Vec<&mut Finding> = findings.by_ref().take(file.hunks.len()).collect();
            let Some(path) = found.first().map(|finding| finding.file.clone()) else { continue };
            let Some(Some(after)) = made.get(&path).filter(|_| file.is_c()) else { continue };
            let before = match texts.get(path.as_str()) {
                Some(text) => doubled(text, after),
                None => doubled(&read(&path)?.unwrap_or_default(), after),
            };
            for (finding, hunk) in found.iter_mut().zip(&file.hunks).filter(|(finding, _)| finding.is_taken) {
                finding.twice = before.iter().filter(|name| adds(hunk, name)).cloned().collect();
            }
        }
        texts.extend(made.iter().map(|(path, text)| (path.as_str(), text.as_deref().unwrap_or_default())));
    }
    Ok(())
}

/// Names that the text before defines once, and the text after once more.
fn doubled(before: &[u8], after: &[u8]) -> Vec<String> {
    let (before, after) = (defined(before), defined(after));
    let is_more = |of: &Defined, count: usize| before.get(of).is_some_and(|there| count > *there);
    let doubled = after.iter().filter(|(of, count)| is_more(of, **count));
    doubled.map(|((_, name, _), _)| name.clone()).collect()
}

fn defined(text: &[u8]) -> BTreeMap<Defined, usize> {
    let unit = scan(text);
    let functions = unit.functions.into_iter().filter(|function| function.by.is_none());
    let functions = functions.map(|function| (String::new(), function.name, function.condition));
    // Types without a name are told apart by no name.
    let types = unit.types.into_iter().filter(|found| !found.name.is_empty());
    let members = types.flat_map(|found| {
        let of = found.name;
        found.members.into_iter().map(move |member| (of.clone(), member.name, member.condition))
    });
    let mut out = BTreeMap::new();
    for one in functions.chain(members) {
        *out.entry(one).or_default() += 1;
    }
    out
}

fn adds(hunk: &Hunk, name: &str) -> bool {
    let mut added = hunk.lines.iter().filter(|line| matches!(line, Line::Added(_)));
    added.any(|line| words(line.text()).any(|word| word == name.as_bytes()))
}
