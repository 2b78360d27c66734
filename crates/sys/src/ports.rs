//! I/O ports of an x86 machine, for a guest that talks to the QEMU around it. Sources: iopl(2); Intel SDM volume 1,
//! chapter 19.

use std::io;

/// The right of this thread to access all I/O ports; given up on drop.
#[derive(Debug)]
pub struct Ports(());

#[cfg(target_arch = "x86_64")]
impl Ports {
    /// `EPERM` without CAP_SYS_RAWIO or on a locked-down kernel, `ENOSYS` on one without CONFIG_X86_IOPL_IOPERM.
    pub fn open() -> io::Result<Self> {
        level(3).map(|()| Self(()))
    }

    /// Writes a byte to a port.
    pub fn write_byte(&self, port: u16, value: u8) {
        // SAFETY: this thread has the right to the port; QEMU's device touches no memory of ours.
        unsafe { core::arch::asm!("out dx, al", in("dx") port, in("al") value, options(nostack, preserves_flags)) };
    }

    /// Writes two bytes to a port.
    pub fn write_word(&self, port: u16, value: u16) {
        // SAFETY: as above.
        unsafe { core::arch::asm!("out dx, ax", in("dx") port, in("ax") value, options(nostack, preserves_flags)) };
    }

    /// Reads a byte from a port.
    pub fn read_byte(&self, port: u16) -> u8 {
        let value: u8;
        // SAFETY: as above.
        unsafe { core::arch::asm!("in al, dx", in("dx") port, out("al") value, options(nostack, preserves_flags)) };
        value
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Ports {
    /// There are none.
    pub fn open() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Nothing.
    pub fn write_byte(&self, _port: u16, _value: u8) {}

    /// Nothing.
    pub fn write_word(&self, _port: u16, _value: u16) {}

    /// Nothing.
    pub fn read_byte(&self, _port: u16) -> u8 {
        0
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for Ports {
    fn drop(&mut self) {
        let _ = level(0);
    }
}

#[cfg(target_arch = "x86_64")]
fn level(level: i32) -> io::Result<()> {
    // SAFETY: two numbers; no memory is handed over.
    let rc = unsafe { libc::syscall(libc::SYS_iopl, level) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
