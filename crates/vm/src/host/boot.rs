//! One guest from start to end: QEMU is started, its console and port are followed, what the guest sends is handed on,
//! and on every way out QEMU is ended.

use super::initramfs::{self, Added};
use super::process::Qemu;
use super::tail::{Growing, LastWords};
use super::unpack;
use crate::elf;
use crate::error::VmError;
use crate::frame::{Decoder, Frame, is_wanted};
use crate::job::Job;
use crate::kernel::Kernel;
use crate::kernel::image::Architecture;
use crate::kernel::modules::{Module, load_order};
use crate::lane::{self, Accelerator, Lane, Provenance};
use crate::machine::Machine;
use crate::qemu::{self, Guest};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// A guest to be booted.
#[derive(Debug, Clone)]
pub struct Boot {
    /// Its kernel.
    pub kernel: Kernel,
    /// Its memory and CPUs.
    pub machine: Machine,
    /// How time passes in it.
    pub lane: Lane,
    /// What it does; the port is filled in.
    pub job: Job,
    /// Our own binary for its architecture.
    pub program: PathBuf,
    /// Files of the host.
    pub add: Vec<Added>,
    /// Words added to the kernel's command line.
    pub command_line: String,
    /// QEMU's version, as part of the result.
    pub qemu_version: String,
    /// Until the guest says that it is up.
    pub boot_limit: Duration,
    /// From then on.
    pub limit: Duration,
}

/// How far a guest is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// QEMU is being started.
    Starting,
    /// The guest is up: kernel release, after how long.
    Up(String, Duration),
    /// The command has ended and all files have come: exit code, time since QEMU was started.
    Ended(i32, Duration),
}

/// Who listens while a guest runs.
pub trait Events {
    /// The guest got further.
    fn stage(&mut self, stage: Stage);
    /// The command's standard output.
    fn stdout(&mut self, bytes: &[u8]);
    /// The command's standard error.
    fn stderr(&mut self, bytes: &[u8]);
    /// Something worth knowing.
    fn note(&mut self, text: &str);
    /// What the console said.
    fn console(&mut self, bytes: &[u8]);
    /// Whether the user wants an end.
    fn interrupted(&self) -> bool;
}

/// What is left of a guest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// The command's exit code.
    pub exit_code: i32,
    /// Files by absolute path, each below a place of the job's `collect`.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A kernel's command line is cut after this many bytes (COMMAND_LINE_SIZE less its end).
const LONGEST_COMMAND_LINE: usize = 2047;
/// How often console and port are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Time to switch off after the last word.
const SWITCH_OFF: Duration = Duration::from_secs(5);

/// QEMU's command line as a shell would take it, with the files of a guest that is not started.
pub fn dry_run(boot: &Boot) -> Result<String, VmError> {
    let architecture = boot.kernel.image.architecture;
    let command_line = command_line(architecture, boot.lane, &boot.qemu_version, &boot.command_line)?;
    let console = PathBuf::from("console");
    let guest = Guest {
        architecture,
        kernel: &boot.kernel.path,
        initramfs: Path::new("initramfs"),
        command_line: &command_line,
        machine: &boot.machine,
        lane: boot.lane,
        console: if boot.job.shell { qemu::Console::Terminal } else { qemu::Console::File(console) },
        port: Path::new("port"),
    };
    let words: Vec<String> = qemu::arguments(&guest).iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let all = [qemu::program(architecture)].into_iter().chain(words.iter().map(String::as_str));
    Ok(schedlab_run::words::join(all))
}

/// Boots, follows the guest to its end, and returns what it sent.
pub fn boot(boot: &Boot, events: &mut dyn Events) -> Result<Ended, VmError> {
    let directory = tempfile::Builder::new().prefix("schedlab-vm-").tempdir();
    let directory = directory.map_err(VmError::file("making a directory in", std::env::temp_dir()))?;
    let at = |name: &str| directory.path().join(name);
    let architecture = boot.kernel.image.architecture;
    let job = Job { port: qemu::port_device(architecture).into(), ..boot.job.clone() };
    let initramfs = at("initramfs");
    let bytes = initramfs_bytes(boot, &job)?;
    std::fs::write(&initramfs, bytes).map_err(VmError::file("writing", &initramfs))?;
    let command_line = command_line(architecture, boot.lane, &boot.qemu_version, &boot.command_line)?;
    let (port, console) = (at("port"), at("console"));
    let unpacked = unpacked(&boot.kernel, at("vmlinux"))?;
    let guest = Guest {
        architecture,
        kernel: unpacked.as_deref().unwrap_or(&boot.kernel.path),
        initramfs: &initramfs,
        command_line: &command_line,
        machine: &boot.machine,
        lane: boot.lane,
        console: if job.shell { qemu::Console::Terminal } else { qemu::Console::File(console.clone()) },
        port: &port,
    };
    events.stage(Stage::Starting);
    let qemu = Qemu::start(architecture, &qemu::arguments(&guest), job.shell)?;
    let mut session = Session {
        qemu,
        started: Instant::now(),
        up: None,
        port: Growing::new(&port),
        console_file: Growing::new(&console),
        console: LastWords::default(),
        decoder: Decoder::default(),
        collect: &job.collect,
        result: Ended::default(),
        events,
    };
    session.follow(boot, job.shell)
}

/// A bzImage as the vmlinux in it, if that can be had. (A fetched kernel is kept unpacked.)
fn unpacked(kernel: &Kernel, into: PathBuf) -> Result<Option<PathBuf>, VmError> {
    let unpacked = unpack::of_file(&kernel.path).map_err(VmError::file("reading the kernel", &kernel.path))?;
    let Some(vmlinux) = unpacked else { return Ok(None) };
    std::fs::write(&into, vmlinux).map_err(VmError::file("writing", &into))?;
    Ok(Some(into))
}

/// The whole initramfs; modules that were asked for and are not there are refused here, not in the guest.
fn initramfs_bytes(boot: &Boot, job: &Job) -> Result<Vec<u8>, VmError> {
    let program = std::fs::read(&boot.program).map_err(VmError::file("reading our own binary", &boot.program))?;
    let known: Vec<Module> = boot.kernel.modules.iter().map(|(module, _)| module.clone()).collect();
    load_order(&known, &job.modules).map_err(|why| {
        let name = &boot.kernel.name;
        VmError::Refused(format!("{name}: {why}; fetch it with: schedlab vm fetch {name} --module {}", why.wanted))
    })?;
    let read = |(module, path): &(Module, PathBuf)| {
        let bytes = std::fs::read(path).map_err(VmError::file("reading a module", path))?;
        Ok((module.clone(), bytes))
    };
    let modules = boot.kernel.modules.iter().map(read).collect::<Result<Vec<_>, VmError>>()?;
    let mut archive = initramfs::archive(elf::loaded_part(&program).to_vec(), job, &modules)?;
    for added in &boot.add {
        initramfs::add(&mut archive, added)?;
    }
    Ok(archive.to_bytes())
}

/// The kernel's command line: our console and end, what made the result, the user's words last, so that they win.
pub fn command_line(
    architecture: Architecture,
    lane: Lane,
    qemu_version: &str,
    added: &str,
) -> Result<String, VmError> {
    let console = format!("console={}", qemu::console_name(architecture));
    // A panic restarts at once, which `-no-reboot` makes an end.
    let mut words = vec![console, "quiet".into(), "panic=-1".into(), "rdinit=/init".into()];
    if matches!(lane, Lane::Virtual(_)) {
        words.push("nokaslr".into());
    }
    let translated = !matches!(lane, Lane::Real { accelerator: Accelerator::Kvm, .. });
    if translated && architecture == Architecture::X86_64 {
        // All CPUs read one counter, but the kernel's test of that takes longer than it allows; without it a clock read
        // would be a read of the HPET, tens of microseconds in a translated guest.
        words.push("tsc=reliable".into());
    }
    words.extend(Provenance { lane, qemu: qemu_version.to_owned() }.words());
    words.extend(lane::padding(lane));
    words.extend(added.split_whitespace().map(str::to_owned));
    let line = words.join(" ");
    if line.len() > LONGEST_COMMAND_LINE {
        let (length, most) = (line.len(), LONGEST_COMMAND_LINE);
        return Err(VmError::Refused(format!(
            "the kernel's command line has {length} bytes, more than {most}: shorten --cmdline"
        )));
    }
    Ok(line)
}

struct Session<'a> {
    qemu: Qemu,
    started: Instant,
    up: Option<Instant>,
    port: Growing,
    console_file: Growing,
    console: LastWords,
    decoder: Decoder,
    collect: &'a [String],
    result: Ended,
    events: &'a mut dyn Events,
}

impl Session<'_> {
    fn follow(&mut self, boot: &Boot, shell: bool) -> Result<Ended, VmError> {
        loop {
            // Asked before reading, so that what it wrote last is read.
            let died = self.qemu.try_wait();
            self.hear_console()?;
            if self.hear_port()? {
                let _ = self.qemu.wait(SWITCH_OFF);
                return Ok(std::mem::take(&mut self.result));
            }
            match died {
                Some(status) if shell && status.success() => return Ok(Ended::default()),
                Some(status) => return Err(self.died(status)),
                None => {}
            }
            if self.events.interrupted() {
                return Err(VmError::Interrupted);
            }
            if !shell {
                self.in_time(boot)?;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn hear_console(&mut self) -> Result<(), VmError> {
        let said = self.console_file.read_new().map_err(VmError::file("reading", "the guest's console"))?;
        if !said.is_empty() {
            self.console.push(&said);
            self.events.console(&said);
        }
        Ok(())
    }

    /// Whether the guest has said its last word.
    fn hear_port(&mut self) -> Result<bool, VmError> {
        let bytes = self.port.read_new().map_err(VmError::file("reading", "the guest's port"))?;
        self.decoder.push(&bytes);
        while let Some(frame) = self.decoder.next_frame()? {
            match frame {
                Frame::Started(release) => {
                    self.up = Some(Instant::now());
                    self.events.stage(Stage::Up(release, self.started.elapsed()));
                }
                Frame::Stdout(bytes) => self.events.stdout(&bytes),
                Frame::Stderr(bytes) => self.events.stderr(&bytes),
                Frame::Note(text) => self.events.note(&text),
                Frame::File { path, content } if is_wanted(&path, self.collect) => {
                    self.result.files.push((path, content))
                }
                Frame::File { path, .. } => {
                    return Err(VmError::Guest(format!("it sent {path}, which nobody asked for")));
                }
                Frame::Failed(why) => return Err(VmError::Guest(why)),
                Frame::Ended(code) => {
                    self.result.exit_code = code;
                    self.events.stage(Stage::Ended(code, self.started.elapsed()));
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn when(&self) -> &'static str {
        if self.up.is_some() { "while its command ran" } else { "while it started" }
    }

    fn died(&self, status: ExitStatus) -> VmError {
        let (when, tail) = (self.when(), self.console.last_lines(20));
        if let Some(reason) = self.console.panic() {
            return VmError::Panic { when, hint: panic_hint(&reason), reason, tail };
        }
        if self.up.is_none() && self.console.is_empty() && status.success() {
            return VmError::Guest(NEVER_SPOKE.into());
        }
        let complaints = self.qemu.complaints();
        let said = if complaints.is_empty() { tail } else { complaints };
        VmError::QemuDied { when, status: status.to_string(), said }
    }

    fn in_time(&self, boot: &Boot) -> Result<(), VmError> {
        let (goal, limit, since) = match self.up {
            None => ("start", boot.boot_limit, self.started),
            Some(up) => ("end its command", boot.limit, up),
        };
        if since.elapsed() <= limit {
            return Ok(());
        }
        let said = if self.console.is_empty() {
            "its console is empty: no serial console (CONFIG_SERIAL_8250_CONSOLE, CONFIG_PRINTK), or a kernel that does \
             not run on this machine; --verbose shows what it says"
                .to_owned()
        } else {
            format!("give more time, or see its last lines:\n{}", self.console.last_lines(20))
        };
        Err(VmError::TimeOut { goal, limit, said })
    }
}

const NEVER_SPOKE: &str = "it restarted before it said a word: too little memory for its kernel (--memory), a kernel that \
                           does not run on this machine, or one without a serial console (CONFIG_SERIAL_8250_CONSOLE)";

/// What usually brings a panic about.
fn panic_hint(reason: &str) -> &'static str {
    let hints = [
        ("Unable to mount root fs", "; it takes no initramfs (CONFIG_BLK_DEV_INITRD), or not enough memory: --memory"),
        ("No working init found", "; it starts no program of ours (CONFIG_BINFMT_ELF, a 64-bit kernel)"),
        ("Requested init", "; it starts no program of ours (CONFIG_BINFMT_ELF, a 64-bit kernel)"),
        ("out of memory", "; give it more: --memory"),
        ("deadlocked on memory", "; give it more: --memory"),
    ];
    hints.iter().find(|(part, _)| reason.contains(part)).map_or("", |(_, hint)| hint)
}

/// Puts the files of a guest in place: all of a directory, or nothing. `place` is one of the job's `collect`, the path
/// it has on the host; files that were there before are refused, unless the place is a file itself.
pub fn deliver(files: &[(String, Vec<u8>)], place: &Path) -> Result<(), VmError> {
    let mut part = place.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent).map_err(VmError::file("making", parent))?;
    }
    let _ = std::fs::remove_dir_all(&part);
    let _ = std::fs::remove_file(&part);
    let mut found = false;
    for (path, content) in files {
        let Ok(below) = Path::new(path).strip_prefix(place) else { continue };
        found = true;
        let target = if below.as_os_str().is_empty() { part.clone() } else { part.join(below) };
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(VmError::file("making", parent))?;
        }
        std::fs::write(&target, content).map_err(VmError::file("writing", &target))?;
    }
    if found { std::fs::rename(&part, place).map_err(VmError::file("naming", place)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::Virtual;

    #[test]
    fn the_command_line_ends_with_the_users_words() {
        let real = Lane::Real { accelerator: Accelerator::Tcg, oversubscribed: false };
        let line = command_line(Architecture::X86_64, real, "7.2.22", " preempt=full  quiet=no ").unwrap();
        let expected = "console=ttyS0 quiet panic=-1 rdinit=/init tsc=reliable schedlab.lane=real \
                        schedlab.accelerator=tcg schedlab.qemu=7.2.22 preempt=full quiet=no";
        assert_eq!(line, expected);
        let virtual_ = Lane::Virtual(Virtual { shift: 7, seed: 0, quantum_us: None });
        let line = command_line(Architecture::Aarch64, virtual_, "7.2.22", "").unwrap();
        assert!(line.starts_with("console=ttyAMA0 ") && line.contains(" nokaslr "), "{line}");
        let long = "x".repeat(2000);
        assert!(
            command_line(Architecture::X86_64, real, "7.2.22", &long).unwrap_err().to_string().contains("--cmdline")
        );
    }

    #[test]
    fn files_arrive_together_and_replace_no_run() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("out/run");
        let file = |name: &str| (place.join(name).to_str().unwrap().to_owned(), name.as_bytes().to_vec());
        let files = [file("manifest.json"), file("tables/trials.parquet"), ("/elsewhere/x".into(), vec![1])];
        deliver(&files, &place).unwrap();
        assert_eq!(std::fs::read(place.join("tables/trials.parquet")).unwrap(), b"tables/trials.parquet");
        assert!(!directory.path().join("out/run.part").exists());
        assert!(deliver(&files, &place).is_err(), "a full directory is not replaced");
        let single = directory.path().join("a.json");
        for content in [b"1", b"2"] {
            deliver(&[(single.to_str().unwrap().to_owned(), content.to_vec())], &single).unwrap();
            assert_eq!(std::fs::read(&single).unwrap(), content);
        }
        deliver(&[], &directory.path().join("none")).unwrap();
        assert!(!directory.path().join("none").exists());
    }

    #[test]
    fn usual_panics_have_a_mend() {
        assert!(panic_hint("VFS: Unable to mount root fs on unknown-block(0,0)").contains("BLK_DEV_INITRD"));
        assert!(panic_hint("System is deadlocked on memory").contains("--memory"));
        assert_eq!(panic_hint("Fatal exception"), "");
    }
}
