//! Processes: fork of a closure that never returns to its caller, reaping with resource usage and a time-out, and the
//! parent-death signal that keeps tasks from being orphaned. Source: fork(2), wait4(2), prctl(2).

use crate::clock;
use crate::rusage::{self, Rusage};
use crate::signal::Interrupter;
pub use crate::signal::kill;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Exit code.
    Exited(i32),
    /// Killed by a signal.
    Signaled(i32),
}

impl ExitStatus {
    fn from_raw(raw: libc::c_int) -> Self {
        if libc::WIFSIGNALED(raw) { Self::Signaled(libc::WTERMSIG(raw)) } else { Self::Exited(libc::WEXITSTATUS(raw)) }
    }
    /// Exit code 0.
    pub fn success(self) -> bool {
        self == Self::Exited(0)
    }
}

/// A child that has been waited for.
#[derive(Debug, Clone, Copy)]
pub struct Reaped {
    /// Its process id.
    pub pid: u32,
    /// How it ended.
    pub status: ExitStatus,
    /// What it used over its whole life.
    pub rusage: Rusage,
}

/// Forks. The child runs `body` and calls `_exit` with its result (after a panic 101, or SIGABRT if the build aborts on
/// panics): no destructor or atexit handler of the parent runs twice, and no buffered output is written twice. Returns
/// the child's pid.
///
/// Call it from a single-threaded process, or let `body` use only what works without the other threads.
pub fn fork_child(body: impl FnOnce() -> i32) -> io::Result<u32> {
    // SAFETY: the child gets a copy of this thread only. It runs `body` and `_exit`s; what `body` uses of the parent's
    // state is a copy or shared atomics. glibc keeps its allocator usable after fork.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(101);
            exit_now(code)
        }
        pid => Ok(pid as u32),
    }
}

/// Ends the calling process at once, without running destructors or atexit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` takes an integer and does not return; only forked children call it.
    unsafe { libc::_exit(code) }
}

/// Asks the kernel to SIGKILL the caller when the thread that forked it ends. Fails with `ESRCH` if that thread ended
/// before the call took effect.
pub fn die_with_parent(parent_pid: u32) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes one integer.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if std::os::unix::process::parent_id() != parent_pid {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

/// Makes a command's process die (SIGKILL) when the calling thread ends, however it ends, so that it is never left
/// behind. Call `spawn` from the same thread.
pub fn bind_to_this_thread(command: &mut Command) {
    let parent = std::process::id();
    let before_exec = move || die_with_parent(parent);
    // SAFETY: between fork and exec the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(before_exec) };
}

/// Makes the caller the leader of a new session (with autogroup on: a task group of its own).
pub fn new_session() -> io::Result<()> {
    // SAFETY: takes nothing.
    if unsafe { libc::setsid() } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes the caller the leader of a new process group in its session, so that a `kill 0` by its children reaches no
/// other process.
pub fn new_group() -> io::Result<()> {
    // SAFETY: takes two integers.
    if unsafe { libc::setpgid(0, 0) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes the caller the new parent of every descendant whose own parent ends (`PR_SET_CHILD_SUBREAPER`): a descendant
/// that daemonizes stays in the caller's tree and can be found and reaped. Children do not inherit this.
pub fn become_subreaper() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes one integer.
    let rc = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the caller's name (at most 15 bytes are kept), which traces show as `comm`.
pub fn set_name(name: &std::ffi::CStr) {
    // SAFETY: PR_SET_NAME reads up to 16 bytes of a NUL-terminated string that lives through the call.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

fn wait4(pid: libc::pid_t, options: libc::c_int) -> io::Result<Option<Reaped>> {
    let mut raw_status = 0;
    let mut raw_usage = rusage::empty_raw();
    // SAFETY: both pointers are to live, writable locals for the length of the call.
    let pid = unsafe { libc::wait4(pid, &raw mut raw_status, options, &raw mut raw_usage) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => Ok(Some(Reaped {
            pid: pid as u32,
            status: ExitStatus::from_raw(raw_status),
            rusage: Rusage::from_raw(&raw_usage),
        })),
    }
}

/// Waits for one child, as long as it takes.
pub fn wait_for(pid: u32) -> io::Result<Reaped> {
    loop {
        match wait4(pid as libc::pid_t, 0) {
            Ok(Some(reaped)) => return Ok(reaped),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}

/// Reaps one child if it has ended.
pub fn try_wait_for(pid: u32) -> io::Result<Option<Reaped>> {
    wait4(pid as libc::pid_t, libc::WNOHANG)
}

/// A child that has ended but is not reaped; it is left a zombie, so that /proc still shows what it used.
pub fn peek_ended() -> io::Result<Option<u32>> {
    // SAFETY: siginfo_t is a plain C struct for which all zeros is a valid value.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is a live, writable siginfo_t for the length of the call.
    if unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, options) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: waitid has filled the SIGCHLD part of the union, or left zeros, which mean no process.
    let pid = unsafe { info.si_pid() };
    Ok((pid > 0).then_some(pid as u32))
}

/// Waits for any child of the calling thread (`__WNOTHREAD`) until CLOCK_MONOTONIC `deadline_ns`; `None` at the
/// deadline or on another signal. wait4 blocks, as in hackbench; a timer interrupts it at the deadline.
pub fn wait_any(interrupter: &mut Interrupter, deadline_ns: u64) -> io::Result<Option<Reaped>> {
    interrupter.arm(deadline_ns);
    loop {
        match wait4(-1, libc::__WNOTHREAD) {
            Ok(reaped) => return Ok(reaped),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            Err(_) if deadline_ns != u64::MAX && clock::monotonic_ns() < deadline_ns => {}
            Err(_) => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal;

    #[test]
    fn a_child_reports_its_code_and_usage() {
        let pid = fork_child(|| 7).unwrap();
        let reaped = wait_for(pid).unwrap();
        assert_eq!((reaped.pid, reaped.status), (pid, ExitStatus::Exited(7)));
    }

    #[test]
    fn a_child_of_a_dead_child_comes_to_the_subreaper_and_can_be_looked_at_before_it_is_reaped() {
        // In a process of its own, because tests that run at the same time have children too.
        let reaper = fork_child(|| {
            become_subreaper().unwrap();
            let child = fork_child(|| fork_child(|| 5).map_or(1, |_| 0)).unwrap();
            assert!(wait_for(child).unwrap().status.success());
            let orphan = loop {
                if let Some(pid) = peek_ended().unwrap() {
                    break pid;
                }
            };
            assert_eq!(peek_ended().unwrap(), Some(orphan), "still there");
            assert_eq!(wait_for(orphan).unwrap().status, ExitStatus::Exited(5));
            assert!(peek_ended().is_err(), "no child is left");
            0
        });
        assert_eq!(wait_for(reaper.unwrap()).unwrap().status, ExitStatus::Exited(0));
    }

    #[test]
    fn a_bound_command_dies_with_the_thread_that_started_it() {
        let starter = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            bind_to_this_thread(command.arg("60"));
            command.spawn().unwrap()
        });
        let mut child = starter.join().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
    }

    #[test]
    fn a_wait_for_any_child_ends_at_its_deadline() {
        let mut interrupter = Interrupter::new().unwrap();
        let pid = fork_child(|| {
            clock::sleep_until_ns(clock::monotonic_ns() + 60_000_000_000);
            0
        })
        .unwrap();
        let deadline = clock::monotonic_ns() + 10_000_000;
        assert!(wait_any(&mut interrupter, deadline).unwrap().is_none());
        assert!(clock::monotonic_ns() >= deadline);
        signal::kill(pid, signal::SIGKILL).unwrap();
        let reaped = wait_any(&mut interrupter, u64::MAX).unwrap().unwrap();
        assert_eq!((reaped.pid, reaped.status), (pid, ExitStatus::Signaled(signal::SIGKILL)));
    }

    #[test]
    fn a_panic_in_a_child_is_an_exit_code_and_returns_nowhere() {
        let pid = fork_child(|| {
            std::panic::set_hook(Box::new(|_| {}));
            panic!("on purpose")
        })
        .unwrap();
        assert_eq!(wait_for(pid).unwrap().status, ExitStatus::Exited(101));
    }
}
