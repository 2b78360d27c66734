//! What happens to a guest whose KVM hangs, dies, is slow, or works: a program takes QEMU's place, so this runs on any
//! machine.

#![cfg(target_arch = "x86_64")]

use schedlab_plan::lane::{Accelerator, Lane, NoKvm, WantedAccelerator};
use schedlab_vm::frame::Frame;
use schedlab_vm::host::accelerate::Choice;
use schedlab_vm::host::kvm::Kvm;
use schedlab_vm::host::kvm_cache::KvmCache;
use schedlab_vm::host::process::Installed;
use schedlab_vm::kernel::Kernel;
use schedlab_vm::kernel::image::{Architecture, Image};
use schedlab_vm::machine::Topology;
use schedlab_vm::{Boot, Events, GuestResult, Job, Machine, Stage, VmError, boot};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A host with a KVM that the fake QEMU makes behave as a test wants.
struct Host {
    directory: TempDir,
}

/// `console` and `port` are the files of the guest's serial ports, `frames` what a guest that boots and ends well
/// sends.
const PREPARES: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "QEMU emulator version 10.0.2 (fake)"; exit; }
echo "$*" >> "$(dirname "$0")/started"
frames="$(dirname "$0")/frames"
for word; do case $word in
    file,id=console,*) console=${word##*path=};;
    file,id=port,*) port=${word#*path=}; port=${port%%,*};;
esac; done
case "$*" in *"-accel tcg"*) cat "$frames" > "$port"; exit 0;; esac
"#;

impl Host {
    /// `under_kvm` is a shell command: what QEMU does under KVM.
    fn new(under_kvm: &str) -> Self {
        let host = Self { directory: tempfile::tempdir().unwrap() };
        fs::write(host.at("qemu"), format!("{PREPARES}{under_kvm}\n")).unwrap();
        fs::set_permissions(host.at("qemu"), PermissionsExt::from_mode(0o755)).unwrap();
        for file in ["kvm", "kernel", "program"] {
            fs::write(host.at(file), "").unwrap();
        }
        let sent = [Frame::Started("6.1.0".into()), Frame::Ended(7)];
        fs::write(host.at("frames"), sent.map(|frame| frame.encode()).concat()).unwrap();
        host
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn kvm(&self) -> Kvm {
        Kvm { device: self.at("kvm"), cache: KvmCache::in_directory(self.at("answers")) }
    }

    fn kernel(&self, crc32: u32) -> Kernel {
        let image = Image { architecture: Architecture::X86_64, release: "6.1.0".into() };
        let (name, path) = ("debian:6.1".into(), self.at("kernel"));
        Kernel {
            name,
            path,
            image,
            crc32,
            config: None,
            source: schedlab_plan::KernelSource::File,
            symbols: None,
            modules: Vec::new(),
        }
    }

    /// Boots as `vm run --accel WANTED` does.
    fn boots(&self, wanted: WantedAccelerator, limit: Duration) -> (Result<GuestResult, VmError>, EventLog) {
        let qemu = Installed::at(&self.at("qemu"), Architecture::X86_64).unwrap();
        let kernel = self.kernel(1);
        let (choice, note) = match Choice::of(wanted, &self.kvm(), &qemu, &kernel) {
            Ok(chosen) => chosen,
            Err(refused) => return (Err(refused), EventLog::default()),
        };
        let guest = Boot {
            kernel,
            machine: Machine { memory_mib: 64, topology: Topology::flat(1) },
            lane: Lane::Real { accelerator: choice.accelerator, oversubscribed: false },
            no_kvm: choice.no_kvm,
            falls_back: choice.falls_back,
            kvm: self.kvm(),
            job: Job::default(),
            program: self.at("program"),
            add: Vec::new(),
            command_line: String::new(),
            qemu,
            boot_limit: limit,
            limit: Duration::from_secs(60),
            grace: Duration::ZERO,
            counting: None,
        };
        let mut log = EventLog { notes: note.into_iter().collect(), ..EventLog::default() };
        (boot(&guest, &mut log), log)
    }

    fn boots_by_itself(&self) -> (GuestResult, EventLog) {
        let (ended, log) = self.boots(WantedAccelerator::Auto, Duration::from_secs(120));
        (ended.unwrap(), log)
    }

    /// The accelerators that QEMU was started with.
    fn started(&self) -> Vec<String> {
        let lines = fs::read_to_string(self.at("started")).unwrap_or_default();
        let of = |line: &str| line.split_once("-accel ").unwrap().1.split([' ', ',']).next().unwrap().to_owned();
        lines.lines().map(of).collect()
    }
}

#[derive(Default)]
struct EventLog {
    notes: Vec<String>,
    ups: usize,
}

impl Events for EventLog {
    fn stage(&mut self, stage: Stage) {
        self.ups += usize::from(matches!(stage, Stage::Up(..)));
    }
    fn stdout(&mut self, _: &[u8]) {}
    fn stderr(&mut self, _: &[u8]) {}
    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
    fn console(&mut self, _: &[u8]) {}
    fn interrupted(&self) -> bool {
        false
    }
    fn insisted(&self) -> bool {
        false
    }
}

const HANGS: &str = "printf 'SeaBIOS (version 1.16)\\r\\nBooting from ROM..' > \"$console\"; exec sleep 600";

#[test]
fn a_kvm_that_hangs_is_left_once_and_the_next_boot_knows_it() {
    let host = Host::new(HANGS);
    let started = Instant::now();
    let (ended, log) = host.boots_by_itself();
    assert_eq!((ended.exit_code, ended.fell_back, log.ups), (7, Some(NoKvm::Hangs), 1));
    assert!(started.elapsed() >= Duration::from_secs(5), "the firmware's words are not the kernel's");
    let [note] = &log.notes[..] else { panic!("{:?}", log.notes) };
    assert!(note.starts_with("under KVM its kernel said nothing for ") && note.contains("runs under TCG"), "{note}");
    let (ended, log) = host.boots_by_itself();
    assert_eq!((ended.exit_code, ended.fell_back), (7, None));
    assert!(
        log.notes[0].contains("its kernel said nothing") && log.notes[0].contains("--accel kvm"),
        "{:?}",
        log.notes
    );
    assert_eq!(host.started(), ["kvm", "tcg", "tcg"]);
    // Nothing is known about another kernel, nor about any once the stored result is damaged.
    let qemu = Installed::at(&host.at("qemu"), Architecture::X86_64).unwrap();
    let choice = |crc32| Choice::of(WantedAccelerator::Auto, &host.kvm(), &qemu, &host.kernel(crc32)).unwrap().0;
    let kept: Vec<PathBuf> = fs::read_dir(host.at("answers")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!((kept.len(), choice(1).accelerator, choice(2)), (1, Accelerator::Tcg, Choice::kvm(true)));
    fs::write(&kept[0], "{").unwrap();
    assert_eq!(choice(1), Choice::kvm(true));
}

#[test]
fn a_kvm_that_is_asked_for_by_name_and_hangs_is_an_error_that_says_how_to_go_without() {
    let host = Host::new(HANGS);
    let (ended, log) = host.boots(WantedAccelerator::Kvm, Duration::from_secs(120));
    let why = ended.unwrap_err().to_string();
    assert!(why.contains("its kernel said nothing") && why.contains("--accel tcg"), "{why}");
    assert_eq!((host.started(), log.notes), (vec!["kvm".to_owned()], Vec::new()));
    assert!(!host.at("answers").exists(), "nothing has shown that its kernel is not to blame");
    fs::remove_file(host.at("kvm")).unwrap();
    let why = host.boots(WantedAccelerator::Kvm, Duration::from_secs(120)).0.unwrap_err().to_string();
    assert!(why.starts_with("--accel kvm: there is no ") && why.contains("--accel tcg"), "{why}");
    let (ended, log) = host.boots(WantedAccelerator::Auto, Duration::from_secs(120));
    assert_eq!((ended.unwrap().exit_code, log.notes), (7, Vec::new()), "an absent one is nothing to tell of");
}

#[test]
fn a_qemu_that_dies_under_kvm_is_started_again_translated() {
    for (dies, said) in [
        ("echo 'fake: error: failed to set MSR 0x10a' >&2; kill -ABRT $$", "failed to set MSR 0x10a"),
        ("echo 'Could not access KVM kernel module' >&2; exit 1", "Could not access KVM"),
        // A triple fault before the first output, with -no-reboot.
        ("exit 0", "exit status: 0"),
        // QEMU stops the guest but keeps running.
        (
            "echo 'KVM internal error. Suberror: 1' >&2; echo 'RAX=0' >&2; exec sleep 600",
            "KVM internal error. Suberror: 1",
        ),
        (
            "echo '[    0.000000] Linux' > \"$console\"; echo 'KVM internal error. Suberror: 3' >&2; exec sleep 600",
            "KVM internal error. Suberror: 3",
        ),
    ] {
        let host = Host::new(dies);
        let (ended, log) = host.boots_by_itself();
        assert_eq!((ended.exit_code, ended.fell_back), (7, Some(NoKvm::Dies)), "{dies}");
        assert!(log.notes[0].contains(said) && !log.notes[0].contains('\n'), "{:?}", log.notes);
        host.boots_by_itself();
        assert_eq!(host.started(), ["kvm", "tcg", "tcg"], "{dies}");
    }
}

#[test]
fn what_fails_translated_too_is_not_kvms_fault_and_is_not_kept() {
    let host = Host::new("exit 1");
    let script = fs::read_to_string(host.at("qemu")).unwrap().replace("cat \"$frames\" > \"$port\"; exit 0", "exit 1");
    fs::write(host.at("qemu"), script).unwrap();
    let (ended, _) = host.boots(WantedAccelerator::Auto, Duration::from_secs(120));
    assert!(matches!(ended, Err(VmError::QemuDied { .. })), "{ended:?}");
    assert_eq!((host.started().len(), host.at("answers").exists()), (2, false));
}

#[test]
fn a_guest_that_is_slow_but_alive_is_not_called_hanging() {
    // The kernel's first output comes late; the silence after it is longer than the limit for silence before it.
    let host = Host::new("sleep 2; printf . > \"$console\"; sleep 7; cat \"$frames\" > \"$port\"");
    let (ended, log) = host.boots_by_itself();
    assert_eq!((ended.exit_code, ended.fell_back, log.notes), (7, None, Vec::new()));
    assert_eq!(host.started(), ["kvm"]);
    let kept: Vec<String> = fs::read_dir(host.at("answers"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    assert!(kept.len() == 1 && kept[0].contains("\"no_kvm\": null"), "{kept:?}");
}

#[test]
fn a_guest_that_hangs_under_kvm_after_its_first_word_has_a_time_out_that_says_how_to_go_without() {
    let host = Host::new("echo '[    0.000000] Linux version 6.1' > \"$console\"; exec sleep 600");
    let (ended, _) = host.boots(WantedAccelerator::Auto, Duration::from_secs(1));
    let why = ended.unwrap_err().to_string();
    assert!(why.contains("did not start within 1s") && why.contains("--accel tcg"), "{why}");
    assert!(why.contains("Linux version 6.1") && !Path::new(&host.at("answers")).exists(), "{why}");
    // Under TCG there is nothing to fall back to.
    let host = Host::new("");
    let script =
        fs::read_to_string(host.at("qemu")).unwrap().replace("cat \"$frames\" > \"$port\"; exit 0", "exec sleep 600");
    fs::write(host.at("qemu"), script).unwrap();
    let why = host.boots(WantedAccelerator::Tcg, Duration::from_secs(1)).0.unwrap_err().to_string();
    assert!(why.contains("did not start within 1s") && !why.contains("--accel"), "{why}");
}
