//! Whether the target's history has a patch already, and what the patch says that it fixes.

use crate::series::{Patch, origin};

/// A commit of the target's history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// All digits of its id.
    pub id: String,
    /// First line of its message.
    pub subject: String,
    /// The rest of it.
    pub body: String,
    /// What `git patch-id --stable` says of it, where it was asked.
    pub patch_id: Option<String>,
}

/// How a commit was known to be a patch, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// It is the commit that the patch was made from.
    Commit,
    /// Both change the same lines.
    PatchId,
    /// Its message names the commit of the patch, or the same origin: `(cherry picked from commit …)`, `commit … upstream.`
    Origin,
    /// It has the same subject and changes one of the same files. It may be another version of the patch.
    Subject,
}

/// The commit that a patch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// Its id.
    pub commit: String,
    /// Its subject.
    pub subject: String,
    /// How it was known.
    pub by: Sign,
    /// The later commit that takes it back: it is not there.
    pub reverted_by: Option<String>,
}

/// A commit that a patch says it fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// Of its `Fixes:` line.
    pub commit: String,
    /// The same, without quotes and parentheses.
    pub subject: String,
    /// The commit of the target that it is; `None`: not in the history that was read.
    pub there: Option<String>,
}

/// The first twelve digits of a commit's id, by which kernel people name it.
pub fn abbreviated(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

/// Looks for the patch in the history, whose newest commit comes first.
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
    let signs = history.iter().enumerate().filter_map(|(at, commit)| Some((sign(commit)?, at)));
    let (by, at) = signs.min()?;
    let commit = &history[at];
    let revert = format!("Revert \"{}\"", commit.subject);
    let takes_back = |later: &&Commit| later.subject == revert || reverted(later).any(|id| is_same(&id, &commit.id));
    let reverted_by = history[..at].iter().find(takes_back).map(|later| later.id.clone());
    Some(Present { commit: commit.id.clone(), subject: commit.subject.clone(), by, reverted_by })
}

/// What the `Fixes:` lines of a patch name, and whether the history has it.
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

/// The commits that a message says it is a copy of.
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

/// One may be shortened.
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
