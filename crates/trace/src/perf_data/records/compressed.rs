//! Compressed records: inflated as far as possible, and read like the others.

use super::super::inflate::Inflate;
use super::{Records, Step};
use crate::problem::ProblemKind;

impl Records {
    pub(super) fn inflate(&mut self, piece: &[u8], offset: u64) -> Option<Step> {
        let pushed = self.inflate.get_or_insert_with(|| Box::new(Inflate::new())).push(piece);
        let done = pushed.and_then(|()| self.drain(offset));
        match done {
            Ok(true) => Some(Step::Round),
            Ok(false) => None,
            Err(why) => {
                self.unreadable = Some(why.clone());
                self.problems
                    .add(ProblemKind::SkippedPart, || format!("byte {offset}: {why}; nothing after it was read"));
                Some(Step::Stop)
            }
        }
    }

    /// Reads the records that can be inflated by now; returns whether a round ended among them.
    fn drain(&mut self, offset: u64) -> Result<bool, String> {
        let Some(mut inflate) = self.inflate.take() else { return Ok(false) };
        let mut rounds = false;
        self.inflating = true;
        let result = loop {
            match inflate.step() {
                Ok(true) => {}
                Ok(false) => break Ok(rounds),
                Err(why) => break Err(why),
            }
            let plain = std::mem::take(&mut inflate.plain);
            let (mut at, mut step) = self.read(&plain, offset);
            while step != Step::More && step != Step::Stop {
                // Header pieces and skips do not occur inside, because perf compresses only what the kernel wrote.
                let (more, next) = self.read(&plain[at..], offset);
                (at, step) = (at + more, next);
            }
            if step == Step::Stop {
                // It is not known either where the next one begins.
                inflate = Box::new(Inflate::new());
                break Err("its records cannot be followed".into());
            }
            inflate.plain = plain;
            inflate.plain.drain(..at);
            while inflate.round_ended() {
                self.release_round();
                rounds |= self.order.is_ready();
            }
            self.order.relieve(&mut self.problems);
        };
        self.inflating = false;
        self.inflate = Some(inflate);
        result
    }

    /// Releases what the decoder still holds.
    pub(in crate::perf_data) fn end_of_stream(&mut self) {
        if let Some(inflate) = &mut self.inflate {
            let unread = inflate.end();
            let whole = self.drain(0);
            let left = self.inflate.as_ref().map_or(0, |inflate| inflate.plain.len());
            if unread + left > 0 || whole.is_err() {
                self.problems.add(ProblemKind::Truncated, || match whole {
                    Err(why) => format!("at the end of the file: {why}"),
                    Ok(_) => {
                        format!("the zstd stream ends inside a record, of which {} bytes are there", unread + left)
                    }
                });
            }
        }
    }
}
