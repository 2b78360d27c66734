//! The part of QEMU's plugin interface and of libc that is used here, both resolved when QEMU loads the plugin.

use core::ffi::{c_char, c_int, c_uint, c_void};

/// Names a plugin.
pub(crate) type Id = u64;
/// A block of instructions being translated; opaque.
#[repr(C)]
pub(crate) struct Block([u8; 0]);
/// One of its instructions; opaque.
#[repr(C)]
pub(crate) struct Instruction([u8; 0]);

/// Called when a block is translated.
pub(crate) type OnTranslation = extern "C" fn(Id, *mut Block);
/// Called when an instruction is about to be executed.
pub(crate) type OnExecution = extern "C" fn(c_uint, *mut c_void);
/// Called when QEMU ends.
pub(crate) type OnEnd = extern "C" fn(Id, *mut c_void);

/// `QEMU_PLUGIN_CB_NO_REGS`.
pub(crate) const NO_REGS: c_int = 0;
/// `QEMU_PLUGIN_CB_R_REGS`.
pub(crate) const READS_REGS: c_int = 1;

/// A register's handle; opaque.
#[repr(C)]
pub(crate) struct Register([u8; 0]);
/// The beginning of `qemu_plugin_reg_descriptor`.
#[repr(C)]
pub(crate) struct Described {
    pub(crate) handle: *mut Register,
    pub(crate) name: *const c_char,
}
/// GLib's `GArray` and `GByteArray`.
#[repr(C)]
pub(crate) struct Array {
    pub(crate) data: *mut u8,
    pub(crate) length: c_uint,
}

unsafe extern "C" {
    pub(crate) fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: OnTranslation);
    pub(crate) fn qemu_plugin_register_atexit_cb(id: Id, callback: OnEnd, data: *mut c_void);
    pub(crate) fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: OnExecution,
        flags: c_int,
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub(crate) fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    pub(crate) fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    pub(crate) fn qemu_plugin_insn_data(instruction: *const Instruction, into: *mut c_void, most: usize) -> usize;
    pub(crate) fn qemu_plugin_get_registers() -> *mut Array;
    pub(crate) fn qemu_plugin_read_register(register: *mut Register, into: *mut Array) -> c_int;
}

// From GLib, which QEMU links.
unsafe extern "C" {
    pub(crate) fn g_byte_array_new() -> *mut Array;
    pub(crate) fn g_byte_array_set_size(array: *mut Array, length: c_uint) -> *mut Array;
    pub(crate) fn g_array_get_element_size(array: *mut Array) -> c_uint;
}

/// `O_WRONLY | O_CREAT | O_TRUNC`, on x86-64 and arm64.
pub(crate) const CREATE_AND_WRITE: c_int = 0o1101;
/// `PROT_READ | PROT_WRITE`.
pub(crate) const READ_WRITE: c_int = 3;
/// `MAP_PRIVATE | MAP_ANONYMOUS`.
pub(crate) const PRIVATE_ANONYMOUS: c_int = 0x22;

unsafe extern "C" {
    pub(crate) fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub(crate) fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub(crate) fn write(file: c_int, bytes: *const c_void, length: usize) -> isize;
    pub(crate) fn close(file: c_int) -> c_int;
    #[cfg_attr(not(plugin), allow(dead_code))]
    pub(crate) fn abort() -> !;
}
