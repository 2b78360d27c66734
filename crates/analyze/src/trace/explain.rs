//! Everything that explains waits, after one reading: a long trace is read once for five pages.

use super::blame::{self, Blame, BlameOptions};
use super::chains::{self, Chains, ChainsOptions};
use super::follow::{Analysis, follow_apart};
use super::inversions::{self, Inversions, InversionsOptions};
use super::kworkers::{self, Items, Kworkers, KworkersOptions, Symbols};
use super::overview::{self, Overview, OverviewOptions, Painter};
use super::scope::Scope;
use schedlab_trace::{Kinds, Reader, TraceError};
use serde::Serialize;

/// What is asked for: as of each analysis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExplainOptions {
    /// Which waits.
    pub scope: Scope,
    /// A row for each task that waited instead of one for each name.
    pub each_task: bool,
    /// Names of work functions that the trace gives by address.
    pub symbols: Symbols,
    /// Slices of the map, at most.
    pub slices: usize,
    /// Most rows of each table; all when `None`.
    pub top: Option<usize>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
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
pub fn explain(reader: &mut Reader, options: &ExplainOptions) -> Result<Explained, TraceError> {
    let ExplainOptions { scope, each_task, symbols, slices, top } = options;
    let (each_task, top) = (*each_task, *top);
    let of_blame = BlameOptions { scope: scope.clone(), each_task, top };
    let of_chains = ChainsOptions { scope: scope.clone(), top };
    let of_inversions = InversionsOptions { scope: scope.clone(), each_task, top };
    let of_kworkers = KworkersOptions { scope: scope.clone(), symbols: symbols.clone(), top };
    let of_map = OverviewOptions { scope: scope.clone(), slices: *slices, top };
    let (mut counter, mut tracker) = (blame::counter(reader, &of_blame), chains::tracker(&of_chains));
    let (mut detector, mut items) = (inversions::detector(&of_inversions), Items::new(&of_kworkers.scope));
    let mut painter = Painter::new(&of_map);
    // In halves that take as long.
    let here: &mut [&mut dyn Analysis] = &mut [&mut counter, &mut painter];
    let there: &mut [&mut dyn Analysis] = &mut [&mut tracker, &mut detector, &mut items];
    let engine = follow_apart(reader, &scope.tasks, here, there)?;
    Ok(Explained {
        blame: blame::findings(counter, &engine, reader, &of_blame),
        chains: chains::findings(&tracker, &engine, reader, &of_chains),
        inversions: inversions::findings(detector, &engine, reader, &of_inversions),
        kworkers: kworkers::findings(items, &engine, reader, &of_kworkers),
        map: overview::findings(painter, &engine, reader, &of_map),
    })
}
