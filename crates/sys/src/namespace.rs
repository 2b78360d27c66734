//! Namespaces for a process of ours: network namespaces with their loopback up, a mount namespace, and mount(2).
//! Source: unshare(2), setns(2), user_namespaces(7), mount(2).

use crate::rtnetlink::Rtnetlink;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: unshare takes flags and touches no memory of ours; what it detaches (namespaces) no safe Rust value
    // depends on.
    let rc = unsafe { libc::unshare(flags) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Moves the caller into a new network namespace and brings its `lo` up. Without CAP_SYS_ADMIN or CAP_NET_ADMIN, the
/// caller also gets a new user namespace, in which it keeps its user and group ids; there it has every capability over
/// the network namespace and none over the host.
///
/// Call it from a single-threaded process: the kernel refuses a user namespace (`EINVAL`) to a process with several
/// threads, and a network namespace belongs to one thread. `EPERM` or `ENOSPC` where user namespaces are switched off.
pub fn enter_new_net() -> io::Result<()> {
    let entered = unshare(libc::CLONE_NEWNET).and_then(|()| bring_loopback_up());
    match entered {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            enter_user_and_net()?;
            bring_loopback_up()
        }
        other => other,
    }
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

/// `lo` is every namespace's first interface; the kernel gives it 127.0.0.1 when it goes up.
const LOOPBACK: u32 = 1;

fn bring_loopback_up() -> io::Result<()> {
    Rtnetlink::open()?.set_up(LOOPBACK).map_err(|refused| refused.cause)
}

/// A network namespace, kept alive by this handle.
#[derive(Debug)]
pub struct NetNamespace(File);

impl NetNamespace {
    /// The namespace of the calling thread.
    pub fn current() -> io::Result<Self> {
        File::open("/proc/thread-self/ns/net").map(Self)
    }

    /// Moves the calling thread into it. Needs CAP_SYS_ADMIN over the namespace, which its creator has.
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: a live descriptor and a flag; no memory of ours is touched, no safe value depends on the namespace.
        let rc = unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) };
        if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The inode number by which the kernel identifies a namespace.
    pub fn inode(&self) -> io::Result<u64> {
        self.0.metadata().map(|metadata| metadata.ino())
    }
}

impl AsFd for NetNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Moves the calling thread into a new mount namespace whose mounts do not propagate to the host. Needs CAP_SYS_ADMIN.
pub fn enter_new_mount() -> io::Result<()> {
    unshare(libc::CLONE_NEWNS)?;
    mount_raw(Path::new("none"), Path::new("/"), "none", libc::MS_REC | libc::MS_PRIVATE)
}

/// Mounts a file system of `fstype` (such as `debugfs`) at `target`, nosuid, nodev and noexec.
pub fn mount(source: &str, target: &Path, fstype: &str) -> io::Result<()> {
    mount_raw(Path::new(source), target, fstype, libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC)
}

/// The same for a file system that exists for its device nodes.
pub fn mount_with_devices(source: &str, target: &Path, fstype: &str) -> io::Result<()> {
    mount_raw(Path::new(source), target, fstype, libc::MS_NOSUID | libc::MS_NOEXEC)
}

/// Makes the file `source` visible at the existing file `target` as well, which keeps alive what `source` stands for.
/// Needs CAP_SYS_ADMIN.
pub fn bind_mount(source: &Path, target: &Path) -> io::Result<()> {
    mount_raw(source, target, "none", libc::MS_BIND)
}

/// Unmounts `target`: at once for new look-ups, and for good when its last user is gone.
pub fn unmount(target: &Path) -> io::Result<()> {
    let target = CString::new(target.as_os_str().as_bytes())?;
    // SAFETY: one NUL-terminated string that lives through the call.
    let rc = unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn mount_raw(source: &Path, target: &Path, fstype: &str, flags: libc::c_ulong) -> io::Result<()> {
    let source = CString::new(source.as_os_str().as_bytes())?;
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

    /// In a forked child, because a namespace cannot be left. Exit codes: 0 passed, 2 refused on this machine.
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
            // After the change of ids, /proc/self belongs to root until the process is made dumpable again.
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
