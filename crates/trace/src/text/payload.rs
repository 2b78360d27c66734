//! What an event prints behind its name, as the kernel's print formats and trace-cmd's plugins write it.

use super::line::Line;
use crate::event::{Context, Cpu, Prio, Tid, Wake, What, second_argument};
use crate::fields::Dictionary;
use crate::kind::Kind;
use crate::names::{Name, Names};
use crate::prev_state::StateId;
use crate::syscall::Syscall;

/// The event of a line; `None` where it does not read as one of its kind.
pub(super) fn parse(kind: Kind, line: &Line<'_>, dictionary: &mut Dictionary) -> Option<What> {
    let payload = line.payload;
    let names = &mut dictionary.names;
    Some(match kind {
        Kind::SchedSwitch => return switch(payload, dictionary),
        Kind::SchedWaking => What::Waking(wake(line, names)?),
        Kind::SchedWakeup => What::Wakeup(wake(line, names)?),
        Kind::SchedWakeupNew => What::WakeupNew(wake(line, names)?),
        Kind::SchedMigrateTask => What::Migrate {
            tid: tid(payload, "pid=")?,
            comm: comm(payload, "comm=", " pid=", names),
            prio: prio(payload, "prio="),
            orig_cpu: cpu(payload, "orig_cpu=")?,
            dest_cpu: cpu(payload, "dest_cpu=")?,
        },
        Kind::SchedStatRuntime => What::StatRuntime {
            tid: tid(payload, "pid=")?,
            comm: comm(payload, "comm=", " pid=", names),
            runtime: (number(payload, "runtime=")? as u64).into(),
        },
        Kind::SchedPiSetprio => What::PiSetprio {
            tid: tid(payload, "pid=")?,
            comm: comm(payload, "comm=", " pid=", names),
            oldprio: prio(payload, "oldprio="),
            newprio: prio(payload, "newprio="),
        },
        Kind::SchedProcessFork => What::Fork {
            parent: tid(payload, "pid=")?,
            child: tid(payload, "child_pid=")?,
            comm: comm(payload, "child_comm=", " child_pid=", names),
        },
        Kind::TaskNewtask => What::Fork {
            parent: line.tid,
            child: tid(payload, "pid=")?,
            comm: comm(payload, "comm=", " clone_flags=", names),
        },
        Kind::SchedProcessExit => {
            What::Exit { tid: tid(payload, "pid=")?, comm: comm(payload, "comm=", " pid=", names) }
        }
        Kind::SchedProcessExec => What::Exec { tid: tid(payload, "pid=")?, old_tid: tid(payload, "old_pid=")? },
        Kind::TaskRename => What::Comm {
            tid: tid(payload, "pid=").unwrap_or(line.tid),
            comm: comm(payload, "newcomm=", " oom_score_adj=", names),
        },
        Kind::IrqHandlerEntry => What::IrqEntry {
            irq: number(payload, "irq=")? as u32,
            name: names.intern(between(payload, "name=", "\n").unwrap_or_default()),
        },
        Kind::IrqHandlerExit => What::IrqExit { irq: number(payload, "irq=")? as u32 },
        Kind::SoftirqRaise => What::SoftirqRaise { vec: number(payload, "vec=")? as u32 },
        Kind::SoftirqEntry => What::SoftirqEntry { vec: number(payload, "vec=")? as u32 },
        Kind::SoftirqExit => What::SoftirqExit { vec: number(payload, "vec=")? as u32 },
        Kind::WorkqueueQueueWork
        | Kind::WorkqueueActivateWork
        | Kind::WorkqueueExecuteStart
        | Kind::WorkqueueExecuteEnd => return work(kind, line, names),
        Kind::CpuIdle => What::CpuIdle { state: number(payload, "state=")? as u32, cpu: cpu(payload, "cpu_id=")? },
        Kind::SysEnter => return sys_enter(payload, line.tid),
        Kind::SysExit => {
            let (id, ret) = payload.strip_prefix("NR ")?.split_once(" = ")?;
            let ret = ret.trim().parse::<i64>().ok()? as u64;
            What::SysExit { tid: line.tid, number: Syscall::from_raw(id.trim().parse().ok()?), ret: ret.into() }
        }
        Kind::CgroupAttachTask => What::CgroupAttach {
            tid: tid(payload, "pid=")?,
            comm: comm(payload, "comm=", "\n", names),
            dst_root: number(payload, "dst_root=")? as u32,
            dst_path: names.intern(between(payload, "dst_path=", " pid=")?),
        },
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

fn switch(payload: &str, dictionary: &mut Dictionary) -> Option<What> {
    if !payload.contains("prev_pid=") {
        return plugin_switch(payload, dictionary);
    }
    let names = &mut dictionary.names;
    Some(What::Switch {
        prev: tid(payload, "prev_pid=")?,
        next: tid(payload, "next_pid=")?,
        prev_comm: comm(payload, "prev_comm=", " prev_pid=", names),
        next_comm: comm(payload, "next_comm=", " next_pid=", names),
        prev_prio: prio(payload, "prev_prio="),
        next_prio: prio(payload, "next_prio="),
        prev_state: state(value(payload, "prev_state=")?, dictionary),
    })
}

/// `bash:1977 [120] S ==> swapper/0:0 [120]`.
fn plugin_switch(payload: &str, dictionary: &mut Dictionary) -> Option<What> {
    let (prev, next) = payload.split_once(" ==> ")?;
    let (prev, letters) = prev.trim_end().rsplit_once(' ')?;
    let (prev, prev_comm, prev_prio) = plugin_thread(prev, &mut dictionary.names)?;
    let (next, next_comm, next_prio) = plugin_thread(next, &mut dictionary.names)?;
    let prev_state = state(letters, dictionary);
    Some(What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state })
}

/// `bash:1977 [120]`.
fn plugin_thread(text: &str, names: &mut Names) -> Option<(Tid, Name, Prio)> {
    let (who, prio) = text.trim().rsplit_once(" [")?;
    let (comm, tid) = who.rsplit_once(':')?;
    let prio = prio.strip_suffix(']')?.parse().map_or(Prio::UNKNOWN, Prio::from_raw);
    Some((Tid::from_raw(tid.parse().ok()?)?, names.intern(comm), prio))
}

/// Letters, or a bare number of a trace without formats.
fn state(text: &str, dictionary: &mut Dictionary) -> StateId {
    match text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok()) {
        Some(raw) => dictionary.states.of_raw(raw),
        None => dictionary.states.of_letters(text),
    }
}

fn wake(line: &Line<'_>, names: &mut Names) -> Option<Wake> {
    let payload = line.payload;
    // Old kernels trace who was not woken, too.
    if number(payload, "success=") == Some(0) {
        return None;
    }
    let context: Context = line.context;
    if payload.contains("pid=") {
        return Some(Wake {
            tid: tid(payload, "pid=")?,
            comm: comm(payload, "comm=", " pid=", names),
            waker: line.tid,
            target_cpu: cpu(payload, "target_cpu=").unwrap_or(Cpu::ANY),
            prio: prio(payload, "prio="),
            context,
        });
    }
    // trace-cmd's plugin: `bash:1977 [120] success=1 CPU:003`.
    let (who, rest) = payload.split_once(']')?;
    let (tid, comm, prio) = plugin_thread(&format!("{who}]"), names)?;
    let target_cpu = cpu(rest, "CPU:").unwrap_or(Cpu::ANY);
    Some(Wake { tid, comm, waker: line.tid, target_cpu, prio, context })
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
        Kind::WorkqueueQueueWork => What::WorkQueued {
            work: address,
            function,
            workqueue: names.intern(value(payload, "workqueue=").unwrap_or_default()),
            cpu: cpu(payload, " cpu=").filter(|cpu| cpu.0 < 8192).unwrap_or(Cpu::ANY),
        },
        Kind::WorkqueueActivateWork => What::WorkActivated { work: address, function },
        Kind::WorkqueueExecuteStart => What::WorkStarted { work: address, function, worker: line.tid },
        _ => What::WorkEnded { work: address, function, worker: line.tid },
    })
}

/// The text behind a key that begins a word, up to the next blank.
fn value<'a>(payload: &'a str, key: &str) -> Option<&'a str> {
    let mut from = 0;
    loop {
        let at = from + payload[from..].find(key)?;
        let begins = key.starts_with(' ') || at == 0 || payload.as_bytes()[at - 1] == b' ';
        from = at + key.len();
        if begins {
            return payload[from..].split_whitespace().next();
        }
    }
}

/// The text between a key that begins a word and what follows it, which may hold blanks.
fn between<'a>(payload: &'a str, key: &str, next: &str) -> Option<&'a str> {
    let at = match payload.strip_prefix(key) {
        Some(_) => key.len(),
        None => payload.find(&format!(" {key}"))? + 1 + key.len(),
    };
    let rest = &payload[at..];
    Some(&rest[..rest.find(next).unwrap_or(rest.len())])
}

fn comm(payload: &str, key: &str, next: &str, names: &mut Names) -> Name {
    match between(payload, key, next) {
        Some("<...>") | None => Name::UNKNOWN,
        Some(comm) => names.intern(comm),
    }
}

fn number(payload: &str, key: &str) -> Option<i64> {
    let text = value(payload, key)?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let end = text.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text[..end].parse().ok()
}

fn tid(payload: &str, key: &str) -> Option<Tid> {
    Tid::from_raw(number(payload, key)?)
}

fn cpu(payload: &str, key: &str) -> Option<Cpu> {
    Cpu::from_raw(number(payload, key)?)
}

fn prio(payload: &str, key: &str) -> Prio {
    number(payload, key).map_or(Prio::UNKNOWN, Prio::from_raw)
}
