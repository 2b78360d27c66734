//! Rehearses a hunk: what GNU patch does with it, where it belongs, and how it would have to be adapted.

mod adapt;
mod align;
mod elsewhere;
mod file;
mod moves;
mod outcome;
mod prerequisites;
mod present;
mod rehearse;
mod section;
mod series;
mod source;
mod splice;
mod tokens;
mod twice;

pub use elsewhere::{doubt, widened};
pub(crate) use file::patch_target;
pub use outcome::{Outcome, Reason};
pub use prerequisites::{Missed, Prerequisite, missed};
pub use present::{Commit, Fixed, Present, Sign, abbreviated, apply_reverts, fixed, present};
pub use rehearse::{Confidence, HunkPlace, Proposal, Rehearsed, rehearse};
pub(crate) use section::{name_of_hunk as section_name, name_of_line as section_of_line};
pub use series::{FileFinding, Finding, Made, Obstacle, Port, Read, rehearse_series};
pub use source::Source;
pub(crate) use tokens::common;
