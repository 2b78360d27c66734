//! The commits that belong to a feature, the oldest first: for a terminal, and as JSON, one object a line.

use super::words::{outcome, sign};
use schedlab_kernel::{Outcome, Present, Related, abbreviated};
use schedlab_run::counted;
use serde_json::{Value, json};
use std::io::{self, Write};

/// What was found.
pub struct Discovery {
    /// What was asked for, as it was written.
    pub asked: Vec<String>,
    /// Commits whose changes were read.
    pub commits: usize,
    /// There were more.
    pub is_cut: bool,
    /// Those that belong to it, the oldest first.
    pub members: Vec<Member>,
    /// A target was asked.
    pub has_target: bool,
}

/// A commit that belongs to a feature.
pub struct Member {
    /// All digits of its id.
    pub commit: String,
    /// Its subject.
    pub subject: String,
    /// It was asked for itself.
    pub is_asked: bool,
    /// Why it belongs to it.
    pub why: Related,
    /// The commit of the target's history that it is.
    pub there: Option<Present>,
    /// What would become of it on the target, alone.
    pub alone: Option<Outcome>,
}

/// Names that are shown; the JSON has all.
const NAMES: usize = 5;

impl Member {
    /// The target has it.
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
        out.extend(self.why.references.iter().map(|found| format!("{}: {}", found.kind, found.to)));
        out.join("; ")
    }

    fn json(&self) -> Value {
        let references = self.why.references.iter().map(|found| json!({"kind": found.kind, "to": found.to}));
        json!({
            "commit": self.commit,
            "subject": self.subject,
            "asked": self.is_asked,
            "names": self.why.names,
            "references": references.collect::<Vec<_>>(),
            "there": self.is_there(),
            "by": self.there.as_ref().map(|there| sign(there.by)),
            "alone": self.alone.map(outcome),
        })
    }
}

impl Discovery {
    /// Two lines for each that the target lacks, in the order in which they came, then how many it has.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for member in self.members.iter().filter(|member| !member.is_there()) {
            let alone = member.alone.map(|alone| format!("  (alone: {})", outcome(alone))).unwrap_or_default();
            writeln!(out, "{}  {}{alone}\n    {}", abbreviated(&member.commit), member.subject, member.reasons())?;
        }
        let there = self.members.iter().filter(|member| member.is_there()).count();
        let newest = if self.is_cut { "the newest " } else { "" };
        let (belong, of) = (self.members.len(), counted(self.commits, "commits"));
        write!(out, "{belong} of {newest}{of} belong to {}", self.asked.join(", "))?;
        if self.has_target {
            writeln!(out, "; the target has {there} of them, which are not shown")
        } else {
            writeln!(out)
        }
    }

    /// All of them.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        self.members.iter().try_for_each(|member| writeln!(out, "{}", member.json()))
    }
}
