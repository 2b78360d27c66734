//! From a binary record to an event. Where each field lies is looked up in the format once per event of a file, so that
//! decoding a record is a few loads at known offsets.

use crate::event::{Context, Cpu, Prio, Tid, Wake, What};
use crate::format::{Field, Format};
use crate::kind::Kind;
use crate::names::{Name, Names};
use crate::prev_state::PrevStates;

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

/// A number in a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    at: usize,
    size: u8,
    signed: bool,
    swap: bool,
}

impl Number {
    fn of(field: &Field, big_endian: bool) -> Option<Self> {
        let swap = big_endian != cfg!(target_endian = "big");
        let size = u8::try_from(field.size).ok().filter(|size| matches!(size, 1 | 2 | 4 | 8))?;
        Some(Self { at: field.offset as usize, size, signed: field.signed, swap })
    }

    #[inline]
    fn get(self, raw: &[u8]) -> Option<i64> {
        Some(match self.size {
            4 => {
                let value = u32::from_ne_bytes(array(raw, self.at)?);
                let value = if self.swap { value.swap_bytes() } else { value };
                if self.signed { i64::from(value as i32) } else { i64::from(value) }
            }
            8 => {
                let value = u64::from_ne_bytes(array(raw, self.at)?);
                (if self.swap { value.swap_bytes() } else { value }) as i64
            }
            2 => {
                let value = u16::from_ne_bytes(array(raw, self.at)?);
                let value = if self.swap { value.swap_bytes() } else { value };
                if self.signed { i64::from(value as i16) } else { i64::from(value) }
            }
            _ => {
                let [value] = array::<1>(raw, self.at)?;
                if self.signed { i64::from(value as i8) } else { i64::from(value) }
            }
        })
    }

    #[inline]
    fn tid(self, raw: &[u8]) -> Result<Tid, Refused> {
        Tid::from_raw(self.get(raw).ok_or(Refused::Short)?).ok_or(Refused::Number)
    }

    #[inline]
    fn prio(self, raw: &[u8]) -> Result<Prio, Refused> {
        Ok(Prio::from_raw(self.get(raw).ok_or(Refused::Short)?))
    }

    #[inline]
    fn cpu(self, raw: &[u8]) -> Result<Cpu, Refused> {
        Cpu::from_raw(self.get(raw).ok_or(Refused::Short)?).ok_or(Refused::Number)
    }

    fn u32(self, raw: &[u8]) -> Result<u32, Refused> {
        Ok(self.get(raw).ok_or(Refused::Short)? as u32)
    }
}

/// A string in a record.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text {
    Comm {
        at: usize,
    },
    Array {
        at: usize,
        len: usize,
    },
    /// Length and offset in a number; `from` is what the offset counts from.
    Located {
        number: Number,
        from: usize,
    },
    Absent,
}

impl Text {
    fn of(field: Option<&Field>, big_endian: bool) -> Self {
        let Some(field) = field else { return Self::Absent };
        let at = field.offset as usize;
        match Number::of(field, big_endian) {
            Some(number) if field.is_data_loc() && number.size == 4 => Self::Located { number, from: 0 },
            Some(number) if field.is_rel_loc() && number.size == 4 => Self::Located { number, from: at + 4 },
            _ if field.ctype != "char" => Self::Absent,
            _ if field.size == 16 => Self::Comm { at },
            _ => Self::Array { at, len: field.size as usize },
        }
    }

    /// A comm, through the cache of its thread.
    #[inline]
    fn comm(self, raw: &[u8], tid: Tid, names: &mut Names) -> Result<Name, Refused> {
        if let Self::Comm { at } = self {
            let comm = raw.get(at..at + 16).and_then(|b| <&[u8; 16]>::try_from(b).ok()).ok_or(Refused::Short)?;
            return Ok(names.comm(tid, comm));
        }
        let bytes = self.bytes(raw)?;
        let mut comm = [0; 16];
        let len = bytes.len().min(comm.len());
        comm[..len].copy_from_slice(&bytes[..len]);
        Ok(names.comm(tid, &comm))
    }

    fn name(self, raw: &[u8], names: &mut Names) -> Result<Name, Refused> {
        Ok(names.intern_bytes(self.bytes(raw)?))
    }

    /// The bytes, up to the first zero.
    fn bytes(self, raw: &[u8]) -> Result<&[u8], Refused> {
        let (at, len) = match self {
            Self::Absent => return Ok(&[]),
            Self::Comm { at } => (at, 16),
            Self::Array { at, len } => (at, len),
            Self::Located { number, from } => {
                let located = number.u32(raw)?;
                (from + (located & 0xffff) as usize, (located >> 16) as usize)
            }
        };
        let bytes = raw.get(at..at + len).ok_or(Refused::Short)?;
        Ok(&bytes[..bytes.iter().position(|b| *b == 0).unwrap_or(len)])
    }
}

/// How to decode the records of one event.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    Switch { pids: [Number; 2], prios: [Number; 2], comms: [Text; 2], state: Number },
    Wake { kind: Kind, flags: Number, waker: Number, wakee: Who, target_cpu: Number, success: Option<Number> },
    Migrate { who: Who, orig_cpu: Number, dest_cpu: Number },
    StatRuntime { who: Who, runtime: Number },
    PiSetprio { pid: Number, comm: Text, oldprio: Number, newprio: Number },
    Fork { parent: Number, child: Number, comm: Text },
    Exit { pid: Number, comm: Text },
    Exec { pid: Number, old_pid: Number },
    Rename { pid: Number, comm: Text },
    Irq { irq: Number, name: Option<Text> },
    Softirq { kind: Kind, vec: Number },
    Work { kind: Kind, work: Number, function: Option<Number>, queue: Text, cpu: Option<Number>, worker: Number },
    CpuIdle { state: Number, cpu: Number },
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
        })
    }

    /// The event of a record; `raw` begins with `common_type`.
    #[inline]
    pub(crate) fn decode(&self, raw: &[u8], dictionary: &mut Dictionary) -> Result<What, Refused> {
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
                Ok(match kind {
                    Kind::SchedWaking => What::Waking(wake),
                    Kind::SchedWakeupNew => What::WakeupNew(wake),
                    _ => What::Wakeup(wake),
                })
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
            Self::Work { .. } => return self.decode_work(raw, names),
            // Both are decoded by `decode`.
            Self::Switch { .. } | Self::Wake { .. } => return Err(Refused::Short),
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
                let cpu = cpu.and_then(|c| c.cpu(raw).ok()).filter(|c| c.0 < 8192).unwrap_or(Cpu::ANY);
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

fn named(raw: &[u8], pid: Number, comm: Text, names: &mut Names) -> Result<(Tid, Name), Refused> {
    let tid = pid.tid(raw)?;
    Ok((tid, comm.comm(raw, tid, names)?))
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

    fn plan(kind: Kind, fields: &str, big_endian: bool) -> Result<Plan, String> {
        let text = format!("name: {}\nID: 7\nformat:\n{COMMON}{fields}", kind.name());
        Plan::new(kind, &Format::parse("sched", &text).expect("a format"), big_endian)
    }

    /// As a 32-bit kernel has it: a long of four bytes.
    const SWITCH_32: &str = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:4;\tsigned:1;\n\
        \tfield:char next_comm[16];\toffset:36;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t next_pid;\toffset:52;\tsize:4;\tsigned:1;\n\
        \tfield:int next_prio;\toffset:56;\tsize:4;\tsigned:1;\n";

    fn switch_32(big_endian: bool, next_pid: u32) -> Vec<u8> {
        let number = |n: u32| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut raw = vec![0; 8];
        raw.extend(b"prev\0garbage\0\0\0\0");
        [77, 120, 2].iter().for_each(|n| raw.extend(number(*n)));
        raw.extend(b"fifteen letters\0");
        [next_pid, u32::MAX].iter().for_each(|n| raw.extend(number(*n)));
        raw
    }

    #[test]
    fn a_kernel_of_32_bits_is_read_in_either_byte_order() {
        for big_endian in [false, true] {
            let plan = plan(Kind::SchedSwitch, SWITCH_32, big_endian).unwrap();
            let mut dictionary = Dictionary::default();
            let what = plan.decode(&switch_32(big_endian, 78), &mut dictionary).unwrap();
            let What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } = what else {
                panic!("a switch")
            };
            assert_eq!((prev.0, next.0, prev_prio.get(), next_prio.get()), (77, 78, Some(120), Some(-1)));
            let name = |name| dictionary.names.text(name);
            assert_eq!((name(prev_comm), name(next_comm)), ("prev", "fifteen letters"));
            assert_eq!(dictionary.states.letters(prev_state), "D");
        }
    }

    #[test]
    fn records_that_lie_are_refused() {
        let plan = plan(Kind::SchedSwitch, SWITCH_32, false).unwrap();
        let (mut dictionary, raw) = (Dictionary::default(), switch_32(false, 78));
        for end in 0..raw.len() {
            assert_eq!(plan.decode(&raw[..end], &mut dictionary), Err(Refused::Short), "{end} bytes");
        }
        assert_eq!(plan.decode(&switch_32(false, 1 << 30), &mut dictionary), Err(Refused::Number));
    }

    #[test]
    fn strings_may_lie_elsewhere_in_the_record() {
        for (ctype, from) in [("__data_loc", 12), ("__rel_loc", 0)] {
            let field = format!("\tfield:{ctype} char[] name;\toffset:8;\tsize:4;\tsigned:0;\n");
            let text = format!("name: irq_handler_entry\nID: 9\nformat:\n{COMMON}{field}\tfield:int irq;\toffset:4;\tsize:4;\tsigned:1;\n");
            let plan = Plan::new(Kind::IrqHandlerEntry, &Format::parse("irq", &text).unwrap(), false).unwrap();
            let mut raw = vec![0, 0, 0, 0, 27, 0, 0, 0];
            raw.extend((from | 5u32 << 16).to_le_bytes());
            raw.extend(b"eth0\0");
            let mut dictionary = Dictionary::default();
            let What::IrqEntry { irq, name } = plan.decode(&raw, &mut dictionary).unwrap() else { panic!() };
            assert_eq!((irq, dictionary.names.text(name)), (27, "eth0"));
            raw.truncate(15);
            assert_eq!(plan.decode(&raw, &mut dictionary), Err(Refused::Short));
        }
    }

    #[test]
    fn a_format_without_a_field_says_which() {
        let lacking = SWITCH_32.replace("next_pid", "next_tid");
        assert_eq!(plan(Kind::SchedSwitch, &lacking, false).unwrap_err(), "sched_switch has no number `next_pid`");
        let odd = SWITCH_32.replace("offset:24;\tsize:4", "offset:24;\tsize:3");
        assert_eq!(plan(Kind::SchedSwitch, &odd, false).unwrap_err(), "sched_switch has no number `prev_pid`");
    }

    #[test]
    fn a_wakeup_that_woke_nobody_is_none() {
        let fields = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
            \tfield:int success;\toffset:32;\tsize:4;\tsigned:1;\n\tfield:int target_cpu;\toffset:36;\tsize:4;\tsigned:1;\n";
        let plan = plan(Kind::SchedWakeup, fields, false).unwrap();
        let mut raw = vec![0; 40];
        assert_eq!(plan.decode(&raw, &mut Dictionary::default()), Err(Refused::NoWakeup));
        raw[32] = 1;
        assert!(plan.decode(&raw, &mut Dictionary::default()).is_ok());
    }
}
