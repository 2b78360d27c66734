//! Counts the instructions that a guest executes in the measured part of its workload: for each address of its kernel,
//! and those of user space together. It is a plugin for QEMU's translator, so every instruction is seen, even with
//! interrupts off, and none is disturbed. Source: QEMU's include/qemu/qemu-plugin.h, API version 3 (QEMU 9.1 and
//! newer).
//!
//! It is started by `-plugin file=…,out=FILE`. When the guest ends, it writes a line `address count` (hexadecimal,
//! decimal) for each address that was executed; address 0 stands for all programs. If the addresses of `legs::EVENTS`
//! are also given, a line has a count for each leg, and a line `calls` before them has the number of calls of each leg.
//! One thread translates and runs (`thread=single`), so nothing here is shared. It uses neither std nor an allocator:
//! tables are anonymous memory, of which only touched pages take space.
//!
//! Counts are added by a call, not by the interface's inline additions, which fail in QEMU 10.0 if one thread runs
//! several CPUs. Their code multiplies the index of the CPU that translated the block, to find that CPU's counter. It
//! multiplies in place, and the index of CPU 1 is the same constant 1 that the rest of the block uses. The guest then
//! goes wrong (`Bad icount read` at its first port). The `vcpu_index` in callbacks is also that of the CPU that
//! translated the block, so counts are not per CPU.
#![no_std]
#![cfg_attr(not(plugin), allow(dead_code))]

mod legs;
mod qemu;
mod state;
mod writer;

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use legs::{EVENTS, LEGS};
use state::{KERNEL, add, state};
use writer::Writer;

/// No-ops of eight bytes (`nop dword ptr [rax + rax + MARK]`) that `crates/sys/src/mark.rs` executes where the measured
/// part begins, where it ends, and where one task has done its last operation.
const BEGIN: [u8; 8] = [0x0f, 0x1f, 0x84, 0x00, 0x01, 0xb0, 0x1a, 0x5c];
const END: [u8; 8] = [0x0f, 0x1f, 0x84, 0x00, 0x02, 0xb0, 0x1a, 0x5c];
const DONE: [u8; 8] = [0x0f, 0x1f, 0x84, 0x00, 0x03, 0xb0, 0x1a, 0x5c];

/// What each execution adds: 1 in a measured part, else 0.
static MEASURING: AtomicU64 = AtomicU64::new(0);

extern "C" fn begin(_cpu: c_uint, _data: *mut c_void) {
    state().since_last_mark(0);
    MEASURING.store(1, Relaxed);
}

extern "C" fn done(_cpu: c_uint, _data: *mut c_void) {
    state().since_last_mark(MEASURING.load(Relaxed));
}

extern "C" fn end(cpu: c_uint, data: *mut c_void) {
    done(cpu, data);
    MEASURING.store(0, Relaxed);
}

/// An instruction is about to be executed; `data` points to the count for its address.
extern "C" fn executed(_cpu: c_uint, data: *mut c_void) {
    // SAFETY: a place of `State::counts`, handed over in `translated`; it is never unmapped.
    let count: &AtomicU64 = unsafe { &*data.cast() };
    count.store(count.load(Relaxed) + MEASURING.load(Relaxed), Relaxed);
}

/// The same if legs are counted separately, for kernel code; `data` is the slot.
extern "C" fn executed_in_a_leg(_cpu: c_uint, data: *mut c_void) {
    if MEASURING.load(Relaxed) == 0 {
        return;
    }
    let (state, slot) = (state(), data.addr());
    if !state.calls.keep(slot, |leg, slot| add(&state.counts, leg, slot)) {
        add(&state.counts, 0, slot);
    }
}

/// Called for code in user space, which belongs to no leg.
extern "C" fn executed_in_a_program(_cpu: c_uint, _data: *mut c_void) {
    let (state, is_measured) = (state(), MEASURING.load(Relaxed) == 1);
    state.calls.returned(is_measured, |leg, slot| add(&state.counts, leg, slot));
    if is_measured {
        add(&state.counts, 0, 0);
    }
}

/// `data` is the event's number.
extern "C" fn happened(_cpu: c_uint, data: *mut c_void) {
    let state = state();
    if let Some((_, event)) = EVENTS.get(data.addr()) {
        state.calls.happened(*event, |leg, slot| add(&state.counts, leg, slot));
    }
}

extern "C" fn translated(_id: qemu::Id, block: *mut qemu::Block) {
    let state = state();
    // SAFETY: QEMU's block, valid during this call.
    let length = unsafe { qemu::qemu_plugin_tb_n_insns(block) };
    for index in 0..length {
        // SAFETY: as above, and the index is below the number of its instructions.
        let instruction = unsafe { qemu::qemu_plugin_tb_get_insn(block, index) };
        // SAFETY: an instruction of this block.
        let address = unsafe { qemu::qemu_plugin_insn_vaddr(instruction) };
        let slot = state.slot(address);
        if !state.has_legs() {
            if let Some(count) = state.counts.first().and_then(|counts| counts.get(slot)) {
                call(instruction, executed, ptr::from_ref(count).cast_mut().cast());
            }
        } else if address < KERNEL {
            call(instruction, executed_in_a_program, ptr::null_mut());
        } else {
            // The event comes before the instruction is counted.
            if let Some(event) = state.events.iter().position(|place| *place == address) {
                call_with_registers(instruction, happened, ptr::without_provenance_mut(event));
            }
            call(instruction, executed_in_a_leg, ptr::without_provenance_mut(slot));
        }
        if address < KERNEL {
            watch_for_marks(instruction);
        }
    }
}

fn watch_for_marks(instruction: *mut qemu::Instruction) {
    let mut bytes = [0u8; 8];
    // SAFETY: an instruction of the block being translated; at most as many bytes are written as there are.
    let length = unsafe { qemu::qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), bytes.len()) };
    match bytes {
        BEGIN if length == 8 => call(instruction, begin, ptr::null_mut()),
        END if length == 8 => call(instruction, end, ptr::null_mut()),
        DONE if length == 8 => call(instruction, done, ptr::null_mut()),
        _ => {}
    }
}

/// Makes QEMU call `function` before each execution of an instruction that is being translated.
fn call(instruction: *mut qemu::Instruction, function: qemu::OnExecution, data: *mut c_void) {
    // SAFETY: an instruction of the block being translated; the function is ours, stays loaded, and its data lives as long.
    unsafe { qemu::qemu_plugin_register_vcpu_insn_exec_cb(instruction, function, qemu::NO_REGS, data) };
}

/// The same for a function that reads registers.
fn call_with_registers(instruction: *mut qemu::Instruction, function: qemu::OnExecution, data: *mut c_void) {
    // SAFETY: as in `call`.
    unsafe { qemu::qemu_plugin_register_vcpu_insn_exec_cb(instruction, function, qemu::READS_REGS, data) };
}

/// Writes the `address count` lines; `full` if the slots ran out.
extern "C" fn ended(_id: qemu::Id, _data: *mut c_void) {
    let state = state();
    // SAFETY: it ends with a zero byte, as the longest path does not fill it.
    let path = unsafe { CStr::from_ptr(state.out.as_ptr().cast()) };
    let Some(mut writer) = Writer::create(path) else { return };
    if state.is_full {
        writer.push(b"full\n");
    }
    if state.calls.is_lost {
        writer.push(b"lost\n");
    }
    let legs = if state.has_legs() { LEGS } else { 1 };
    if legs > 1 {
        writer.push(b"calls");
        writer.numbers(state.calls.totals.iter().copied());
    }
    for (slot, address) in state.addresses.iter().enumerate() {
        let totals = || state.totals.iter().take(legs).map(|totals| totals.get(slot).copied().unwrap_or_default());
        if totals().any(|total| total > 0) {
            writer.number::<16>(*address);
            writer.numbers(totals());
        }
    }
    writer.push(b"end\n");
    writer.close();
}

/// The version of the interface that this is written for.
#[cfg_attr(plugin, unsafe(no_mangle))]
#[allow(non_upper_case_globals, reason = "QEMU looks for it by this name")]
pub static qemu_plugin_version: c_int = 3;

/// QEMU calls this once before the guest starts; any return value other than 0 ends QEMU.
///
/// # Safety `arguments` are `count` C strings.
#[cfg_attr(plugin, unsafe(no_mangle))]
pub unsafe extern "C" fn qemu_plugin_install(
    id: qemu::Id,
    _info: *const c_void,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    let state = state();
    // SAFETY: QEMU's arguments, `count` of them.
    let arguments = unsafe { core::slice::from_raw_parts(arguments, count.max(0) as usize) };
    for argument in arguments {
        // SAFETY: QEMU's arguments are C strings.
        let argument = unsafe { CStr::from_ptr(*argument) };
        if state.take(argument.to_bytes()).is_none() {
            return 1;
        }
    }
    if !state.is_told_enough() || state.make_tables().is_none() {
        return 1;
    }
    // SAFETY: `id` is ours, the callback a function of this library, which stays loaded.
    unsafe { qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, translated) };
    // SAFETY: as above.
    unsafe { qemu::qemu_plugin_register_atexit_cb(id, ended, ptr::null_mut()) };
    0
}

/// Nothing here panics on purpose; if it did, QEMU would end with its guest.
#[cfg(plugin)]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the process.
    unsafe { qemu::abort() }
}
