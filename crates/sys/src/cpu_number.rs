//! The CPU the caller runs on, as a plain load: glibc 2.35 and later register an rseq area for every thread, in which
//! the kernel keeps `cpu_id` up to date. Elsewhere (musl, rseq switched off) getcpu(2) is called. Source: linux/rseq.h,
//! glibc manual "Restartable Sequences".

/// Offset of `cpu_id` in `struct rseq` (`cpu_id_start` comes first).
#[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
const CPU_ID_OFFSET: isize = 4;

#[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe extern "C" {
    static __rseq_offset: isize;
    static __rseq_size: u32;
}

#[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn thread_pointer() -> *const u8 {
    let pointer: *const u8;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the x86-64 ELF TLS ABI stores the thread pointer itself at %fs:0 in every thread; a load has no effect.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, pure, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reading tpidr_el0, the thread pointer of the AArch64 ABI, is allowed at EL0 and has no effect.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, preserves_flags, pure, readonly));
    }
    pointer
}

#[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn rseq_cpu_id() -> Option<u32> {
    // SAFETY: glibc writes both constants once, before main; they are read-only afterwards.
    let size = unsafe { __rseq_size };
    if size == 0 {
        return None;
    }
    // SAFETY: as above.
    let offset = unsafe { __rseq_offset };
    let cpu_id = thread_pointer().wrapping_offset(offset + CPU_ID_OFFSET).cast::<i32>();
    // SAFETY: a size above 0 says that glibc has reserved an rseq area at this offset from every thread's pointer; it
    // is aligned to 32 bytes. The kernel writes it only on our own return to user space, so a volatile load is whole.
    let cpu = unsafe { cpu_id.read_volatile() };
    // Negative: not registered in this thread.
    u32::try_from(cpu).ok()
}

/// Whether [`current_cpu`] is a plain load here.
pub fn is_plain_load() -> bool {
    #[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return rseq_cpu_id().is_some();
    #[cfg(not(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    false
}

/// The CPU the caller runs on at this instant.
#[inline(always)]
pub fn current_cpu() -> u32 {
    #[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
    if let Some(cpu) = rseq_cpu_id() {
        return cpu;
    }
    getcpu()
}

/// getcpu(2).
#[cold]
fn getcpu() -> u32 {
    // SAFETY: takes no pointer and changes nothing.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity;

    #[test]
    fn the_load_and_the_system_call_agree_on_every_allowed_cpu() {
        let before = affinity::allowed_cpus(0).unwrap();
        for &cpu in &before {
            affinity::set_affinity(0, &[cpu]).unwrap();
            assert_eq!(current_cpu(), cpu);
            assert_eq!(getcpu(), cpu);
        }
        affinity::set_affinity(0, &before).unwrap();
    }
}
