//! Reads and analyses at the same time: one thread decodes and orders events while one or two others follow the tasks,
//! and whichever has to wait for another reads the bytes of later events meanwhile.

use crate::event::Event;
use crate::pieces::Helper;
use crate::prev_state::StateClass;
use crate::{Names, Reader, TraceError};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel};
use std::thread::available_parallelism;

/// Batches that are decoded ahead: a perf round is handed out at once, so this is a few rounds, and 4 MiB.
const AHEAD: usize = 32;

/// Events, and the classes of the states in them.
type Batch = Arc<(Vec<Event>, Vec<StateClass>)>;

/// Takes events in order, with the classes of their states (by number).
type Each<'a> = dyn FnMut(&[Event], &[StateClass]) + 'a;

/// The same in another thread.
type EachElsewhere<'a> = dyn FnMut(&[Event], &[StateClass]) + Send + 'a;

/// Reads a trace to its end and passes each batch to `each`, in order, with the classes of its states (by number).
pub fn for_each_batch(reader: &mut Reader, mut each: impl FnMut(&[Event], &[StateClass])) -> Result<(), TraceError> {
    hand_out(reader, &mut each, None)
}

/// The same with two consumers; `there` runs in a thread of its own if there is a CPU for it.
pub fn for_each_batch_twice(
    reader: &mut Reader,
    mut here: impl FnMut(&[Event], &[StateClass]),
    mut there: impl FnMut(&[Event], &[StateClass]) + Send,
) -> Result<(), TraceError> {
    hand_out(reader, &mut here, Some(&mut there))
}

fn hand_out(reader: &mut Reader, here: &mut Each<'_>, there: Option<&mut EachElsewhere<'_>>) -> Result<(), TraceError> {
    if !available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        let mut there = there;
        return for_each_named_batch(reader, |batch, classes, _| {
            here(batch, classes);
            there.iter_mut().for_each(|there| there(batch, classes));
        });
    }
    let helper = reader.helper();
    let (empty, spent) = channel::<Batch>();
    // A consumer that panics drops its batches, which ends the others.
    std::thread::scope(move |scope| {
        let (full, batches) = sync_channel::<Batch>(AHEAD);
        let mut outlets = vec![full];
        if let Some(there) = there {
            let (full, batches) = sync_channel::<Batch>(AHEAD);
            outlets.push(full);
            let (empty, helper) = (empty.clone(), helper.clone());
            scope.spawn(move || take_all(batches, &empty, helper.as_ref(), there));
        }
        let decoder = scope.spawn(move || decode(reader, &outlets, &spent));
        take_all(batches, &empty, helper.as_ref(), here);
        decoder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Decodes to the end, or until nobody takes batches any more.
fn decode(reader: &mut Reader, outlets: &[SyncSender<Batch>], spent: &Receiver<Batch>) -> Result<(), TraceError> {
    let helper = reader.helper();
    loop {
        // A batch given to two consumers is reused when the second returns it.
        let room = spent.try_iter().find_map(Arc::into_inner).map(|(batch, _)| batch);
        let mut batch = room.unwrap_or_default();
        if !reader.next_batch(&mut batch)? {
            return Ok(());
        }
        let batch = Arc::new((batch, reader.states().classes()));
        if !outlets.iter().all(|full| send(full, Arc::clone(&batch), helper.as_ref())) {
            return Ok(());
        }
    }
}

/// Passes a batch on; false if the receiver is gone.
fn send(full: &SyncSender<Batch>, mut batch: Batch, helper: Option<&Helper>) -> bool {
    loop {
        match full.try_send(batch) {
            Ok(()) => return true,
            Err(TrySendError::Full(back)) if helper.is_some_and(Helper::help) => batch = back,
            Err(TrySendError::Full(back)) => return full.send(back).is_ok(),
            Err(TrySendError::Disconnected(_)) => return false,
        }
    }
}

fn take_all(batches: Receiver<Batch>, empty: &Sender<Batch>, helper: Option<&Helper>, each: &mut Each<'_>) {
    while let Some(batch) = next(&batches, helper) {
        each(&batch.0, &batch.1);
        // The decoder may have ended; then the buffer is not needed.
        let _ = empty.send(batch);
    }
}

/// The next batch; `None` at the end.
fn next(batches: &Receiver<Batch>, helper: Option<&Helper>) -> Option<Batch> {
    loop {
        match batches.try_recv() {
            Ok(batch) => return Some(batch),
            Err(TryRecvError::Empty) if helper.is_some_and(Helper::help) => {}
            Err(TryRecvError::Empty) => return batches.recv().ok(),
            Err(TryRecvError::Disconnected) => return None,
        }
    }
}

/// The same on one thread, for callers that need the texts of names while reading.
pub fn for_each_named_batch(
    reader: &mut Reader,
    mut each: impl FnMut(&[Event], &[StateClass], &Names),
) -> Result<(), TraceError> {
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        each(&batch, &reader.states().classes(), reader.names());
    }
    Ok(())
}
