//! All analyses that explain waits, one page after the other.

use super::{blame, chains, inversions, trace_kworkers, trace_overview};
use crate::document::Document;
use schedlab_analyze::trace::Explain;

/// The findings as a page.
pub(super) fn page(found: &Explain) -> Document {
    if found.blame.total.waits == 0 && found.map.cpus.is_empty() {
        // If nothing ran or waited, a single page says so.
        return blame::page(&found.blame);
    }
    let waits = blame::page(&found.blame).and(chains::page(&found.chains)).and(inversions::page(&found.inversions));
    waits.and(trace_kworkers(&found.kworkers)).and(trace_overview(&found.map))
}
