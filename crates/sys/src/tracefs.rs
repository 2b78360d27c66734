//! Where tracefs is: where the system has mounted it, or a detached mount of our own that disappears with its last
//! user. Source: tracefs in Documentation/trace/ftrace.rst, fsopen(2), fsmount(2).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A root of tracefs.
#[derive(Debug)]
pub struct Tracefs {
    root: PathBuf,
    /// Keeps the mount alive, if it is ours.
    _mount: Option<OwnedFd>,
}

impl Tracefs {
    /// The system's mount, according to `mounts` below `proc`/self; otherwise a mount of our own, which needs
    /// CAP_SYS_ADMIN and Linux 5.2.
    pub fn find_or_mount(proc: &Path) -> io::Result<Self> {
        let mounts = std::fs::read_to_string(proc.join("self/mounts")).unwrap_or_default();
        match mounted(&mounts) {
            Some(root) => Ok(Self { root, _mount: None }),
            None => Self::mount(),
        }
    }

    /// A mount that is attached to no directory. Other processes of the same user reach it through this process's /proc
    /// directory.
    fn mount() -> io::Result<Self> {
        let mount = detached(c"tracefs")?;
        let root = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), mount.as_raw_fd()));
        Ok(Self { root, _mount: Some(mount) })
    }

    /// The root directory of tracefs, valid as long as this lives.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// The mount point of tracefs in a list of mounts, proc(5): its third column is the type.
fn mounted(mounts: &str) -> Option<PathBuf> {
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some("tracefs"))?;
    // A space in a path is written \040.
    line.split(' ').nth(1).map(|path| path.replace("\\040", " ").into())
}

/// include/uapi/linux/mount.h.
const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
/// FSOPEN_CLOEXEC and FSMOUNT_CLOEXEC, which are not O_CLOEXEC.
const FS_CLOEXEC: libc::c_uint = 1;

fn detached(fstype: &std::ffi::CStr) -> io::Result<OwnedFd> {
    // SAFETY: a NUL-terminated string that lives through the call, and a flag.
    let context = unsafe { libc::syscall(libc::SYS_fsopen, fstype.as_ptr(), FS_CLOEXEC) };
    let context = new_descriptor(context)?;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: a live descriptor; this command takes neither key nor value, so null is what the kernel asks for.
    let made = unsafe {
        libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0 as libc::c_int)
    };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a live descriptor and two numbers: close on exec, no attributes.
    let mount = unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FS_CLOEXEC, 0 as libc::c_uint) };
    new_descriptor(mount)
}

fn new_descriptor(fd: libc::c_long) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor; nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Opens a file for reading that returns `WouldBlock` if there is nothing to read yet: `trace_pipe_raw`.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_is_found_by_its_type() {
        let mounts = "sysfs /sys sysfs rw 0 0\nnodev /sys/kernel/tracing tracefs rw 0 0\n";
        assert_eq!(mounted(mounts), Some("/sys/kernel/tracing".into()));
        assert_eq!(mounted("none /a\\040b tracefs rw 0 0\n"), Some("/a b".into()));
        assert_eq!(mounted("tracefs /x tmpfs rw 0 0\n"), None);
    }

    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn skip(why: &str) {
        eprintln!("schedlab-skip: {why}");
    }

    #[test]
    fn a_mount_of_our_own_shows_the_same_tracefs_and_goes_with_us() {
        let ours = match Tracefs::mount() {
            Ok(ours) => ours,
            Err(error) => {
                let test = "a_mount_of_our_own_shows_the_same_tracefs_and_goes_with_us";
                return skip(&format!("{test}: needs tracefs ({error})"));
            }
        };
        assert!(ours.root().join("instances").is_dir());
        assert!(std::fs::read_to_string(ours.root().join("trace_clock")).unwrap().contains("mono"));
        let root = ours.root().to_owned();
        drop(ours);
        assert!(!root.join("instances").exists());
    }
}
