//! Passes an open descriptor to another process over a unix socket: SCM_RIGHTS. Source: unix(7), cmsg(3).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Room for one control message with one descriptor, aligned as `cmsghdr` requires.
#[repr(C, align(8))]
struct Control([u8; 64]);

// CMSG_SPACE of one descriptor is 24 bytes on 64-bit targets.
const _: () = assert!(size_of::<libc::cmsghdr>() + 8 <= 64);

/// One byte travels with the descriptor: a stream socket carries no control message without data.
fn message(byte: &mut [u8; 1], control: &mut Control) -> (libc::iovec, usize) {
    let part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    (part, size_of_val(&control.0))
}

/// Sends a copy of `sent` to the other end of `socket`.
pub fn send(socket: BorrowedFd<'_>, sent: BorrowedFd<'_>) -> io::Result<()> {
    let (mut byte, mut control) = ([0u8; 1], Control([0; 64]));
    let (mut part, _) = message(&mut byte, &mut control);
    // SAFETY: msghdr is a plain C struct for which all zeros is a valid value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: CMSG_SPACE only computes.
    header.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<libc::c_int>() as u32) } as _;
    // SAFETY: `header` names a control buffer of 64 bytes, more than a header, so the result is its first byte.
    let first = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
    // SAFETY: CMSG_LEN only computes.
    let length = unsafe { libc::CMSG_LEN(size_of::<libc::c_int>() as u32) };
    // SAFETY: `first` points to the aligned, exclusively owned control buffer, which a cmsghdr fits into.
    let head = unsafe { &mut *first };
    head.cmsg_level = libc::SOL_SOCKET;
    head.cmsg_type = libc::SCM_RIGHTS;
    head.cmsg_len = length as _;
    // SAFETY: CMSG_DATA stays inside the buffer, whose length covers one descriptor.
    let data = unsafe { libc::CMSG_DATA(first) };
    // SAFETY: four bytes at `data` are inside the control buffer; the write is unaligned-safe.
    unsafe { data.cast::<libc::c_int>().write_unaligned(sent.as_raw_fd()) };
    // SAFETY: every pointer in `header` is to a local that lives through the call, which only reads them.
    let rc = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL) };
    if rc == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives a descriptor; `UnexpectedEof` if the other end is closed, `InvalidData` if the message carries none.
pub fn receive(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let (mut byte, mut control) = ([0u8; 1], Control([0; 64]));
    let (mut part, room) = message(&mut byte, &mut control);
    // SAFETY: msghdr is a plain C struct for which all zeros is a valid value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = room as _;
    loop {
        // SAFETY: every pointer in `header` is to a local that lives through the call, with its true length.
        match unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) } {
            1 => break,
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    // SAFETY: `header` describes the control buffer as the kernel filled it.
    let first = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
    if first.is_null() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the message carries no descriptor"));
    }
    // SAFETY: not null, so a whole cmsghdr lies in the live, aligned control buffer.
    let head = unsafe { &*first };
    if (head.cmsg_level, head.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the message carries no descriptor"));
    }
    // SAFETY: CMSG_DATA of a message in the buffer stays inside it.
    let data = unsafe { libc::CMSG_DATA(first) };
    // SAFETY: a SCM_RIGHTS message holds at least one descriptor; the read is unaligned-safe.
    let fd = unsafe { data.cast::<libc::c_int>().read_unaligned() };
    // SAFETY: the kernel has just installed this descriptor for us; nothing else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fd::{self, unix_pair};
    use std::os::fd::AsFd;

    #[test]
    fn the_received_descriptor_is_the_same_open_file() {
        let socket = unix_pair().unwrap();
        let pipe = fd::pipe_pair().unwrap();
        send(socket.write.as_fd(), pipe.write.as_fd()).unwrap();
        let copy = receive(socket.read.as_fd()).unwrap();
        drop(pipe.write);
        fd::write_full(copy.as_fd(), b"by the copy").unwrap();
        let mut text = [0; 11];
        fd::read_full(pipe.read.as_fd(), &mut text).unwrap();
        assert_eq!(&text, b"by the copy");
    }

    #[test]
    fn a_closed_end_and_a_bare_byte_are_errors() {
        let socket = unix_pair().unwrap();
        fd::write_full(socket.write.as_fd(), b"x").unwrap();
        assert_eq!(receive(socket.read.as_fd()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(socket.write);
        assert_eq!(receive(socket.read.as_fd()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
