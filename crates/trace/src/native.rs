//! Switches and wakings as little-endian 64-bit kernels have written them for ten years: fields at constant offsets are
//! decoded in a third of the time that offsets from a table take. The formats of a trace show whether its records have
//! this layout.

use crate::event::{Context, Cpu, Prio, Tid, Wake, What};
use crate::format::Format;
use crate::kind::Kind;
use crate::names::{Name, Names};
use crate::record_decoder::{Dictionary, Refused};

/// Fields with offset, size and signedness.
type Fields = [(&'static str, u32, u32, bool)];

const COMMON: &Fields = &[("common_type", 0, 2, false), ("common_flags", 2, 1, false), ("common_pid", 4, 4, true)];

const SWITCH: &Fields = &[
    ("prev_comm", 8, 16, false),
    ("prev_pid", 24, 4, true),
    ("prev_prio", 28, 4, true),
    ("prev_state", 32, 8, true),
    ("next_comm", 40, 16, false),
    ("next_pid", 56, 4, true),
    ("next_prio", 60, 4, true),
];

const WAKE: &Fields =
    &[("comm", 8, 16, false), ("pid", 24, 4, true), ("prio", 28, 4, true), ("target_cpu", 32, 4, true)];

/// Whether the records of a kind have this layout.
pub(crate) fn is_native(kind: Kind, format: &Format, big_endian: bool) -> bool {
    let fields = match kind {
        Kind::SchedSwitch => SWITCH,
        Kind::SchedWaking | Kind::SchedWakeup | Kind::SchedWakeupNew if format.field("success").is_none() => WAKE,
        _ => return false,
    };
    let is = |(name, offset, size, signed): &(&str, u32, u32, bool)| {
        let comm = *size == 16;
        format.field(name).is_some_and(|field| {
            let same = (field.offset, field.size) == (*offset, *size);
            same && if comm { field.ctype == "char" } else { field.signed == *signed }
        })
    };
    !big_endian && COMMON.iter().chain(fields).all(is)
}

/// A switch.
#[inline(always)]
pub(crate) fn switch(raw: &[u8], dictionary: &mut Dictionary) -> Result<What, Refused> {
    let raw: &[u8; 64] = raw.first_chunk().ok_or(Refused::Short)?;
    let (prev, next) = (tid(number(raw, 24))?, tid(number(raw, 56))?);
    let state = u64::from(number(raw, 32)) | u64::from(number(raw, 36)) << 32;
    let names = &mut dictionary.names;
    Ok(What::Switch {
        prev,
        next,
        prev_comm: comm(&raw[8..], prev, names)?,
        next_comm: comm(&raw[40..], next, names)?,
        prev_prio: prio(number(raw, 28)),
        next_prio: prio(number(raw, 60)),
        prev_state: dictionary.states.of_raw(state).ok_or(Refused::State)?,
    })
}

/// The fields for wakee and waker.
#[inline(always)]
pub(crate) fn wake(raw: &[u8], dictionary: &mut Dictionary) -> Result<Wake, Refused> {
    let raw: &[u8; 36] = raw.first_chunk().ok_or(Refused::Short)?;
    let tid_of_woken = tid(number(raw, 24))?;
    Ok(Wake {
        tid: tid_of_woken,
        comm: comm(&raw[8..], tid_of_woken, &mut dictionary.names)?,
        waker: tid(number(raw, 4))?,
        target_cpu: Cpu::from_raw(i64::from(number(raw, 32) as i32)).ok_or(Refused::Number)?,
        prio: prio(number(raw, 28)),
        context: Context::from_common_flags(raw[2]),
    })
}

#[inline(always)]
fn number<const N: usize>(raw: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]])
}

#[inline(always)]
fn tid(raw: u32) -> Result<Tid, Refused> {
    if raw <= Tid::MAX.0 { Ok(Tid(raw)) } else { Err(Refused::Number) }
}

#[inline(always)]
fn prio(raw: u32) -> Prio {
    Prio::from_raw(i64::from(raw as i32))
}

#[inline(always)]
fn comm(raw: &[u8], tid: Tid, names: &mut Names) -> Result<Name, Refused> {
    Ok(names.comm(tid, raw.first_chunk().ok_or(Refused::Short)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_decoder::{RecordDecoder, TableDecoder};
    use schedlab_stats::Random;

    fn format(name: &str, fields: &Fields) -> Format {
        let mut text = format!("name: {name}\nID: 7\nformat:\n");
        for (name, offset, size, signed) in COMMON.iter().chain(fields) {
            let declared = if *size == 16 { format!("char {name}[16]") } else { format!("long {name}") };
            text += &format!("\tfield:{declared};\toffset:{offset};\tsize:{size};\tsigned:{};\n", u8::from(*signed));
        }
        Format::parse("sched", &text).expect("a format")
    }

    /// Records with plausible and with impossible numbers, complete and truncated, decode as they do with the table.
    #[test]
    fn constant_offsets_and_the_table_agree() {
        let mut random = Random::new(1);
        let mut draw = move || random.next_u64();
        let kinds = [Kind::SchedSwitch, Kind::SchedWaking, Kind::SchedWakeup, Kind::SchedWakeupNew];
        for kind in kinds {
            let fields = if kind == Kind::SchedSwitch { SWITCH } else { WAKE };
            let format = format(kind.name(), fields);
            let native = RecordDecoder::new(kind, &format, false).unwrap();
            assert!(matches!(native, RecordDecoder::NativeSwitch | RecordDecoder::NativeWake { .. }));
            let table = TableDecoder::new(kind, &format, false).unwrap();
            let (mut a, mut b) = (Dictionary::default(), Dictionary::default());
            let mut events = 0;
            for round in 0..2000 {
                let mut raw: Vec<u8> = (0..72).map(|_| draw() as u8).collect();
                for (_, offset, size, _) in COMMON.iter().chain(fields).filter(|(_, _, size, _)| *size >= 4) {
                    let at = *offset as usize;
                    if *size == 16 {
                        raw[at..at + 16].copy_from_slice(format!("task-{:011}", draw() % 9).as_bytes());
                    } else if round % 4 > 0 {
                        raw[at..at + 4].copy_from_slice(&((draw() % 141) as u32).to_le_bytes());
                    }
                }
                let whole = a_whole_record(&raw, round, draw());
                let (by_constant, by_table) = (native.decode(whole, &mut a), table.decode(whole, &mut b));
                assert_eq!(by_constant.is_ok(), by_table.is_ok(), "{whole:?}");
                if by_constant.is_ok() {
                    assert_eq!(by_constant, by_table, "{whole:?}");
                    events += 1;
                }
            }
            assert!(events > 1000, "{events} of {kind:?}");
        }
    }

    /// One in eight is truncated somewhere.
    fn a_whole_record(raw: &[u8], round: usize, drawn: u64) -> &[u8] {
        if round % 8 == 7 { &raw[..drawn as usize % raw.len()] } else { raw }
    }

    #[test]
    fn other_layouts_are_left_to_the_table() {
        let switch = format("sched_switch", SWITCH);
        assert!(is_native(Kind::SchedSwitch, &switch, false) && !is_native(Kind::SchedSwitch, &switch, true));
        for name in ["prev_pid", "next_comm", "common_pid"] {
            let mut moved = switch.clone();
            moved.fields.iter_mut().filter(|f| f.name == name).for_each(|f| f.offset += 4);
            assert!(!is_native(Kind::SchedSwitch, &moved, false), "{name}");
        }
        let old = [WAKE, &[("success", 36, 4, true)]].concat();
        assert!(!is_native(Kind::SchedWakeup, &format("sched_wakeup", &old), false));
        assert!(!is_native(Kind::CpuIdle, &switch, false));
    }
}
