//! Whether this process has certain permissions, found out by the smallest harmless attempt: a policy on a child that
//! ends at once, a one-element BPF map that is closed at once. Source: sched_setscheduler(2), bpf(2).

use crate::process::{self, ExitStatus};
use crate::sched_attr;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

/// Whether a task of ours may use a policy (`priority` as in [`sched_attr::set_policy`]). A child tries it and ends,
/// because some policies (idle) cannot be left again. `EPERM` without CAP_SYS_NICE and RLIMIT_RTPRIO, or in a cgroup v1
/// group whose `cpu.rt_runtime_us` is 0.
pub fn try_policy(policy: u32, priority: u32) -> io::Result<()> {
    // A single raw system call, so it works in a child without the parent's other threads.
    let child = process::fork_child(|| match sched_attr::set_policy(0, policy, priority) {
        Ok(()) => 0,
        Err(error) => error.raw_os_error().unwrap_or(255),
    })?;
    match process::wait_for(child)?.status {
        ExitStatus::Exited(0) => Ok(()),
        ExitStatus::Exited(errno) => Err(io::Error::from_raw_os_error(errno)),
        ExitStatus::Signaled(signal) => {
            Err(io::Error::other(format!("the trying child was killed by signal {signal}")))
        }
    }
}

/// Whether a task of ours may run under SCHED_FIFO at all; tried at priority 1.
pub fn try_fifo() -> io::Result<()> {
    try_policy(sched_attr::SCHED_FIFO, 1)
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

/// Whether we may create BPF objects: makes a one-element hash map and closes it. `EPERM` without CAP_BPF while
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
