//! What starts processes on the host: QEMU and its guard, the probe of KVM, the programs that fetch kernels.

pub mod boot;
pub mod build;
pub mod deliver;
pub mod fetch;
pub mod initramfs;
pub mod kvm;
mod patched;
pub mod process;
pub mod program;
pub mod scratch;
mod session;
mod sync;
pub mod tail;
pub mod unpack;
