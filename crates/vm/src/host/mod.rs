//! What starts processes on the host: QEMU and its guard, the probe of KVM, the programs that fetch kernels.

pub mod boot;
pub mod fetch;
pub mod initramfs;
pub mod kvm;
pub mod process;
pub mod program;
pub mod tail;
pub mod unpack;
