//! Loads a kernel module from its file. Source: finit_module(2).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Loads an uncompressed module without parameters. `EEXIST` if it is already loaded, `ENOEXEC` if it was built for
/// another kernel, `ENOENT` for an unknown symbol (a module that it needs is missing), `EPERM` without CAP_SYS_MODULE.
pub fn load(file: &File) -> io::Result<()> {
    // SAFETY: a live descriptor, a NUL-terminated empty string that lives for ever, and a number; the kernel reads the
    // file and touches no memory of ours.
    let rc = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_module_is_refused() {
        let refused = load(&File::open("/dev/null").unwrap()).unwrap_err().raw_os_error();
        // EPERM without the capability; EINVAL because a device is not a regular file; ENOEXEC or ENOSYS depending on
        // the kernel.
        let known = [libc::EPERM, libc::EINVAL, libc::ENOEXEC, libc::ENOSYS, libc::EBADF];
        assert!(refused.is_some_and(|errno| known.contains(&errno)), "{refused:?}");
    }
}
