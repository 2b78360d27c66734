//! The lines between a message and its hunks, collected until the first hunk shows what they mean.

use super::{Change, FilePatch, PatchError, path};
use crate::lines::without_end;

/// What the header says about the next file.
#[derive(Default)]
pub(super) struct Header {
    /// What the `diff --git` line says.
    git: Option<Result<Option<String>, PatchError>>,
    old: Option<Result<Option<String>, PatchError>>,
    new: Option<Result<Option<String>, PatchError>>,
    change: Option<Change>,
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    /// Git wrote the names without a prefix (`a/`).
    is_bare: bool,
    pub(super) is_binary: bool,
    pub(super) strips_cr: bool,
    pub(super) line: usize,
}

impl Header {
    /// Parses a `diff --git a/X b/X` line, from after `diff --git `.
    pub(super) fn of_git(rest: &[u8], line: usize) -> Self {
        let rest = without_end(rest);
        Self { git: path::of_git_line(rest), is_bare: path::is_bare(rest), line, ..Self::default() }
    }

    /// A header of a diff without a `diff --git` line.
    pub(super) fn at(line: usize) -> Self {
        Self { line, ..Self::default() }
    }

    /// Takes one line of git's extended header; false if it is not one.
    pub(super) fn takes(&mut self, line: &[u8]) -> bool {
        let line = without_end(line);
        let of = |word: &str| line.strip_prefix(word.as_bytes());
        if let Some(name) = of("rename from ").or(of("copy from ")) {
            self.change = Some(if line.starts_with(b"rename") { Change::Renamed } else { Change::Copied });
            self.old = Some(path::read(name, false));
        } else if let Some(name) = of("rename to ").or(of("copy to ")) {
            self.new = Some(path::read(name, false));
        } else if let Some(mode) = of("new file mode ") {
            (self.change, self.new_mode) = (Some(Change::Created), octal(mode));
        } else if let Some(mode) = of("deleted file mode ") {
            (self.change, self.old_mode) = (Some(Change::Deleted), octal(mode));
        } else if let Some(mode) = of("old mode ") {
            self.old_mode = octal(mode);
        } else if let Some(mode) = of("new mode ") {
            self.new_mode = octal(mode);
        } else if of("GIT binary patch").is_some() || (of("Binary files ").is_some() && line.ends_with(b" differ")) {
            self.is_binary = true;
        } else {
            return ["index ", "similarity index ", "dissimilarity index "].iter().any(|w| of(w).is_some());
        }
        true
    }

    /// Reads the two lines `--- OLD` and `+++ NEW`, from after their signs, and the `@@` line below them. A side
    /// without lines, and with the time stamp of a missing file, is no file.
    pub(super) fn names(&mut self, old: &[u8], new: &[u8], hunk: &[u8]) {
        self.strips_cr = new.ends_with(b"\r\n");
        // The names in `rename from` and `rename to` have no prefix, and are the same files.
        if !matches!(self.change, Some(Change::Renamed | Change::Copied)) {
            let mut ranges = hunk.split(|&b| b == b' ').skip(1);
            let strip = !self.is_bare;
            let mut side = |field: &[u8]| {
                let range = ranges.next().unwrap_or_default().get(1..).unwrap_or_default();
                let is_empty = range.starts_with(b"0") && !range.get(1).is_some_and(u8::is_ascii_digit);
                let name = path::read(without_end(field), strip);
                name.map(|name| name.filter(|_| !(is_empty && path::is_stamp_of_none(field))))
            };
            (self.old, self.new) = (Some(side(old)), Some(side(new)));
        }
    }

    /// The file that the header describes, with no hunks yet.
    pub(super) fn into_file(self) -> Result<FilePatch, PatchError> {
        let git = self.git.transpose()?;
        let mut old = self.old.transpose()?.unwrap_or_else(|| git.clone().flatten());
        let mut new = self.new.transpose()?.unwrap_or_else(|| git.flatten());
        let change = self.change.unwrap_or(match (&old, &new) {
            (None, Some(_)) => Change::Created,
            (Some(_), None) => Change::Deleted,
            _ => Change::Modified,
        });
        match change {
            Change::Created => old = None,
            Change::Deleted => new = None,
            _ => {}
        }
        if old.is_none() && new.is_none() {
            return Err(PatchError::OddPath(String::new()));
        }
        let (old_mode, new_mode) = (self.old_mode, self.new_mode);
        let file = FilePatch { old, new, change, old_mode, new_mode, line: self.line, hunks: Vec::new() };
        match (self.is_binary, change) {
            (false, _) => Ok(file),
            (true, Change::Deleted) => Err(PatchError::BinaryDeleted(file.path().to_owned())),
            (true, _) => Err(PatchError::Binary(file.path().to_owned())),
        }
    }
}

fn octal(mode: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(mode).ok()?.trim(), 8).ok()
}
