//! A rehearsal of a backport: on the terminal, and as JSON, one object a line.

mod builds;
mod hunks;
mod json;
mod labels;
mod lines;
mod patches;
mod prerequisites;
mod related;

pub use builds::{Build, Proof, RunCount, Step};
pub use labels::confidence;
pub use prerequisites::{Prerequisites, Wanted};
pub use related::{Discovery, Member};

use schedlab_kernel::contract::Contract;
use schedlab_kernel::needs::Need;
use schedlab_kernel::{Fixed, Patch, Present};
use std::io::{self, Write};
use std::path::PathBuf;

/// A series and what was found of it.
pub struct Rehearsal {
    /// The series.
    pub patches: Vec<Patch>,
    /// For each patch the file that it is from.
    pub from: Vec<PathBuf>,
    /// What the target's history knows of them.
    pub history: History,
    /// What was found of each hunk, and the adapted series.
    pub port: schedlab_kernel::Port,
    /// For each finding.
    pub needs: Vec<Vec<Need>>,
    /// Where the tree is known that the series is from.
    pub contract: Option<Contract>,
    /// Where the adapted series was compiled.
    pub build: Option<Build>,
    /// Where the tree that the series is from has a history.
    pub prerequisites: Option<Prerequisites>,
}

/// For each patch of a series what the target's history has of it.
#[derive(Default)]
pub struct History {
    /// The commit that it is.
    pub present: Vec<Option<Present>>,
    /// The commits that it fixes.
    pub fixed: Vec<Vec<Fixed>>,
    /// All commits of the files were read: what was not found is not there.
    pub is_whole: bool,
}

impl History {
    /// The commit that a patch is, taken back or not.
    pub fn of(&self, patch: usize) -> Option<&Present> {
        self.present.get(patch)?.as_ref()
    }
}

impl Rehearsal {
    /// What a patch is called.
    fn subject(&self, patch: usize) -> &str {
        let subject = &*self.patches[patch].subject;
        if subject.is_empty() { "without a subject" } else { subject }
    }

    /// For a terminal: a line per hunk, then the proposals, then the sums, then what was built.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        hunks::write(self, out)?;
        patches::write(self, out)?;
        hunks::sums(self, out)?;
        self.build.as_ref().map_or(Ok(()), |build| builds::write(self, build, out))?;
        self.prerequisites.as_ref().map_or(Ok(()), |found| found.write(out))
    }

    /// As JSON, one object a line: a hunk, a part of the series that was skipped, a step of the build.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(self, out)
    }
}
