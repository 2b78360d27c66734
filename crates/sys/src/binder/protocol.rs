//! The binder driver's wire format: commands written to it and returns read from it, each a stream of 32-bit numbers
//! with fixed-size arguments. 64-bit protocol (version 8). Source: include/uapi/linux/android/binder.h.

/// `_IOC` of asm-generic/ioctl.h, which every architecture we build for uses.
const fn ioc(direction: u32, kind: u8, number: u32, size: usize) -> u32 {
    direction << 30 | (size as u32) << 16 | (kind as u32) << 8 | number
}
const fn none(kind: u8, number: u32) -> u32 {
    ioc(0, kind, number, 0)
}
const fn to_driver(kind: u8, number: u32, size: usize) -> u32 {
    ioc(1, kind, number, size)
}
const fn from_driver(kind: u8, number: u32, size: usize) -> u32 {
    ioc(2, kind, number, size)
}

/// Bytes of `struct binder_transaction_data`.
pub const TRANSACTION_BYTES: usize = 64;
/// Bytes of `struct flat_binder_object`.
pub const OBJECT_BYTES: usize = 24;

/// Commands to the driver.
pub mod command {
    use super::{TRANSACTION_BYTES, none, to_driver};
    /// A transaction to a handle.
    pub const TRANSACTION: u32 = to_driver(b'c', 0, TRANSACTION_BYTES);
    /// The reply to the transaction received last.
    pub const REPLY: u32 = to_driver(b'c', 1, TRANSACTION_BYTES);
    /// A received payload is no longer needed.
    pub const FREE_BUFFER: u32 = to_driver(b'c', 3, 8);
    /// Takes a strong reference on a handle.
    pub const ACQUIRE: u32 = to_driver(b'c', 5, 4);
    /// Answers `INCREFS`.
    pub const INCREFS_DONE: u32 = to_driver(b'c', 8, 16);
    /// Answers `ACQUIRE`.
    pub const ACQUIRE_DONE: u32 = to_driver(b'c', 9, 16);
    /// The calling thread serves transactions from now on.
    pub const ENTER_LOOPER: u32 = none(b'c', 12);
}

/// What the driver returns.
pub mod returned {
    use super::{TRANSACTION_BYTES, from_driver, none};
    /// An errno.
    pub const ERROR: u32 = from_driver(b'r', 0, 4);
    /// A transaction to serve.
    pub const TRANSACTION: u32 = from_driver(b'r', 2, TRANSACTION_BYTES);
    /// The reply to our transaction.
    pub const REPLY: u32 = from_driver(b'r', 3, TRANSACTION_BYTES);
    /// The target is gone.
    pub const DEAD_REPLY: u32 = none(b'r', 5);
    /// The driver has accepted what we sent.
    pub const TRANSACTION_COMPLETE: u32 = none(b'r', 6);
    /// Another process holds a weak reference to our object.
    pub const INCREFS: u32 = from_driver(b'r', 7, 16);
    /// Another process holds a strong reference to our object.
    pub const ACQUIRE: u32 = from_driver(b'r', 8, 16);
    /// Nothing.
    pub const NOOP: u32 = none(b'r', 12);
    /// The transaction failed.
    pub const FAILED_REPLY: u32 = none(b'r', 17);
    /// The target is frozen.
    pub const FROZEN_REPLY: u32 = none(b'r', 18);
}

/// A local object in a payload, to be passed to another process.
pub const TYPE_BINDER: u32 = u32::from_be_bytes(*b"sb*\x85");
/// A handle in a payload, to another process's object.
pub const TYPE_HANDLE: u32 = u32::from_be_bytes(*b"sh*\x85");

/// The lowest priority (as a nice value) at which an object is served: with 19, the server can adopt any caller's nice
/// value.
const MIN_PRIORITY_NICE: u32 = 19;
/// `FLAT_BINDER_FLAG_INHERIT_RT` of Android's kernels; mainline ignores it.
const INHERIT_RT: u32 = 0x800;
/// Flags of a served object.
pub const SERVED_OBJECT_FLAGS: u32 = MIN_PRIORITY_NICE | INHERIT_RT;

/// `struct flat_binder_object`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatObject {
    /// [`TYPE_BINDER`] or [`TYPE_HANDLE`].
    pub kind: u32,
    /// [`SERVED_OBJECT_FLAGS`] for an object of ours.
    pub flags: u32,
    /// Our identifier for our object, or the handle.
    pub id: u64,
    /// Comes back with each transaction to our object.
    pub cookie: u64,
}

impl FlatObject {
    /// The object's bytes in a payload.
    pub fn to_bytes(self) -> [u8; OBJECT_BYTES] {
        let mut bytes = [0; OBJECT_BYTES];
        bytes[..4].copy_from_slice(&self.kind.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.flags.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.id.to_ne_bytes());
        bytes[16..].copy_from_slice(&self.cookie.to_ne_bytes());
        bytes
    }

    /// Read from a payload.
    pub fn from_bytes(bytes: &[u8; OBJECT_BYTES]) -> Self {
        let field = Fields(bytes);
        Self { kind: field.u32(0), flags: field.u32(4), id: field.u64(8), cookie: field.u64(16) }
    }
}

/// Unaligned fields of a fixed-size record.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|i| self.0[at + i])
    }
    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.array(at))
    }
    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.array(at))
    }
}

/// `struct binder_transaction_data`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transaction {
    /// The handle of the target or, on the receiving side, our identifier for the target object.
    pub target: u64,
    /// The object's cookie, on the receiving side.
    pub cookie: u64,
    /// What is asked for.
    pub code: u32,
    /// `TF_*`.
    pub flags: u32,
    /// The caller's pid, on the receiving side.
    pub sender_pid: u32,
    /// Payload bytes.
    pub data_size: u64,
    /// Bytes of the list of offsets of objects in the payload.
    pub offsets_size: u64,
    /// Address of the payload.
    pub buffer: u64,
    /// Address of the offsets.
    pub offsets: u64,
}

impl Transaction {
    fn to_bytes(self) -> [u8; TRANSACTION_BYTES] {
        let mut bytes = [0; TRANSACTION_BYTES];
        bytes[..8].copy_from_slice(&self.target.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.code.to_ne_bytes());
        bytes[20..24].copy_from_slice(&self.flags.to_ne_bytes());
        bytes[24..28].copy_from_slice(&self.sender_pid.to_ne_bytes());
        for (at, value) in [(32, self.data_size), (40, self.offsets_size), (48, self.buffer), (56, self.offsets)] {
            bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let field = Fields(bytes);
        Self {
            target: field.u64(0),
            cookie: field.u64(8),
            code: field.u32(16),
            flags: field.u32(20),
            sender_pid: field.u32(24),
            data_size: field.u64(32),
            offsets_size: field.u64(40),
            buffer: field.u64(48),
            offsets: field.u64(56),
        }
    }
}

/// A stream of commands or, in a fake driver, of returns.
#[derive(Debug, Default)]
pub struct Stream(Vec<u8>);

impl Stream {
    /// Reserves room for some commands, so that the timed region does not allocate.
    pub fn with_room() -> Self {
        Self(Vec::with_capacity(512))
    }
    /// The bytes to write.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
    /// Empties the stream.
    pub fn clear(&mut self) {
        self.0.clear();
    }
    /// A number without an argument.
    pub fn push(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_ne_bytes());
    }
    /// A number with a 32-bit argument.
    pub fn push_u32(&mut self, number: u32, argument: u32) {
        self.push(number);
        self.0.extend_from_slice(&argument.to_ne_bytes());
    }
    /// A number with a 64-bit argument.
    pub fn push_u64(&mut self, number: u32, argument: u64) {
        self.push(number);
        self.0.extend_from_slice(&argument.to_ne_bytes());
    }
    /// A number with an object's identifier and cookie.
    pub fn push_object(&mut self, number: u32, id: u64, cookie: u64) {
        self.push_u64(number, id);
        self.0.extend_from_slice(&cookie.to_ne_bytes());
    }
    /// A transaction or a reply.
    pub fn push_transaction(&mut self, number: u32, transaction: Transaction) {
        self.push(number);
        self.0.extend_from_slice(&transaction.to_bytes());
    }
}

/// One element of a stream: its number and the bytes of its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// One of [`command`] or [`returned`].
    pub number: u32,
    argument: &'a [u8],
}

impl Element<'_> {
    /// The argument's first 32 bits; 0 when it has fewer.
    pub fn u32(&self) -> u32 {
        if self.argument.len() < 4 { 0 } else { Fields(self.argument).u32(0) }
    }
    /// The argument's first 64 bits; 0 when it has fewer.
    pub fn u64(&self) -> u64 {
        if self.argument.len() < 8 { 0 } else { Fields(self.argument).u64(0) }
    }
    /// An object's identifier and cookie.
    pub fn object(&self) -> (u64, u64) {
        if self.argument.len() < 16 { (0, 0) } else { (Fields(self.argument).u64(0), Fields(self.argument).u64(8)) }
    }
    /// A transaction; `None` if the argument is not one.
    pub fn transaction(&self) -> Option<Transaction> {
        (self.argument.len() == TRANSACTION_BYTES).then(|| Transaction::from_bytes(self.argument))
    }
}

/// Splits the first element off `stream`. The number encodes the length of its argument, so unknown elements can be
/// skipped. `None` if no complete element is left.
#[inline]
pub fn split_first(stream: &[u8]) -> Option<(Element<'_>, usize)> {
    let number = u32::from_ne_bytes(*stream.first_chunk::<4>()?);
    let size = (number >> 16 & 0x3fff) as usize;
    let argument = stream.get(4..4 + size)?;
    Some((Element { number, argument }, 4 + size))
}

#[cfg(test)]
mod tests;
