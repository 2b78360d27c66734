//! Facts about the kernel that come from system calls rather than files: uname(2), sysconf(3), the length of the tick.

use std::io;
use std::path::Path;

/// uname(2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uname {
    /// Host name.
    pub nodename: String,
    /// Such as `6.1.0-28-amd64`.
    pub release: String,
    /// Such as `#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1`.
    pub version: String,
    /// Such as `x86_64`.
    pub machine: String,
}

/// Reads uname(2).
pub fn uname() -> io::Result<Uname> {
    // SAFETY: utsname is a plain C struct of character arrays, for which all zeros is a valid value.
    let mut raw: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `raw` is a live, writable utsname for the length of the call.
    if unsafe { libc::uname(&raw mut raw) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Uname {
        nodename: text(&raw.nodename),
        release: text(&raw.release),
        version: text(&raw.version),
        machine: text(&raw.machine),
    })
}

fn text(chars: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn sysconf(name: libc::c_int, else_: u64) -> u64 {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).ok().filter(|&v| v > 0).unwrap_or(else_)
}

/// Page size in bytes.
pub fn page_size_bytes() -> u64 {
    sysconf(libc::_SC_PAGESIZE, 4096)
}

/// Memory of this machine, bytes.
pub fn memory_bytes() -> u64 {
    sysconf(libc::_SC_PHYS_PAGES, u64::MAX).saturating_mul(page_size_bytes())
}

/// USER_HZ: ticks per second in which /proc/stat counts CPU time. It is 100 on all architectures we build for and has
/// nothing to do with CONFIG_HZ.
pub fn user_hz() -> u64 {
    sysconf(libc::_SC_CLK_TCK, 100)
}

/// Length of the kernel's tick, ns: 1e9 / CONFIG_HZ, exactly as the kernel reports it, because the coarse clock moves
/// with the tick (clock_getres(2), `KTIME_LOW_RES` in kernel/time).
pub fn tick_ns() -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec for the length of the call.
    if unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Memory that can be used without swapping, KiB: `MemAvailable` from `meminfo` below this procfs root.
pub fn available_memory_kib(proc: &Path) -> Option<u64> {
    let memory = std::fs::read_to_string(proc.join("meminfo")).ok()?;
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    available.trim().trim_end_matches("kB").trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_names_itself_as_in_proc() {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(uname().unwrap().release, release.trim());
    }

    #[test]
    fn the_tick_is_one_of_the_frequencies_linux_offers() {
        let hz = 1e9 / tick_ns().unwrap() as f64;
        assert!((24.0..=1200.5).contains(&hz), "{hz}");
        assert!(page_size_bytes().is_power_of_two());
        assert_eq!(user_hz(), 100);
    }
}
