//! Kernel source and patches: a series of unified diffs is read, each hunk is placed as GNU patch would place it, and
//! where that fails or lands in another function, the right place and an adapted hunk are proposed.
//!
//! Pure: bytes in, findings out. The caller opens the files of the series and of the tree. Sources of kernels and their
//! patches are bytes, not UTF-8: names in comments and CRLF lines come through unchanged.
#![forbid(unsafe_code)]

pub mod contract;
pub mod dossier;
mod gnu;
mod lines;
mod names;
pub mod needs;
mod port;
mod related;
mod series;
pub mod source;
mod touched;

pub use gnu::{FUZZ_LIMIT, Placement, Verdict, apply, place};
pub use lines::{is_c, split};
pub use port::{
    Commit, Confidence, FileFinding, Finding, Fixed, HunkPlace, Made, Missed, Obstacle, Outcome, Port, Prerequisite,
    Present, Proposal, Read, Reason, Rehearsed, Sign, Source, abbreviated, apply_reverts, doubt, fixed, missed,
    present, rehearse, rehearse_series, widened,
};
pub use related::{Related, related};
pub use series::{
    Change, FilePatch, Hunk, Line, Patch, PatchError, Refused, Trailer, UnsupportedOption, parse, parse_combined, quilt,
};
pub use touched::touched;
