//! The table of events: a row for each, in the order of time, in columns that mean the same for all of them.

use super::{Columns, context_word, cpu};
use crate::Reader;
use crate::event::{Context, Cpu, Event, Prio, Tid, What};
use crate::kind::Kind;
use crate::names::Name;
use crate::prev_state::StateId;
use crate::syscall::Syscall;
use schedlab_run::Cell::{I, T, U};
use schedlab_run::Table;

pub(super) const COLUMNS: Columns = &[
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

/// A row; what an event does not say is null.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    tid: Option<Tid>,
    comm: Option<Name>,
    prio: Option<Prio>,
    state: Option<StateId>,
    next: Option<(Tid, Name, Prio)>,
    by: Option<Tid>,
    context: Option<Context>,
    from: Option<Cpu>,
    to: Option<Cpu>,
    old_prio: Option<Prio>,
    old_tid: Option<Tid>,
    runtime: Option<u64>,
    number: Option<u64>,
    work: Option<u64>,
    function: Option<Name>,
    workqueue: Option<Name>,
    args: [Option<u64>; 2],
    ret: Option<i64>,
    cgroup: Option<Name>,
}

/// Adds an event, and says whether it is one: marks of missing events are a table of their own. Those that tell what a
/// thread was called before the trace have no time.
pub(super) fn push(table: &mut Table, event: &Event, reader: &Reader) -> bool {
    let Some((kind, row)) = row(&event.what) else { return false };
    let names = reader.names();
    let tid = |tid: Option<Tid>| U(tid.map(|tid| tid.0.into()));
    let text = |name: Option<Name>| T(name.map(|name| names.text(name)).filter(|text| !text.is_empty()));
    let prio = |prio: Option<Prio>| I(prio.and_then(Prio::get).map(Into::into));
    let on = |of: Option<Cpu>| of.map_or(U(None), cpu);
    table.push([
        U((!event.is_from_before()).then_some(event.ts)),
        cpu(event.cpu),
        T(Some(kind.name())),
        tid(row.tid),
        text(row.comm),
        prio(row.prio),
        T(row.state.map(|state| reader.states().letters(state))),
        tid(row.next.map(|(tid, ..)| tid)),
        text(row.next.map(|(_, comm, _)| comm)),
        prio(row.next.map(|(.., prio)| prio)),
        tid(row.by),
        T(row.context.map(context_word)),
        on(row.from),
        on(row.to),
        prio(row.old_prio),
        tid(row.old_tid),
        U(row.runtime),
        U(row.number),
        U(row.work),
        text(row.function),
        text(row.workqueue),
        U(row.args[0]),
        U(row.args[1]),
        I(row.ret),
        text(row.cgroup),
    ]);
    true
}

fn row(what: &What) -> Option<(Kind, Row)> {
    let of = |tid: Tid, comm: Name| Row { tid: Some(tid), comm: Some(comm), ..Row::default() };
    let number = |kind, number: u32| (kind, Row { number: Some(number.into()), ..Row::default() });
    Some(match *what {
        What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } => {
            let next = Some((next, next_comm, next_prio));
            (Kind::SchedSwitch, Row { prio: Some(prev_prio), state: Some(prev_state), next, ..of(prev, prev_comm) })
        }
        What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) => {
            let kind = match what {
                What::Waking(_) => Kind::SchedWaking,
                What::Wakeup(_) => Kind::SchedWakeup,
                _ => Kind::SchedWakeupNew,
            };
            let (by, context, to) = (Some(wake.waker), Some(wake.context), Some(wake.target_cpu));
            (kind, Row { prio: Some(wake.prio), by, context, to, ..of(wake.tid, wake.comm) })
        }
        What::Migrate { tid, comm, prio, orig_cpu, dest_cpu } => {
            let (from, to) = (Some(orig_cpu), Some(dest_cpu));
            (Kind::SchedMigrateTask, Row { prio: Some(prio), from, to, ..of(tid, comm) })
        }
        What::StatRuntime { tid, comm, runtime } => {
            (Kind::SchedStatRuntime, Row { runtime: Some(runtime.get()), ..of(tid, comm) })
        }
        What::PiSetprio { tid, comm, oldprio, newprio } => {
            (Kind::SchedPiSetprio, Row { prio: Some(newprio), old_prio: Some(oldprio), ..of(tid, comm) })
        }
        What::Fork { parent, child, comm } => (Kind::SchedProcessFork, Row { by: Some(parent), ..of(child, comm) }),
        What::Exit { tid, comm } => (Kind::SchedProcessExit, of(tid, comm)),
        What::Exec { tid, old_tid } => {
            (Kind::SchedProcessExec, Row { tid: Some(tid), old_tid: Some(old_tid), ..Row::default() })
        }
        What::Comm { tid, comm } => (Kind::TaskRename, of(tid, comm)),
        What::IrqEntry { irq, name } => {
            (Kind::IrqHandlerEntry, Row { number: Some(irq.into()), function: Some(name), ..Row::default() })
        }
        What::IrqExit { irq } => number(Kind::IrqHandlerExit, irq),
        What::SoftirqRaise { vec } => number(Kind::SoftirqRaise, vec),
        What::SoftirqEntry { vec } => number(Kind::SoftirqEntry, vec),
        What::SoftirqExit { vec } => number(Kind::SoftirqExit, vec),
        What::WorkQueued { work, function, workqueue, cpu } => {
            let row = Row { function: Some(function), workqueue: Some(workqueue), to: Some(cpu), ..Row::default() };
            (Kind::WorkqueueQueueWork, Row { work: Some(work.get()), ..row })
        }
        What::WorkActivated { work, function } => {
            let (work, function) = (Some(work.get()), Some(function));
            (Kind::WorkqueueActivateWork, Row { work, function, ..Row::default() })
        }
        What::WorkStarted { work, function, worker } | What::WorkEnded { work, function, worker } => {
            let started = matches!(what, What::WorkStarted { .. });
            let kind = if started { Kind::WorkqueueExecuteStart } else { Kind::WorkqueueExecuteEnd };
            let (work, function) = (Some(work.get()), Some(function));
            (kind, Row { tid: Some(worker), work, function, ..Row::default() })
        }
        What::CpuIdle { state, cpu } => {
            // The exit has no state.
            let state = (state != u32::MAX).then_some(state.into());
            (Kind::CpuIdle, Row { number: state, to: Some(cpu), ..Row::default() })
        }
        What::SysEnter { tid, number, arg0, arg1 } => {
            let args = [Some(arg0.get()), Some(u64::from(arg1)).filter(|_| arg1 != u32::MAX)];
            (Kind::SysEnter, Row { tid: Some(tid), number: syscall(number), args, ..Row::default() })
        }
        What::SysExit { tid, number, ret } => {
            let ret = Some(ret.get() as i64);
            (Kind::SysExit, Row { tid: Some(tid), number: syscall(number), ret, ..Row::default() })
        }
        What::CgroupAttach { tid, comm, dst_path, .. } => {
            (Kind::CgroupAttachTask, Row { cgroup: Some(dst_path), ..of(tid, comm) })
        }
        What::GapBegin | What::GapEnd { .. } | What::WaitsUnknown { .. } => return None,
    })
}

fn syscall(number: Syscall) -> Option<u64> {
    (number != Syscall::OTHER).then_some(number.0.into())
}
