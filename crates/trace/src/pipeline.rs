//! Reading and analysing at the same time: one thread decodes and orders events while the caller's follows the tasks.

use crate::event::Event;
use crate::prev_state::StateClass;
use crate::{Reader, TraceError};
use std::sync::mpsc::{channel, sync_channel};

/// Batches that are decoded ahead: enough to even out, and 1 MB.
const AHEAD: usize = 8;

/// Reads a trace to its end and hands each batch to `each`, in order, with what the states in it mean (by number).
pub fn for_each_batch(reader: &mut Reader, mut each: impl FnMut(&[Event], &[StateClass])) -> Result<(), TraceError> {
    let (full, batches) = sync_channel::<(Vec<Event>, Vec<StateClass>)>(AHEAD);
    let (empty, spent) = channel::<Vec<Event>>();
    std::thread::scope(|scope| {
        let decoder = scope.spawn(move || -> Result<(), TraceError> {
            loop {
                let mut batch = spent.try_recv().unwrap_or_default();
                if !reader.next_batch(&mut batch)? || full.send((batch, reader.states().classes())).is_err() {
                    return Ok(());
                }
            }
        });
        for (batch, classes) in batches {
            each(&batch, &classes);
            // The decoder may have ended: then nobody needs the room.
            let _ = empty.send(batch);
        }
        decoder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
