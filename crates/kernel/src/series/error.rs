//! Why a part of a series was skipped.

/// A part of a series that is skipped; the rest is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct Refused {
    /// Line of the series, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: PatchError,
}

/// What is wrong with a part of a series.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// A path that could leave the tree.
    #[error("`{0}` leads out of the tree; a path in a patch must be relative and without `..`")]
    Hostile(String),
    /// A path that is a symbolic link in the tree, or is below one that leads out of it; reported by the reader of the
    /// tree.
    #[error("`{0}` is a symbolic link in the tree, or is below one that leads out of it; GNU patch refuses it, too")]
    Link(String),
    /// A path that is not text.
    #[error("`{0}` is not a file name: it is empty, not UTF-8 or holds control characters")]
    OddPath(String),
    /// The lines of the hunk do not match the counts in its header.
    #[error("{path}: malformed hunk: {why} (edited by hand? patchutils' `rediff` recomputes the counts)")]
    Malformed {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// A binary file.
    #[error("{0} is binary; copy the file from its source")]
    Binary(String),
    /// A binary file that the patch deletes.
    #[error("{0} is binary, and deleted by the patch; remove the file")]
    BinaryDeleted(String),
    /// A context diff, an ed script or a combined diff.
    #[error("{0}; make a unified diff (`git diff`, `diff -u`)")]
    OtherFormat(&'static str),
    /// A mail whose body is encoded.
    #[error("the mail's body is {0}; decode it first (`git mailinfo`, b4 am)")]
    Encoded(String),
}
