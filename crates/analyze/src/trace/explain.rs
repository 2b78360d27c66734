//! All analyses that explain waits, in one pass: a long trace is read once for five pages.

use super::blame::{self, Blame};
use super::chains::{self, Chains};
use super::follow::{Analysis, follow_in_two_threads};
use super::inversions::{self, Inversions};
use super::kworkers::{self, Items, Kworkers};
use super::overview::{self, Overview, Painter};
use super::request::AnalysisRequest;
use schedlab_trace::{Kinds, Reader, TraceError};
use serde::Serialize;

/// Version of [`Explain`] in JSON.
pub const SCHEMA: &str = "schedlab/trace-explain/1";

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explain {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Behind whom tasks waited.
    pub blame: Blame,
    /// Who woke whom.
    pub chains: Chains,
    /// Priority inversions.
    pub inversions: Inversions,
    /// How late work ran.
    pub kworkers: Kworkers,
    /// Who had each CPU.
    pub map: Overview,
}

/// The kinds of events that the analyses need.
pub fn wanted() -> Kinds {
    let all = [blame::wanted(), inversions::wanted(), kworkers::wanted()];
    all.into_iter().flat_map(Kinds::iter).fold(chains::wanted(), Kinds::with)
}

/// Reads a trace to its end.
pub fn explain(reader: &mut Reader, request: &AnalysisRequest) -> Result<Explain, TraceError> {
    let (mut counter, mut tracker) = (blame::counter(reader, request), chains::tracker(request));
    let (mut detector, mut items) = (inversions::detector(request), Items::new(&request.scope));
    let mut painter = Painter::new(request);
    // The two halves take about the same time.
    let here: &mut [&mut dyn Analysis] = &mut [&mut counter, &mut painter];
    let there: &mut [&mut dyn Analysis] = &mut [&mut tracker, &mut detector, &mut items];
    let engine = follow_in_two_threads(reader, &request.scope.tasks, here, there)?;
    Ok(Explain {
        schema: SCHEMA,
        blame: blame::findings(counter, &engine, reader, request),
        chains: chains::findings(&tracker, &engine, reader, request),
        inversions: inversions::findings(detector, &engine, reader, request),
        kworkers: kworkers::findings(items, &engine, reader, request),
        map: overview::findings(painter, &engine, reader, request),
    })
}
