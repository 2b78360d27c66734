//! Marks around the measured part of a trial: instructions that do nothing anywhere, and that a guest's translator can
//! see. `crates/plugin` counts what is executed between them.

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

/// It ends here, whatever follows.
#[inline(never)]
pub fn end() {
    mark!("0x5c1ab002");
}

/// A task has done its last operation: the measured part ends here, if no other task comes after.
#[inline(never)]
pub fn done() {
    mark!("0x5c1ab003");
}
