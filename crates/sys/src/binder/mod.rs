//! The binder driver through its ioctl interface: a binder device opened by one process, behind a trait, so that code
//! built on it can run against a fake driver on kernels without binder. Source: include/uapi/linux/android/binder.h,
//! drivers/android/binder.c.

mod binderfs;
pub mod protocol;

pub use binderfs::{Binderfs, DEVICE, is_known as binderfs_is_known};

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;

/// What one BINDER_WRITE_READ passes to the driver: commands, and the memory that they point to.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// A [`protocol::Stream`].
    pub commands: &'a [u8],
    /// The payload of its transaction, if it has one.
    pub data: &'a [u8],
    /// The offsets of the objects in that payload, 64 bits each as the driver expects them.
    pub offsets: &'a [u8],
}

impl<'a> Outgoing<'a> {
    /// The memory at an address that a command names: what the kernel's copy_from_user would find.
    pub fn memory_at(&self, address: u64, length: u64) -> Option<&'a [u8]> {
        let found = [self.data, self.offsets].into_iter().find(|m| address_of(m) == address)?;
        found.get(..length as usize)
    }
}

/// The address of these bytes, to be put into a command.
pub fn address_of(bytes: &[u8]) -> u64 {
    bytes.as_ptr().expose_provenance() as u64
}

/// How far the driver got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transferred {
    /// Bytes of the commands that the driver consumed.
    pub written: usize,
    /// Bytes of returns that the driver wrote.
    pub read: usize,
}

/// A binder driver, as one process sees it; its threads call it at the same time.
pub trait Driver: Send + Sync {
    /// BINDER_WRITE_READ: executes the commands and then, if `returns` is not empty, waits until there is something to
    /// return. If the wait is interrupted, the commands have been executed and the error is `Interrupted`.
    fn write_read(&self, outgoing: &Outgoing<'_>, returns: &mut [u8]) -> io::Result<Transferred>;
    /// BINDER_SET_CONTEXT_MGR: transactions to handle 0 go to the calling process. `EBUSY` if another process is the
    /// context manager.
    fn become_context_manager(&self) -> io::Result<()>;
    /// BINDER_THREAD_EXIT: the calling thread will make no more calls; otherwise the driver keeps its record of the
    /// thread.
    fn thread_exit(&self);
    /// Copies a received payload, valid until it is freed; `EFAULT` if the address is not that of a payload.
    fn copy_payload(&self, address: u64, into: &mut [u8]) -> io::Result<()>;
}

/// `struct binder_write_read`.
#[repr(C)]
#[derive(Debug, Default)]
struct WriteRead {
    write_size: u64,
    write_consumed: u64,
    write_buffer: u64,
    read_size: u64,
    read_consumed: u64,
    read_buffer: u64,
}
const _: () = assert!(size_of::<WriteRead>() == 48);

const BINDER_WRITE_READ: u32 = 0xc030_6201;
const BINDER_SET_MAX_THREADS: u32 = 0x4004_6205;
const BINDER_SET_CONTEXT_MGR: u32 = 0x4004_6207;
const BINDER_THREAD_EXIT: u32 = 0x4004_6208;
const BINDER_VERSION: u32 = 0xc004_6209;

/// The 64-bit protocol, the only one on 64-bit kernels.
const PROTOCOL_VERSION: i32 = 8;

/// Room for received payloads: as much as libbinder maps.
const MAPPED_BYTES: usize = (1 << 20) - 2 * 4096;

/// An open binder device; belongs to the process that opened it, and does not survive a fork into the child.
#[derive(Debug)]
pub struct Device {
    fd: OwnedFd,
    payloads: NonNull<u8>,
}

// SAFETY: the descriptor is one, and the mapping is read-only memory that the kernel writes; neither is tied to a
// thread.
unsafe impl Send for Device {}
// SAFETY: the driver takes calls of several threads at a time; the mapping is only copied from.
unsafe impl Sync for Device {}

impl Device {
    /// Opens the device and maps the room for payloads. `EPROTO` if the device does not use protocol version 8.
    pub fn open(path: &Path) -> io::Result<Self> {
        let fd: OwnedFd = std::fs::OpenOptions::new().read(true).write(true).open(path)?.into();
        let mut version = 0i32;
        ioctl(&fd, BINDER_VERSION, &mut version)?;
        if version != PROTOCOL_VERSION {
            return Err(io::Error::from_raw_os_error(libc::EPROTO));
        }
        // The driver is not to request threads: we start all of those that serve.
        ioctl(&fd, BINDER_SET_MAX_THREADS, &mut 0u32)?;
        // SAFETY: a fresh read-only mapping at an address of the kernel's choice touches no memory of ours.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                MAPPED_BYTES,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_NORESERVE,
                fd.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let payloads = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { fd, payloads })
    }
}

fn ioctl<T>(fd: &OwnedFd, number: u32, argument: &mut T) -> io::Result<()> {
    debug_assert_eq!((number >> 16 & 0x3fff) as usize, size_of::<T>(), "the size is in the number");
    // SAFETY: the kernel reads and writes as many bytes as the number says, which is the size of the live, exclusively
    // borrowed argument; all arguments used here are plain integers.
    let rc = unsafe { libc::ioctl(fd.as_raw_fd(), number as libc::Ioctl, std::ptr::from_mut(argument)) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Driver for Device {
    #[inline]
    fn write_read(&self, outgoing: &Outgoing<'_>, returns: &mut [u8]) -> io::Result<Transferred> {
        let mut call = WriteRead {
            write_size: outgoing.commands.len() as u64,
            write_buffer: address_of(outgoing.commands),
            read_size: returns.len() as u64,
            read_buffer: returns.as_mut_ptr().expose_provenance() as u64,
            ..WriteRead::default()
        };
        // The driver reads the commands and the memory they name, which `outgoing` keeps alive, and checks every
        // address; it writes at most `read_size` bytes into `returns`, exclusively borrowed.
        ioctl(&self.fd, BINDER_WRITE_READ, &mut call)?;
        Ok(Transferred { written: call.write_consumed as usize, read: call.read_consumed as usize })
    }

    fn become_context_manager(&self) -> io::Result<()> {
        ioctl(&self.fd, BINDER_SET_CONTEXT_MGR, &mut 0i32)
    }

    fn thread_exit(&self) {
        let _ = ioctl(&self.fd, BINDER_THREAD_EXIT, &mut 0i32);
    }

    #[inline]
    fn copy_payload(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        let at = address.wrapping_sub(self.payloads.as_ptr().addr() as u64) as usize;
        if at > MAPPED_BYTES || into.len() > MAPPED_BYTES - at {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
        // SAFETY: `at` and the length were seen to lie in the mapping.
        let from = unsafe { self.payloads.as_ptr().add(at) };
        // SAFETY: the source is mapped and readable as long as `self`, the target is live and exclusively borrowed, and
        // they cannot overlap, since one is a mapping of the driver. The kernel does not write a payload again before
        // it is freed, and a caller that has freed it copies stale bytes, no more.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `open`, unmapped once; nothing refers to it.
        unsafe { libc::munmap(self.payloads.as_ptr().cast(), MAPPED_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_binder_device_is_refused() {
        assert_eq!(Device::open(Path::new("/dev/null")).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        assert!(Device::open(Path::new("/nowhere/binder")).is_err());
    }

    #[test]
    fn memory_is_found_by_the_address_a_command_names() {
        let (data, offsets) = ([1u8, 2, 3], [0u8; 8]);
        let outgoing = Outgoing { commands: &[], data: &data, offsets: &offsets };
        assert_eq!(outgoing.memory_at(address_of(&data), 2), Some(&data[..2]));
        assert_eq!(outgoing.memory_at(address_of(&offsets), 8), Some(&offsets[..]));
        assert_eq!((outgoing.memory_at(address_of(&data), 4), outgoing.memory_at(8, 1)), (None, None));
    }

    #[test]
    fn a_real_device_speaks_the_protocol_where_there_is_one() {
        let Ok(device) = Device::open(Path::new(DEVICE)) else {
            use std::io::Write;
            let _ = writeln!(io::stderr(), "schedlab-skip: binder: needs binder ({DEVICE})");
            return;
        };
        assert_eq!(device.copy_payload(16, &mut [0]).unwrap_err().raw_os_error(), Some(libc::EFAULT));
        let nothing = Outgoing { commands: &[], data: &[], offsets: &[] };
        assert_eq!(device.write_read(&nothing, &mut []).unwrap(), Transferred { written: 0, read: 0 });
    }
}
