//! What this process may do, found out by doing it in the smallest harmless way: a real-time policy on a thread that
//! ends at once, a one-cell BPF map that is closed at once. Source: sched_setscheduler(2), bpf(2).

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

/// Whether a thread of ours may run under SCHED_FIFO: a new thread takes priority 1 and ends. `EPERM` without
/// CAP_SYS_NICE and RLIMIT_RTPRIO, or in a cgroup v1 group whose `cpu.rt_runtime_us` is 0.
pub fn try_fifo() -> io::Result<()> {
    let probe = std::thread::Builder::new().name("fifo-probe".into()).spawn(|| {
        // The kernel's struct sched_param is this one int; the C libraries disagree on what theirs holds besides.
        let priority: libc::c_int = 1;
        // SAFETY: 0 names the calling thread; `priority` is live for the call, which only reads it. The raw system call
        // is used because musl's wrapper answers ENOSYS on purpose.
        let rc = unsafe {
            libc::syscall(libc::SYS_sched_setscheduler, 0 as libc::pid_t, libc::SCHED_FIFO, &raw const priority)
        };
        if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    })?;
    probe.join().unwrap_or_else(|_| Err(io::Error::other("the probing thread died")))
}

/// The head of `union bpf_attr` for BPF_MAP_CREATE, include/uapi/linux/bpf.h.
#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
}

const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_TYPE_HASH: u32 = 1;

/// Whether we may create BPF objects: makes a hash map of one cell and closes it. `EPERM` without CAP_BPF while
/// `kernel.unprivileged_bpf_disabled` is set, `ENOSYS` on a kernel without bpf(2).
pub fn try_bpf() -> io::Result<()> {
    let attr = MapCreate { map_type: BPF_MAP_TYPE_HASH, key_size: 4, value_size: 4, max_entries: 1, map_flags: 0 };
    // SAFETY: the kernel reads the stated number of bytes of the live struct and takes missing fields as zero.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, BPF_MAP_CREATE, &raw const attr, size_of::<MapCreate>()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, ours, and owned nowhere else.
    drop(unsafe { File::from_raw_fd(fd as libc::c_int) });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_an_error_of_permission_and_nothing_else() {
        for outcome in [try_fifo(), try_bpf()] {
            if let Err(error) = outcome {
                assert!(matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS)), "{error}");
            }
        }
    }
}
