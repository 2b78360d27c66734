//! Real guests: whether they can be booted here, and the binary in a directory shared with its guests.

#![allow(clippy::print_stderr)] // A skip says why.

use super::{Lab, Ran, command, schedlab};
use std::process::{Command, Stdio};

pub const KERNEL: &str = "debian:6.1";

/// Whether guests can be booted here.
pub fn can_boot(test: &str) -> bool {
    let has_qemu = Command::new("qemu-system-x86_64").arg("--version").stdout(Stdio::null()).status().is_ok();
    // NAME  VERSION  ARCHITECTURE  PATH
    let is_it = |line: &str| line.starts_with(KERNEL) && line.contains("  amd64  ");
    let has_kernel = schedlab(&["vm", "list"]).success().stdout.lines().any(is_it);
    match (has_qemu, has_kernel) {
        (true, true) => true,
        (false, _) => {
            eprintln!("schedlab-skip: {test}: needs qemu-system-x86_64 (apt-get install qemu-system-x86)");
            false
        }
        (_, false) => {
            eprintln!("schedlab-skip: {test}: needs a guest kernel (schedlab vm fetch {KERNEL})");
            false
        }
    }
}

/// Runs the binary in the lab, where its guests also have their files.
pub fn from(lab: &Lab, arguments: &[&str]) -> Ran {
    let mut command = command();
    command.args(arguments).current_dir(lab.path("")).env("TMPDIR", lab.path(""));
    command.output().expect("the binary starts").into()
}
