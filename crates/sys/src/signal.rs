//! Signals: kill by pid or process group, ignore SIGPIPE, and a timer that interrupts one blocked thread, so that a
//! wait can have a time-out without polling. Source: kill(2), sigaction(2), timer_create(2).

use crate::clock;
use std::io;
use std::sync::Once;

/// Sends a signal to a process; `ESRCH` if it is gone.
pub fn kill(pid: u32, signal: i32) -> io::Result<()> {
    // A pid of 0 or below would address a whole group.
    let pid = i32::try_from(pid).ok().filter(|&pid| pid > 0).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: takes two integers; the worst outcome is an error or a signal to the named process.
    if unsafe { libc::kill(pid, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends a signal to all processes of a group, named by the pid of its leader; `ESRCH` when all are gone.
pub fn kill_group(leader: u32, signal: i32) -> io::Result<()> {
    // 1 would address all processes, 0 our own group.
    let leader = i32::try_from(leader).ok().filter(|&leader| leader > 1).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: takes two integers; the worst outcome is an error or a signal to the named group.
    if unsafe { libc::kill(-leader, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// SIGKILL.
pub const SIGKILL: i32 = libc::SIGKILL;
/// SIGTERM.
pub const SIGTERM: i32 = libc::SIGTERM;
/// SIGINT.
pub const SIGINT: i32 = libc::SIGINT;
/// SIGILL.
pub const SIGILL: i32 = libc::SIGILL;
/// SIGABRT.
pub const SIGABRT: i32 = libc::SIGABRT;
/// SIGBUS.
pub const SIGBUS: i32 = libc::SIGBUS;
/// SIGSEGV.
pub const SIGSEGV: i32 = libc::SIGSEGV;

/// Makes a write to a closed pipe fail with EPIPE (the Rust runtime does so too, but forked tasks must not depend on
/// it).
pub fn ignore_sigpipe() {
    // SAFETY: installing SIG_IGN runs no code of ours in signal context.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

extern "C" fn interrupt_only(_signal: libc::c_int) {}

/// The handler does nothing: its arrival makes a blocking call return EINTR.
fn install_interrupt_handler() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: sigaction is a plain C struct for which all zeros is a valid value (no flags, so no SA_RESTART).
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = interrupt_only as extern "C" fn(libc::c_int) as usize;
        // SAFETY: `action` is fully initialised and lives through the call; the handler touches nothing.
        unsafe { libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()) };
    });
}

/// An alarm for one thread: while armed, SIGALRM interrupts the thread that made it at the deadline and then every 5
/// ms, so that a signal that arrives just before the blocking call does no harm. Not inherited by fork.
#[derive(Debug)]
pub struct Interrupter {
    timer: libc::timer_t,
    armed_for_ns: u64,
}

impl Interrupter {
    /// Creates the timer, unarmed, for the calling thread.
    pub fn new() -> io::Result<Self> {
        install_interrupt_handler();
        // SAFETY: sigevent is a plain C struct for which all zeros is a valid value.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGALRM;
        event.sigev_notify_thread_id = crate::thread::current_tid() as libc::c_int;
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: both pointers are to live locals for the length of the call.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { timer, armed_for_ns: u64::MAX })
    }

    /// Arms the timer for a CLOCK_MONOTONIC instant; `u64::MAX` disarms it. Makes no system call if nothing changes.
    pub fn arm(&mut self, deadline_ns: u64) {
        if deadline_ns == self.armed_for_ns {
            return;
        }
        self.armed_for_ns = deadline_ns;
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = if deadline_ns == u64::MAX { never } else { clock::timespec(deadline_ns.max(1)) };
        let spec = libc::itimerspec { it_interval: clock::timespec(5_000_000), it_value: value };
        // SAFETY: the timer is ours until drop, `spec` lives through the call, the old value is not asked for.
        unsafe { libc::timer_settime(self.timer, libc::TIMER_ABSTIME, &raw const spec, std::ptr::null_mut()) };
    }
}

impl Drop for Interrupter {
    fn drop(&mut self) {
        // SAFETY: created in `new`, deleted once, here.
        unsafe { libc::timer_delete(self.timer) };
    }
}
