//! The table of events: one row per event in the order of time, with columns that mean the same for all events.

use super::{context_word, cpu};
use crate::Reader;
use crate::event::{Event, Prio, Tid, Wake, What};
use crate::kind::Kind;
use crate::names::Name;
use crate::rows::{Bits, Holds};
use crate::syscall::Syscall;
use schedlab_run::Cell::{I, T, U};
use schedlab_run::{Cell, Table};

pub(super) static COLUMNS: [(&str, char); 25] = [
    ("ts_ns", 'u'),
    ("cpu", 'u'),
    ("event", 't'),
    ("tid", 'u'),
    ("comm", 't'),
    ("prio", 'i'),
    ("state", 't'),
    ("next_tid", 'u'),
    ("next_comm", 't'),
    ("next_prio", 'i'),
    ("by_tid", 'u'),
    ("by_context", 't'),
    ("from_cpu", 'u'),
    ("to_cpu", 'u'),
    ("old_prio", 'i'),
    ("old_tid", 'u'),
    ("runtime_ns", 'u'),
    ("number", 'u'),
    ("work", 'u'),
    ("function", 't'),
    ("workqueue", 't'),
    ("arg0", 'u'),
    ("arg1", 'u'),
    ("ret", 'i'),
    ("cgroup", 't'),
];

/// A field that has no column.
pub(crate) const NO_COLUMN: usize = usize::MAX;

/// The place of a column in a row; [`NO_COLUMN`] for the empty name.
pub(crate) const fn column(name: &str) -> usize {
    if name.is_empty() {
        return NO_COLUMN;
    }
    let mut place = 0;
    while !same(COLUMNS[place].0.as_bytes(), name.as_bytes()) {
        place += 1;
    }
    place
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// A row that is being filled.
struct Filled<'a> {
    cells: [Cell<'a>; COLUMNS.len()],
    reader: &'a Reader,
}

/// Adds an event, and returns whether it is one: marks of missing events have their own table. Names of threads from
/// before the trace have no time. Values that an event does not have are null.
pub(super) fn push(table: &mut Table, event: &Event, reader: &Reader) -> bool {
    let nulls = COLUMNS.map(|(_, holds)| match holds {
        'u' => U(None),
        'i' => I(None),
        _ => T(None),
    });
    let mut row = Filled { cells: nulls, reader };
    let Some(kind) = row.fill(&event.what) else { return false };
    row.cells[0] = U((!event.is_from_before()).then_some(event.ts));
    row.cells[1] = cpu(event.cpu);
    row.cells[2] = T(Some(kind.name()));
    table.push(row.cells);
    true
}

impl<'a> Filled<'a> {
    fn fill(&mut self, what: &What) -> Option<Kind> {
        Some(match *what {
            What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } => {
                self.thread(prev, prev_comm, prev_prio);
                self.cells[const { column("state") }] = T(Some(self.reader.states().letters(prev_state)));
                self.cells[const { column("next_tid") }] = U(Some(next.0.into()));
                self.cells[const { column("next_comm") }] = self.text(next_comm);
                self.cells[const { column("next_prio") }] = prio(next_prio);
                Kind::SchedSwitch
            }
            What::Waking(wake) => self.wake(&wake, Kind::SchedWaking),
            What::Wakeup(wake) => self.wake(&wake, Kind::SchedWakeup),
            What::WakeupNew(wake) => self.wake(&wake, Kind::SchedWakeupNew),
            What::SysEnter { tid, number, arg0, arg1 } => {
                self.call(tid, number);
                self.cells[const { column("arg0") }] = U(Some(arg0.get()));
                self.cells[const { column("arg1") }] = known(arg1);
                Kind::SysEnter
            }
            What::SysExit { tid, number, ret } => {
                self.call(tid, number);
                self.cells[const { column("ret") }] = I(Some(ret.get() as i64));
                Kind::SysExit
            }
            _ => {
                let (row, fields) = what.fields()?;
                for (field, bits) in row.fields.iter().zip(fields).filter(|(field, _)| field.column != NO_COLUMN) {
                    self.cells[field.column] = match field.holds {
                        Holds::Comm | Holds::Text | Holds::Function => self.text(Bits::of(bits)),
                        Holds::Prio => prio(Bits::of(bits)),
                        Holds::Cpu | Holds::Pool => cpu(Bits::of(bits)),
                        Holds::Number => known(Bits::of(bits)),
                        Holds::ThreadIfSaid => U((bits != 0).then_some(bits)),
                        Holds::Thread | Holds::Long | Holds::Address => U(Some(bits)),
                    };
                }
                row.kind
            }
        })
    }

    fn wake(&mut self, wake: &Wake, kind: Kind) -> Kind {
        self.thread(wake.tid, wake.comm, wake.prio);
        self.cells[const { column("by_tid") }] = U(Some(wake.waker.0.into()));
        self.cells[const { column("by_context") }] = T(Some(context_word(wake.context)));
        self.cells[const { column("to_cpu") }] = cpu(wake.target_cpu);
        kind
    }

    fn thread(&mut self, tid: Tid, comm: Name, of: Prio) {
        self.cells[const { column("tid") }] = U(Some(tid.0.into()));
        self.cells[const { column("comm") }] = self.text(comm);
        self.cells[const { column("prio") }] = prio(of);
    }

    fn call(&mut self, tid: Tid, number: Syscall) {
        self.cells[const { column("tid") }] = U(Some(tid.0.into()));
        self.cells[const { column("number") }] = U((number != Syscall::OTHER).then_some(number.0.into()));
    }

    fn text(&self, name: Name) -> Cell<'a> {
        T(Some(self.reader.names().text(name)).filter(|text| !text.is_empty()))
    }
}

fn prio(prio: Prio) -> Cell<'static> {
    I(prio.get().map(Into::into))
}

/// `u32::MAX` means no value: the state of a CPU that leaves idle, or an argument without room.
fn known(number: u32) -> Cell<'static> {
    U((number != u32::MAX).then_some(number.into()))
}
