//! The kernel's audit state over netlink: whether auditing is on and how many rules are loaded. With auditing on, every
//! system call takes the slow path even without a rule. Source: netlink(7), include/uapi/linux/audit.h.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const AUDIT_GET: u16 = 1000;
const AUDIT_LIST_RULES: u16 = 1013;
const HEADER_BYTES: usize = 16;

/// What auditing does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditState {
    /// 0 off, 1 on, 2 on and locked.
    pub enabled: u32,
    /// Rules of all lists.
    pub rules: usize,
}

/// Asks the kernel; changes nothing. `EPERM` without CAP_AUDIT_CONTROL, `ECONNREFUSED` in a user or pid namespace,
/// `EPROTONOSUPPORT` on a kernel without CONFIG_AUDIT.
pub fn audit_state() -> io::Result<AuditState> {
    let mut socket = open_socket()?;
    let mut enabled = 0;
    request(&mut socket, AUDIT_GET, |kind, body| {
        // struct audit_status begins with mask and enabled.
        if kind == AUDIT_GET && body.len() >= 8 {
            enabled = u32::from_ne_bytes([body[4], body[5], body[6], body[7]]);
            return true;
        }
        false
    })?;
    let mut rules = 0;
    request(&mut socket, AUDIT_LIST_RULES, |kind, _| {
        rules += usize::from(kind == AUDIT_LIST_RULES);
        kind == NLMSG_DONE
    })?;
    Ok(AuditState { enabled, rules })
}

fn open_socket() -> io::Result<File> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes numbers and touches no memory of ours.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_AUDIT) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, ours, and owned nowhere else.
    let socket = unsafe { File::from_raw_fd(fd) };
    let patience = libc::timeval { tv_sec: 0, tv_usec: 300_000 };
    let length = size_of::<libc::timeval>() as libc::socklen_t;
    let from = (&raw const patience).cast();
    // SAFETY: the kernel only reads `length` bytes of the live timeval; the descriptor is owned by `socket`.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, from, length) };
    if rc == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

/// Sends one request without a body and hands every message that answers it to `each`, which says when it has all.
fn request(socket: &mut File, kind: u16, mut each: impl FnMut(u16, &[u8]) -> bool) -> io::Result<()> {
    let mut header = [0u8; HEADER_BYTES];
    header[..4].copy_from_slice(&(HEADER_BYTES as u32).to_ne_bytes());
    header[4..6].copy_from_slice(&kind.to_ne_bytes());
    header[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    header[8..12].copy_from_slice(&u32::from(kind).to_ne_bytes());
    socket.write_all(&header)?;
    let mut buffer = [0u8; 16 * 1024];
    loop {
        let got = socket.read(&mut buffer)?;
        let mut rest = &buffer[..got];
        while let Some((length, kind)) = message(rest) {
            let body = &rest[HEADER_BYTES..length];
            if kind == NLMSG_ERROR && body.len() >= 4 {
                let errno = i32::from_ne_bytes([body[0], body[1], body[2], body[3]]);
                if errno != 0 {
                    return Err(io::Error::from_raw_os_error(-errno));
                }
            } else if each(kind, body) {
                return Ok(());
            }
            // Messages are aligned to four bytes; the last one may end short of that.
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

/// Length and type of the first message, when a whole one is there.
fn message(bytes: &[u8]) -> Option<(usize, u16)> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    (HEADER_BYTES..=bytes.len()).contains(&length).then_some((length, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_answers_or_refuses_in_time() {
        match audit_state() {
            Ok(state) => assert!(state.enabled <= 2, "{state:?}"),
            Err(error) => {
                use std::io::Write;
                let _ = writeln!(io::stderr(), "schedlab-skip: audit: needs CAP_AUDIT_CONTROL ({error})");
            }
        }
    }

    #[test]
    fn a_cut_message_is_no_message() {
        let mut bytes = [0u8; 20];
        bytes[..4].copy_from_slice(&20u32.to_ne_bytes());
        bytes[4..6].copy_from_slice(&3u16.to_ne_bytes());
        assert_eq!(message(&bytes), Some((20, 3)));
        for end in 0..20 {
            assert_eq!(message(&bytes[..end]), None);
        }
    }
}
