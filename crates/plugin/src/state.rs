//! State kept between callbacks: counts by leg and address, and the plugin's arguments.

use crate::legs::{self, Calls, EVENTS, LEGS};
use crate::qemu;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Addresses that can be distinguished; a power of two. A kernel executes some hundred thousand different ones.
const SLOTS: usize = 1 << 20;
/// Kernel addresses are the upper half.
pub(crate) const KERNEL: u64 = 1 << 63;
const LONGEST_PATH: usize = 4096;

/// One thread's state.
pub(crate) struct State {
    /// By slot: its address, 0 while free. Slot 0 stands for all of user space.
    pub(crate) addresses: &'static mut [u64],
    /// By leg and slot: executions since the last mark. Callbacks hold pointers into these.
    pub(crate) counts: [&'static [AtomicU64]; LEGS],
    /// By leg and slot: executions in measured parts, up to the last mark.
    pub(crate) totals: [&'static mut [u64]; LEGS],
    /// Addresses at which legs begin and end, by number of the event; all 0 if legs are not told apart.
    pub(crate) events: [u64; EVENTS.len()],
    pub(crate) calls: Calls,
    pub(crate) is_full: bool,
    pub(crate) out: [u8; LONGEST_PATH],
}

static mut STATE: State = State {
    addresses: &mut [],
    counts: [&[]; LEGS],
    totals: [&mut [], &mut [], &mut [], &mut [], &mut []],
    events: [0; EVENTS.len()],
    calls: Calls::new(),
    is_full: false,
    out: [0; LONGEST_PATH],
};

pub(crate) fn state() -> &'static mut State {
    let state = &raw mut STATE;
    // SAFETY: QEMU calls the plugin from one thread at a time: install before the guest starts, translation, execution and
    // the marks from the only thread that runs CPUs, the last call after it has ended. None of them calls another that asks
    // for the state while it holds it, and `executed` uses only MEASURING and its count: there is one reference at a time.
    unsafe { &mut *state }
}

impl State {
    /// The slot of an address; 0 if all slots are taken, which `is_full` then shows.
    pub(crate) fn slot(&mut self, address: u64) -> usize {
        if address < KERNEL {
            return 0;
        }
        // The upper 20 bits: as many as there are slots.
        let first = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) as usize;
        for slot in (first..SLOTS).chain(1..first).filter(|slot| *slot != 0) {
            match self.addresses.get_mut(slot) {
                Some(place) if *place == address => return slot,
                Some(place) if *place == 0 => {
                    *place = address;
                    return slot;
                }
                _ => {}
            }
        }
        self.is_full = true;
        0
    }

    /// An argument of the plugin.
    pub(crate) fn take(&mut self, argument: &[u8]) -> Option<()> {
        if let Some(path) = argument.strip_prefix(b"out=").filter(|path| path.len() < LONGEST_PATH) {
            for (place, byte) in self.out.iter_mut().zip(path) {
                *place = *byte;
            }
            return Some(());
        }
        for ((name, _), address) in EVENTS.iter().zip(&mut self.events) {
            if let Some(digits) = argument.strip_prefix(*name) {
                *address = hexadecimal(digits).filter(|address| *address >= KERNEL)?;
                return Some(());
            }
        }
        None
    }

    /// Whether the arguments are complete: a file, and either all events or none.
    pub(crate) fn is_told_enough(&self) -> bool {
        let events = self.events.iter().filter(|address| **address != 0).count();
        self.out.first() != Some(&0) && (events == 0 || events == EVENTS.len())
    }

    /// `None` without memory.
    pub(crate) fn make_tables(&mut self) -> Option<()> {
        self.addresses = zeros(SLOTS)?;
        let legs = if self.has_legs() { LEGS } else { 1 };
        for (counts, totals) in self.counts.iter_mut().zip(&mut self.totals).take(legs) {
            (*counts, *totals) = (zeros(SLOTS)?, zeros(SLOTS)?);
        }
        if self.has_legs() {
            self.calls.kept = zeros(legs::KEPT)?;
        }
        Some(())
    }

    pub(crate) fn has_legs(&self) -> bool {
        self.events.iter().any(|address| *address != 0)
    }

    /// Starts counting anew. What was counted since the last mark was measured (`times` 1) or not (0).
    pub(crate) fn since_last_mark(&mut self, times: u64) {
        self.calls.give_up_all(|leg, slot| add(&self.counts, leg, slot));
        for (total, count) in self.calls.totals.iter_mut().zip(&mut self.calls.counts) {
            *total += times * *count;
            *count = 0;
        }
        for (totals, counts) in self.totals.iter_mut().zip(self.counts) {
            let counts = counts.iter().zip(totals.iter_mut());
            for (slot, (address, (count, total))) in self.addresses.iter().zip(counts).enumerate() {
                // Free slots are not touched, so that they take no memory.
                if slot == 0 || *address != 0 {
                    *total += times * count.load(Relaxed);
                    count.store(0, Relaxed);
                }
            }
        }
    }
}

/// Only one thread counts, so a load and a store are enough.
pub(crate) fn add(counts: &[&[AtomicU64]; LEGS], leg: usize, slot: usize) {
    if let Some(count) = counts.get(leg).and_then(|counts| counts.get(slot)) {
        count.store(count.load(Relaxed) + 1, Relaxed);
    }
}

/// Parses at most sixteen digits. Written by hand, because the core library's function needs unwinding, which a plugin
/// cannot link.
fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let value = |number: u64, digit: &u8| Some(number << 4 | u64::from((*digit as char).to_digit(16)?));
    if digits.len() > 16 { None } else { digits.iter().try_fold(0, value) }
}

/// Zeroed memory; only the pages that are touched take space.
fn zeros<T: Number>(length: usize) -> Option<&'static mut [T]> {
    let bytes = length * size_of::<T>();
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
    let start = unsafe { qemu::mmap(ptr::null_mut(), bytes, qemu::READ_WRITE, qemu::PRIVATE_ANONYMOUS, -1, 0) };
    if start.addr() == usize::MAX {
        return None;
    }
    // SAFETY: mapped above, zeroed, aligned to a page, never unmapped, and named nowhere else; zeros are a `Number`.
    Some(unsafe { core::slice::from_raw_parts_mut(start.cast(), length) })
}

/// # Safety
/// All zeros are a valid value.
unsafe trait Number {}
// SAFETY: it is 0.
unsafe impl Number for u32 {}
// SAFETY: as above.
unsafe impl Number for u64 {}
// SAFETY: as above.
unsafe impl Number for AtomicU64 {}
