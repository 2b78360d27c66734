//! Whether KVM truly works here. A /dev/kvm can be there and hang, refuse, or be of another kind; so a machine of a few
//! instructions is run with it, and has two seconds to end as it was written.

use super::process::Qemu;
use super::scratch::Scratch;
use crate::kernel::image::Architecture;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// What a working KVM has time for many times over.
const LIMIT: Duration = Duration::from_secs(2);
/// Port of QEMU's exit device.
const EXIT_PORT: u8 = 0xf4;
/// The value the firmware writes; QEMU exits with twice that and one.
const WRITTEN: u8 = 0x2a;

/// Firmware that ends the machine: 64 KiB below 4 GiB, of which the CPU starts at the last 16 bytes.
fn firmware() -> Vec<u8> {
    const HLT: u8 = 0xf4;
    let mut rom = vec![HLT; 64 * 1024];
    // mov al, WRITTEN; out EXIT_PORT, al; hlt
    let start = rom.len() - 16;
    rom[start..start + 5].copy_from_slice(&[0xb0, WRITTEN, 0xe6, EXIT_PORT, HLT]);
    rom
}

fn arguments(firmware: &Path) -> Vec<OsString> {
    let fixed = "-no-user-config -nodefaults -display none -no-reboot -machine pc -accel kvm -cpu host -m 16M \
                 -device isa-debug-exit,iobase=0xf4,iosize=0x1 -bios";
    fixed.split(' ').map(OsString::from).chain([firmware.into()]).collect()
}

/// Runs the machine. False as well where QEMU or /dev/kvm is missing, may not be opened, or is of another architecture.
pub fn works(architecture: Architecture) -> bool {
    if architecture != Architecture::X86_64 || !cfg!(target_arch = "x86_64") || !Path::new("/dev/kvm").exists() {
        return false;
    }
    ends_as_written().unwrap_or(false)
}

fn ends_as_written() -> Option<bool> {
    let directory = Scratch::new().ok()?;
    let file = directory.path().join("firmware");
    std::fs::write(&file, firmware()).ok()?;
    let mut qemu = Qemu::start(Architecture::X86_64, &arguments(&file), false).ok()?;
    let status = qemu.wait(LIMIT)?;
    Some(status.code() == Some(i32::from(WRITTEN) << 1 | 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_probe_answers_in_time_whatever_the_device_does() {
        let started = Instant::now();
        let answer = works(Architecture::X86_64);
        assert!(started.elapsed() < LIMIT + Duration::from_secs(8), "{:?}", started.elapsed());
        assert!(!answer || Path::new("/dev/kvm").exists());
        assert!(!works(Architecture::Aarch64));
    }

    #[test]
    fn the_firmware_ends_where_the_cpu_starts() {
        let rom = firmware();
        assert_eq!(rom.len(), 65536);
        assert_eq!(rom[65520..65525], [0xb0, 0x2a, 0xe6, 0xf4, 0xf4]);
    }

    #[test]
    fn the_firmware_ends_a_translated_machine_as_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("firmware");
        std::fs::write(&file, firmware()).unwrap();
        let translated: Vec<OsString> = arguments(&file)
            .into_iter()
            .map(|word| match word.to_str() {
                Some("kvm") => "tcg".into(),
                Some("host") => "max".into(),
                _ => word,
            })
            .collect();
        let Ok(mut qemu) = Qemu::start(Architecture::X86_64, &translated, false) else {
            skip("the_firmware_ends_a_translated_machine_as_written: needs qemu-system-x86_64");
            return;
        };
        let status = qemu.wait(Duration::from_secs(60));
        assert_eq!(status.and_then(|s| s.code()), Some(0x55), "{}", qemu.complaints());
    }

    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn skip(why: &str) {
        eprintln!("schedlab-skip: {why}");
    }
}
