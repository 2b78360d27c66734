//! seccomp user notification: one process answers another's system call. The caller installs a filter that passes a
//! single, otherwise unassigned system call number to whoever holds the listener; the call's six arguments and its
//! result are the message. Source: seccomp(2), seccomp_unotify(2), include/uapi/linux/seccomp.h.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The trapped number. No architecture assigns it, and seccomp sees it before the system call table does, so no library
/// can hit the filter by accident. Without a listener the call returns `ENOSYS`.
const TRAPPED: libc::c_long = 0x5ced;

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`, Linux 6.6.
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// A trapped call that waits for its result.
#[derive(Debug, Clone, Copy)]
pub struct Notification {
    /// Identifies the call until it is answered.
    pub id: u64,
    /// Thread id of the caller in the listener's pid namespace.
    pub tid: u32,
    /// Its six arguments.
    pub arguments: [u64; 6],
}

/// Installs the filter, for good, on the calling thread and on threads and processes that it starts later; returns the
/// listener. Sets `no_new_privs`, so that no capability is needed. `EBUSY` if a filter with a listener is already
/// installed, `EINVAL` or `ENOSYS` on a kernel without `CONFIG_SECCOMP_FILTER` (or one emulated by qemu-user).
pub fn install() -> io::Result<OwnedFd> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    // The number is the first word of `struct seccomp_data`. The architecture need not be checked, because nothing is
    // refused.
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter { jf: 1, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, TRAPPED as u32) },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_USER_NOTIF),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: PR_SET_NO_NEW_PRIVS takes numbers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel copies the program; `filter` and `program` live through the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor; nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// The trapped call itself: blocks until the listener answers. A negative answer is an errno from the listener.
#[inline(always)]
pub fn call(arguments: &[u64; 6]) -> io::Result<u64> {
    let [a, b, c, d, e, f] = *arguments;
    // SAFETY: the number is unassigned: the kernel never looks at the arguments, it hands them to the listener.
    let answer = unsafe { libc::syscall(TRAPPED, a, b, c, d, e, f) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as u64) }
}

/// The trapped call with the addresses and lengths of `request` and `reply` as its first four arguments. Before it
/// answers, the listener reads `request` and writes `reply` (crate::process_memory).
#[inline(always)]
pub fn call_with_memory(request: &[u8], reply: &mut [u8]) -> io::Result<u64> {
    let (from, into) = (request.as_ptr(), reply.as_mut_ptr());
    // SAFETY: the kernel looks at no argument. The listener reads `request`, which is live, and writes at most
    // `reply.len()` bytes into `reply`, live and exclusively borrowed, before the call returns, as a system call that
    // takes these buffers would; the compiler must assume that a system call does.
    let answer = unsafe { libc::syscall(TRAPPED, from, request.len(), into, reply.len(), 0usize, 0usize) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as u64) }
}

/// Makes the kernel wake both sides on the CPU of the other one (`WF_CURRENT_CPU`). `EINVAL` or `ENOTTY` before 6.6.
pub fn set_sync_wake_up(listener: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: this ioctl takes its flags by value.
    let rc = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Blocks until a trapped call arrives. `ENOENT` if its caller was killed meanwhile (or, since 6.11, if no caller is
/// left).
#[inline(always)]
pub fn receive(listener: BorrowedFd<'_>) -> io::Result<Notification> {
    loop {
        // SAFETY: seccomp_notif is a plain C struct of integers; the kernel demands that it is zeroed.
        let mut raw: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes one seccomp_notif, the size in the ioctl's number, into the live struct.
        let rc = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut raw) };
        if rc == 0 {
            return Ok(Notification { id: raw.id, tid: raw.pid, arguments: raw.data.args });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Makes the call return `value` (below 2^63); `ENOENT` if the caller is gone.
#[inline(always)]
pub fn respond(listener: BorrowedFd<'_>, id: u64, value: u64) -> io::Result<()> {
    let mut raw = libc::seccomp_notif_resp { id, val: value as i64, error: 0, flags: 0 };
    // SAFETY: the kernel reads one seccomp_notif_resp, the size in the ioctl's number, from the live struct.
    let rc = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut raw) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::HerdThread;
    use crate::{fd_passing, process};
    use std::os::fd::AsFd;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The filter cannot be removed, so a child installs it; exit code 77 means that this kernel has no user
    /// notification.
    fn caller(socket: &std::os::fd::OwnedFd) -> i32 {
        let Ok(listener) = install() else { return 77 };
        if fd_passing::send(socket.as_fd(), listener.as_fd()).is_err() {
            return 1;
        }
        drop(listener);
        let sum = call(&[1, 2, 3, 4, 5, 6]);
        // Threads started after the filter inherit it. This is not a std thread: the test harness has several threads,
        // and the fork may copy a lock in std that one of them holds while it starts. A new std thread would then wait
        // for ever.
        let answered = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&answered);
        let Ok(mut thread) = HerdThread::spawn(move || {
            flag.store(call(&[10, 0, 0, 0, 0, 0]).ok() == Some(10), Ordering::Release);
        }) else {
            return 2;
        };
        let joined = thread.join_until(u64::MAX).is_ok();
        i32::from(sum.ok() != Some(21) || !joined || !answered.load(Ordering::Acquire))
    }

    #[test]
    fn a_trapped_call_is_answered_by_another_process() {
        let socket = crate::fd::unix_pair().unwrap();
        let pid = process::fork_child(|| caller(&socket.write)).unwrap();
        drop(socket.write);
        match fd_passing::receive(socket.read.as_fd()) {
            Ok(listener) => {
                for _ in 0..2 {
                    let asked = receive(listener.as_fd()).unwrap();
                    assert!(asked.tid >= pid);
                    respond(listener.as_fd(), asked.id, asked.arguments.iter().sum()).unwrap();
                }
                assert_eq!(process::wait_for(pid).unwrap().status, process::ExitStatus::Exited(0));
            }
            Err(_) => {
                use std::io::Write;
                assert_eq!(process::wait_for(pid).unwrap().status, process::ExitStatus::Exited(77));
                let _ = writeln!(io::stderr(), "schedlab-skip: seccomp_notify: needs a kernel with seccomp filters");
            }
        }
    }
}
