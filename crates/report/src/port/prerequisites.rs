//! The commits that a series depends on.

use super::labels::{outcome, sign};
use super::lines::PortNeed;
use schedlab_kernel::needs::Need;
use schedlab_kernel::{Outcome, Prerequisite, Present, abbreviated};
use schedlab_plan::counted;
use std::io::{self, Write};

/// The prerequisites that were found.
#[derive(Debug, Default)]
pub struct Prerequisites {
    /// Number of commits of the source whose changes were read.
    pub commits: usize,
    /// The relevant ones, the oldest first.
    pub wanted: Vec<Wanted>,
    /// Number of further ones, which were not searched in the target.
    pub more: usize,
}

/// A commit that the series depends on.
#[derive(Debug)]
pub struct Wanted {
    /// Its full id.
    pub commit: String,
    /// Its subject.
    pub subject: String,
    /// What it introduced that the series needs.
    pub why: Prerequisite,
    /// The commit in the target that equals it.
    pub there: Option<Present>,
    /// The outcome of applying it alone to the target.
    pub alone: Option<Outcome>,
}

impl Wanted {
    /// Whether the target has it: its history contains it and does not revert it, or its text contains the change.
    fn is_there(&self) -> bool {
        let in_history = self.there.as_ref().is_some_and(|there| there.reverted_by.is_none());
        in_history || self.alone == Some(Outcome::Present)
    }

    fn state(&self) -> String {
        match (&self.there, self.alone) {
            (Some(there), _) if there.reverted_by.is_some() => "reverted".into(),
            (Some(there), _) => format!("there ({})", sign(there.by)),
            (None, Some(Outcome::Present)) => "there (same change)".into(),
            (None, Some(alone)) => format!("absent, {}", outcome(alone)),
            (None, None) => "absent".into(),
        }
    }

    fn line(&self) -> PortNeed {
        PortNeed {
            kind: "commit",
            name: self.commit.clone(),
            subject: Some(self.subject.clone()),
            brought: Some(self.why.names.clone()),
            lines: Some(self.why.lines),
            there: Some(self.is_there()),
            by: self.there.as_ref().map(|there| sign(there.by)),
            reverted_by: self.there.as_ref().and_then(|there| there.reverted_by.clone()),
            alone: self.alone.map(outcome),
            ..PortNeed::default()
        }
    }
}

/// Most commits and names shown; the JSON has all.
const SHOWN: usize = 12;
const NAMES: usize = 5;

impl Prerequisites {
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let absent = || self.wanted.iter().filter(|wanted| !wanted.is_there());
        writeln!(
            out,
            "\nprerequisites: {} of {} brought what the target misses; {} there already, {} not looked for",
            counted(self.wanted.len() + self.more, "commits"),
            self.commits,
            self.wanted.len() - absent().count(),
            self.more
        )?;
        let there = self.wanted.iter().filter(|wanted| wanted.is_there());
        for wanted in absent().chain(there).take(SHOWN) {
            let short = abbreviated(&wanted.commit);
            writeln!(out, "  {short}  {}  ({})", wanted.subject, wanted.state())?;
            let names = &wanted.why.names;
            let mut why = Vec::new();
            if !names.is_empty() {
                let more = names.len().saturating_sub(NAMES);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                why.push(format!("brought {}{more}", names[..names.len().min(NAMES)].join(", ")));
            }
            if wanted.why.lines > 0 {
                why.push(format!("wrote {} that its hunks expect", counted(wanted.why.lines, "lines")));
            }
            writeln!(out, "      {}", why.join("; "))?;
        }
        match self.wanted.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(out, "  {more} more in the JSON"),
        }
    }

    /// Those that a hunk depends on.
    pub(super) fn of_hunk(&self, hunk: usize) -> impl Iterator<Item = PortNeed> {
        let of_hunk = self.wanted.iter().filter(move |wanted| wanted.why.hunks.contains(&hunk));
        of_hunk.map(Wanted::line)
    }

    /// Those that introduced something in `needs`.
    pub(super) fn of_needs<'a>(&'a self, needs: &'a [Need]) -> impl Iterator<Item = PortNeed> + 'a {
        let brought = |wanted: &&Wanted| needs.iter().any(|need| wanted.why.names.contains(&need.name));
        self.wanted.iter().filter(brought).map(Wanted::line)
    }
}
