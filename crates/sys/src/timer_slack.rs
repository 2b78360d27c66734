//! Timer slack: how much later than requested a thread's sleep may end. It is set for own threads by prctl(2)
//! `PR_SET_TIMERSLACK`, for others through `/proc/<tid>/timerslack_ns` (CAP_SYS_NICE). Children inherit it. Threads
//! under a real-time policy have no slack, whatever is written. Source: PR_SET_TIMERSLACK(2const), fs/proc/base.c
//! `timerslack_ns_write`.

use std::io;
use std::path::{Path, PathBuf};

/// Slack of the calling thread, ns.
pub fn own_ns() -> io::Result<u64> {
    // SAFETY: PR_GET_TIMERSLACK takes no pointer. The raw call is used because the wrapper returns a C int, which
    // would cut a slack above 2.1 s.
    let ns = unsafe { libc::syscall(libc::SYS_prctl, libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) };
    u64::try_from(ns).map_err(|_| io::Error::last_os_error())
}

/// Sets the calling thread's slack; 0 restores the value with which the thread was created.
pub fn set_own_ns(ns: u64) -> io::Result<()> {
    let slack = libc::c_ulong::try_from(ns).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: PR_SET_TIMERSLACK takes one number.
    let rc = unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_TIMERSLACK, slack, 0, 0, 0) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn file_of(proc: &Path, tid: u32) -> PathBuf {
    proc.join(tid.to_string()).join("timerslack_ns")
}

/// Slack of thread `tid`, ns.
pub fn of_tid_ns(proc: &Path, tid: u32) -> io::Result<u64> {
    let text = std::fs::read_to_string(file_of(proc, tid))?;
    text.trim().parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("not a number: {text:?}")))
}

/// Sets the slack of thread `tid`; `EPERM` for another thread without CAP_SYS_NICE.
pub fn set_tid_ns(proc: &Path, tid: u32, ns: u64) -> io::Result<()> {
    use std::io::Write;
    std::fs::OpenOptions::new().write(true).open(file_of(proc, tid))?.write_all(ns.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_slack_reads_back_by_both_ways() {
        let check = || {
            set_own_ns(123_456).unwrap();
            assert_eq!(own_ns().unwrap(), 123_456);
            let tid = crate::thread::current_tid();
            assert_eq!(of_tid_ns(Path::new("/proc"), tid).unwrap(), 123_456);
        };
        std::thread::spawn(check).join().unwrap();
    }
}
