//! Files that differ, with the number of lines.

use super::lines::{Numbers, difference, in_both, sorted};
use super::{File, FileChange, find};

/// A removed and a new file count as a rename if they share at least this percentage of their lines.
const SHARE_PERCENT: usize = 60;

/// Above this many pairs, only files with the same name are compared.
const PAIRS: usize = 40_000;

pub(super) fn changes(before: &[File], after: &[File]) -> Vec<FileChange> {
    let mut paths: Vec<&str> = before.iter().chain(after).map(|f| f.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let moved = renamed(before, after);
    let change = |path: &str| {
        let old_path = moved.iter().find(|(_, new)| *new == path).map(|(old, _)| *old);
        let old = find(before, old_path.unwrap_or(path)).map(|file| &file.text[..]);
        let new = find(after, path).map(|file| &file.text[..]);
        let is_reported_elsewhere = moved.iter().any(|(old, _)| *old == path);
        if old_path.is_none() && (old == new || is_reported_elsewhere) {
            return None;
        }
        let binary = [old, new].into_iter().flatten().any(is_binary);
        let mut numbers = Numbers::default();
        let [a, b] = [old, new].map(|text| numbers.of(&crate::split(text.filter(|_| !binary).unwrap_or_default())));
        let (added, removed) = difference(&a, &b);
        let status = match (old, new) {
            _ if old_path.is_some() => "renamed",
            (None, _) => "new",
            (_, None) => "gone",
            _ => "changed",
        };
        let old_path = old_path.map(str::to_owned);
        Some(FileChange { path: path.to_owned(), added, removed, status, old_path, modes: None, binary })
    };
    paths.into_iter().filter_map(change).collect()
}

/// Old and new paths. Each new file is paired with the removed file that it has most lines in common with.
fn renamed<'a>(before: &'a [File], after: &'a [File]) -> Vec<(&'a str, &'a str)> {
    let mut gone: Vec<&File> = before.iter().filter(|file| find(after, &file.path).is_none()).collect();
    let come: Vec<&File> = after.iter().filter(|file| find(before, &file.path).is_none()).collect();
    let (mut out, mut numbers) = (Vec::new(), Numbers::default());
    if gone.is_empty() || come.is_empty() {
        return out;
    }
    let mut lines = |file: &File| sorted(&numbers.of(&crate::split(&file.text)));
    let mut lines_gone: Vec<Vec<usize>> = gone.iter().map(|file| lines(file)).collect();
    let are_few = gone.len() * come.len() <= PAIRS;
    let name = |file: &File| file.path.rsplit('/').next().map(str::to_owned);
    for new in come.into_iter().filter(|file| !file.text.is_empty()) {
        let (here, own) = (lines(new), name(new));
        let share = |at: usize, there: &Vec<usize>| match are_few || name(gone[at]) == own {
            true => 200 * in_both(there, &here) / (there.len() + here.len()).max(1),
            false => 0,
        };
        let best = lines_gone.iter().enumerate().map(|(at, there)| (share(at, there), at)).max();
        if let Some((_, at)) = best.filter(|best| best.0 >= SHARE_PERCENT) {
            out.push((gone.swap_remove(at).path.as_str(), new.path.as_str()));
            lines_gone.swap_remove(at);
        }
    }
    out
}

/// As git decides it: a zero byte near the beginning (`buffer_is_binary` in its `xdiff-interface.c`).
fn is_binary(text: &[u8]) -> bool {
    const FIRST: usize = 8000;
    text[..text.len().min(FIRST)].contains(&0)
}
