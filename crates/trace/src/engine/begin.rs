//! When a trace begins. perf's own records of threads may begin long before the tracepoints.

use crate::event::Event;

/// Times of the first events, ns.
#[derive(Debug, Default)]
pub(super) struct Begin {
    first: Option<u64>,
    /// The same, of events that may be perf's own records.
    first_noted: Option<u64>,
}

impl Begin {
    #[inline]
    pub(super) fn is_known(&self) -> bool {
        self.first.is_some()
    }

    #[cold]
    pub(super) fn note(&mut self, event: &Event) {
        let of = if event.begins_its_cpu() { &mut self.first } else { &mut self.first_noted };
        of.get_or_insert(event.ts);
    }

    /// The first event; if some are perf's own records, the first that cannot be one.
    pub(super) fn at(&self, has_noted: bool) -> Option<u64> {
        let earliest = self.first_noted.into_iter().chain(self.first).min();
        self.first.filter(|_| has_noted).or(earliest)
    }
}
