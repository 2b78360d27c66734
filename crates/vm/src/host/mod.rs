//! The parts that start processes on the host: QEMU and its supervision, KVM trials, the programs that fetch kernels.

pub mod accelerate;
pub mod boot;
mod boot_files;
pub mod build;
mod command_line;
pub mod deliver;
pub mod examine;
pub mod fetch;
mod first_word;
pub mod initramfs;
pub mod kvm;
pub mod kvm_cache;
mod make;
mod monitor;
mod patched;
pub mod process;
pub mod program;
pub mod restore;
pub mod scratch;
mod session;
mod sync;
pub mod tail;
pub mod unpack;
