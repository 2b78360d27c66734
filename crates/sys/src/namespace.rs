//! Namespaces of a process's own: a network namespace with its loopback up, a mount namespace, and mount(2).
//! Source: unshare(2), user_namespaces(7), netdevice(7), mount(2).

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: unshare takes flags and touches no memory of ours; what it detaches (namespaces) no safe Rust value
    // depends on.
    let rc = unsafe { libc::unshare(flags) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Moves the caller into a new network namespace and brings its `lo` up. Without CAP_SYS_ADMIN it takes a new user
/// namespace along, in which the caller keeps its user and group ids; there it has every capability over the network
/// namespace and none over the host.
///
/// Call it from a process with one thread: a user namespace is refused (`EINVAL`) to a thread among others, and a
/// network namespace is a thread's own. `EPERM` or `ENOSPC` where user namespaces are switched off.
pub fn enter_new_net() -> io::Result<()> {
    match unshare(libc::CLONE_NEWNET) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => enter_user_and_net()?,
        other => other?,
    }
    bring_loopback_up()
}

fn enter_user_and_net() -> io::Result<()> {
    // Read before: inside the new namespace, unmapped ids all read as the overflow id.
    // SAFETY: takes nothing and cannot fail.
    let uid = unsafe { libc::geteuid() };
    // SAFETY: takes nothing and cannot fail.
    let gid = unsafe { libc::getegid() };
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET)?;
    // The kernel lets an unprivileged writer map its own group only once setgroups(2) is denied.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

/// Sets `IFF_UP` on `lo` of the caller's network namespace; the kernel gives it 127.0.0.1 at that.
fn bring_loopback_up() -> io::Result<()> {
    // SAFETY: three numbers, no memory.
    let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, ours, and owned nowhere else.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    // SAFETY: ifreq is a plain C struct of characters and a union of plain types; all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    interface_ioctl(&socket, libc::SIOCGIFFLAGS as libc::Ioctl, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has just filled this member; being a number, it is valid for every bit pattern.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
    interface_ioctl(&socket, libc::SIOCSIFFLAGS as libc::Ioctl, &mut request)
}

fn interface_ioctl(socket: &OwnedFd, number: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: both ioctls used here read and write one ifreq, which is live and exclusively borrowed.
    let rc = unsafe { libc::ioctl(socket.as_raw_fd(), number, std::ptr::from_mut(request)) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Moves the calling thread into a new mount namespace from which no mount travels back to the host. Needs
/// CAP_SYS_ADMIN.
pub fn enter_new_mount() -> io::Result<()> {
    unshare(libc::CLONE_NEWNS)?;
    mount_raw("none", Path::new("/"), "none", libc::MS_REC | libc::MS_PRIVATE)
}

/// Mounts a file system of `fstype` (such as `debugfs`) at `target`, without set-user-id, devices or programs.
pub fn mount(source: &str, target: &Path, fstype: &str) -> io::Result<()> {
    mount_raw(source, target, fstype, libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC)
}

/// The same for a file system whose purpose is its device nodes.
pub fn mount_with_devices(source: &str, target: &Path, fstype: &str) -> io::Result<()> {
    mount_raw(source, target, fstype, libc::MS_NOSUID | libc::MS_NOEXEC)
}

fn mount_raw(source: &str, target: &Path, fstype: &str, flags: libc::c_ulong) -> io::Result<()> {
    let source = CString::new(source)?;
    let target = CString::new(target.as_os_str().as_bytes())?;
    let fstype = CString::new(fstype)?;
    // SAFETY: three NUL-terminated strings that live through the call; no data pointer is passed.
    let rc = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), fstype.as_ptr(), flags, std::ptr::null()) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{ExitStatus, fork_child, wait_for};

    /// In a forked child, because a namespace cannot be left. Codes: 0 passed, 2 refused here.
    fn in_child(body: fn() -> io::Result<bool>) -> ExitStatus {
        let pid = fork_child(move || match body() {
            Ok(true) => 0,
            Ok(false) => 1,
            Err(_) => 2,
        })
        .unwrap();
        wait_for(pid).unwrap().status
    }

    fn loopback_carries() -> io::Result<bool> {
        enter_new_net()?;
        Ok(crate::fd::tcp_pair().is_ok())
    }

    #[test]
    fn a_new_network_namespace_has_a_working_loopback() {
        let status = in_child(loopback_carries);
        if status == ExitStatus::Exited(2) {
            skip("a_new_network_namespace_has_a_working_loopback: needs root or user namespaces");
            return;
        }
        assert_eq!(status, ExitStatus::Exited(0));
    }

    #[test]
    fn without_root_a_user_namespace_is_taken_along() {
        fn as_nobody() -> io::Result<bool> {
            // SAFETY: one number; in a forked child, nothing of the test process changes.
            if unsafe { libc::syscall(libc::SYS_setresgid, 65534, 65534, 65534) } != 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: as above.
            if unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) } != 0 {
                return Err(io::Error::last_os_error());
            }
            // After the change of ids /proc/self belongs to root until the process is dumpable again.
            // SAFETY: PR_SET_DUMPABLE takes one number.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1) };
            loopback_carries()
        }
        let status = in_child(as_nobody);
        if status == ExitStatus::Exited(2) {
            skip("without_root_a_user_namespace_is_taken_along: needs root to become nobody, and user namespaces");
            return;
        }
        assert_eq!(status, ExitStatus::Exited(0));
    }

    #[test]
    fn a_mount_stays_in_its_namespace() {
        fn private_mount() -> io::Result<bool> {
            enter_new_mount()?;
            mount("tmpfs", Path::new("/mnt"), "tmpfs")?;
            std::fs::write("/mnt/schedlab-probe", "x")?;
            Ok(true)
        }
        let status = in_child(private_mount);
        if status == ExitStatus::Exited(2) {
            skip("a_mount_stays_in_its_namespace: needs root");
            return;
        }
        assert_eq!(status, ExitStatus::Exited(0));
        assert!(!Path::new("/mnt/schedlab-probe").exists());
    }

    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn skip(why: &str) {
        eprintln!("schedlab-skip: {why}");
    }
}
