//! A guest's files on the host, and the QEMU that is started with them.

use super::boot::{Boot, takes_orders};
use super::command_line::command_line;
use super::initramfs;
use super::process::{Qemu, Streams};
use super::scratch::Scratch;
use super::session::HostPorts;
use super::unpack;
use crate::elf;
use crate::error::VmError;
use crate::job::Job;
use crate::kernel::Kernel;
use crate::kernel::modules::{Module, load_order};
use crate::profile::{self, LegCounts};
use crate::qemu::{self, Counting, Guest, SaveOrRestore};
use schedlab_sys::{fd, kernel_facts};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// QEMU's command line as a shell accepts it, with the files of a guest that is not started; errors are those that
/// would occur before the start.
pub fn dry_run(boot: &Boot) -> Result<String, VmError> {
    has_room(boot, initramfs_bytes(boot, &boot.job)?.len() as u64)?;
    // Only a guest that counts instructions is resumed from a saved state; other files are checked when the state is
    // made.
    Ok(words(boot, &command_line(boot)?, boot.counting.as_ref().map(|_| Path::new(STATE))))
}

/// QEMU's command line with names for paths; `from`: the state, if the guest is restored from one.
fn words(boot: &Boot, command_line: &str, from: Option<&Path>) -> String {
    let architecture = boot.kernel.image.architecture;
    let guest = Guest {
        architecture,
        kernel: &boot.kernel.path,
        initramfs: Path::new(INITRAMFS),
        command_line,
        machine: &boot.machine,
        lane: boot.lane,
        console: console_of(boot, "console".into()),
        port: Path::new("port"),
        orders: takes_orders(boot).then_some(Path::new("orders")),
        counting: counting(boot, Path::new(PLUGIN), Path::new(COUNTS)),
        saved_state: boot.job.stops.then_some(SaveOrRestore { restored_job: Path::new(RESTORED_JOB_FILE), from }),
    };
    let words: Vec<String> = qemu::arguments(&guest).iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let all = [qemu::program(architecture)].into_iter().chain(words.iter().map(String::as_str));
    schedlab_plan::shell_words::join(all)
}

fn console_of(boot: &Boot, file: PathBuf) -> qemu::Console {
    if boot.job.shell { qemu::Console::Terminal(file) } else { qemu::Console::File(file) }
}

/// A guest's files on the host, removed on drop.
pub(super) struct BootFiles<'a> {
    boot: &'a Boot,
    directory: Scratch,
    command_line: String,
    unpacked: Option<PathBuf>,
    /// Length and checksum.
    initramfs: (usize, u32),
}

/// Names of files.
pub(super) const RESTORED_JOB_FILE: &str = "handed";
const STATE: &str = "state";
const INITRAMFS: &str = "initramfs";
const PLUGIN: &str = "plugin.so";
const COUNTS: &str = "counts";

impl<'a> BootFiles<'a> {
    pub(super) fn new(boot: &'a Boot) -> Result<Self, VmError> {
        let directory = Scratch::new()?;
        let job = Job { port: qemu::port_device(boot.kernel.image.architecture).into(), ..boot.job.clone() };
        let initramfs = directory.path().join(INITRAMFS);
        let bytes = initramfs_bytes(boot, &job)?;
        has_room(boot, bytes.len() as u64)?;
        std::fs::write(&initramfs, &bytes).map_err(VmError::file("writing", &initramfs))?;
        let unpacked = unpacked(&boot.kernel, directory.path().join("vmlinux"))?;
        let initramfs = (bytes.len(), crc32fast::hash(&bytes));
        if boot.counting.is_some() {
            profile::check(&boot.qemu.version, boot.kernel.image.architecture)?;
            let plugin = directory.path().join(PLUGIN);
            std::fs::write(&plugin, profile::plugin()).map_err(VmError::file("writing", &plugin))?;
        }
        Ok(Self { boot, command_line: command_line(boot)?, unpacked, initramfs, directory })
    }

    /// The counts that QEMU wrote, once it has ended, for a guest whose instructions are counted.
    pub(super) fn counts(&self) -> Result<Option<LegCounts>, VmError> {
        if self.boot.counting.is_none() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(self.at(COUNTS)).map_err(|_| VmError::Guest(NO_COUNTS.into()))?;
        LegCounts::parse(&text).map(Some)
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts QEMU with them; removes what an earlier start of this guest left.
    pub(super) fn start(&self, saved_state: Option<SaveOrRestore<'_>>) -> Result<(Qemu, HostPorts), VmError> {
        let boot = self.boot;
        let [port, console, orders_path, initramfs, plugin, counts] =
            ["port", "console", "orders", INITRAMFS, PLUGIN, COUNTS].map(|name| self.at(name));
        for file in [&port, &console, &orders_path] {
            let _ = std::fs::remove_file(file);
        }
        let orders = match takes_orders(boot) {
            true => Some(fd::named_pipe(&orders_path).map_err(VmError::file("making the pipe", &orders_path))?),
            false => None,
        };
        let architecture = boot.kernel.image.architecture;
        let guest = Guest {
            architecture,
            kernel: self.unpacked.as_deref().unwrap_or(&boot.kernel.path),
            initramfs: &initramfs,
            command_line: &self.command_line,
            machine: &boot.machine,
            lane: boot.lane,
            console: console_of(boot, console.clone()),
            port: &port,
            orders: orders.is_some().then_some(&*orders_path),
            counting: counting(boot, &plugin, &counts),
            saved_state,
        };
        let streams = match saved_state {
            Some(_) => Streams::Pipes,
            None if boot.job.shell => Streams::Terminal,
            None => Streams::None,
        };
        let qemu = Qemu::start(&boot.qemu.path, architecture, &qemu::arguments(&guest), streams)?;
        Ok((qemu, HostPorts { port, console, orders }))
    }

    /// Everything that a state of this guest depends on.
    pub(super) fn made_from(&self) -> Result<String, VmError> {
        let Boot { qemu, kernel, .. } = self.boot;
        let length = |path: &Path| std::fs::metadata(path).map(|file| (file.len(), file.mtime()));
        let program = length(&qemu.path).map_err(VmError::file("reading", &qemu.path))?;
        let (line, (bytes, crc32)) = (words(self.boot, &self.command_line, None), self.initramfs);
        let (version, kernel) = (&qemu.version, kernel.crc32);
        Ok(format!("{line}\nQEMU {version} {program:?}\nkernel {kernel:08x}\ninitramfs {bytes} {crc32:08x}\n"))
    }
}

fn counting<'a>(boot: &'a Boot, plugin: &'a Path, out: &'a Path) -> Option<Counting<'a>> {
    boot.counting.as_ref().map(|landmarks| Counting { plugin, out, landmarks })
}

/// The vmlinux in a bzImage, if it can be unpacked. (A fetched kernel is stored unpacked.)
fn unpacked(kernel: &Kernel, into: PathBuf) -> Result<Option<PathBuf>, VmError> {
    let unpacked = unpack::of_file(&kernel.path).map_err(VmError::file("reading the kernel", &kernel.path))?;
    let Some(vmlinux) = unpacked else { return Ok(None) };
    std::fs::write(&into, vmlinux).map_err(VmError::file("writing", &into))?;
    Ok(Some(into))
}

/// The complete initramfs; requested modules that do not exist are refused here, and not in the guest.
fn initramfs_bytes(boot: &Boot, job: &Job) -> Result<Vec<u8>, VmError> {
    let program = std::fs::read(&boot.program).map_err(VmError::file("reading our own binary", &boot.program))?;
    let known: Vec<Module> = boot.kernel.modules.iter().map(|(module, _)| module.clone()).collect();
    load_order(&known, &job.modules).map_err(|why| {
        let name = &boot.kernel.name;
        let fix = match name.strip_prefix("debian:") {
            Some(_) => format!("fetch it with: schedlab vm fetch {name} --module {}", why.wanted),
            None => "only kernels of `vm fetch` have modules: have it built in".to_owned(),
        };
        VmError::Refused(format!("{name}: {why}; {fix}"))
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

/// If kernel and initramfs do not fit into memory, the loader prints nothing and the guest hangs; if other memory is
/// short, the kernel reports it.
fn has_room(boot: &Boot, initramfs_bytes: u64) -> Result<(), VmError> {
    let kernel = &boot.kernel.path;
    let kernel_bytes = std::fs::metadata(kernel).map_err(VmError::file("reading the kernel", kernel))?.len();
    // The archive, and the files that the kernel unpacks from it.
    let needed_mib = (kernel_bytes + 2 * initramfs_bytes) >> 20;
    let memory_mib = boot.machine.memory_mib;
    if memory_mib < needed_mib {
        return Err(VmError::Refused(format!(
            "--memory {memory_mib}m: this guest's kernel and files alone take {needed_mib}m; give twice that"
        )));
    }
    let host_mib = kernel_facts::memory_bytes() >> 20;
    if memory_mib > host_mib {
        return Err(VmError::Refused(format!("--memory {memory_mib}m: this host has {host_mib}m; give less")));
    }
    Ok(())
}

const NO_COUNTS: &str = "QEMU wrote no counts of its instructions: the guest did not switch itself off (CONFIG_ACPI), or there \
                         was no place for them below $TMPDIR";
