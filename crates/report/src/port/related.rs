//! The commits that belong to a feature, the oldest first: for a terminal, and as a JSON answer.

use super::labels::{outcome, sign};
use schedlab_kernel::dossier::Reference;
use schedlab_kernel::{Outcome, Present, Related, abbreviated};
use schedlab_plan::counted;
use serde::Serialize;
use std::io::{self, Write};

/// The commits that were found.
pub struct Discovery {
    /// The request, as it was written.
    pub asked: Vec<String>,
    /// Number of commits whose changes were read.
    pub commits: usize,
    /// Whether there were more.
    pub is_cut: bool,
    /// Commits that belong to the feature, the oldest first.
    pub members: Vec<Member>,
    /// Whether a target was given.
    pub has_target: bool,
}

/// A commit that belongs to a feature.
pub struct Member {
    /// Its full id.
    pub commit: String,
    /// Its subject.
    pub subject: String,
    /// Whether it was named in the request.
    pub is_asked: bool,
    /// Why it belongs to the feature.
    pub why: Related,
    /// The commit in the target that equals it.
    pub there: Option<Present>,
    /// The outcome of applying it alone to the target.
    pub alone: Option<Outcome>,
}

/// The answer of `kernel related`.
#[derive(Debug, Serialize)]
pub struct RelatedAnswer<'a> {
    /// The commits and names given.
    asked: &'a [String],
    /// Commits of the range whose changes were read.
    commits: usize,
    /// The range has more commits, which are older.
    cut: bool,
    /// How many commits belong to it.
    found: usize,
    /// The commits that belong to it, oldest first.
    related: Vec<RelatedCommit<'a>>,
}

/// A commit that belongs to what was asked for.
#[derive(Debug, Serialize)]
struct RelatedCommit<'a> {
    /// Its id.
    commit: &'a str,
    /// First line of its message.
    subject: &'a str,
    /// It was asked for itself.
    asked: bool,
    /// The names that it shares with the given names or commits, rarest first.
    names: &'a [String],
    /// References in its message to other commits of the list.
    references: &'a [Reference],
    /// One of the commits asked for fixes or reverts it.
    fixed: bool,
    /// With `--onto`: that tree has it, by its history or its text.
    there: bool,
    /// How that tree's history identifies it: `same commit`, `same patch-id`, `names the same origin`, `same subject`;
    /// null if it does not.
    by: Option<&'static str>,
    /// With `--onto`: what would become of it there, alone: `present`, `clean`, `adapted`, `part`, `left out`.
    alone: Option<&'static str>,
}

/// Most names shown; the JSON has all.
const NAMES: usize = 5;

impl Member {
    /// Whether the target has it.
    fn is_there(&self) -> bool {
        self.there.as_ref().is_some_and(|there| there.reverted_by.is_none()) || self.alone == Some(Outcome::Present)
    }

    fn reasons(&self) -> String {
        let names = &self.why.names;
        let more = names.len().saturating_sub(NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let mut out: Vec<String> = self.is_asked.then(|| "asked for".into()).into_iter().collect();
        out.extend(
            (!names.is_empty()).then(|| format!("changes {}{more}", names[..names.len().min(NAMES)].join(", "))),
        );
        out.extend(self.why.is_fixed.then(|| "a given commit fixes or reverts it".into()));
        out.extend(self.why.references.iter().map(|found| format!("{}: {}", found.kind, found.to)));
        out.join("; ")
    }

    fn answer(&self) -> RelatedCommit<'_> {
        RelatedCommit {
            commit: &self.commit,
            subject: &self.subject,
            asked: self.is_asked,
            names: &self.why.names,
            references: &self.why.references,
            fixed: self.why.is_fixed,
            there: self.is_there(),
            by: self.there.as_ref().map(|there| sign(there.by)),
            alone: self.alone.map(outcome),
        }
    }
}

impl Discovery {
    /// Two lines for each commit that the target lacks, in order of time, then the number of commits that it has.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for member in self.members.iter().filter(|member| !member.is_there()) {
            let alone = member.alone.map(|alone| format!("  (alone: {})", outcome(alone))).unwrap_or_default();
            writeln!(out, "{}  {}{alone}\n    {}", abbreviated(&member.commit), member.subject, member.reasons())?;
        }
        let there = self.members.iter().filter(|member| member.is_there()).count();
        let newest = if self.is_cut { "the newest " } else { "" };
        let (belong, of) = (self.members.len(), counted(self.commits, "commits"));
        let s = if belong == 1 { "s" } else { "" };
        write!(out, "{belong} of {newest}{of} belong{s} to {}", self.asked.join(", "))?;
        if self.has_target {
            writeln!(out, "; the target has {there} of them, which are not shown")
        } else {
            writeln!(out)
        }
    }

    /// All of them, for programs.
    pub fn answer(&self) -> RelatedAnswer<'_> {
        let related: Vec<RelatedCommit<'_>> = self.members.iter().map(Member::answer).collect();
        RelatedAnswer { asked: &self.asked, commits: self.commits, cut: self.is_cut, found: related.len(), related }
    }
}
