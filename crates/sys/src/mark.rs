//! Marks around the measured part of a trial: instructions that do nothing on any machine and that QEMU's translator
//! can recognise in a guest. `crates/plugin` counts the instructions that are executed between them.

/// No-ops of eight bytes, distinguished by their displacement; other machines than x86-64 have none.
macro_rules! mark {
    ($displacement:literal) => {
        // SAFETY: a no-op: it reads no memory, whatever its operand names, and changes no register or flag.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            core::arch::asm!(
                concat!("nop dword ptr [rax + rax + ", $displacement, "]"),
                options(nomem, nostack, preserves_flags)
            );
        }
    };
}

/// The measured part begins: the tasks are about to be released.
#[inline(never)]
pub fn begin() {
    mark!("0x5c1ab001");
}

/// The measured part ends here, whatever comes after.
#[inline(never)]
pub fn end() {
    mark!("0x5c1ab002");
}

/// A task has done its last operation: the measured part ends here unless another task ends later.
#[inline(never)]
pub fn done() {
    mark!("0x5c1ab003");
}
