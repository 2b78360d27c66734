//! Kernels in QEMU: a guest is another place that produces a run directory. The binary that runs on the host is PID 1
//! of the guest, started with the same command line that would run on the host, and its files come back over a serial
//! port.
//!
//! Pure parts (the initramfs, the frames on the port, QEMU's arguments, the order of modules, what apt is asked) are
//! functions with their own tests. [`host`] contains what starts processes, [`guest`] what runs as PID 1.
#![forbid(unsafe_code)]

pub mod cpio;
pub mod elf;
pub mod error;
pub mod frame;
pub mod guest;
pub mod host;
pub mod job;
pub mod kernel;
pub mod lane;
pub mod machine;
mod packed;
pub mod profile;
pub mod qemu;
mod qemu_version;
pub mod saved_states;

pub use error::VmError;
pub use host::accelerate::boot;
pub use host::boot::{Boot, Events, GuestResult, Stage};
pub use job::{Job, RestoredJob};
pub use lane::Lane;
pub use machine::Machine;
