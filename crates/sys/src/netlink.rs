//! netlink: requests with attributes, and the kernel's reply to each: an error number and, from Linux 4.12 on, a
//! message. Source: netlink(7), linux/netlink.h.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A request that the kernel refused.
#[derive(Debug, thiserror::Error)]
#[error("{cause}{}", .detail.as_ref().map(|text| format!(" ({text})")).unwrap_or_default())]
pub struct Refused {
    /// The error number: `EEXIST` for a name or address that exists, `EPERM` without CAP_NET_ADMIN over the namespace,
    /// `EOPNOTSUPP` or `ENOENT` for a kind this kernel does not have.
    pub cause: io::Error,
    /// The kernel's error message, if it sent one.
    pub detail: Option<String>,
}

impl From<io::Error> for Refused {
    fn from(cause: io::Error) -> Self {
        Self { cause, detail: None }
    }
}

/// A netlink socket. It acts on the network namespace in which it was opened, even if its owner moves to another.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
/// With NLM_F_CREATE: fail if the object exists.
pub(crate) const NLM_F_EXCL: u16 = 0x200;
/// Creates what is not there.
pub(crate) const NLM_F_CREATE: u16 = 0x400;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSGERR_ATTR_MSG: u16 = 1;
const SOL_NETLINK: libc::c_int = 270;
const NETLINK_CAP_ACK: libc::c_int = 10;
const NETLINK_EXT_ACK: libc::c_int = 11;

impl Netlink {
    /// A socket of this family (`NETLINK_ROUTE`) in the caller's current network namespace.
    pub(crate) fn open(family: libc::c_int) -> io::Result<Self> {
        // SAFETY: three numbers, no memory.
        let raw = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, family) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, ours, and owned nowhere else.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        // Refused before Linux 4.12: errors then come without a message.
        for option in [NETLINK_CAP_ACK, NETLINK_EXT_ACK] {
            let _ = switch_on(socket.as_raw_fd(), option);
        }
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends one request and waits for the kernel's reply.
    pub(crate) fn request(&mut self, message: Message) -> Result<(), Refused> {
        self.sequence += 1;
        let bytes = message.finish(self.sequence);
        // SAFETY: the kernel only reads the stated number of bytes of the live buffer.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error().into());
        }
        let mut answer = [0u8; 8192];
        loop {
            // SAFETY: the kernel writes at most `answer.len()` bytes into the live, exclusively borrowed buffer.
            let got = unsafe { libc::recv(self.socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
            if got < 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(error.into());
            }
            if let Some(verdict) = verdict(&answer[..got as usize], self.sequence) {
                return verdict;
            }
        }
    }
}

fn switch_on(socket: RawFd, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = size_of_val(&on) as libc::socklen_t;
    // SAFETY: the kernel reads one int from `on`, which lives through the call.
    let rc = unsafe { libc::setsockopt(socket, SOL_NETLINK, option, (&raw const on).cast(), length) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's reply to request number `sequence`, if it is among these messages.
fn verdict(mut answer: &[u8], sequence: u32) -> Option<Result<(), Refused>> {
    loop {
        let length = word(answer, 0)? as usize;
        let message = answer.get(..length)?;
        let (kind, flags) = (half(message, 4)?, half(message, 6)?);
        if kind == NLMSG_ERROR && word(message, 8)? == sequence {
            // A negative errno, then the header of the request.
            let code = word(message, 16)?.cast_signed();
            let detail = (flags & NLM_F_ACK_TLVS != 0).then(|| words(message.get(36..)?)).flatten();
            let source = io::Error::from_raw_os_error(-code);
            return Some(if code == 0 { Ok(()) } else { Err(Refused { cause: source, detail }) });
        }
        answer = answer.get(length.next_multiple_of(4)..)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The error message among the attributes of a reply.
fn words(mut attributes: &[u8]) -> Option<String> {
    loop {
        let (length, kind) = (usize::from(half(attributes, 0)?), half(attributes, 2)?);
        let value = attributes.get(4..length)?;
        if kind == NLMSGERR_ATTR_MSG {
            return Some(String::from_utf8_lossy(value).trim_end_matches('\0').to_owned());
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

/// A request under construction: header, then attributes, each padded to four bytes.
pub(crate) struct Message {
    /// The family's header and attributes may be appended directly.
    pub(crate) bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn new(kind: u16, flags: u16, header: &[u8]) -> Self {
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((flags | NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(header);
        Self { bytes }
    }

    pub(crate) fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |inside| inside.bytes.extend(value));
    }

    /// A string attribute, NUL-terminated.
    pub(crate) fn text(&mut self, kind: u16, value: &str) {
        self.attribute(kind, &[value.as_bytes(), &[0]].concat());
    }

    pub(crate) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        fill(self);
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: u16 = 16;
    const OUTER: u16 = 18;
    const INNER: u16 = 1;

    #[test]
    fn attributes_nest_with_their_lengths_and_are_padded() {
        let mut message = Message::new(KIND, 0, &[]);
        message.nest(OUTER, |info| info.text(INNER, "tbf3"));
        let bytes = message.finish(9);
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!(bytes.len(), 16 + 4 + 4 + 8);
        assert_eq!((half(0), half(4), half(6), half(8)), (32, KIND, NLM_F_REQUEST | NLM_F_ACK, 9));
        assert_eq!((half(16), half(18), half(20), half(22)), (16, OUTER, 9, INNER));
        assert_eq!(&bytes[24..], b"tbf3\0\0\0\0");
    }

    /// A reply as the kernel writes it: header, errno, the header of the request, the message.
    fn answer(sequence: u32, errno: i32, text: &str) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        bytes.extend(NLMSG_ERROR.to_ne_bytes());
        bytes.extend(NLM_F_ACK_TLVS.to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend((-errno).to_ne_bytes());
        bytes.extend([0; 16]);
        bytes.extend((text.len() as u16 + 5).to_ne_bytes());
        bytes.extend(NLMSGERR_ATTR_MSG.to_ne_bytes());
        bytes.extend(text.as_bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let length = (bytes.len() as u32).to_ne_bytes();
        bytes[..4].copy_from_slice(&length);
        bytes
    }

    #[test]
    fn an_answer_is_found_by_its_number_and_carries_the_kernels_words() {
        let both = [answer(3, 17, "of another request"), answer(4, 2, "no such kind")].concat();
        let refused = verdict(&both, 4).unwrap().unwrap_err();
        assert_eq!(refused.cause.raw_os_error(), Some(2));
        assert!(refused.to_string().ends_with("(no such kind)"), "{refused}");
        assert!(verdict(&answer(5, 0, ""), 5).unwrap().is_ok());
        assert!(verdict(&both, 6).is_none());
        for length in 0..both.len() {
            // A truncated reply is not accepted, or only the complete message before it is.
            assert!(verdict(&both[..length], 4).is_none(), "{length}");
        }
    }
}
