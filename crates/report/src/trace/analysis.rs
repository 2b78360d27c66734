//! What one analysis of a trace is to those who ask it: a row of [`ANALYSES`](super::ANALYSES).

use crate::document::Document;
use schedlab_analyze::trace::{Asked, Definition, Kinds, Reader, TraceError};
use schedlab_plan::json::{Room, answer};
use serde::Serialize;

/// An analysis that takes nothing but a trace and the common options.
#[derive(Debug)]
pub struct TraceAnalysis {
    /// Its name, which is that of its command; its findings are the type of that name in `schedlab_analyze::trace`.
    pub name: &'static str,
    /// The question that it answers.
    pub question: &'static str,
    /// Two or three command lines.
    pub examples: &'static [&'static str],
    /// Which of the common options it takes.
    pub takes: Takes,
    /// What its numbers mean.
    pub definitions: &'static [Definition],
    /// The kinds of events that it needs.
    pub wanted: fn() -> Kinds,
    /// Reads a trace to its end and answers in the form asked for.
    pub run: fn(&mut Reader, &Asked, Form) -> Result<RenderedOutput, AnalysisError>,
}

/// Which of the common options an analysis takes, beside the trace and the form of its answer.
#[derive(Debug, Clone, Copy)]
pub struct Takes {
    /// What the trace can be narrowed down to.
    pub filters: Filtered,
    /// A row for each task instead of one for all tasks of a name.
    pub each_task: bool,
    /// Default number of rows of a table; `None` if it has no table that can be cut.
    pub rows: Option<usize>,
    /// The number of CPUs that share a last-level cache.
    pub llc_size: bool,
}

impl Takes {
    /// The whole trace.
    pub(super) const TRACE: Self = Self { filters: Filtered::No, each_task: false, rows: None, llc_size: false };
    /// Waits of tasks.
    pub(super) const WAITS: Self = Self { filters: Filtered::All, each_task: true, rows: Some(10), ..Self::TRACE };
}

/// By what a trace can be narrowed down; of what it cannot, the reason.
#[derive(Debug, Clone, Copy)]
pub enum Filtered {
    /// By nothing.
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

/// An answer in the form that was asked for.
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
