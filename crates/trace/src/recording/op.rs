//! The op of an event in a block, one byte: five bits for what happened, three for what is stored with it. FORMAT.md
//! describes what follows in which column; the numbers that are not defined here are those of the [rows](crate::rows).

use crate::kind::{Kind, Kinds};
use crate::rows::{ROWS, Row};

pub(super) const SWITCH: u8 = Kind::SchedSwitch.op();
pub(super) const WAKING: u8 = Kind::SchedWaking.op();
pub(super) const WAKEUP: u8 = Kind::SchedWakeup.op();
pub(super) const WAKEUP_NEW: u8 = Kind::SchedWakeupNew.op();
pub(super) const SYS_ENTER: u8 = Kind::SysEnter.op();
pub(super) const SYS_EXIT: u8 = Kind::SysExit.op();
/// Events were lost here; their number follows.
pub(super) const LOST: u8 = 21;
/// Not an event: time goes back by this much before the next one.
pub(super) const BACK: u8 = 22;
/// A switch to the thread that the preceding wakeups predict.
pub(super) const SWITCH_TO_WOKEN: u8 = 23;

/// How many numbers there can be.
pub(super) const OP_COUNT: usize = 1 << OP_BITS.count_ones();

/// The row of each number; if two rows share a number, the one that recordings contain.
pub(super) static BY_OP: [Option<&Row>; OP_COUNT] = {
    let (mut rows, mut at) = ([None; OP_COUNT], ROWS.len());
    while at > 0 {
        at -= 1;
        rows[ROWS[at].op as usize] = Some(&ROWS[at]);
    }
    rows[SWITCH_TO_WOKEN as usize] = rows[SWITCH as usize];
    rows
};

/// The numbers, as bits, that events of these kinds may have.
pub(super) fn of_kinds(kinds: Kinds) -> u32 {
    let ops = kinds.iter().fold(0, |ops, kind| ops | 1 << kind.op());
    ops | (ops >> SWITCH & 1) << SWITCH_TO_WOKEN
}

/// The bits of an op for what happened.
pub(super) const OP_BITS: u8 = 0x1f;
/// Names the leaving thread (switch), the waker (wake), or the caller (system call).
pub(super) const NAMED: u8 = 0x20;
/// For a wake: the target CPU is stored.
pub(super) const TARGET: u8 = 0x40;
/// For a wake: the waker's context is stored.
pub(super) const CONTEXT: u8 = 0x80;
/// For a switch: the bits above this are the state, as a number in the block's list; 3 means that it is stored.
pub(super) const STATE_SHIFT: u32 = 6;
/// States that fit the byte.
pub(super) const STATE_STORED: u64 = 3;
