//! CPU affinity of a thread: sched_setaffinity(2) with a mask as wide as the machine needs.

use std::io;

/// Mask words: 65536 CPUs, far above CONFIG_NR_CPUS of any kernel.
const MASK_WORDS: usize = 1024;

/// The CPUs thread `tid` (0: the caller) may run on, ascending.
pub fn allowed_cpus(tid: u32) -> io::Result<Vec<u32>> {
    let mut mask = vec![0u64; MASK_WORDS];
    // SAFETY: the kernel writes at most the stated number of bytes into the live vector. The raw system call is used
    // because it returns how many bytes it wrote.
    let bytes =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid as libc::pid_t, MASK_WORDS * 8, mask.as_mut_ptr()) };
    if bytes < 0 {
        return Err(io::Error::last_os_error());
    }
    let cpus = (0..bytes as u32 * 8).filter(|&cpu| mask[cpu as usize / 64] & (1 << (cpu % 64)) != 0);
    Ok(cpus.collect())
}

/// Restricts thread `tid` (0: the caller) to these CPUs; `EINVAL` when none of them is online and allowed.
pub fn set_affinity(tid: u32, cpus: &[u32]) -> io::Result<()> {
    let mut mask = [0u64; MASK_WORDS];
    for &cpu in cpus {
        let word = mask.get_mut(cpu as usize / 64).ok_or(io::ErrorKind::InvalidInput)?;
        *word |= 1 << (cpu % 64);
    }
    // SAFETY: the kernel only reads the stated number of bytes of the live array.
    let rc =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid as libc::pid_t, size_of_val(&mask), mask.as_ptr()) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_reads_back_as_it_was_set() {
        let before = allowed_cpus(0).unwrap();
        set_affinity(0, &before[..1]).unwrap();
        assert_eq!(allowed_cpus(0).unwrap(), &before[..1]);
        set_affinity(0, &before).unwrap();
        assert!(set_affinity(0, &[65535]).is_err());
        assert!(set_affinity(0, &[1 << 20]).is_err());
    }
}
