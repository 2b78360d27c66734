//! The kernel's audit state over netlink: whether auditing is on and how many rules are loaded. With auditing on, every
//! system call takes the slow path even without a rule. Source: netlink(7), include/uapi/linux/audit.h.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const AUDIT_GET: u16 = 1000;
const AUDIT_ADD_RULE: u16 = 1011;
const AUDIT_DEL_RULE: u16 = 1012;
const AUDIT_LIST_RULES: u16 = 1013;
const AUDIT_FILTER_TASK: u32 = 1;
const AUDIT_NEVER: u32 = 0;
/// `struct audit_rule_data`: three words, then mask, fields, values and flags of 64 words each, and a length.
const RULE_BYTES: usize = 12 + 4 * 64 * 4 + 4;
const HEADER_BYTES: usize = 16;

/// Value of [`AuditState::enabled`] when auditing cannot be changed until the next boot.
pub const LOCKED: u32 = 2;

/// The present state of auditing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditState {
    /// 0 off, 1 on, 2 on and locked.
    pub enabled: u32,
    /// Number of rules in all lists.
    pub rules: usize,
    /// Whether one of the rules is `never,task`: then new tasks are not audited.
    pub task_never: bool,
}

/// Asks the kernel; changes nothing. `EPERM` without CAP_AUDIT_CONTROL, `ECONNREFUSED` in a user or pid namespace,
/// `EPROTONOSUPPORT` on a kernel without CONFIG_AUDIT.
pub fn audit_state() -> io::Result<AuditState> {
    let mut socket = open_socket()?;
    let mut enabled = 0;
    request(&mut socket, AUDIT_GET, &[], |kind, body| {
        // struct audit_status begins with mask and enabled.
        if kind == AUDIT_GET && body.len() >= 8 {
            enabled = u32::from_ne_bytes([body[4], body[5], body[6], body[7]]);
            return true;
        }
        false
    })?;
    let (mut rules, mut task_never) = (0, false);
    request(&mut socket, AUDIT_LIST_RULES, &[], |kind, body| {
        rules += usize::from(kind == AUDIT_LIST_RULES);
        task_never |= kind == AUDIT_LIST_RULES && is_task_never(body);
        kind == NLMSG_DONE
    })?;
    Ok(AuditState { enabled, rules, task_never })
}

/// Adds or removes the unconditional rule `never,task`: tasks forked while it is loaded have no audit context, and
/// their system calls take the fast path. `EPERM` without CAP_AUDIT_CONTROL or when the state is locked. Adding a rule
/// that is already loaded, or removing one that is not, is no error.
///
/// AUDIT_SET, the other switch, is not offered: once auditing has been on, every later task keeps an audit context
/// until the next boot (`audit_ever_enabled`, kernel/auditsc.c), so the host could not be restored to its earlier
/// state.
pub fn set_task_never(there: bool) -> io::Result<()> {
    // struct audit_rule_data: the list, the action, no fields; masks and fields are zero.
    let mut rule = vec![0u8; RULE_BYTES];
    rule[..4].copy_from_slice(&AUDIT_FILTER_TASK.to_ne_bytes());
    rule[4..8].copy_from_slice(&AUDIT_NEVER.to_ne_bytes());
    let kind = if there { AUDIT_ADD_RULE } else { AUDIT_DEL_RULE };
    match request(&mut open_socket()?, kind, &rule, |_, _| false) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EEXIST | libc::ENOENT)) => Ok(()),
        other => other,
    }
}

/// Whether a listed rule is the unconditional `never,task`.
fn is_task_never(rule: &[u8]) -> bool {
    let word = |at: usize| rule.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
    (word(0), word(4), word(8)) == (Some(AUDIT_FILTER_TASK), Some(AUDIT_NEVER), Some(0))
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
    // A kernel thread lists the rules, and on a busy machine it has to wait for a CPU. A refusal comes at once.
    let patience = libc::timeval { tv_sec: 5, tv_usec: 0 };
    let length = size_of::<libc::timeval>() as libc::socklen_t;
    let from = (&raw const patience).cast();
    // SAFETY: the kernel only reads `length` bytes of the live timeval; the descriptor is owned by `socket`.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, from, length) };
    if rc == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

/// Sends one request and passes every reply to `each`, which returns whether it has seen all it needs. A request with a
/// body changes something and ends with its acknowledgement.
fn request(socket: &mut File, kind: u16, body: &[u8], mut each: impl FnMut(u16, &[u8]) -> bool) -> io::Result<()> {
    let ack = if body.is_empty() { 0 } else { libc::NLM_F_ACK };
    let mut message_bytes = vec![0u8; HEADER_BYTES];
    let length = (HEADER_BYTES + body.len()) as u32;
    message_bytes[..4].copy_from_slice(&length.to_ne_bytes());
    message_bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    message_bytes[6..8].copy_from_slice(&((libc::NLM_F_REQUEST | ack) as u16).to_ne_bytes());
    message_bytes[8..12].copy_from_slice(&u32::from(kind).to_ne_bytes());
    message_bytes.extend_from_slice(body);
    socket.write_all(&message_bytes)?;
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
                if ack != 0 {
                    return Ok(());
                }
            } else if each(kind, body) {
                return Ok(());
            }
            // Messages are aligned to four bytes; the last one may lack the padding.
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

/// Length and type of the first message, if it is complete.
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
    fn the_rule_that_spares_tasks_is_known_by_its_first_words() {
        let mut rule = vec![0u8; RULE_BYTES];
        rule[..4].copy_from_slice(&AUDIT_FILTER_TASK.to_ne_bytes());
        assert!(is_task_never(&rule));
        rule[8] = 1;
        assert!(!is_task_never(&rule), "it has a condition");
        assert!(!is_task_never(&rule[..7]));
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
