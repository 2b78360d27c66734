//! Why a guest made no progress: a panic, a QEMU that died, a full disk or a limit, each with what usually helps.

use super::super::boot::GuestResult;
use super::{Session, by_kvm};
use crate::error::{VmError, WITHOUT_KVM};
use std::io;
use std::path::Path;
use std::process::ExitStatus;

impl Session<'_> {
    /// If the guest was up, it has stopped on purpose; otherwise its kernel has panicked.
    pub(super) fn stopped(&self) -> Result<GuestResult, VmError> {
        let reason = match (self.up, self.console.panic()) {
            (Some(_), _) => return Ok(GuestResult::default()),
            (None, reason) => reason.unwrap_or_else(|| "it stopped".into()),
        };
        Err(self.panicked(reason))
    }

    fn panicked(&self, reason: String) -> VmError {
        VmError::Panic { when: self.when(), hint: panic_hint(&reason), reason, tail: self.console.last_lines(20) }
    }

    fn when(&self) -> &'static str {
        if self.up.is_some() { "while its command ran" } else { "while it started" }
    }

    pub(super) fn died(&self, status: ExitStatus) -> VmError {
        if let Some(reason) = self.console.panic() {
            return self.panicked(reason);
        }
        let when = self.when();
        if let Some(why) = no_room(&self.directory) {
            let below = self.directory.parent().unwrap_or(&self.directory).display();
            let said =
                format!("no place is left below {below} ({why}); make some, or set TMPDIR to a directory with more");
            return VmError::Resources { step: when, said };
        }
        if self.up.is_none() && self.console.is_empty() && status.success() {
            return VmError::Guest(NEVER_SPOKE.into());
        }
        let complaints = self.qemu.complaints();
        let said = if complaints.is_empty() { self.console.last_lines(20) } else { complaints };
        VmError::QemuDied { when, status: status.to_string(), said }
    }

    /// The fix of a time-out. A healthy guest has a quiet console, so its silence means something only before it is up.
    pub(super) fn why_late(&self) -> String {
        let mut said = match self.up {
            Some(_) => "give it more time: --timeout of `vm run`, `timeout` of a plan's [guest]",
            None if self.console.is_empty() => NEVER_CAME_UP,
            None => "give it more time: --boot-timeout of `vm run`, `boot_timeout` of a plan's [guest]",
        }
        .to_owned();
        if self.up.is_none() && by_kvm(self.boot) {
            said += &format!("; or KVM does not run it well: {WITHOUT_KVM}");
        }
        if !self.console.is_empty() {
            said += &format!("; its console's last lines:\n{}", self.console.last_lines(20));
        }
        said
    }
}

/// Why nothing more can be written to this directory: then what the guest sends is lost, and QEMU does not report it.
pub(super) fn no_room(directory: &Path) -> Option<io::Error> {
    let file = directory.join("room");
    let why = std::fs::write(&file, [0; 64 * 1024]).err();
    let _ = std::fs::remove_file(file);
    why
}

const NEVER_CAME_UP: &str = "give it more time (--boot-timeout, in a plan boot_timeout) on a busy host; else it has \
                             too little memory for its kernel (--memory, memory), no serial console \
                             (CONFIG_SERIAL_8250_CONSOLE, CONFIG_PRINTK), or does not run on this machine; \
                             --verbose shows what it says";

const NEVER_SPOKE: &str = "it restarted before it said a word: too little memory for its kernel (--memory), a kernel that \
                           does not run on this machine, or one without a serial console (CONFIG_SERIAL_8250_CONSOLE)";

/// What usually causes a panic.
fn panic_hint(reason: &str) -> &'static str {
    let hints = [
        ("Unable to mount root fs", "; it takes no initramfs (CONFIG_BLK_DEV_INITRD), or not enough memory: --memory"),
        ("No working init found", "; it starts no program of ours (CONFIG_BINFMT_ELF, a 64-bit kernel)"),
        ("Requested init", "; it starts no program of ours (CONFIG_BINFMT_ELF, a 64-bit kernel)"),
        ("out of memory", "; give it more: --memory"),
        ("deadlocked on memory", "; give it more: --memory"),
    ];
    let reason = reason.to_lowercase();
    hints.iter().find(|(part, _)| reason.contains(&part.to_lowercase())).map_or("", |(_, hint)| hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_panics_have_a_fix() {
        assert!(panic_hint("VFS: Unable to mount root fs on unknown-block(0,0)").contains("BLK_DEV_INITRD"));
        assert!(panic_hint("Out of memory: compulsory panic_on_oom is enabled").contains("--memory"));
        assert!(panic_hint("System is deadlocked on memory").contains("--memory"));
        assert_eq!(panic_hint("Fatal exception"), "");
    }

    #[test]
    fn a_directory_without_room_says_why() {
        let directory = tempfile::tempdir().unwrap();
        assert!(no_room(directory.path()).is_none());
        assert_eq!(directory.path().read_dir().unwrap().count(), 0, "nothing is left of the attempt");
        assert!(no_room(&directory.path().join("none")).is_some());
    }
}
