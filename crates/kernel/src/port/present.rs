//! Whether the target's history already has a patch, and which commits the patch says it fixes.

use crate::series::{Patch, origin};

/// A commit of the target's history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Its full id.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// The rest of the message.
    pub body: String,
    /// Its `git patch-id --stable`, if that was computed.
    pub patch_id: Option<String>,
}

/// How a commit was recognised as a patch, the most certain sign first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// It is the commit that the patch was made from.
    Commit,
    /// Both change the same lines.
    PatchId,
    /// Its message names the commit of the patch, or the same origin: `(cherry picked from commit …)`, `commit …
    /// upstream.`
    Origin,
    /// It has the same subject and changes one of the same files. It may be another version of the patch.
    Subject,
}

/// The commit of the history that is the patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// Its id.
    pub commit: String,
    /// Its subject.
    pub subject: String,
    /// How it was recognised.
    pub by: Sign,
    /// The later commit that reverts it; the patch is then not present.
    pub reverted_by: Option<String>,
}

/// A commit that a patch says it fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// From its `Fixes:` line.
    pub commit: String,
    /// Its subject there, without quotes and parentheses.
    pub subject: String,
    /// That commit in the target's history; `None`: it is not in the part that was read.
    pub there: Option<String>,
}

/// The first twelve digits of a commit's id, the usual abbreviation in the kernel.
pub fn abbreviated(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

/// Looks for the patch in the history, newest commit first.
pub fn present(patch: &Patch, patch_id: Option<&str>, history: &[Commit]) -> Option<Present> {
    let ids: Vec<&str> = patch.commit.iter().chain(&patch.copied_from).map(String::as_str).collect();
    let sign = |commit: &Commit| {
        if ids.iter().any(|id| is_same(id, &commit.id)) {
            Some(Sign::Commit)
        } else if patch_id.is_some() && commit.patch_id.as_deref() == patch_id {
            Some(Sign::PatchId)
        } else if origins(commit).any(|named| ids.iter().any(|id| is_same(id, &named))) {
            Some(Sign::Origin)
        } else {
            is_subject(&patch.subject, commit).then_some(Sign::Subject)
        }
    };
    let newest = |end: usize| history[..end].iter().enumerate().filter_map(|(at, one)| Some((sign(one)?, at))).min();
    let (mut by, mut at) = newest(history.len())?;
    let mut reverted_by = taken_back(at, history);
    // A reverted patch may have been applied again in a later commit.
    while let Some((sign, later)) = reverted_by.and_then(newest) {
        (by, at, reverted_by) = (sign, later, taken_back(later, history));
    }
    let commit = &history[at];
    let reverted_by = reverted_by.map(|later| history[later].id.clone());
    Some(Present { commit: commit.id.clone(), subject: commit.subject.clone(), by, reverted_by })
}

/// Decides for a whole series, after each patch was looked up in the history. A revert is not present if the series
/// itself has the commit that it reverts, and applies that commit because it is reverted in the history.
pub fn apply_reverts(found: &mut [Option<Present>]) {
    for at in 1..found.len() {
        let (before, rest) = found.split_at_mut(at);
        let reverts = |commit: &String| before.iter().flatten().any(|one| one.reverted_by.as_ref() == Some(commit));
        if rest[0].as_ref().is_some_and(|one| reverts(&one.commit)) {
            rest[0] = None;
        }
    }
}

/// The later commit that reverts this one, unless a still later one reverts that or applies the patch again.
fn taken_back(at: usize, history: &[Commit]) -> Option<usize> {
    let takes_back = |later: &Commit, one: &Commit| {
        later.subject == format!("Revert \"{}\"", one.subject) || reverted(later).any(|id| is_same(&id, &one.id))
    };
    let again = format!("Reapply \"{}\"", history[at].subject);
    let (mut landed, mut by) = (at, None);
    for (number, later) in history[..at].iter().enumerate().rev() {
        match by {
            None if takes_back(later, &history[at]) || takes_back(later, &history[landed]) => by = Some(number),
            Some(revert) if later.subject == again || takes_back(later, &history[revert]) => {
                (landed, by) = (number, None);
            }
            _ => {}
        }
    }
    by
}

/// The commits in the `Fixes:` lines of a patch, and whether the history has them.
pub fn fixed(patch: &Patch, history: &[Commit]) -> Vec<Fixed> {
    let lines = patch.trailers.iter().filter(|trailer| trailer.key.eq_ignore_ascii_case("fixes"));
    let read = |value: &str| {
        let (commit, rest) = value.split_once(' ').unwrap_or((value, ""));
        let is_id = commit.len() >= 7 && commit.bytes().all(|b| b.is_ascii_hexdigit());
        let subject = rest.trim().trim_start_matches(['(', '"']).trim_end_matches([')', '"']).to_owned();
        let is_it = |c: &&Commit| {
            is_same(commit, &c.id) || origins(c).any(|named| is_same(commit, &named)) || is_subject(&subject, c)
        };
        is_id.then(|| Fixed {
            commit: commit.to_owned(),
            there: history.iter().find(is_it).map(|c| c.id.clone()),
            subject: subject.clone(),
        })
    };
    lines.filter_map(|trailer| read(&trailer.value)).collect()
}

/// The commits of which a message says that it is a copy.
fn origins(commit: &Commit) -> impl Iterator<Item = String> {
    commit.body.lines().filter_map(origin)
}

fn reverted(commit: &Commit) -> impl Iterator<Item = String> {
    let id = |line: &str| {
        let id: String =
            line.strip_prefix("This reverts commit ")?.chars().take_while(char::is_ascii_hexdigit).collect();
        (id.len() >= 7).then_some(id)
    };
    commit.body.lines().filter_map(id)
}

/// Either id may be abbreviated.
fn is_same(a: &str, b: &str) -> bool {
    let length = a.len().min(b.len());
    length >= 7
        && a.is_char_boundary(length)
        && b.is_char_boundary(length)
        && a[..length].eq_ignore_ascii_case(&b[..length])
}

fn is_subject(subject: &str, commit: &Commit) -> bool {
    !subject.is_empty() && subject.split_whitespace().eq(commit.subject.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history, oldest first: subjects, and the message bodies below them.
    fn reverted_by(lines: &[(&str, &str)]) -> Option<String> {
        let id = |number: usize| number.to_string().repeat(40);
        let commit = |(number, (subject, body)): (usize, &(&str, &str))| Commit {
            id: id(number),
            subject: (*subject).to_owned(),
            body: (*body).to_owned(),
            patch_id: None,
        };
        let mut history: Vec<Commit> = lines.iter().enumerate().map(commit).collect();
        history.reverse();
        let patch = Patch { commit: Some(id(0)), subject: "s".into(), ..Patch::default() };
        present(&patch, None, &history).unwrap().reverted_by
    }

    #[test]
    fn a_series_that_applies_a_feature_again_needs_its_own_revert() {
        let of = |commit: &str, reverted_by: Option<&str>| {
            let (commit, by) = (commit.to_owned(), Sign::Subject);
            Some(Present { commit, subject: "s".into(), by, reverted_by: reverted_by.map(str::to_owned) })
        };
        let mut series = [of("a", Some("c")), of("b", None), of("c", None)];
        apply_reverts(&mut series);
        assert_eq!(series, [of("a", Some("c")), of("b", None), None]);
        // The revert stays present if it is alone, or comes before what it reverts.
        for mut series in [vec![of("c", None)], vec![of("c", None), of("a", Some("c"))]] {
            let before = series.clone();
            apply_reverts(&mut series);
            assert_eq!(series, before);
        }
    }

    #[test]
    fn what_was_reverted_and_applied_again_is_there() {
        let (feature, revert) = (("s", ""), ("Revert \"s\"", "This reverts commit 00000000000000000000.\n"));
        let back = Some("1".repeat(40));
        assert_eq!(reverted_by(&[feature, revert]), back);
        assert_eq!(reverted_by(&[feature, revert, ("Reapply \"s\"", "")]), None);
        assert_eq!(reverted_by(&[feature, revert, ("Revert \"Revert \"s\"\"", "")]), None);
        assert_eq!(reverted_by(&[feature, revert, ("try again", "This reverts commit 11111111111.\n")]), None);
        // Applied again means under its own subject; a commit with another subject does not count.
        assert_eq!(reverted_by(&[feature, revert, ("s", "")]), None);
        assert_eq!(reverted_by(&[feature, revert, ("Reapply \"t\"", "")]), back);
        let third = ("Revert \"Reapply \"s\"\"", "This reverts commit 22222222222.\n");
        assert_eq!(reverted_by(&[feature, revert, ("Reapply \"s\"", ""), third]), Some("3".repeat(40)));
        assert_eq!(reverted_by(&[feature, revert, ("Revert \"Revert \"s\"\"", ""), revert]), Some("3".repeat(40)));
    }
}
