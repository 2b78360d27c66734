//! What an event prints behind its name, as the kernel's print formats and trace-cmd's plugins write it.

use super::line::Line;
use super::shape::{Comm, Nothing, Number, Shape, Text, Word, values};
use crate::event::{Cpu, Prio, Tid, Wake, What, second_argument};
use crate::fields::Dictionary;
use crate::kind::Kind;
use crate::names::{Name, Names};
use crate::prev_state::StateId;
use crate::syscall::Syscall;

/// Why a line is no event of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// Its words are others, or can be read in more than one way.
    Unlike,
    /// A wakeup of an old kernel that woke nobody.
    WokeNobody,
}

/// The event of a line. `guessed` becomes true where a state is a bare number that means other things in other kernels.
pub(super) fn parse(
    kind: Kind,
    line: &Line<'_>,
    dictionary: &mut Dictionary,
    guessed: &mut bool,
) -> Result<What, Unread> {
    let woken = match kind {
        Kind::SchedWaking => What::Waking,
        Kind::SchedWakeup => What::Wakeup,
        Kind::SchedWakeupNew => What::WakeupNew,
        Kind::SchedSwitch => return switch(line.payload, dictionary, guessed).ok_or(Unread::Unlike),
        _ => return other(kind, line, &mut dictionary.names).ok_or(Unread::Unlike),
    };
    wake(line, &mut dictionary.names).map(woken)
}

/// What is neither a switch nor a wakeup.
fn other(kind: Kind, line: &Line<'_>, names: &mut Names) -> Option<What> {
    let payload = line.payload;
    Some(match kind {
        Kind::WorkqueueQueueWork
        | Kind::WorkqueueActivateWork
        | Kind::WorkqueueExecuteStart
        | Kind::WorkqueueExecuteEnd => return work(kind, line, names),
        Kind::SysEnter => return sys_enter(payload, line.tid),
        Kind::SysExit => {
            let (id, ret) = payload.strip_prefix("NR ")?.split_once(" = ")?;
            let ret = ret.trim().parse::<i64>().ok()? as u64;
            What::SysExit { tid: line.tid, number: Syscall::from_raw(id.trim().parse().ok()?), ret: ret.into() }
        }
        Kind::SchedMigrateTask | Kind::SchedStatRuntime | Kind::SchedPiSetprio | Kind::SchedProcessExit => {
            return of_one_thread(kind, payload, names);
        }
        Kind::SchedProcessFork => {
            let [_, parent, comm, child] = values(payload, &FORK).or_else(|| values(payload, &RAW_FORK))?;
            What::Fork { parent: tid(parent)?, child: tid(child)?, comm: name(comm, names) }
        }
        Kind::TaskNewtask => {
            let [child, comm, ..] = values(payload, &NEWTASK)?;
            What::Fork { parent: line.tid, child: tid(child)?, comm: name(comm, names) }
        }
        Kind::SchedProcessExec => {
            let [_, new, old] = values(payload, &EXEC)?;
            What::Exec { tid: tid(new)?, old_tid: tid(old)? }
        }
        Kind::TaskRename => {
            let renamed = values(payload, &RENAME).map(|[of, _, comm, _]| (Some(of), comm));
            let (of, comm) = renamed.or_else(|| values(payload, &RENAME_SELF).map(|[_, comm, _]| (None, comm)))?;
            let tid = if let Some(of) = of { tid(of)? } else { line.tid };
            What::Comm { tid, comm: name(comm, names) }
        }
        Kind::IrqHandlerEntry => {
            let [irq, of] = values(payload, &[("irq=", Number), (" name=", Text)])?;
            What::IrqEntry { irq: number(irq)?, name: names.intern(of) }
        }
        Kind::IrqHandlerExit => What::IrqExit { irq: number(values(payload, &[("irq=", Number)])?[0])? },
        Kind::SoftirqRaise => What::SoftirqRaise { vec: vec(payload)? },
        Kind::SoftirqEntry => What::SoftirqEntry { vec: vec(payload)? },
        Kind::SoftirqExit => What::SoftirqExit { vec: vec(payload)? },
        Kind::CpuIdle => {
            let [state, on] = values(payload, &[("state=", Number), (" cpu_id=", Number)])?;
            What::CpuIdle { state: number(state)?, cpu: cpu(on)? }
        }
        Kind::CgroupAttachTask => {
            let whole = values(payload, &CGROUP).map(|[root, _, _, path, who, comm]| [root, path, who, comm]);
            let [dst_root, path, who, comm] = whole.or_else(|| values(payload, &OUR_CGROUP))?;
            let (comm, dst_path) = (name(comm, names), names.intern(path));
            What::CgroupAttach { tid: tid(who)?, comm, dst_root: number(dst_root)?, dst_path }
        }
        Kind::SchedSwitch | Kind::SchedWaking | Kind::SchedWakeup | Kind::SchedWakeupNew => return None,
    })
}

const SWITCH: Shape<7> = [
    ("prev_comm=", Comm),
    (" prev_pid=", Number),
    (" prev_prio=", Number),
    (" prev_state=", Word),
    (" ==> next_comm=", Comm),
    (" next_pid=", Number),
    (" next_prio=", Number),
];
/// `trace-cmd report -R`, which prints the fields.
const RAW_SWITCH: Shape<7> = {
    let mut shape = SWITCH;
    shape[4].0 = " next_comm=";
    shape
};
/// `bash:1977 [120] S ==> swapper/0:0 [120]` of trace-cmd's plugin.
const PLUGIN_SWITCH: Shape<8> = [
    ("", Comm),
    (":", Number),
    (" [", Number),
    ("] ", Word),
    (" ==> ", Comm),
    (":", Number),
    (" [", Number),
    ("]", Nothing),
];
const WAKE: Shape<4> = [("comm=", Comm), (" pid=", Number), (" prio=", Number), (" target_cpu=", Number)];
/// Before Linux 4.3.
const OLD_WAKE: Shape<5> =
    [("comm=", Comm), (" pid=", Number), (" prio=", Number), (" success=", Number), (" target_cpu=", Number)];
/// `bash:1977 [120] success=1 CPU:003` of trace-cmd's plugin, whose end depends on the kernel.
const PLUGIN_WAKE: Shape<4> = [("", Comm), (":", Number), (" [", Number), ("]", Nothing)];
const MIGRATE: Shape<5> =
    [("comm=", Comm), (" pid=", Number), (" prio=", Number), (" orig_cpu=", Number), (" dest_cpu=", Number)];
const RUNTIME: Shape<3> = [("comm=", Comm), (" pid=", Number), (" runtime=", Number)];
const SETPRIO: Shape<4> = [("comm=", Comm), (" pid=", Number), (" oldprio=", Number), (" newprio=", Number)];
const EXIT: Shape<3> = [("comm=", Comm), (" pid=", Number), (" prio=", Number)];
const FORK: Shape<4> = [("comm=", Comm), (" pid=", Number), (" child_comm=", Comm), (" child_pid=", Number)];
const RAW_FORK: Shape<4> =
    [("parent_comm=", Comm), (" parent_pid=", Number), (" child_comm=", Comm), (" child_pid=", Number)];
const NEWTASK: Shape<4> = [("pid=", Number), (" comm=", Comm), (" clone_flags=", Word), (" oom_score_adj=", Number)];
const EXEC: Shape<3> = [("filename=", Text), (" pid=", Number), (" old_pid=", Number)];
const RENAME: Shape<4> = [("pid=", Number), (" oldcomm=", Comm), (" newcomm=", Comm), (" oom_score_adj=", Number)];
/// Newer kernels leave out who: the thread itself.
const RENAME_SELF: Shape<3> = [("oldcomm=", Comm), (" newcomm=", Comm), (" oom_score_adj=", Number)];
const CGROUP: Shape<6> = [
    ("dst_root=", Number),
    (" dst_id=", Number),
    (" dst_level=", Number),
    (" dst_path=", Text),
    (" pid=", Number),
    (" comm=", Comm),
];
/// As far as the event model has it: what `trace convert` writes.
const OUR_CGROUP: Shape<4> = [("dst_root=", Number), (" dst_path=", Text), (" pid=", Number), (" comm=", Comm)];
const QUEUE_WORK: Shape<5> =
    [("work struct=", Word), (" function=", Word), (" workqueue=", Text), (" req_cpu=", Number), (" cpu=", Number)];

fn of_one_thread(kind: Kind, payload: &str, names: &mut Names) -> Option<What> {
    Some(match kind {
        Kind::SchedMigrateTask => {
            let [comm, who, of, from, to] = values(payload, &MIGRATE)?;
            let (tid, comm, prio) = (tid(who)?, name(comm, names), prio(of));
            What::Migrate { tid, comm, prio, orig_cpu: cpu(from)?, dest_cpu: cpu(to)? }
        }
        Kind::SchedStatRuntime => {
            let [comm, who, ns] = values(payload, &RUNTIME)?;
            What::StatRuntime { tid: tid(who)?, comm: name(comm, names), runtime: ns.parse::<u64>().ok()?.into() }
        }
        Kind::SchedPiSetprio => {
            let [comm, who, old, new] = values(payload, &SETPRIO)?;
            What::PiSetprio { tid: tid(who)?, comm: name(comm, names), oldprio: prio(old), newprio: prio(new) }
        }
        _ => {
            let [comm, who, _] = values(payload, &EXIT)?;
            What::Exit { tid: tid(who)?, comm: name(comm, names) }
        }
    })
}

/// `NR 202 (7f00, 80, 1, 0, 0, 0)`: the arguments in hexadecimal.
fn sys_enter(payload: &str, tid: Tid) -> Option<What> {
    let (id, args) = payload.strip_prefix("NR ")?.split_once(" (")?;
    let mut args = args.trim_end().trim_end_matches(')').split(", ").map(|arg| u64::from_str_radix(arg, 16).ok());
    let arg0 = args.next().flatten()?.into();
    let arg1 = args.next().flatten().map_or(u32::MAX, second_argument);
    Some(What::SysEnter { tid, number: Syscall::from_raw(id.trim().parse().ok()?), arg0, arg1 })
}

fn switch(payload: &str, dictionary: &mut Dictionary, guessed: &mut bool) -> Option<What> {
    let keyed = || values(payload, &SWITCH).or_else(|| values(payload, &RAW_SWITCH));
    let of_plugin = || {
        let [prev, prev_tid, prev_prio, state, next, next_tid, next_prio, _] = values(payload, &PLUGIN_SWITCH)?;
        Some([prev, prev_tid, prev_prio, state, next, next_tid, next_prio])
    };
    let [prev_comm, prev, prev_prio, letters, next_comm, next, next_prio] = keyed().or_else(of_plugin)?;
    let names = &mut dictionary.names;
    Some(What::Switch {
        prev: tid(prev)?,
        next: tid(next)?,
        prev_comm: name(prev_comm, names),
        next_comm: name(next_comm, names),
        prev_prio: prio(prev_prio),
        next_prio: prio(next_prio),
        prev_state: state(letters, dictionary, guessed),
    })
}

/// Letters, or a bare number of a trace without formats.
fn state(text: &str, dictionary: &mut Dictionary, guessed: &mut bool) -> StateId {
    let raw = text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok());
    let Some(raw) = raw else { return dictionary.states.of_letters(text) };
    // Up to 8 (traced) they are the same in all kernels.
    *guessed |= raw > 8;
    dictionary.states.of_raw(raw)
}

fn wake(line: &Line<'_>, names: &mut Names) -> Result<Wake, Unread> {
    let payload = line.payload;
    let old = || values(payload, &OLD_WAKE).map(|[comm, who, of, success, on]| (comm, who, of, success, cpu(on)));
    let keyed = values(payload, &WAKE).map(|[comm, who, of, on]| (comm, who, of, "1", cpu(on))).or_else(old);
    let (comm, who, of, success, on) = keyed.or_else(|| plugin_wake(payload)).ok_or(Unread::Unlike)?;
    if success == "0" {
        return Err(Unread::WokeNobody);
    }
    Ok(Wake {
        tid: tid(who).ok_or(Unread::Unlike)?,
        comm: name(comm, names),
        waker: line.tid,
        target_cpu: on.unwrap_or(Cpu::ANY),
        prio: prio(of),
        context: line.context,
    })
}

/// Name, id, priority, whether anybody was woken, and the CPU.
fn plugin_wake(payload: &str) -> Option<(&str, &str, &str, &str, Option<Cpu>)> {
    let [comm, who, of, _] = values(payload, &PLUGIN_WAKE)?;
    let behind = payload.rsplit_once(']')?.1;
    let value = |key: &str| behind.split_whitespace().find_map(|word| word.strip_prefix(key));
    Some((comm, who, of, value("success=").unwrap_or("1"), value("CPU:").and_then(cpu)))
}

fn work(kind: Kind, line: &Line<'_>, names: &mut Names) -> Option<What> {
    let payload = line.payload;
    // `work struct=0xffff function=f …`, `work struct 0xffff: function f`, `work struct 0xffff`.
    let rest = payload.strip_prefix("work struct")?.trim_start_matches(['=', ' ']);
    let (address, rest) = rest.split_once([' ', ':']).unwrap_or((rest, ""));
    let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).ok()?.into();
    let named = rest.split_once("function").map(|(_, name)| name.trim_start_matches(['=', ' ']));
    let function = named
        .and_then(|name| name.split_whitespace().next())
        .filter(|name| *name != "<...>")
        .map_or(Name::UNKNOWN, |name| names.intern(name));
    Some(match kind {
        Kind::WorkqueueQueueWork => {
            let [_, _, workqueue, _, on] = values(payload, &QUEUE_WORK)?;
            let (workqueue, cpu) = (names.intern(workqueue), cpu(on).unwrap_or(Cpu::ANY));
            What::WorkQueued { work: address, function, workqueue, cpu }
        }
        Kind::WorkqueueActivateWork => What::WorkActivated { work: address, function },
        Kind::WorkqueueExecuteStart => What::WorkStarted { work: address, function, worker: line.tid },
        _ => What::WorkEnded { work: address, function, worker: line.tid },
    })
}

/// `vec=3 [action=NET_RX]`.
fn vec(payload: &str) -> Option<u32> {
    number(values(payload, &[("vec=", Number)])?[0])
}

fn name(comm: &str, names: &mut Names) -> Name {
    if comm == "<...>" { Name::UNKNOWN } else { names.intern(comm) }
}

fn number(text: &str) -> Option<u32> {
    Some(text.parse::<i64>().ok()? as u32)
}

fn tid(text: &str) -> Option<Tid> {
    Tid::from_raw(text.parse().ok()?)
}

fn cpu(text: &str) -> Option<Cpu> {
    Cpu::from_raw(text.parse().ok()?)
}

fn prio(text: &str) -> Prio {
    text.parse().map_or(Prio::UNKNOWN, Prio::from_raw)
}
