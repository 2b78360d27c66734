//! System calls on pipes, classified by their outcome. Which leg an instruction of a system call belongs to is known
//! only once the outcome is, so the instructions that a task executes in a call are kept until the task returns to user
//! space.
//!
//! For one virtual CPU: a callback cannot know which CPU executes it, and with a single one, the running task changes
//! in `__switch_to` only. A task is identified by its kernel stack.

use crate::qemu;
use core::ffi::CStr;
use core::ptr;

/// Outside any leg, a write that finds nobody waiting, a write that wakes a reader, a read that finds data, a read that
/// waits for data. The host relies on this order.
pub(crate) const LEGS: usize = 5;
const OUTSIDE: usize = 0;
const WRITE: usize = 1;
const WRITE_THAT_WAKES: usize = 2;
const READ: usize = 3;
const READ_THAT_WAITS: usize = 4;

/// What happens at the first instruction of a function of the kernel. Arguments of the plugin name the addresses.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    /// A program enters the kernel for a system call.
    Enters,
    /// Another task has the stack (in `__switch_to`).
    Switched,
    /// The call is a write to a pipe.
    Writes,
    /// Or a read from one.
    Reads,
    /// Somebody who waits at a queue is woken.
    Wakes,
    /// The task is about to wait at a queue.
    Waits,
    /// The task will not return to its program.
    Exits,
}

/// Names of the arguments that pass the events' addresses, by the event's number.
pub(crate) const EVENTS: [(&[u8], Event); 7] = [
    (b"enters=", Event::Enters),
    (b"switched=", Event::Switched),
    (b"writes=", Event::Writes),
    (b"reads=", Event::Reads),
    (b"wakes=", Event::Wakes),
    (b"waits=", Event::Waits),
    (b"exits=", Event::Exits),
];

/// Kernel stacks are aligned to their size (THREAD_SIZE of x86-64).
const STACK: u64 = !((16 << 10) - 1);
/// Tasks that can be in a system call at the same time.
const TASKS: usize = 64;
/// Instructions of one system call that can be kept; a longer call counts as outside.
const LONGEST_CALL: usize = 1 << 19;
/// Entries for all tasks; unused ones take no memory.
pub(crate) const KEPT: usize = TASKS * LONGEST_CALL;

/// A system call in progress.
struct Call {
    /// The stack of the call's task, 0 if this place is free.
    stack: u64,
    leg: usize,
    /// Instructions kept so far.
    length: usize,
}

/// All calls in progress.
pub(crate) struct Calls {
    calls: [Call; TASKS],
    /// LONGEST_CALL slots for each task; empty if legs were not asked for.
    pub(crate) kept: &'static mut [u32],
    /// The stack of the running task, its call's place.
    stack: u64,
    current: Option<usize>,
    stack_pointer: StackPointer,
    /// By leg: calls in the measured part, with the same split as `State::counts` and `State::totals`.
    pub(crate) counts: [u64; LEGS],
    pub(crate) totals: [u64; LEGS],
    /// Set if there were more calls at a time than places, or the stack pointer could not be read.
    pub(crate) is_lost: bool,
}

impl Calls {
    pub(crate) const fn new() -> Self {
        Self {
            calls: [const { Call { stack: 0, leg: OUTSIDE, length: 0 } }; TASKS],
            kept: &mut [],
            stack: 0,
            current: None,
            stack_pointer: StackPointer::new(),
            counts: [0; LEGS],
            totals: [0; LEGS],
            is_lost: false,
        }
    }

    /// Keeps an instruction of the call in progress, and returns whether it did. If not, the instruction is outside,
    /// and the caller has to count it.
    pub(crate) fn keep(&mut self, slot: usize, count: impl FnMut(usize, usize)) -> bool {
        let Some(place) = self.current else { return false };
        let Some(call) = self.calls.get_mut(place) else { return false };
        match self.kept.get_mut(place * LONGEST_CALL + call.length) {
            Some(next) if call.length < LONGEST_CALL => {
                *next = slot as u32;
                call.length += 1;
                true
            }
            _ => {
                self.give_up(place, count);
                false
            }
        }
    }

    /// The task is back in user space, so the call's leg is known. `is_measured`: whether the call is part of the
    /// measured part.
    pub(crate) fn returned(&mut self, is_measured: bool, count: impl FnMut(usize, usize)) {
        let Some(place) = self.current else { return };
        let leg = self.calls.get(place).map_or(OUTSIDE, |call| call.leg);
        if let Some(calls) = self.counts.get_mut(leg) {
            *calls += u64::from(is_measured);
        }
        self.end(place, leg, count);
    }

    /// At a mark: what was executed before it must not be combined with what comes after, so calls in progress count as
    /// outside.
    pub(crate) fn give_up_all(&mut self, mut count: impl FnMut(usize, usize)) {
        for place in 0..TASKS {
            self.give_up(place, &mut count);
        }
    }

    /// A call that belongs to no leg: all of it, before and after, is outside.
    fn give_up(&mut self, place: usize, count: impl FnMut(usize, usize)) {
        self.end(place, OUTSIDE, count);
    }

    /// Hands the call's instructions over, each with leg and slot, and frees its place.
    fn end(&mut self, place: usize, leg: usize, mut count: impl FnMut(usize, usize)) {
        if let Some(call) = self.calls.get_mut(place) {
            for slot in self.kept.iter().skip(place * LONGEST_CALL).take(call.length) {
                count(leg, *slot as usize);
            }
            *call = Call { stack: 0, leg: OUTSIDE, length: 0 };
        }
        if self.current == Some(place) {
            self.current = None;
        }
    }

    pub(crate) fn happened(&mut self, event: Event, count: impl FnMut(usize, usize)) {
        match event {
            Event::Enters => self.enters(count),
            Event::Switched => {
                self.stack = self.stack_now();
                let of_it = |call: &Call| call.stack == self.stack && self.stack != 0;
                self.current = self.calls.iter().position(of_it);
            }
            Event::Writes => self.becomes(OUTSIDE, WRITE),
            Event::Reads => self.becomes(OUTSIDE, READ),
            // An interrupt runs on a stack of its own.
            Event::Wakes if self.stack_now() == self.stack => self.becomes(WRITE, WRITE_THAT_WAKES),
            Event::Wakes => {}
            Event::Waits => self.becomes(READ, READ_THAT_WAITS),
            Event::Exits => {
                if let Some(place) = self.current {
                    self.give_up(place, count);
                }
            }
        }
    }

    fn enters(&mut self, count: impl FnMut(usize, usize)) {
        // An earlier call that never returned to user space.
        if let Some(place) = self.current {
            self.give_up(place, count);
        }
        // Before the first context switch no task is known.
        if self.stack == 0 {
            return;
        }
        self.current = self.calls.iter().position(|call| call.stack == 0);
        match self.current.and_then(|place| self.calls.get_mut(place)) {
            Some(call) => call.stack = self.stack,
            None => self.is_lost = true,
        }
    }

    fn becomes(&mut self, from: usize, to: usize) {
        if let Some(call) = self.current.and_then(|place| self.calls.get_mut(place))
            && call.leg == from
        {
            call.leg = to;
        }
    }

    fn stack_now(&mut self) -> u64 {
        let pointer = self.stack_pointer.read();
        self.is_lost |= pointer.is_none();
        pointer.unwrap_or_default() & STACK
    }
}

/// Where `rsp` is read.
struct StackPointer {
    register: *mut qemu::Register,
    bytes: *mut qemu::Array,
}

impl StackPointer {
    const fn new() -> Self {
        Self { register: ptr::null_mut(), bytes: ptr::null_mut() }
    }

    /// Reads the register of the CPU that executes; `None` if QEMU does not provide it.
    fn read(&mut self) -> Option<u64> {
        if self.register.is_null() {
            self.register = register(c"rsp")?;
            // SAFETY: makes an array that is ours; it is never freed.
            self.bytes = unsafe { qemu::g_byte_array_new() };
        }
        // SAFETY: our array, made above.
        unsafe { qemu::g_byte_array_set_size(self.bytes, 0) };
        // SAFETY: a handle of QEMU's and our array, in a callback that was registered to read registers.
        let length = unsafe { qemu::qemu_plugin_read_register(self.register, self.bytes) };
        if length != 8 {
            return None;
        }
        // SAFETY: our array; nobody else has it.
        let array = unsafe { &*self.bytes };
        // SAFETY: it holds the 8 bytes that were just added; they need no alignment.
        let bytes: [u8; 8] = unsafe { ptr::read_unaligned(array.data.cast()) };
        Some(u64::from_le_bytes(bytes))
    }
}

/// The handle of a register, by the name that gdb uses.
fn register(name: &CStr) -> Option<*mut qemu::Register> {
    // SAFETY: called in a callback of a CPU, whose registers it lists; the list is ours and is never freed.
    let list = unsafe { qemu::qemu_plugin_get_registers() };
    if list.is_null() {
        return None;
    }
    // SAFETY: a list of QEMU's, not null.
    let array = unsafe { ptr::read(list) };
    // SAFETY: as above. Descriptors grow from version to version, at their end.
    let size = unsafe { qemu::g_array_get_element_size(list) } as usize;
    (0..array.length as usize).find_map(|at| {
        let place = array.data.wrapping_add(at * size).cast();
        // SAFETY: one of its `length` elements, which begin with a descriptor (qemu-plugin.h) and are aligned as one.
        let described: qemu::Described = unsafe { ptr::read(place) };
        // SAFETY: QEMU's names are C strings that live as long as it does.
        let is_it = !described.name.is_null() && unsafe { CStr::from_ptr(described.name) } == name;
        is_it.then_some(described.handle)
    })
}
