//! Whether a guest may be started with KVM at all. That the device can be opened proves little: QEMU may end or hang,
//! or KVM may run real-mode code but no Linux. The proof is therefore the first console output of a guest's own kernel.
//! For `doctor`, which boots no guest, it is that of a kernel started alone; without a kernel, a machine with a few
//! instructions.

use super::first_word::{FirstWord, Silence};
use super::kvm_cache::KvmCache;
use super::process::{Installed, Qemu, Streams};
use super::scratch::Scratch;
use super::tail::{Growing, LastWords, MAX_CONSOLE_BYTES};
use crate::error::VmError;
use crate::kernel::Kernel;
use crate::kernel::cache::Cache;
use crate::kernel::image::Architecture;
use crate::lane::{Accelerator, Lane, NoKvm};
use crate::machine::{Machine, Topology};
use crate::qemu::{self, Console, Guest};
use schedlab_sys::signal::{SIGABRT, SIGBUS, SIGILL, SIGSEGV};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// The host's KVM, and what is known about it.
#[derive(Debug, Clone)]
pub struct Kvm {
    /// Its device.
    pub device: PathBuf,
    /// What guests have shown.
    pub cache: KvmCache,
}

/// Why no guest runs under KVM: a short reason, and the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The short reason.
    pub why: NoKvm,
    /// The evidence, as a sentence without its end.
    pub evidence: String,
}

impl Kvm {
    /// /dev/kvm, and the cache of this user.
    pub fn of_this_host() -> Self {
        Self { device: "/dev/kvm".into(), cache: KvmCache::in_directory(Cache::of_this_user().kvm()) }
    }

    /// What rules out KVM before a guest is started.
    pub fn bar(&self, architecture: Architecture) -> Option<Failure> {
        let failure = |why, evidence| Some(Failure { why, evidence });
        if architecture != Architecture::X86_64 || !cfg!(target_arch = "x86_64") {
            return failure(
                NoKvm::Foreign,
                format!("KVM is used for x86-64 guests on x86-64 hosts, not for {architecture}"),
            );
        }
        let device = self.device.display();
        match OpenOptions::new().read(true).write(true).open(&self.device) {
            Ok(_) => None,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                failure(NoKvm::Absent, format!("there is no {device}"))
            }
            Err(error) => failure(NoKvm::Refused, format!("{device} cannot be opened: {error}")),
        }
    }
}

/// What to do about it.
pub fn fix(why: NoKvm) -> &'static str {
    match why {
        NoKvm::Absent => {
            "switch virtualization on in the firmware, or nested in the hypervisor, and load kvm_intel or kvm_amd"
        }
        NoKvm::Refused => {
            "you have no permission for /dev/kvm (ls -l /dev/kvm): usually `adduser USER kvm` and a new login"
        }
        NoKvm::Dies | NoKvm::Hangs => {
            "see the host's `dmesg | grep -i kvm`; nested KVM must be fixed in the hypervisor"
        }
        NoKvm::Foreign | NoKvm::Unwanted => "",
    }
}

/// What a QEMU that ended by itself under KVM, or stopped, shows about KVM; `spoke`: whether the guest's kernel has
/// printed anything. `None` if the guest, or somebody who killed QEMU, is the cause.
pub(super) fn failed(qemu: &Qemu, ended: Option<ExitStatus>, spoke: bool) -> Option<Failure> {
    let dies = |evidence| Some(Failure { why: NoKvm::Dies, evidence });
    // QEMU stops such a guest but keeps running.
    if let Some(line) = qemu.complaint(&["KVM internal error", "kvm run failed", "KVM: entry failed"]) {
        return dies(format!("QEMU said `{}`", line.trim_end_matches('.')));
    }
    let status = ended.inspect(|_| qemu.drain_stderr())?;
    const CRASHES: [i32; 4] = [SIGILL, SIGABRT, SIGBUS, SIGSEGV];
    let crashed = status.signal().is_some_and(|signal| CRASHES.contains(&signal));
    let by_somebody = status.signal().is_some_and(|_| !crashed);
    if by_somebody || spoke && !crashed {
        return None;
    }
    let said =
        qemu.complaints().lines().last().map(|line| format!(": {}", line.trim_end_matches('.'))).unwrap_or_default();
    dies(format!("QEMU ended before its guest was up ({status}){said}"))
}

/// Why this kernel prints nothing under KVM; `None` if it prints something. The time is bounded by the silence that
/// counts as a hang, and in any case by `limit`.
pub fn boot_failure(qemu: &Installed, kernel: &Kernel, limit: Duration) -> Result<Option<Failure>, VmError> {
    let directory = Scratch::new()?;
    let console = directory.path().join("console");
    let machine = Machine { memory_mib: 512, topology: Topology::flat(1) };
    let command_line = format!("console=ttyS0 {} quiet panic=-1", qemu::EARLY_CONSOLE);
    let empty = directory.path().join("empty");
    std::fs::write(&empty, "").map_err(VmError::file("writing", &empty))?;
    let guest = Guest {
        architecture: Architecture::X86_64,
        kernel: &kernel.path,
        initramfs: &empty,
        command_line: &command_line,
        machine: &machine,
        lane: Lane::Real { accelerator: Accelerator::Kvm, oversubscribed: false },
        console: Console::File(console.clone()),
        port: &directory.path().join("port"),
        orders: None,
        counting: None,
        saved_state: None,
    };
    let mut process = Qemu::start(&qemu.path, guest.architecture, &qemu::arguments(&guest), Streams::None)?;
    let (mut file, mut words) = (Growing::new(&console, MAX_CONSOLE_BYTES), LastWords::default());
    let (started, mut silence) = (Instant::now(), Silence::new(process.id()));
    loop {
        let ended = process.try_wait();
        words.push(&file.read_new().map_err(VmError::file("reading", &console))?);
        if FirstWord::of(&words.text()).is_some() {
            return Ok(None);
        }
        if let Some(failure) = failed(&process, ended, false) {
            return Ok(Some(failure));
        }
        let late = (started.elapsed() > limit).then(|| silence.evidence());
        if let Some(evidence) = silence.over().or(late) {
            return Ok(Some(Failure { why: NoKvm::Hangs, evidence }));
        }
        std::thread::sleep(Silence::LOOK_EVERY);
    }
}

/// Many times longer than a working KVM takes.
const LIMIT: Duration = Duration::from_secs(2);
/// Port of QEMU's exit device.
const EXIT_PORT: u8 = 0xf4;
/// The value the firmware writes; QEMU exits with twice that and one.
const WRITTEN: u8 = 0x2a;

/// Firmware that ends the machine: 64 KiB below 4 GiB; the CPU starts at its last 16 bytes.
fn firmware() -> Vec<u8> {
    const HLT: u8 = 0xf4;
    let mut rom = vec![HLT; 64 * 1024];
    // mov al, WRITTEN; out EXIT_PORT, al; hlt
    let start = rom.len() - 16;
    rom[start..start + 5].copy_from_slice(&[0xb0, WRITTEN, 0xe6, EXIT_PORT, HLT]);
    rom
}

fn arguments(firmware: &Path) -> Vec<OsString> {
    let fixed = format!(
        "-no-user-config -nodefaults -display none -no-reboot -machine pc -accel kvm -cpu host -m 16M \
         -device isa-debug-exit,iobase={EXIT_PORT:#x},iosize=0x1 -bios"
    );
    fixed.split(' ').map(OsString::from).chain([firmware.into()]).collect()
}

/// Why a machine with a few real-mode instructions does not end as intended; `None` if it does, which does not prove
/// that Linux runs. A failure proves that it does not.
pub fn real_mode_failure(qemu: &Installed) -> Result<Option<Failure>, VmError> {
    let directory = Scratch::new()?;
    let file = directory.path().join("firmware");
    std::fs::write(&file, firmware()).map_err(VmError::file("writing", &file))?;
    let mut process = Qemu::start(&qemu.path, Architecture::X86_64, &arguments(&file), Streams::None)?;
    let evidence = match process.wait(LIMIT) {
        Some(status) if status.code() == Some(i32::from(WRITTEN) << 1 | 1) => return Ok(None),
        Some(status) => {
            let failure = failed(&process, Some(status), false);
            return Ok(failure.or(Some(Failure { why: NoKvm::Dies, evidence: format!("QEMU ended with {status}") })));
        }
        None => format!("a machine of three instructions did not end within {LIMIT:?}"),
    };
    Ok(Some(Failure { why: NoKvm::Hangs, evidence }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kvm(device: &Path) -> Kvm {
        Kvm { device: device.to_owned(), cache: KvmCache::in_directory(device.with_file_name("cache")) }
    }

    #[test]
    fn a_device_that_is_not_there_or_cannot_be_opened_bars_kvm() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("device"), "").unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        let why = |name: &str| kvm(&at(name)).bar(Architecture::X86_64).map(|failure| failure.why);
        let bars = ["none", "directory", "device"].map(why);
        assert_eq!(bars, [Some(NoKvm::Absent), Some(NoKvm::Refused), None]);
        assert_eq!(kvm(&at("device")).bar(Architecture::Aarch64).unwrap().why, NoKvm::Foreign);
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
        let Ok(installed) = Installed::find(Architecture::X86_64) else {
            skip("the_firmware_ends_a_translated_machine_as_written: needs qemu-system-x86_64");
            return;
        };
        let mut qemu = Qemu::start(&installed.path, Architecture::X86_64, &translated, Streams::None).unwrap();
        let status = qemu.wait(Duration::from_secs(60));
        assert_eq!(status.and_then(|s| s.code()), Some(0x55), "{}", qemu.complaints());
    }

    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn skip(why: &str) {
        eprintln!("schedlab-skip: {why}");
    }
}
