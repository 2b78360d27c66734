//! Ending the machine: power off. Source: reboot(2), sync(2).

use std::io;

/// Writes out what is cached and switches the machine off; a machine that cannot is halted. Returns only when it was
/// refused (`EPERM` without CAP_SYS_BOOT).
pub fn power_off() -> io::Error {
    // SAFETY: takes nothing and touches no memory of ours.
    unsafe { libc::sync() };
    // SAFETY: takes a number; it ends the machine or fails.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
    io::Error::last_os_error()
}
