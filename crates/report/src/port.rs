//! A rehearsal of a backport: on the terminal, and as JSON with one object per line.

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

/// A series and the results of its rehearsal.
pub struct Rehearsal {
    /// The series.
    pub patches: Vec<Patch>,
    /// For each patch, the file that it comes from.
    pub from: Vec<PathBuf>,
    /// What the target's history contains of the patches.
    pub history: History,
    /// The result for each hunk, and the adapted series.
    pub port: schedlab_kernel::Port,
    /// What the tree lacks, for each finding.
    pub needs: Vec<Vec<Need>>,
    /// How the two trees handle the states that the series reads, if the tree that it comes from is known.
    pub contract: Option<Contract>,
    /// The build of the adapted series, if it was compiled.
    pub build: Option<Build>,
    /// The commits that the series depends on, if the tree that it comes from has a history.
    pub prerequisites: Option<Prerequisites>,
}

/// What the target's history contains of each patch of a series.
#[derive(Default)]
pub struct History {
    /// The commit in the target that equals the patch.
    pub present: Vec<Option<Present>>,
    /// The commits that the patch fixes.
    pub fixed: Vec<Vec<Fixed>>,
    /// Whether all commits of the files were read: then what was not found does not exist.
    pub is_whole: bool,
}

impl History {
    /// The commit in the target that equals a patch, even if it was reverted.
    pub fn of(&self, patch: usize) -> Option<&Present> {
        self.present.get(patch)?.as_ref()
    }
}

impl Rehearsal {
    /// The subject of a patch.
    fn subject(&self, patch: usize) -> &str {
        let subject = &*self.patches[patch].subject;
        if subject.is_empty() { "without a subject" } else { subject }
    }

    /// For a terminal: a line per hunk, then the proposals, then the totals, then the build.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        hunks::write(self, out)?;
        patches::write(self, out)?;
        hunks::sums(self, out)?;
        self.build.as_ref().map_or(Ok(()), |build| builds::write(self, build, out))?;
        self.prerequisites.as_ref().map_or(Ok(()), |found| found.write(out))
    }

    /// As JSON, one object per line: a hunk, a skipped part of the series, a step of the build.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(self, out)
    }
}
