//! The request and the reply of a transaction: a request has 16 bytes, like schd-dbg's parcel, and a reply 8 bytes.

use schedlab_sys::sched_attr::SchedAttr;

pub(super) const REQUEST_BYTES: usize = 16;
pub(super) const REPLY_BYTES: usize = 8;

/// The number of a transaction that ends the server.
const END: u64 = u64::MAX;

/// Bits of a transaction's number that the reply contains.
const ECHO_BITS: u32 = 24;

/// The scheduling attributes of one side by which inheritance is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Attributes {
    pub(super) policy: u8,
    pub(super) priority: u8,
    pub(super) nice: i8,
}

impl From<SchedAttr> for Attributes {
    fn from(attr: SchedAttr) -> Self {
        Self { policy: attr.policy as u8, priority: attr.priority as u8, nice: attr.nice as i8 }
    }
}

/// What a client sends: the number of the transaction, and the caller's CPU and attributes, as in the references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) number: u64,
    pub(super) cpu: u32,
    pub(super) caller: Attributes,
}

impl Request {
    /// The last request of a client.
    pub(super) fn end() -> Self {
        Self { number: END, cpu: 0, caller: Attributes::default() }
    }

    pub(super) fn is_end(&self) -> bool {
        self.number == END
    }

    #[inline]
    pub(super) fn to_bytes(self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..8].copy_from_slice(&self.number.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.cpu.to_ne_bytes());
        bytes[12..15].copy_from_slice(&[self.caller.policy, self.caller.priority, self.caller.nice as u8]);
        bytes
    }

    #[inline]
    pub(super) fn from_bytes(bytes: &[u8; REQUEST_BYTES]) -> Self {
        let [n0, n1, n2, n3, n4, n5, n6, n7, c0, c1, c2, c3, policy, priority, nice, _] = *bytes;
        Self {
            number: u64::from_ne_bytes([n0, n1, n2, n3, n4, n5, n6, n7]),
            cpu: u32::from_ne_bytes([c0, c1, c2, c3]),
            caller: Attributes { policy, priority, nice: nice as i8 },
        }
    }
}

/// What the server replies: the low bits of the transaction's number, and its CPU and attributes while it served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) number: u64,
    pub(super) cpu: u32,
    pub(super) server: Attributes,
}

impl Reply {
    /// One word below 2^63, so that it can be the result of a system call: number, CPU, policy, priority, nice.
    #[inline]
    pub(super) fn to_bytes(self) -> [u8; REPLY_BYTES] {
        let nice = (i64::from(self.server.nice) + 20) as u64;
        let attributes = u64::from(self.server.policy) << 13 | u64::from(self.server.priority & 127) << 6 | nice & 63;
        let word = (self.number & ((1 << ECHO_BITS) - 1)) << 37 | u64::from(self.cpu & 0xffff) << 21 | attributes;
        word.to_ne_bytes()
    }

    #[inline]
    pub(super) fn from_bytes(bytes: [u8; REPLY_BYTES]) -> Self {
        let word = u64::from_ne_bytes(bytes);
        let server = Attributes {
            policy: (word >> 13 & 255) as u8,
            priority: (word >> 6 & 127) as u8,
            nice: ((word & 63) as i64 - 20) as i8,
        };
        Self { number: word >> 37, cpu: (word >> 21 & 0xffff) as u32, server }
    }

    /// Whether this is the reply to the request with this number.
    #[inline]
    pub(super) fn answers(&self, number: u64) -> bool {
        self.number == number & ((1 << ECHO_BITS) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_come_back_as_they_were_written() {
        for (number, cpu, policy, priority, nice) in
            [(0, 0, 0, 0, 0), ((1 << 24) - 1, 65_535, 1, 99, -20), (77, 255, 6, 0, 19), ((1 << 40) + 5, 1, 5, 1, -1)]
        {
            let attributes = Attributes { policy, priority, nice };
            let request = Request { number, cpu, caller: attributes };
            assert_eq!(Request::from_bytes(&request.to_bytes()), request);
            let bytes = Reply { number, cpu, server: attributes }.to_bytes();
            let reply = Reply::from_bytes(bytes);
            assert_eq!((reply.cpu, reply.server), (cpu, attributes));
            assert!(reply.answers(number) && !reply.answers(number + 1));
            assert!(u64::from_ne_bytes(bytes) < 1 << 63, "it must not look like an errno");
        }
        assert!(Request::from_bytes(&Request::end().to_bytes()).is_end());
    }
}
