//! The pieces of a section of a file: the decoding thread takes them in order, and any other thread that has nothing
//! better to do reads ahead. Copying out of the page cache takes as long as decoding, so a thread that waits for events
//! meanwhile reads the bytes of later ones. This balances the work by itself, on two CPUs as on many, and needs no
//! additional thread.

use crate::TraceError;
use crate::bytes::Input;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes read at once: they stay in the second-level cache until they are decoded.
pub(crate) const PIECE: usize = 256 << 10;

/// Number of pieces that are read ahead: 4 MiB, a few milliseconds of decoding.
const AHEAD: usize = 16;

/// A piece of the file, preceded by as much space for what is left of the previous one.
pub(crate) struct Piece {
    pub(crate) at: u64,
    pub(crate) read: usize,
    pub(crate) buffer: Vec<u8>,
}

/// The pieces of `[next, end)`.
pub(crate) struct Pieces {
    input: Arc<Input>,
    end: u64,
    state: Mutex<State>,
    /// The first piece has come.
    came: Condvar,
}

#[derive(Default)]
struct State {
    /// Where the next piece begins that nobody is reading yet.
    next: u64,
    /// The file ended, or could not be read: nothing follows.
    ended: bool,
    /// Pieces that have not been taken, in order; `None` while one is being read.
    pieces: VecDeque<Option<Result<Piece, TraceError>>>,
    /// Number of pieces taken so far.
    taken: u64,
    /// Buffers for reuse; the one used last, which is in some cache, comes first.
    spent: Vec<Vec<u8>>,
}

impl Pieces {
    pub(crate) fn new(input: Arc<Input>, next: u64, end: u64) -> Self {
        let state = Mutex::new(State { next, ..State::default() });
        Self { input, end, state, came: Condvar::new() }
    }

    /// The next piece in order; `None` at the end of the section or the file.
    pub(crate) fn take(&self) -> Option<Result<Piece, TraceError>> {
        loop {
            let mut state = self.state();
            if let Some(Some(_)) = state.pieces.front() {
                state.taken += 1;
                let piece = state.pieces.pop_front().flatten();
                if !matches!(&piece, Some(Ok(Piece { read: PIECE, .. }))) {
                    // A short read: drop pieces that were read ahead, because they do not follow it.
                    state.pieces.clear();
                }
                return piece;
            }
            drop(state);
            if self.read_one() {
                continue;
            }
            let being_read = |state: &mut State| matches!(state.pieces.front(), Some(None));
            let state = self.came.wait_while(self.state(), being_read).unwrap_or_else(PoisonError::into_inner);
            if state.pieces.is_empty() {
                return None;
            }
        }
    }

    /// Reads the next piece; false if there is none, or enough are waiting.
    pub(crate) fn read_one(&self) -> bool {
        let mut state = self.state();
        let at = state.next;
        let want = (PIECE as u64).min(self.end.saturating_sub(at)) as usize;
        if state.ended || want == 0 || state.pieces.len() >= AHEAD {
            return false;
        }
        let number = state.taken + state.pieces.len() as u64;
        state.next += want as u64;
        state.pieces.push_back(None);
        let spent = state.spent.pop();
        drop(state);
        let mut buffer = spent.unwrap_or_else(|| vec![0; 2 * PIECE]);
        let read = self.input.read(at, &mut buffer[PIECE..PIECE + want]);
        let mut state = self.state();
        state.ended |= !read.as_ref().is_ok_and(|read| *read == want);
        // Unread pieces are never taken, but this one may have been dropped meanwhile.
        let place = (number - state.taken) as usize;
        if let Some(piece) = state.pieces.get_mut(place) {
            *piece = Some(read.map(|read| Piece { at, read, buffer }));
        }
        if place == 0 {
            self.came.notify_one();
        }
        true
    }

    /// Gives room back.
    pub(crate) fn give_back(&self, buffer: Vec<u8>) {
        self.state().spent.push(buffer);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads ahead for the decoder.
#[derive(Clone)]
pub(crate) struct Helper(pub(crate) Arc<Pieces>);

impl Helper {
    /// Reads a piece; false if none is wanted now.
    pub(crate) fn help(&self) -> bool {
        self.0.read_one()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(length: usize) -> (Vec<u8>, Pieces) {
        let bytes: Vec<u8> = (0..length).map(|i| (i / 1000) as u8).collect();
        let input = Arc::new(Input::part("f", 0, bytes.clone()));
        (bytes, Pieces::new(input, 0, length as u64))
    }

    fn content(piece: &Piece) -> &[u8] {
        &piece.buffer[PIECE..PIECE + piece.read]
    }

    #[test]
    fn pieces_come_in_order_whoever_reads_them() {
        let (bytes, pieces) = of(PIECE * 40 + 7);
        let mut seen = Vec::new();
        std::thread::scope(|scope| {
            let helpers: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        while pieces.state().taken < 40 {
                            pieces.read_one();
                        }
                    })
                })
                .collect();
            while let Some(piece) = pieces.take() {
                let piece = piece.unwrap();
                assert_eq!(piece.at, seen.len() as u64);
                seen.extend_from_slice(content(&piece));
                pieces.give_back(piece.buffer);
            }
            helpers.into_iter().for_each(|helper| helper.join().unwrap());
        });
        assert!(seen == bytes);
        assert!(pieces.take().is_none(), "and again");
    }

    #[test]
    fn no_more_than_enough_is_read_ahead() {
        let (_, pieces) = of(PIECE * (AHEAD + 5));
        assert_eq!(std::iter::from_fn(|| pieces.read_one().then_some(())).count(), AHEAD);
        assert!(pieces.take().is_some_and(|piece| piece.is_ok()));
        assert!(pieces.read_one() && !pieces.read_one());
    }

    #[test]
    fn nothing_comes_after_a_short_piece() {
        // Like a file that grows again while it is read.
        struct Holed;
        impl crate::ByteSource for Holed {
            fn read_at(&self, offset: u64, into: &mut [u8]) -> std::io::Result<usize> {
                Ok(if offset == PIECE as u64 + 10 {
                    0
                } else if offset == PIECE as u64 {
                    10
                } else {
                    into.len()
                })
            }

            fn size(&self) -> Option<u64> {
                Some(PIECE as u64 * 9)
            }
        }
        let pieces = Pieces::new(Arc::new(Input::new("f", Box::new(Holed))), 0, PIECE as u64 * 9);
        assert!(pieces.read_one() && pieces.read_one());
        pieces.state().ended = false;
        assert!(pieces.read_one());
        let read: Vec<usize> = std::iter::from_fn(|| pieces.take()).map(|piece| piece.unwrap().read).collect();
        assert_eq!(read[..2], [PIECE, 10]);
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_ends() {
        let bytes = vec![1; PIECE + 10];
        let pieces = Pieces::new(Arc::new(Input::part("f", 0, bytes)), 0, PIECE as u64 * 9);
        let mut read = Vec::new();
        while let Some(piece) = pieces.take() {
            read.push(piece.unwrap().read);
        }
        assert_eq!(read, [PIECE, 10]);
    }
}
