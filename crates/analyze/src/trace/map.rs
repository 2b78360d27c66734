//! The thread on each CPU, line by line: one line per change, with all CPUs side by side, in the form of `perf sched
//! map`.

use super::facts::TraceFacts;
use super::labels;
use super::scope::Scope;
use schedlab_trace::engine::{Engine, Observer};
use schedlab_trace::{Cpu, Event, Kind, Kinds, Name, Prio, Reader, Tid, TraceError, What};
use serde::Serialize;
use std::collections::BTreeMap;

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    Kinds::of(&[Kind::SchedSwitch])
}

/// A CPU whose thread is not known.
pub const UNKNOWN: &str = "?";
/// An idle CPU.
pub const IDLE: &str = ".";
/// A thread that the filter excludes.
pub const OTHER: &str = "-";

/// Most threads that get letters.
const MAX_LETTERS: usize = 1 << 16;

/// One change.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MapRow {
    /// When, ns of the trace's clock.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u16,
    /// Who has it from then on; absent if events are missing from there.
    pub comm: Option<String>,
    /// Its id, 0 of the idle thread.
    pub tid: Option<u32>,
    /// The letters that stand for it: of a thread two or more, else [`IDLE`], [`UNKNOWN`] or [`OTHER`].
    pub letters: String,
    /// The letters are new.
    pub first: bool,
    /// The letters of all CPUs, by number, up to the last one seen.
    pub cpus: Vec<String>,
}

/// Receives each row; returning false stops the analysis.
pub type Sink<'a> = &'a mut dyn FnMut(&MapRow) -> bool;

/// Reads a trace to its end, or until `each` returns false. Priorities in the scope select by the thread that gets the
/// CPU; states belong to waits, and select nothing here.
pub fn map(reader: &mut Reader, scope: &Scope, each: Sink<'_>) -> Result<TraceFacts, TraceError> {
    let (mut engine, mut drawing, mut batch) = (Engine::default(), Drawing::default(), Vec::new());
    drawing.row.cpus = vec![UNKNOWN.to_owned(); reader.info().cpus.unwrap_or(0).min(1024) as usize];
    let mut going = true;
    while going && reader.next_batch(&mut batch)? {
        let classes = reader.states().classes();
        engine.expect(&batch);
        for event in &batch {
            engine.take_dyn(event, &classes, &mut Nobody);
            if drawing.take(event, reader, scope) && scope.window.has(event.ts, event.cpu) && !each(&drawing.row) {
                going = false;
                break;
            }
        }
    }
    Ok(TraceFacts::of(reader, &engine, scope))
}

/// An observer for an engine that only counts; the callbacks are not needed here.
pub(super) struct Nobody;

impl Observer for Nobody {}

#[derive(Default)]
struct Drawing {
    row: MapRow,
    /// A thread that changes its name gets other letters.
    letters: BTreeMap<(Tid, Name), String>,
}

impl Drawing {
    /// Processes an event; returns whether it changes a CPU.
    fn take(&mut self, event: &Event, reader: &Reader, scope: &Scope) -> bool {
        let cpu = event.cpu;
        let mut prio = Prio::UNKNOWN;
        let who = match event.what {
            What::Switch { next, next_comm, next_prio, .. } => {
                prio = next_prio;
                Some((next, next_comm))
            }
            What::GapBegin if cpu != Cpu::ANY => None,
            _ => return false,
        };
        let number = self.letters.len();
        let row = &mut self.row;
        (row.at_ns, row.cpu, row.first) = (event.ts, cpu.0, false);
        row.tid = who.map(|(tid, _)| tid.0);
        row.comm = who.map(
            |(tid, comm)| if tid == Tid::IDLE { "idle".into() } else { labels::thread(reader.names(), comm, tid) },
        );
        row.letters = match who {
            None => UNKNOWN.to_owned(),
            Some((Tid::IDLE, _)) => IDLE.to_owned(),
            Some(_) if !scope.has_prio(prio) => OTHER.to_owned(),
            Some((tid, _)) if !scope.tasks.has_thread(tid, row.comm.as_deref().unwrap_or_default()) => OTHER.to_owned(),
            Some(thread) if number >= MAX_LETTERS && !self.letters.contains_key(&thread) => OTHER.to_owned(),
            Some(thread) => match self.letters.get(&thread) {
                Some(letters) => letters.clone(),
                None => {
                    row.first = true;
                    let new = letters(number);
                    self.letters.insert(thread, new.clone());
                    new
                }
            },
        };
        let at = usize::from(cpu.0);
        if at >= row.cpus.len() {
            row.cpus.resize(at + 1, UNKNOWN.to_owned());
        }
        row.cpus[at].clone_from(&row.letters);
        true
    }
}

/// `A0` … `Z0`, `A1` … `Z9`, `A10` …
fn letters(number: usize) -> String {
    format!("{}{}", char::from(b'A' + (number % 26) as u8), number / 26)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_given_in_order_and_once() {
        assert_eq!([letters(0), letters(25), letters(26), letters(260)], ["A0", "Z0", "A1", "A10"]);
        let all: std::collections::BTreeSet<String> = (0..5000).map(letters).collect();
        assert_eq!(all.len(), 5000);
    }
}
