//! Unified diffs in the forms that kernel developers use: mails of `git format-patch` and mbox files of them, output of
//! `git show` and `git diff`, plain `diff -u`, quilt and Debian patches with a free header.
//!
//! What cannot be used (a binary, a hostile path, a malformed hunk) is reported with its line and skipped; the rest is
//! read.

mod combined;
mod encoded;
mod error;
mod header;
mod hunk;
mod message;
mod path;
mod quilt;
mod read;
mod write;

pub use combined::parse_combined;
pub use error::{PatchError, Refused};
pub use hunk::{Hunk, Line};
pub use message::Trailer;
pub(crate) use message::origin;
pub use quilt::{UnsupportedOption, quilt};
pub use read::parse;

/// What a diff does to a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Changes lines of an existing file.
    Modified,
    /// A new file: the old side is `/dev/null`, or git says `new file mode`.
    Created,
    /// The file is deleted.
    Deleted,
    /// Git's `rename from` and `rename to`.
    Renamed,
    /// Git's `copy from` and `copy to`.
    Copied,
}

/// One file of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The file before, without the first component of its name (as `patch -p1`); `None` for a new file.
    pub old: Option<String>,
    /// The file after; `None` for a deleted one.
    pub new: Option<String>,
    /// What happens to the file as a whole.
    pub change: Change,
    /// Its mode before, if git's `old mode` or `deleted file mode` gives it.
    pub old_mode: Option<u32>,
    /// Its mode after, from `new mode` or `new file mode`.
    pub new_mode: Option<u32>,
    /// Line of the series where it begins, from 1.
    pub line: usize,
    /// In the order of the diff.
    pub hunks: Vec<Hunk>,
}

impl FilePatch {
    /// Whether it changes anything: a `diff --git` line alone does not; a rename or a new mode does.
    pub fn is_change(&self) -> bool {
        !self.hunks.is_empty() || self.change != Change::Modified || self.modes().is_some()
    }

    /// Both modes, if they differ.
    pub fn modes(&self) -> Option<(u32, u32)> {
        self.old_mode.zip(self.new_mode).filter(|(old, new)| old != new)
    }

    /// Whether it creates or deletes a symbolic link: its text is then a path.
    pub fn is_link(&self) -> bool {
        /// The mode of a symbolic link in git.
        const LINK: u32 = 0o120_000;
        self.old_mode == Some(LINK) || self.new_mode == Some(LINK)
    }

    /// Whether its name is that of a C file.
    pub fn is_c(&self) -> bool {
        crate::is_c(self.path()) && !self.is_link()
    }

    /// The file that the hunks apply to, by the name in the patch: the old name for a rename, the new one for a new
    /// file.
    pub fn path(&self) -> &str {
        let first = if self.change == Change::Modified { [&self.new, &self.old] } else { [&self.old, &self.new] };
        first.into_iter().flatten().next().map_or("", String::as_str)
    }
}

/// One patch of a series: a message and what it changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// The text above its first diff, up to a line `---`; empty if there is none.
    pub message: Vec<u8>,
    /// First line of the message, without `[PATCH 1/2]`; empty if there is none.
    pub subject: String,
    /// The commit that it was made from, if the mail or `git show` names it.
    pub commit: Option<String>,
    /// Commits that its message says it is a copy of: `(cherry picked from commit …)`, `commit … upstream.`, `[
    /// Upstream commit … ]`.
    pub copied_from: Vec<String>,
    /// `Fixes:`, `Link:` and their like, in order.
    pub trailers: Vec<Trailer>,
    /// Text files that can be rehearsed.
    pub files: Vec<FilePatch>,
    /// What was skipped and why.
    pub refused: Vec<Refused>,
}
