//! How an operation's time was spent: follows the operation back from its end, from wakee to waker.

use super::timeline::{Piece, ThreadActivity};
use schedlab_trace::Tid;
use schedlab_trace::engine::Began;
use std::collections::BTreeMap;

/// Most steps of an operation: an operation with a thousand switches is not worth reading.
const MAX_STEPS: usize = 1000;

/// A step, within the operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step<'p> {
    pub(super) tid: Tid,
    pub(super) start: u64,
    pub(super) end: u64,
    /// `None` if it is not known what the thread did.
    pub(super) piece: Option<&'p Piece>,
    /// For a sleep: the thread that ended it, if what that thread did is not known.
    pub(super) woken_by: Option<Tid>,
}

/// The intervals of each thread, in order of time.
#[derive(Debug)]
pub(super) struct Threads<'p>(BTreeMap<Tid, Vec<&'p Piece>>);

impl<'p> Threads<'p> {
    pub(super) fn new(pieces: impl IntoIterator<Item = &'p Piece>) -> Self {
        let mut threads: BTreeMap<Tid, Vec<&'p Piece>> = BTreeMap::new();
        pieces.into_iter().for_each(|piece| threads.entry(piece.tid).or_default().push(piece));
        threads.values_mut().for_each(|pieces| pieces.sort_by_key(|piece| (piece.start, piece.end)));
        Self(threads)
    }

    /// What a thread did.
    pub(super) fn of(&self, tid: Tid) -> &[&'p Piece] {
        self.0.get(&tid).map_or(&[], Vec::as_slice)
    }

    /// What a thread did right before a time: its latest interval that began earlier.
    fn before(&self, tid: Tid, at: u64) -> Option<&'p Piece> {
        let pieces = self.of(tid);
        pieces[..pieces.partition_point(|piece| piece.start < at)].last().copied()
    }

    /// The steps of an operation of `tid` between two times, in order of time and without holes, and whether there
    /// would be more steps before them.
    pub(super) fn path(&self, tid: Tid, (from, to): (u64, u64)) -> (Vec<Step<'p>>, bool) {
        let (mut who, mut at, mut steps) = (tid, to, Vec::new());
        // The thread that woke `who` at `at`.
        let mut waker: Option<Tid> = None;
        while at > from && steps.len() < MAX_STEPS {
            let piece = self.before(who, at).filter(|piece| piece.end >= at);
            let woken_by = waker.take();
            let Some(piece) = piece else {
                // Nothing is known back to the end of the last known interval.
                let since = self.before(who, at).map_or(from, |piece| piece.end.max(from));
                steps.push(Step { tid: who, start: since, end: at, piece: None, woken_by: None });
                at = since;
                continue;
            };
            let woken_by = woken_by.filter(|_| matches!(piece.did, ThreadActivity::Slept(_)) && piece.end == at);
            if let Some(woke) = woken_by.filter(|woke| self.runs(*woke, at)) {
                who = woke;
                continue;
            }
            let start = piece.start.max(from);
            steps.push(Step { tid: who, start, end: at, piece: Some(piece), woken_by });
            at = start;
            if let ThreadActivity::Waited(wait) = &piece.did {
                let by_thread = wait.began != Began::Preempted && !wait.context.is_interrupt() && wait.waker != who;
                waker = Some(wait.waker).filter(|waker| by_thread && *waker != Tid::IDLE);
            }
        }
        steps.reverse();
        (steps, at > from)
    }

    /// Whether a thread is known to have run right before a time.
    fn runs(&self, tid: Tid, at: u64) -> bool {
        self.before(tid, at).is_some_and(|piece| piece.end >= at && matches!(piece.did, ThreadActivity::Ran(_)))
    }
}
