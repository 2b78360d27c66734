//! Powers the machine off. Source: reboot(2), sync(2).

use std::io;

/// Writes out cached data and switches the machine off; a machine that cannot power off is halted. Returns only if that
/// was refused (`EPERM` without CAP_SYS_BOOT).
pub fn power_off() -> io::Error {
    // SAFETY: takes nothing and touches no memory of ours.
    unsafe { libc::sync() };
    // SAFETY: takes a number; it ends the machine or fails.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
    io::Error::last_os_error()
}
