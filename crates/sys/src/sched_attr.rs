//! Scheduling attributes of one thread: slice, policy, real-time priority, nice.
//!
//! Each setter changes one attribute and keeps the others, which needs three different calls: only sched_setattr(2) can
//! set a slice, but it resets a custom slice whenever `sched_runtime` is 0; sched_setscheduler(2) keeps it
//! (`__sched_setscheduler` copies `se.slice` when `custom_slice` is set), and so does setpriority(2). Raw system calls
//! throughout: musl's sched_setscheduler deliberately returns ENOSYS. Source: sched_setattr(2),
//! include/uapi/linux/sched.

use std::io;

/// `SCHED_OTHER` (the kernel's `SCHED_NORMAL`).
pub const SCHED_OTHER: u32 = 0;
/// `SCHED_FIFO`.
pub const SCHED_FIFO: u32 = 1;
/// `SCHED_RR`.
pub const SCHED_RR: u32 = 2;
/// `SCHED_BATCH`.
pub const SCHED_BATCH: u32 = 3;
/// `SCHED_IDLE`.
pub const SCHED_IDLE: u32 = 5;
/// `SCHED_DEADLINE`.
pub const SCHED_DEADLINE: u32 = 6;

/// Or-ed into the policy of sched_setscheduler(2): children start as `SCHED_OTHER`.
const SCHED_RESET_ON_FORK: u32 = 0x4000_0000;
/// The same request in `sched_flags`.
const SCHED_FLAG_RESET_ON_FORK: u64 = 0x01;

/// `struct sched_attr` in its first published size (`SCHED_ATTR_SIZE_VER0`), which every kernel since 3.14 accepts. The
/// utilization clamps that newer kernels append stay unchanged, because `sched_flags` does not select them.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct RawSchedAttr {
    size: u32,
    sched_policy: u32,
    sched_flags: u64,
    sched_nice: i32,
    sched_priority: u32,
    sched_runtime: u64,
    sched_deadline: u64,
    sched_period: u64,
}

const _: () = assert!(size_of::<RawSchedAttr>() == 48);
const _: () = assert!(std::mem::offset_of!(RawSchedAttr, sched_runtime) == 24);

/// What sched_getattr(2) reports about a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedAttr {
    /// One of the `SCHED_*` numbers.
    pub policy: u32,
    /// Whether children start as `SCHED_OTHER` with nice 0.
    pub reset_on_fork: bool,
    /// -20…19; 0 under a real-time policy.
    pub nice: i32,
    /// 1…99 under a real-time policy, else 0.
    pub priority: u32,
    /// The `se.slice` of a fair task from Linux 6.12 on, whether set or the default; 0 on older kernels and under a
    /// real-time policy; the runtime of a deadline task.
    pub runtime_ns: u64,
}

fn get_raw(tid: u32) -> io::Result<RawSchedAttr> {
    let mut raw = RawSchedAttr::default();
    let size = size_of::<RawSchedAttr>() as libc::c_uint;
    // SAFETY: the kernel writes at most `size` bytes, the size of the live struct; every bit pattern is valid for it.
    let rc = unsafe { libc::syscall(libc::SYS_sched_getattr, tid as libc::pid_t, &raw mut raw, size, 0) };
    if rc == 0 { Ok(raw) } else { Err(io::Error::last_os_error()) }
}

fn set_raw(tid: u32, raw: &RawSchedAttr) -> io::Result<()> {
    // SAFETY: the kernel only reads `raw.size` bytes, which every caller here sets to the size of the struct.
    let rc = unsafe { libc::syscall(libc::SYS_sched_setattr, tid as libc::pid_t, std::ptr::from_ref(raw), 0) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The attributes of thread `tid` (0: the caller).
pub fn get(tid: u32) -> io::Result<SchedAttr> {
    let raw = get_raw(tid)?;
    Ok(SchedAttr {
        policy: raw.sched_policy,
        reset_on_fork: raw.sched_flags & SCHED_FLAG_RESET_ON_FORK != 0,
        nice: raw.sched_nice,
        priority: raw.sched_priority,
        runtime_ns: raw.sched_runtime,
    })
}

/// Requests a slice of `slice_ns` (0: the kernel's default) for a fair thread, keeping its policy and nice value.
///
/// The kernel clamps to 0.1…100 ms. Kernels before 6.12 return success and do nothing, so always read back. `EINVAL` if
/// the thread is not under a fair policy, where a slice has no meaning.
pub fn set_slice(tid: u32, slice_ns: u64) -> io::Result<()> {
    let now = get_raw(tid)?;
    if !matches!(now.sched_policy, SCHED_OTHER | SCHED_BATCH | SCHED_IDLE) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    set_raw(
        tid,
        &RawSchedAttr {
            size: size_of::<RawSchedAttr>() as u32,
            sched_policy: now.sched_policy,
            sched_flags: now.sched_flags & SCHED_FLAG_RESET_ON_FORK,
            sched_nice: now.sched_nice,
            sched_runtime: slice_ns,
            ..RawSchedAttr::default()
        },
    )
}

/// Puts thread `tid` (0: the caller) under `policy`; `priority` is 1…99 for `SCHED_FIFO` and `SCHED_RR`, else 0. Keeps
/// a custom slice and the nice value. `EPERM` without CAP_SYS_NICE or RLIMIT_RTPRIO for a real-time policy, or in a
/// cgroup v1 group with `cpu.rt_runtime_us` 0.
pub fn set_policy(tid: u32, policy: u32, priority: u32) -> io::Result<()> {
    let reset_on_fork = if get(tid)?.reset_on_fork { SCHED_RESET_ON_FORK } else { 0 };
    // The kernel's `struct sched_param` is this one number; musl's has members that the kernel does not have.
    let param = priority as libc::c_int;
    let policy = (policy | reset_on_fork) as libc::c_int;
    // SAFETY: the kernel only reads `param`, live for the length of the call.
    let rc = unsafe { libc::syscall(libc::SYS_sched_setscheduler, tid as libc::pid_t, policy, &raw const param) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives thread `tid` (0: the caller) a nice value, keeping its policy and slice. `EACCES` when it would fall below
/// what RLIMIT_NICE allows without CAP_SYS_NICE, `EPERM` when the thread is another user's.
pub fn set_nice(tid: u32, nice: i32) -> io::Result<()> {
    // SAFETY: three numbers, no memory. With PRIO_PROCESS Linux takes a thread id.
    let rc = unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, tid as libc::id_t, nice) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The nice value of thread `tid` (0: the caller), also under a real-time policy.
pub fn nice(tid: u32) -> io::Result<i32> {
    // SAFETY: two numbers, no memory. The raw call returns 20 - nice, so that no result looks like an error.
    let rc = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, tid as libc::id_t) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(20 - rc as i32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::current_tid;

    /// Attributes belong to threads, so each test changes a thread that ends with the test.
    fn on_own_thread(body: impl FnOnce() + Send + 'static) {
        std::thread::spawn(body).join().unwrap();
    }

    #[test]
    fn policy_and_nice_change_alone_and_keep_a_custom_slice() {
        on_own_thread(|| {
            let knows_slices = get(0).unwrap().runtime_ns != 0;
            set_slice(0, 3_000_000).unwrap();
            set_nice(0, 7).unwrap();
            set_policy(0, SCHED_BATCH, 0).unwrap();
            let now = get(current_tid()).unwrap();
            assert_eq!((now.policy, now.nice, nice(0).unwrap()), (SCHED_BATCH, 7, 7));
            assert_eq!(now.runtime_ns, if knows_slices { 3_000_000 } else { 0 });
        });
    }

    #[test]
    fn the_kernel_clamps_a_slice_and_0_returns_to_the_default() {
        on_own_thread(|| {
            let default_ns = get(0).unwrap().runtime_ns;
            set_slice(0, 5_000).unwrap();
            assert_eq!(get(0).unwrap().runtime_ns, if default_ns == 0 { 0 } else { 100_000 });
            set_slice(0, 0).unwrap();
            assert_eq!(get(0).unwrap().runtime_ns, default_ns);
        });
    }

    #[test]
    fn a_thread_that_does_not_exist_is_an_error() {
        assert_eq!(get(u32::MAX >> 2).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert!(set_policy(0, 77, 0).is_err());
    }
}
