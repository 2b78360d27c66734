//! `CompactSched`: the columns in which Perfetto writes most of a trace, `sched_switch` without the previous thread and
//! `sched_waking` without the waker.

use super::schema::compact as column;
use super::wire::{Fields, Value, numbers};
use crate::event::{Context, Cpu, Prio, Tid, Wake, What};
use crate::names::Name;
use crate::prev_state::StateId;
use crate::record_decoder::Dictionary;

/// An event of a bundle, before the thread on the CPU is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item {
    Event(What),
    Switch { prev_state: StateId, next: Tid, next_comm: Name, next_prio: Prio },
    Waking(Wake),
}

/// The columns as events, with their times.
#[derive(Debug, Default)]
pub(super) struct Compact {
    pub(super) switches: Vec<(u64, Item)>,
    pub(super) wakings: Vec<(u64, Item)>,
}

impl Compact {
    /// `None` if the columns do not match: for each event, every column of its kind must have a number.
    pub(super) fn of(bytes: &[u8], dictionary: &mut Dictionary) -> Option<Self> {
        let mut columns: [Vec<u64>; column::FIELDS] = Default::default();
        let mut comms = Vec::new();
        let mut fields = Fields::of(bytes);
        for (field, value) in fields.by_ref() {
            match (field, value) {
                (column::INTERN_TABLE, Value::Bytes(comm)) => comms.push(dictionary.names.intern_bytes(comm)),
                (field, value) => numbers(value, columns.get_mut(field as usize)?),
            }
        }
        if fields.broken {
            return None;
        }
        let length = |field: usize| columns[field].len();
        let are_of_one_length = |fields: &[usize]| fields.iter().all(|field| length(*field) == length(fields[0]));
        // Older recorders do not write the flags.
        let flags_fit = [0, length(column::WAKING_TIMESTAMP)].contains(&length(column::WAKING_COMMON_FLAGS));
        if !are_of_one_length(&column::SWITCH) || !are_of_one_length(&column::WAKING) || !flags_fit {
            return None;
        }
        let comm = |index: u64| usize::try_from(index).ok().and_then(|at| comms.get(at)).copied();
        let of = |field: usize, at: usize| columns[field].get(at).copied();
        let mut compact = Self::default();
        let mut ts = 0u64;
        for (at, delta) in columns[column::SWITCH_TIMESTAMP].iter().enumerate() {
            ts = ts.wrapping_add(*delta);
            let item = Item::Switch {
                prev_state: dictionary.states.of_raw(of(column::SWITCH_PREV_STATE, at)?)?,
                next: Tid::from_raw(of(column::SWITCH_NEXT_PID, at)? as i64)?,
                next_comm: comm(of(column::SWITCH_NEXT_COMM, at)?)?,
                next_prio: Prio::from_raw(of(column::SWITCH_NEXT_PRIO, at)? as i64),
            };
            compact.switches.push((ts, item));
        }
        ts = 0;
        for (at, delta) in columns[column::WAKING_TIMESTAMP].iter().enumerate() {
            ts = ts.wrapping_add(*delta);
            let wake = Wake {
                tid: Tid::from_raw(of(column::WAKING_PID, at)? as i64)?,
                comm: comm(of(column::WAKING_COMM, at)?)?,
                waker: Tid::IDLE,
                target_cpu: Cpu::from_raw(i64::from(of(column::WAKING_TARGET_CPU, at)? as i32))?,
                prio: Prio::from_raw(of(column::WAKING_PRIO, at)? as i64),
                context: Context::from_common_flags(of(column::WAKING_COMMON_FLAGS, at).unwrap_or(0) as u8),
            };
            compact.wakings.push((ts, Item::Waking(wake)));
        }
        Some(compact)
    }
}
