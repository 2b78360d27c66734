//! From a binary record to an event. Where each field lies is looked up in the format once per event of a file, so that
//! decoding a record is a few loads at known offsets.

mod raw;
#[cfg(test)]
mod tests;

use crate::event::{Context, Cpu, Prio, Tid, Wake, What, second_argument};
use crate::format::Format;
use crate::kind::Kind;
use crate::names::{Name, Names};
use crate::native;
use crate::prev_state::PrevStates;
use raw::{Number, Text};

/// Why a record yields no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is shorter than its format.
    Short,
    /// A CPU or thread number that no machine has.
    Number,
    /// A `sched_wakeup` of an old kernel with `success=0`: nobody was woken.
    NoWakeup,
}

/// What the numbers and strings of a trace become.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    pub(crate) names: Names,
    pub(crate) states: PrevStates,
}

/// How to decode the records of one event.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    /// Both as [`native`] has them.
    NativeSwitch,
    NativeWake {
        kind: Kind,
    },
    Switch {
        pids: [Number; 2],
        prios: [Number; 2],
        comms: [Text; 2],
        state: Number,
    },
    Wake {
        kind: Kind,
        flags: Number,
        waker: Number,
        wakee: Who,
        target_cpu: Number,
        success: Option<Number>,
    },
    Migrate {
        who: Who,
        orig_cpu: Number,
        dest_cpu: Number,
    },
    StatRuntime {
        who: Who,
        runtime: Number,
    },
    PiSetprio {
        pid: Number,
        comm: Text,
        oldprio: Number,
        newprio: Number,
    },
    Fork {
        parent: Number,
        child: Number,
        comm: Text,
    },
    Exit {
        pid: Number,
        comm: Text,
    },
    Exec {
        pid: Number,
        old_pid: Number,
    },
    Rename {
        pid: Number,
        comm: Text,
    },
    Irq {
        irq: Number,
        name: Option<Text>,
    },
    Softirq {
        kind: Kind,
        vec: Number,
    },
    Work {
        kind: Kind,
        work: Number,
        function: Option<Number>,
        queue: Text,
        cpu: Option<Number>,
        worker: Number,
    },
    CpuIdle {
        state: Number,
        cpu: Number,
    },
    SysEnter {
        pid: Number,
        id: Number,
        args: [Number; 2],
    },
    SysExit {
        pid: Number,
        id: Number,
        ret: Number,
    },
    CgroupAttach {
        pid: Number,
        comm: Text,
        root: Number,
        path: Text,
    },
}

/// Thread, name and priority, which most events carry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Who {
    pid: Number,
    comm: Text,
    prio: Option<Number>,
}

impl Plan {
    /// How the records of `kind` are laid out; what is missing is an error in words.
    pub(crate) fn new(kind: Kind, format: &Format, big_endian: bool) -> Result<Self, String> {
        if native::is_native(kind, format, big_endian) {
            return Ok(if kind == Kind::SchedSwitch { Self::NativeSwitch } else { Self::NativeWake { kind } });
        }
        Self::by_table(kind, format, big_endian)
    }

    /// The same with every field looked up, wherever it lies.
    pub(crate) fn by_table(kind: Kind, format: &Format, big_endian: bool) -> Result<Self, String> {
        let of = |name: &str| format.field(name).and_then(|f| Number::of(f, big_endian));
        let number = |name: &str| of(name).ok_or_else(|| format!("{} has no number `{name}`", format.name));
        let text = |name: &str| Text::of(format.field(name), big_endian);
        let who = || Ok::<_, String>(Who { pid: number("pid")?, comm: text("comm"), prio: of("prio") });
        Ok(match kind {
            Kind::SchedSwitch => Self::Switch {
                pids: [number("prev_pid")?, number("next_pid")?],
                prios: [number("prev_prio")?, number("next_prio")?],
                comms: [text("prev_comm"), text("next_comm")],
                state: number("prev_state")?,
            },
            Kind::SchedWaking | Kind::SchedWakeup | Kind::SchedWakeupNew => Self::Wake {
                kind,
                flags: number("common_flags")?,
                waker: number("common_pid")?,
                wakee: who()?,
                target_cpu: number("target_cpu").or_else(|_| number("cpu"))?,
                success: of("success"),
            },
            Kind::SchedMigrateTask => {
                Self::Migrate { who: who()?, orig_cpu: number("orig_cpu")?, dest_cpu: number("dest_cpu")? }
            }
            Kind::SchedStatRuntime => Self::StatRuntime { who: who()?, runtime: number("runtime")? },
            Kind::SchedPiSetprio => Self::PiSetprio {
                pid: number("pid")?,
                comm: text("comm"),
                oldprio: number("oldprio")?,
                newprio: number("newprio")?,
            },
            Kind::SchedProcessFork => {
                Self::Fork { parent: number("parent_pid")?, child: number("child_pid")?, comm: text("child_comm") }
            }
            Kind::TaskNewtask => {
                Self::Fork { parent: number("common_pid")?, child: number("pid")?, comm: text("comm") }
            }
            Kind::SchedProcessExit => Self::Exit { pid: number("pid")?, comm: text("comm") },
            Kind::SchedProcessExec => Self::Exec { pid: number("pid")?, old_pid: number("old_pid")? },
            Kind::TaskRename => {
                Self::Rename { pid: number("pid").or_else(|_| number("common_pid"))?, comm: text("newcomm") }
            }
            Kind::IrqHandlerEntry => Self::Irq { irq: number("irq")?, name: Some(text("name")) },
            Kind::IrqHandlerExit => Self::Irq { irq: number("irq")?, name: None },
            Kind::SoftirqRaise | Kind::SoftirqEntry | Kind::SoftirqExit => Self::Softirq { kind, vec: number("vec")? },
            Kind::WorkqueueQueueWork
            | Kind::WorkqueueActivateWork
            | Kind::WorkqueueExecuteStart
            | Kind::WorkqueueExecuteEnd => Self::Work {
                kind,
                work: number("work")?,
                function: of("function"),
                queue: text("workqueue"),
                cpu: of("cpu"),
                worker: number("common_pid")?,
            },
            Kind::CpuIdle => Self::CpuIdle { state: number("state")?, cpu: number("cpu_id")? },
            Kind::SysEnter => {
                let args = Number::first_two(format.field("args"), big_endian);
                let args = args.ok_or_else(|| format!("{} has no six numbers `args`", format.name))?;
                Self::SysEnter { pid: number("common_pid")?, id: number("id")?, args }
            }
            Kind::SysExit => Self::SysExit { pid: number("common_pid")?, id: number("id")?, ret: number("ret")? },
            Kind::CgroupAttachTask => {
                let (path, comm) = (text("dst_path"), text("comm"));
                Self::CgroupAttach { pid: number("pid")?, comm, root: number("dst_root")?, path }
            }
        })
    }

    /// The event of a record; `raw` begins with `common_type`.
    #[inline(always)]
    pub(crate) fn decode(&self, raw: &[u8], dictionary: &mut Dictionary) -> Result<What, Refused> {
        match self {
            Self::NativeSwitch => native::switch(raw, dictionary),
            Self::NativeWake { kind } => native::wake(raw, dictionary).map(|wake| woken(*kind, wake)),
            _ => self.decode_by_table(raw, dictionary),
        }
    }

    fn decode_by_table(&self, raw: &[u8], dictionary: &mut Dictionary) -> Result<What, Refused> {
        let names = &mut dictionary.names;
        match self {
            Self::Switch { pids, prios, comms, state } => {
                let (prev, next) = (pids[0].tid(raw)?, pids[1].tid(raw)?);
                Ok(What::Switch {
                    prev,
                    next,
                    prev_comm: comms[0].comm(raw, prev, names)?,
                    next_comm: comms[1].comm(raw, next, names)?,
                    prev_prio: prios[0].prio(raw)?,
                    next_prio: prios[1].prio(raw)?,
                    prev_state: dictionary.states.of_raw(state.get(raw).ok_or(Refused::Short)? as u64),
                })
            }
            Self::Wake { kind, flags, waker, wakee, target_cpu, success } => {
                if success.is_some_and(|s| s.get(raw) == Some(0)) {
                    return Err(Refused::NoWakeup);
                }
                let tid = wakee.pid.tid(raw)?;
                let wake = Wake {
                    tid,
                    comm: wakee.comm.comm(raw, tid, names)?,
                    waker: waker.tid(raw)?,
                    target_cpu: target_cpu.cpu(raw)?,
                    prio: wakee.prio(raw)?,
                    context: Context::from_common_flags(flags.u32(raw)? as u8),
                };
                Ok(woken(*kind, wake))
            }
            _ => self.decode_rare(raw, dictionary),
        }
    }

    fn decode_rare(&self, raw: &[u8], dictionary: &mut Dictionary) -> Result<What, Refused> {
        let names = &mut dictionary.names;
        Ok(match self {
            Self::Migrate { who, orig_cpu, dest_cpu } => {
                let (tid, comm) = named(raw, who.pid, who.comm, names)?;
                let (orig_cpu, dest_cpu) = (orig_cpu.cpu(raw)?, dest_cpu.cpu(raw)?);
                What::Migrate { tid, comm, prio: who.prio(raw)?, orig_cpu, dest_cpu }
            }
            Self::StatRuntime { who, runtime } => {
                let (tid, comm) = named(raw, who.pid, who.comm, names)?;
                What::StatRuntime { tid, comm, runtime: (runtime.get(raw).ok_or(Refused::Short)? as u64).into() }
            }
            Self::PiSetprio { pid, comm, oldprio, newprio } => {
                let (tid, comm) = named(raw, *pid, *comm, names)?;
                What::PiSetprio { tid, comm, oldprio: oldprio.prio(raw)?, newprio: newprio.prio(raw)? }
            }
            Self::Fork { parent, child, comm } => {
                let (child, comm) = named(raw, *child, *comm, names)?;
                What::Fork { parent: parent.tid(raw)?, child, comm }
            }
            Self::Exit { pid, comm } => {
                let (tid, comm) = named(raw, *pid, *comm, names)?;
                What::Exit { tid, comm }
            }
            Self::Exec { pid, old_pid } => What::Exec { tid: pid.tid(raw)?, old_tid: old_pid.tid(raw)? },
            Self::Rename { pid, comm } => {
                let (tid, comm) = named(raw, *pid, *comm, names)?;
                What::Comm { tid, comm }
            }
            Self::Irq { irq, name: Some(name) } => What::IrqEntry { irq: irq.u32(raw)?, name: name.name(raw, names)? },
            Self::Irq { irq, name: None } => What::IrqExit { irq: irq.u32(raw)? },
            Self::Softirq { kind: Kind::SoftirqRaise, vec } => What::SoftirqRaise { vec: vec.u32(raw)? },
            Self::Softirq { kind: Kind::SoftirqEntry, vec } => What::SoftirqEntry { vec: vec.u32(raw)? },
            Self::Softirq { vec, .. } => What::SoftirqExit { vec: vec.u32(raw)? },
            Self::CpuIdle { state, cpu } => What::CpuIdle { state: state.u32(raw)?, cpu: cpu.cpu(raw)? },
            Self::SysEnter { pid, id, args: [arg0, arg1] } => What::SysEnter {
                tid: pid.tid(raw)?,
                number: id.syscall(raw)?,
                arg0: arg0.u64(raw)?.into(),
                arg1: second_argument(arg1.u64(raw)?),
            },
            Self::SysExit { pid, id, ret } => {
                What::SysExit { tid: pid.tid(raw)?, number: id.syscall(raw)?, ret: ret.u64(raw)?.into() }
            }
            Self::CgroupAttach { pid, comm, root, path } => {
                let (tid, comm) = named(raw, *pid, *comm, names)?;
                What::CgroupAttach { tid, comm, dst_root: root.u32(raw)?, dst_path: path.name(raw, names)? }
            }
            Self::Work { .. } => return self.decode_work(raw, names),
            // These are decoded above.
            Self::Switch { .. } | Self::Wake { .. } | Self::NativeSwitch | Self::NativeWake { .. } => {
                return Err(Refused::Short);
            }
        })
    }

    fn decode_work(&self, raw: &[u8], names: &mut Names) -> Result<What, Refused> {
        let Self::Work { kind, work, function, queue, cpu, worker } = self else { return Err(Refused::Short) };
        let work = (work.get(raw).ok_or(Refused::Short)? as u64).into();
        let function = match function {
            Some(function) => names.address(function.get(raw).ok_or(Refused::Short)? as u64),
            None => Name::UNKNOWN,
        };
        Ok(match kind {
            Kind::WorkqueueQueueWork => {
                let workqueue = queue.name(raw, names)?;
                // An unbound queue says 0x2000 (WORK_CPU_UNBOUND), which is no CPU.
                let cpu = cpu.and_then(|c| c.cpu(raw).ok()).unwrap_or(Cpu::ANY);
                What::WorkQueued { work, function, workqueue, cpu }
            }
            Kind::WorkqueueActivateWork => What::WorkActivated { work, function },
            Kind::WorkqueueExecuteStart => What::WorkStarted { work, function, worker: worker.tid(raw)? },
            _ => What::WorkEnded { work, function, worker: worker.tid(raw)? },
        })
    }
}

impl Who {
    #[inline]
    fn prio(&self, raw: &[u8]) -> Result<Prio, Refused> {
        self.prio.map_or(Ok(Prio::UNKNOWN), |prio| prio.prio(raw))
    }
}

#[inline]
fn woken(kind: Kind, wake: Wake) -> What {
    match kind {
        Kind::SchedWaking => What::Waking(wake),
        Kind::SchedWakeupNew => What::WakeupNew(wake),
        _ => What::Wakeup(wake),
    }
}

fn named(raw: &[u8], pid: Number, comm: Text, names: &mut Names) -> Result<(Tid, Name), Refused> {
    let tid = pid.tid(raw)?;
    Ok((tid, comm.comm(raw, tid, names)?))
}
