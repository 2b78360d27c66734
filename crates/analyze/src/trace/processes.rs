//! Which threads belong to the same process, if our own recordings show it: an event that moves a process to another
//! cgroup names only its first thread.

use schedlab_trace::Tid;
use schedlab_trace::recording::ThreadState;
use std::collections::HashMap;

/// The process of each thread, by their ids.
#[derive(Debug, Default)]
pub(super) struct Processes(HashMap<u32, u32>);

impl Processes {
    /// Adds the threads of a snapshot.
    pub(super) fn learn(&mut self, threads: &[ThreadState]) {
        self.0.extend(threads.iter().map(|thread| (thread.tid, thread.pid)));
    }

    /// A thread that is in no snapshot is assumed to belong to its parent's process.
    pub(super) fn fork(&mut self, parent: Tid, child: Tid) {
        let process = self.of(parent);
        self.0.entry(child.0).or_insert(process);
    }

    /// The process of a thread; the thread's own id if it is not known.
    pub(super) fn of(&self, tid: Tid) -> u32 {
        self.0.get(&tid.0).copied().unwrap_or(tid.0)
    }

    /// The threads that are moved with this one. The event does not say whether the first thread of a process was moved
    /// alone; it is assumed to stand for the whole process, which is wrong only if `cgroup.threads` was written.
    pub(super) fn moved(&self, tid: Tid) -> Vec<Tid> {
        let of_process = self.0.iter().filter(|(other, process)| **process == tid.0 && **other != tid.0);
        of_process.map(|(other, _)| Tid(*other)).chain([tid]).collect()
    }
}
