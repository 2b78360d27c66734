//! The kernel's clocks: CLOCK_MONOTONIC for every interval we report, the CPU-time clocks for burners, and an absolute
//! sleep that does not drift. The TSC is not used: if two clocks are mixed up silently, the error looks exactly like a
//! result. Source: clock_gettime(2), clock_getcpuclockid(3), clock_nanosleep(2).

use std::io;

fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec for the length of the call, which keeps no pointer to it.
    let rc = unsafe { libc::clock_gettime(clock, &raw mut time) };
    debug_assert_eq!(rc, 0, "the clocks used here exist on every Linux");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_MONOTONIC, ns since an arbitrary start; about 26 ns a call through the vDSO.
#[inline]
pub fn monotonic_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME, ns since 1970.
pub fn realtime_ns() -> u64 {
    read_clock(libc::CLOCK_REALTIME)
}

/// CPU time of the calling thread, ns; a system call.
pub fn thread_cpu_ns() -> u64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of the calling process, all threads, ns; a system call.
pub fn process_cpu_ns() -> u64 {
    read_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time that the process `pid` has used so far, over all its threads, ns; exact at this instant even while it runs.
/// `ESRCH` if there is no such process.
pub fn cpu_ns_of(pid: u32) -> io::Result<u64> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a live, writable clockid_t for the length of the call.
    let error = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec for the length of the call, which keeps no pointer to it.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        // The process may have ended since its clock id was looked up; the kernel then returns EINVAL.
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// A timespec of non-negative nanoseconds.
pub(crate) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as libc::c_long }
}

/// Sleeps until CLOCK_MONOTONIC reaches `deadline_ns`; goes back to sleep after a signal.
pub fn sleep_until_ns(deadline_ns: u64) {
    let at = timespec(deadline_ns);
    loop {
        // SAFETY: `at` is a live timespec, only read; TIMER_ABSTIME ignores the remainder pointer, so null is allowed.
        let rc = unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const at, std::ptr::null_mut())
        };
        // clock_nanosleep returns the error itself and does not set errno.
        if rc != libc::EINTR {
            return;
        }
    }
}

/// The resolution that the kernel reports for CLOCK_MONOTONIC, ns (1 with high-resolution timers).
pub fn monotonic_resolution_ns() -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec for the length of the call.
    if unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_sleep_ends_no_earlier_than_asked() {
        let deadline = monotonic_ns() + 2_000_000;
        sleep_until_ns(deadline);
        assert!(monotonic_ns() >= deadline);
    }

    #[test]
    fn cpu_time_passes_while_spinning_and_not_while_sleeping() {
        let start = thread_cpu_ns();
        sleep_until_ns(monotonic_ns() + 20_000_000);
        let slept = thread_cpu_ns() - start;
        assert!(slept < 10_000_000, "{slept} ns of CPU time in a sleep");
    }

    #[test]
    fn another_processs_clock_runs_while_it_spins_and_is_gone_with_it() {
        let parent = std::process::id();
        let child = crate::process::fork_child(|| {
            let _ = crate::process::die_with_parent(parent);
            loop {
                std::hint::spin_loop();
            }
        });
        let child = child.unwrap();
        let deadline = monotonic_ns() + 20_000_000_000;
        while cpu_ns_of(child).unwrap() < 5_000_000 {
            assert!(monotonic_ns() < deadline, "a spinning process uses CPU time");
        }
        crate::process::kill(child, crate::signal::SIGKILL).unwrap();
        crate::process::wait_for(child).unwrap();
        assert_eq!(cpu_ns_of(child).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
