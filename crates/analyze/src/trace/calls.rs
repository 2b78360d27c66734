//! The system call that each thread is in, if system calls were recorded.

use schedlab_trace::engine::Engine;
use schedlab_trace::{Event, Kind, StateClass, Syscall, Tid, What};
use std::collections::HashMap;

/// The kinds of events that it needs.
pub(super) const KINDS: [Kind; 2] = [Kind::SysEnter, Kind::SysExit];

/// The calls that threads are in, each with its start time, ns.
#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<Tid, (Syscall, u64)>);

impl Calls {
    /// Processes the next event; `left` is the state in which a thread was switched out.
    pub(super) fn take(&mut self, event: &Event, left: StateClass) {
        match event.what {
            What::SysEnter { tid, number, .. } => {
                self.0.insert(tid, (number, event.ts));
            }
            What::SysExit { tid, .. } | What::Fork { child: tid, .. } => {
                self.0.remove(&tid);
            }
            // exit(2) does not return, and a later thread with the same id is another one.
            What::Switch { prev, .. } if left == StateClass::Dead => {
                self.0.remove(&prev);
            }
            _ => {}
        }
    }

    /// The call that a thread is in. `None` outside of a call, if its start is not in the trace, or if events have been
    /// lost since its start on any CPU, because the return may be among them.
    pub(super) fn of(&self, tid: Tid, engine: &Engine) -> Option<Syscall> {
        const ANY_CPU: u64 = u64::MAX;
        self.0.get(&tid).filter(|(_, since)| !engine.missed(*since, ANY_CPU)).map(|(number, _)| *number)
    }
}

/// The name of a system call on an architecture, or its number.
pub(super) fn name(call: Syscall, arch: &str) -> String {
    match call.name(arch) {
        Some(name) => name.to_owned(),
        None if call == Syscall::OTHER => "syscall ?".to_owned(),
        None => format!("syscall {}", call.0),
    }
}
