//! Kernel source and patches. A series of unified diffs is read, and each hunk is placed as GNU patch would place it.
//! If that fails, or puts the hunk into another function, the right place and an adapted hunk are proposed.
//!
//! No I/O: bytes in, findings out; the caller opens the files of the series and of the tree. Kernel sources and patches
//! are bytes, not UTF-8: names in comments and CRLF line ends are preserved.
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
