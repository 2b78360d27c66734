//! Tracks that do not come from kernel events: missing events of each CPU, waits of each thread as the state machine
//! knows them, and slow operations of a workload.

use super::schema::packet;
use super::wire::{put_bytes, put_number};
use super::writer::write_packet;
use crate::engine::{Began, Censored, CensoredWait, Observer, Task, TaskId, Wait};
use crate::event::Tid;
use crate::names::Names;
use schedlab_plan::SlowOperation;
use std::collections::HashSet;
use std::io::{self, Write};

/// Fields of `TrackDescriptor` and `TrackEvent`.
mod track {
    pub(super) const UUID: u32 = 1;
    pub(super) const NAME: u32 = 2;
    pub(super) const PARENT: u32 = 5;
    pub(super) const TYPE: u32 = 9;
    pub(super) const TRACK_UUID: u32 = 11;
    pub(super) const EVENT_NAME: u32 = 23;
    pub(super) const SLICE_BEGIN: u64 = 1;
    pub(super) const SLICE_END: u64 = 2;
    pub(super) const INSTANT: u64 = 3;
}

/// Track numbers: those of CPUs are below this (1 + the CPU's number), those of threads follow [`WAITS`], those of
/// operations [`OPERATIONS`].
const WAITS: u64 = 1 << 32;
const OPERATIONS: u64 = 1 << 33;

/// Describes a track, with or without a parent track.
pub(super) fn describe(uuid: u64, name: &str, parent: Option<u64>, out: &mut dyn Write) -> io::Result<()> {
    let (mut descriptor, mut body) = (Vec::new(), Vec::new());
    put_number(track::UUID, uuid, &mut descriptor);
    put_bytes(track::NAME, name.as_bytes(), &mut descriptor);
    if let Some(parent) = parent {
        put_number(track::PARENT, parent, &mut descriptor);
    }
    put_bytes(packet::TRACK_DESCRIPTOR, &descriptor, &mut body);
    write_packet(body, out)
}

/// A slice of a track.
pub(super) fn slice(uuid: u64, name: &str, (from, to): (u64, u64), out: &mut dyn Write) -> io::Result<()> {
    event(uuid, track::SLICE_BEGIN, Some(name), from, out)?;
    event(uuid, track::SLICE_END, None, to, out)
}

fn event(uuid: u64, of: u64, name: Option<&str>, ts: u64, out: &mut dyn Write) -> io::Result<()> {
    let (mut event, mut body) = (Vec::new(), Vec::new());
    put_number(track::TYPE, of, &mut event);
    put_number(track::TRACK_UUID, uuid, &mut event);
    if let Some(name) = name {
        put_bytes(track::EVENT_NAME, name.as_bytes(), &mut event);
    }
    put_number(packet::TIMESTAMP, ts, &mut body);
    put_bytes(packet::TRACK_EVENT, &event, &mut body);
    write_packet(body, out)
}

/// A wait, known or censored.
#[derive(Debug, Clone, Copy)]
enum Item {
    Waited(Wait),
    Censored(Began, Censored, u64),
}

/// Waits of threads, one track per thread: what the state machine has reported since the last packets.
#[derive(Debug, Default)]
pub(crate) struct WaitTracks {
    /// Time of the current event.
    pub(crate) now: u64,
    items: Vec<(TaskId, Option<Task>, Item)>,
    described: HashSet<Tid>,
}

impl WaitTracks {
    /// Writes the reported waits; for a task whose number has been reused since, the task was stored with them.
    pub(crate) fn write(&mut self, tasks: &[Task], names: &Names, out: &mut dyn Write) -> io::Result<()> {
        for (id, retired, item) in self.items.drain(..) {
            let task = retired.as_ref().unwrap_or(&tasks[id.index()]);
            let uuid = WAITS + 1 + u64::from(task.tid.0);
            if self.described.is_empty() {
                describe(WAITS, "Waits for a CPU", None, out)?;
            }
            if self.described.insert(task.tid) {
                describe(uuid, &format!("{} {}", names.text(task.comm), task.tid.0), Some(WAITS), out)?;
            }
            let after = |began| if began == Began::Preempted { "after a preemption" } else { "after a wakeup" };
            match item {
                Item::Waited(wait) => slice(uuid, after(wait.began), (wait.start, wait.end), out)?,
                Item::Censored(began, why, ts) => {
                    let why = match why {
                        Censored::Gap => "events are missing",
                        Censored::Contradiction => "what follows contradicts it",
                        Censored::Unfinished => "the trace ends",
                    };
                    event(uuid, track::INSTANT, Some(&format!("{}, censored: {why}", after(began))), ts, out)?;
                }
            }
        }
        Ok(())
    }
}

impl Observer for WaitTracks {
    fn waited(&mut self, task: TaskId, wait: &Wait) {
        self.items.push((task, None, Item::Waited(*wait)));
    }

    fn wait_censored(&mut self, task: TaskId, wait: &CensoredWait) {
        self.items.push((task, None, Item::Censored(wait.began, wait.why, self.now)));
    }

    fn retired(&mut self, task: TaskId, known: &Task) {
        let of_task = self.items.iter_mut().filter(|(id, retired, _)| *id == task && retired.is_none());
        of_task.for_each(|(_, retired, _)| *retired = Some(known.clone()));
    }
}

/// Slow operations of a workload, one track each, because they may overlap.
pub(super) fn operations(operations: &[SlowOperation], out: &mut dyn Write) -> io::Result<()> {
    if !operations.is_empty() {
        describe(OPERATIONS, "Slowest operations of the workload", None, out)?;
    }
    for (number, operation) in operations.iter().enumerate() {
        let uuid = OPERATIONS + 1 + number as u64;
        let name = format!("{}, group {}, thread {}", operation.name, operation.group, operation.tid);
        describe(uuid, &name, Some(OPERATIONS), out)?;
        slice(uuid, &operation.name, (operation.start_ns, operation.end_ns), out)?;
    }
    Ok(())
}
