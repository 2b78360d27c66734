//! The description of one analysis of a trace for its users: a row of [`ANALYSES`](super::ANALYSES).

use crate::document::Document;
use schedlab_analyze::trace::{AnalysisRequest, Definition, Kinds, Reader, TraceError};
use schedlab_plan::json::{Room, answer};
use serde::Serialize;

/// An analysis that needs nothing but a trace and the common options.
#[derive(Debug)]
pub struct TraceAnalysis {
    /// Its name, which is also its command's; the type of its findings in `schedlab_analyze::trace` has that name as
    /// well.
    pub name: &'static str,
    /// The question that it answers.
    pub question: &'static str,
    /// Two or three command lines.
    pub examples: &'static [&'static str],
    /// The common options that it accepts.
    pub takes: Takes,
    /// What its numbers mean.
    pub definitions: &'static [Definition],
    /// The kinds of events that it needs.
    pub wanted: fn() -> Kinds,
    /// Reads a trace to its end and returns the answer in the requested form.
    pub run: fn(&mut Reader, &AnalysisRequest, Form) -> Result<RenderedOutput, AnalysisError>,
}

/// The common options that an analysis accepts, besides the trace and the form of its answer.
#[derive(Debug, Clone, Copy)]
pub struct Takes {
    /// The filters that it accepts.
    pub filters: Filtered,
    /// Whether there may be a row for each task instead of one for all tasks of a name.
    pub each_task: bool,
    /// Default number of rows of a table; `None` if it has no table that can be cut.
    pub rows: Option<usize>,
    /// Whether it needs the number of CPUs that share a last-level cache.
    pub llc_size: bool,
}

impl Takes {
    /// For an analysis of the whole trace.
    pub(super) const TRACE: Self = Self { filters: Filtered::No, each_task: false, rows: None, llc_size: false };
    /// For an analysis of tasks' waits.
    pub(super) const WAITS: Self = Self { filters: Filtered::All, each_task: true, rows: Some(10), ..Self::TRACE };
}

/// The filters that an analysis accepts; for filters that it does not accept, the reason.
#[derive(Debug, Clone, Copy)]
pub enum Filtered {
    /// No filters.
    No,
    /// By tasks, time, CPUs and states.
    All,
    /// Not by tasks or states.
    NotTasks(&'static str),
    /// Not by states.
    NotStates(&'static str),
    /// Not by time or CPUs.
    NotTimes(&'static str),
}

/// The form of an answer.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// A page.
    Page,
    /// JSON in this much room.
    Json(Room),
}

/// An answer in the requested form.
pub enum RenderedOutput {
    /// A page.
    Page(Document),
    /// An object with its `schema`.
    Json(String),
}

impl Form {
    /// Findings in this form.
    pub fn of<T: Serialize>(self, found: &T, page: fn(&T) -> Document) -> Result<RenderedOutput, AnalysisError> {
        Ok(match self {
            Self::Page => RenderedOutput::Page(page(found)),
            Self::Json(room) => RenderedOutput::Json(answer("", found, room)?),
        })
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The findings cannot be written.
    #[error("the findings are no JSON")]
    Json(#[from] serde_json::Error),
}
