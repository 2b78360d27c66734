//! Access to another process's memory by address: process_vm_readv(2) and process_vm_writev(2). Needs the permissions
//! of ptrace: the same user and, where Yama restricts ptrace, the other's permission. Source: process_vm_readv(2),
//! ptrace(2).

use std::io;

/// Lets any process of the same user read and write the caller's memory, also under Yama's restricted ptrace.
pub fn allow_everyone() -> io::Result<()> {
    // SAFETY: PR_SET_PTRACER takes numbers only.
    let rc = unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    // EINVAL: the kernel has no Yama, so there is nothing to allow.
    match io::Error::last_os_error() {
        error if rc != 0 && error.raw_os_error() != Some(libc::EINVAL) => Err(error),
        _ => Ok(()),
    }
}

/// Both iovecs: ours, and the one in the other process, whose address is only a number here.
fn parts(address: u64, ours: *mut u8, length: usize) -> [libc::iovec; 2] {
    let theirs = std::ptr::without_provenance_mut(address as usize);
    [libc::iovec { iov_base: ours.cast(), iov_len: length }, libc::iovec { iov_base: theirs, iov_len: length }]
}

fn whole(done: isize, length: usize) -> io::Result<()> {
    match done {
        -1 => Err(io::Error::last_os_error()),
        done if done as usize == length => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Fills `buffer` from `address` in thread `tid`'s memory; `EFAULT` if it is not mapped there.
#[inline(always)]
pub fn read(tid: u32, address: u64, buffer: &mut [u8]) -> io::Result<()> {
    let [ours, theirs] = parts(address, buffer.as_mut_ptr(), buffer.len());
    // SAFETY: the kernel writes at most `buffer.len()` bytes into the live, exclusively borrowed slice; the other
    // address is checked against the other process's memory.
    let done = unsafe { libc::process_vm_readv(tid as libc::pid_t, &raw const ours, 1, &raw const theirs, 1, 0) };
    whole(done, buffer.len())
}

/// Writes `bytes` to `address` in thread `tid`'s memory. The other process must expect it: for the caller of a trapped
/// system call, this takes the place of the kernel's copy_to_user.
#[inline(always)]
pub fn write(tid: u32, address: u64, bytes: &[u8]) -> io::Result<()> {
    if tid == crate::thread::current_tid() || tid == crate::thread::current_pid() {
        // A write into our own memory would go unnoticed by the compiler.
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let [ours, theirs] = parts(address, bytes.as_ptr().cast_mut(), bytes.len());
    // SAFETY: the kernel only reads the live slice; it writes to another process, which shares no memory of Rust's
    // with this one but atomics.
    let done = unsafe { libc::process_vm_writev(tid as libc::pid_t, &raw const ours, 1, &raw const theirs, 1, 0) };
    whole(done, bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock, process, signal};

    #[test]
    fn a_childs_memory_is_read_where_it_is_mapped() {
        let secret = *b"in the parent and its copy";
        let child = process::fork_child(|| {
            clock::sleep_until_ns(clock::monotonic_ns() + 60_000_000_000);
            i32::from(secret[0])
        })
        .unwrap();
        let mut copy = [0u8; 26];
        let read_back = read(child, secret.as_ptr().addr() as u64, &mut copy);
        let unmapped = read(child, 16, &mut copy[..4]);
        signal::kill(child, signal::SIGKILL).unwrap();
        process::wait_for(child).unwrap();
        read_back.unwrap();
        assert_eq!(copy, secret);
        assert_eq!(unmapped.unwrap_err().raw_os_error(), Some(libc::EFAULT));
        let own = read_only_own();
        assert_eq!(own.kind(), io::ErrorKind::InvalidInput);
    }

    fn read_only_own() -> io::Error {
        write(crate::thread::current_tid(), 16, b"x").unwrap_err()
    }
}
