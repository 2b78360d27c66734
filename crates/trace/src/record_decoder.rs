//! From a binary record to an event. The position of each field is looked up in the format once per event of a file, so
//! that decoding a record takes a few loads at known offsets.

mod raw;
#[cfg(test)]
mod tests;

use crate::event::{Context, Cpu, Prio, Tid, Wake, What, second_argument};
use crate::format::Format;
use crate::kind::Kind;
use crate::names::{Name, Names};
use crate::native;
use crate::prev_state::PrevStates;
use crate::rows::{Bits, Field, Holds, Row, Values};
use raw::{Number, Text};

/// Why a record yields no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The record is shorter than its format.
    Short,
    /// A CPU or thread number that no machine has.
    Number,
    /// A `prev_state` that the kernel with these formats does not write.
    State,
    /// The record belongs to another event than its container indicates.
    Event,
    /// A `sched_wakeup` of an old kernel with `success=0`: nothing was woken.
    NoWakeup,
}

/// Maps the numbers and strings of a trace.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    pub(crate) names: Names,
    pub(crate) states: PrevStates,
}

/// Decodes the records of one event.
#[derive(Debug, Clone)]
pub(crate) enum RecordDecoder {
    /// Both kinds have the layout in [`native`].
    NativeSwitch,
    NativeWake {
        kind: Kind,
    },
    /// Any other layout.
    Table(TableDecoder),
}

/// Decodes records with a table of where each field is.
#[derive(Debug, Clone)]
pub(crate) enum TableDecoder {
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
        wakee: Wakee,
        target_cpu: Number,
        success: Option<Number>,
    },
    /// Where each field of the row is.
    Row {
        row: &'static Row,
        sources: Box<[Source]>,
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
}

/// Where a record has the id, name and priority of the thread that is woken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wakee {
    pid: Number,
    comm: Text,
    prio: Option<Number>,
}

/// Where a field lies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    Number(Number),
    Text(Text),
    /// Nowhere: the format lacks it.
    Absent,
}

impl RecordDecoder {
    /// Makes the decoder for records of `kind`; the error describes what is missing.
    pub(crate) fn new(kind: Kind, format: &Format, big_endian: bool) -> Result<Self, String> {
        if native::is_native(kind, format, big_endian) {
            return Ok(if kind == Kind::SchedSwitch { Self::NativeSwitch } else { Self::NativeWake { kind } });
        }
        TableDecoder::new(kind, format, big_endian).map(Self::Table)
    }

    /// Decodes a record into an event; `raw` begins with `common_type`.
    #[inline(always)]
    pub(crate) fn decode(&self, raw: &[u8], dictionary: &mut Dictionary) -> Result<What, Refused> {
        match self {
            Self::NativeSwitch => native::switch(raw, dictionary),
            Self::NativeWake { kind } => native::wake(raw, dictionary).map(|wake| woken(*kind, wake)),
            Self::Table(table) => table.decode(raw, dictionary),
        }
    }
}

impl TableDecoder {
    /// Looks up every field, also where the layout is the native one.
    pub(crate) fn new(kind: Kind, format: &Format, big_endian: bool) -> Result<Self, String> {
        let of = |name: &str| format.field(name).and_then(|f| Number::of(f, big_endian));
        let number = |name: &str| of(name).ok_or_else(|| format!("{} has no number `{name}`", format.name));
        let text = |name: &str| Text::of(format.field(name), big_endian);
        let wakee = || Ok::<_, String>(Wakee { pid: number("pid")?, comm: text("comm"), prio: of("prio") });
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
                wakee: wakee()?,
                target_cpu: number("target_cpu").or_else(|_| number("cpu"))?,
                success: of("success"),
            },
            Kind::SysEnter => {
                let args = Number::first_two(format.field("args"), big_endian);
                let args = args.ok_or_else(|| format!("{} has no six numbers `args`", format.name))?;
                Self::SysEnter { pid: number("common_pid")?, id: number("id")?, args }
            }
            Kind::SysExit => Self::SysExit { pid: number("common_pid")?, id: number("id")?, ret: number("ret")? },
            _ => {
                let row = kind.row();
                let sources: Result<_, String> =
                    row.fields.iter().map(|field| Source::of(field, format, big_endian)).collect();
                Self::Row { row, sources: sources? }
            }
        })
    }

    /// As [`RecordDecoder::decode`].
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
                    prev_state: dictionary
                        .states
                        .of_raw(state.get(raw).ok_or(Refused::Short)? as u64)
                        .ok_or(Refused::State)?,
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
            Self::Row { row, sources } => decode_row(row, sources, raw, names),
            Self::SysEnter { pid, id, args: [arg0, arg1] } => Ok(What::SysEnter {
                tid: pid.tid(raw)?,
                number: id.syscall(raw)?,
                arg0: arg0.u64(raw)?.into(),
                arg1: second_argument(arg1.u64(raw)?),
            }),
            Self::SysExit { pid, id, ret } => {
                Ok(What::SysExit { tid: pid.tid(raw)?, number: id.syscall(raw)?, ret: ret.u64(raw)?.into() })
            }
        }
    }
}

fn decode_row(row: &Row, sources: &[Source], raw: &[u8], names: &mut Names) -> Result<What, Refused> {
    let mut fields = Values::default();
    for (at, (field, source)) in row.fields.iter().zip(sources).enumerate() {
        fields[at] = match (field.holds, *source) {
            (Holds::Thread | Holds::ThreadIfSaid, Source::Number(number)) => number.tid(raw)?.bits(),
            (Holds::Comm, Source::Text(text)) => text.comm(raw, Bits::of(fields[at - 1]), names)?.bits(),
            (_, Source::Text(text)) => text.name(raw, names)?.bits(),
            (Holds::Function, Source::Number(number)) => names.address(number.u64(raw)?).bits(),
            (Holds::Prio, Source::Number(number)) => number.prio(raw)?.bits(),
            (Holds::Cpu, Source::Number(number)) => number.cpu(raw)?.bits(),
            (Holds::Pool, Source::Number(number)) => number.cpu(raw).unwrap_or(Cpu::ANY).bits(),
            (Holds::Number, Source::Number(number)) => number.u32(raw)?.bits(),
            (_, Source::Number(number)) => number.u64(raw)?,
            (Holds::Prio, Source::Absent) => Prio::UNKNOWN.bits(),
            (Holds::Pool, Source::Absent) => Cpu::ANY.bits(),
            (Holds::ThreadIfSaid, Source::Absent) => Tid::IDLE.bits(),
            (_, Source::Absent) => Name::UNKNOWN.bits(),
        };
    }
    What::of(row.kind, fields).ok_or(Refused::Event)
}

impl Source {
    fn of(field: &Field, format: &Format, big_endian: bool) -> Result<Self, String> {
        if matches!(field.holds, Holds::Comm | Holds::Text) {
            return Ok(Self::Text(Text::of(format.field(field.kernel[0]), big_endian)));
        }
        let number = field.kernel.iter().find_map(|name| Number::of(format.field(name)?, big_endian));
        match (number, field.holds) {
            (Some(number), _) => Ok(Self::Number(number)),
            (None, Holds::Function | Holds::Prio | Holds::Pool | Holds::ThreadIfSaid) => Ok(Self::Absent),
            (None, _) => Err(format!("{} has no number `{}`", format.name, field.kernel[field.kernel.len() - 1])),
        }
    }
}

impl Wakee {
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
