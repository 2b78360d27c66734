//! What tests need besides Rust: Debian packages of the programs that they run, and the Rust target for boards. They
//! are installed only on request; otherwise one line says how, and the tests that need them are skipped.

use super::ledger::Outcome;
use crate::dist::has_rust_target;
use crate::machine::{GUEST_KERNEL, Machine, Presence, has_guest_kernel};
use crate::workspace::{AARCH64, run_to_success, stdout_of};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// A Debian package, its purpose, and whether the machine already has what is needed from it.
struct Package {
    name: &'static str,
    purpose: &'static str,
    present: fn(&Machine) -> bool,
}

/// Without the reference tools hackbench and perf, which only `cargo xtask bench` needs, and asks for itself.
const PACKAGES: [Package; 4] = [
    Package {
        name: "qemu-user",
        purpose: "running the aarch64 binary",
        present: |machine| machine.program("qemu-aarch64").is_some(),
    },
    Package {
        name: "qemu-system-x86",
        purpose: "booting guests",
        present: |machine| !cfg!(target_arch = "x86_64") || machine.program("qemu-system-x86_64").is_some(),
    },
    Package { name: "cpio", purpose: "reading our initramfs", present: |machine| machine.program("cpio").is_some() },
    Package {
        name: "python3-venv",
        purpose: "reading our tables with pandas, Polars and DuckDB",
        present: |machine| {
            let modules = |python| stdout_of(Command::new(python).args(["-c", "import ensurepip, venv"])).is_ok();
            machine.program("python3").is_some_and(modules)
        },
    },
];

/// Installs the Debian packages that the machine lacks, or reports them.
pub(super) fn debian(machine: &Machine, install: bool) -> Result<Outcome> {
    let missing: Vec<&Package> = PACKAGES.iter().filter(|p| !(p.present)(machine)).collect();
    if missing.is_empty() {
        return Ok(Outcome::passed(1));
    }
    let names: Vec<&str> = missing.iter().map(|p| p.name).collect();
    let line = format!("apt-get install --no-install-recommends {}", names.join(" "));
    if !install {
        let purposes: Vec<&str> = missing.iter().map(|p| p.purpose).collect();
        return Ok(Outcome::skipped(format!("{}; to run it: {line}", purposes.join(", "))));
    }
    let root = machine.has("root") == Presence::Present;
    let by_hand = || format!("to install by hand: {line}");
    apt(root, &["update", "--quiet"]).with_context(by_hand)?;
    let install = [&["install", "--yes", "--quiet", "--no-install-recommends"], &names[..]].concat();
    apt(root, &install).with_context(by_hand)?;
    Ok(Outcome::passed(1))
}

pub(super) fn apt(root: bool, arguments: &[&str]) -> Result<()> {
    let mut command = if root {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.arg("apt-get");
        sudo
    };
    run_to_success(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// The kernel of the guest tests, fetched by the binary itself into the user's cache: a download of some 70 MB.
pub(super) fn guest_kernel(binary: &Path, install: bool) -> Result<Outcome> {
    if !cfg!(target_arch = "x86_64") || has_guest_kernel() {
        return Ok(Outcome::passed(1));
    }
    if !install {
        return Ok(Outcome::skipped(format!("guests; to run them: schedlab vm fetch {GUEST_KERNEL}")));
    }
    run_to_success(Command::new(binary).args(["vm", "fetch", GUEST_KERNEL]))?;
    Ok(Outcome::passed(1))
}

/// The standard library for boards; takes a few seconds to download.
pub(super) fn rust_target(install: bool) -> Result<Outcome> {
    if has_rust_target(AARCH64)? {
        Ok(Outcome::passed(1))
    } else if install {
        run_to_success(Command::new("rustup").args(["target", "add", AARCH64]))?;
        Ok(Outcome::passed(1))
    } else {
        Ok(Outcome::skipped(format!("the aarch64 build; to run it: rustup target add {AARCH64}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_install_the_one_apt_line_is_the_reason() {
        let bare = Machine { proc: "/proc".into(), sys: "/sys".into(), path: Vec::new(), has_readers: false };
        let outcome = debian(&bare, false).unwrap();
        let [reason] = &outcome.skipped[..] else { panic!("{outcome:?}") };
        assert!(
            reason.ends_with("apt-get install --no-install-recommends qemu-user qemu-system-x86 cpio python3-venv"),
            "{reason}"
        );
    }
}
