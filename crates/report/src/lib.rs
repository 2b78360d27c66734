//! Prints findings as terminal text, JSON, Markdown, SVG and one self-contained HTML file, into `&mut dyn Write`.
//!
//! Nothing is decided here: verdicts, sentences and numbers come from crate `analyze`; this crate lays them out. The
//! output depends only on the input (no clock, no hash order), so a report can be compared byte by byte.
#![forbid(unsafe_code)]

mod bench_text;
mod bisection;
mod chart;
mod checks;
mod document;
mod dossier;
mod escape;
mod groups;
mod html;
mod interval_text;
mod labels;
mod markdown;
mod page;
mod pictures;
pub mod port;
mod profile;
mod recorder_cost;
mod remarks;
mod repetition;
mod search;
mod sections;
mod summary;
mod table;
mod tables;
mod text;
mod topdown;
mod trace;
mod typographic;
mod why;

pub use bench_text::bench_text;
pub use bisection::bisection;
pub use checks::checks_text;
pub use document::Document;
pub use dossier::{
    DossierSubject, Hits, Lang, Measured, OldPage, Term, dossier_html, dossier_markdown, dossier_pictures,
    dossier_slots, measured,
};
pub use groups::groups;
pub use html::html;
pub use labels::provenance;
pub use markdown::markdown;
pub use page::terms_text;
pub use pictures::{pictures, search_pictures};
pub use profile::{annotation, folded_text, profile};
pub use recorder_cost::recorder_cost_text;
pub use repetition::{pack, pack_asks, repetition};
use schedlab_analyze::number;
pub use schedlab_analyze::number::effect_text;
pub use search::search;
pub use summary::{More, summary};
pub use table::wrap;
pub use text::{scaling_text, text};
pub use trace::*;
pub use why::{why, why_kernels};

use schedlab_analyze::Findings;
use schedlab_plan::{Manifest, TrialRecord};

/// The input of a report. For two runs, manifest and trials are those of the first.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The plan and the machine.
    pub manifest: &'a Manifest,
    /// Every row, in any order.
    pub trials: &'a [TrialRecord],
    /// The findings.
    pub findings: &'a Findings,
}
