//! One guest from start to end: starts QEMU, follows the guest's console and port, passes on what the guest sends, and
//! ends QEMU on every way out.

pub use super::boot_files::dry_run;

use super::accelerate::Proof;
use super::boot_files::BootFiles;
use super::initramfs::Added;
use super::kvm::Kvm;
use super::process::Installed;
use super::session::Session;
use crate::error::VmError;
use crate::job::Job;
use crate::kernel::Kernel;
use crate::lane::{Lane, NoKvm};
use crate::machine::{Machine, Topology};
use crate::profile::{Landmark, LegCounts};
use crate::qemu_version;
use schedlab_plan::counted;
use schedlab_plan::lane::Provenance;
use std::path::PathBuf;
use std::time::Duration;

/// A guest to be booted.
#[derive(Debug, Clone)]
pub struct Boot {
    /// Its kernel.
    pub kernel: Kernel,
    /// Its memory and CPUs.
    pub machine: Machine,
    /// How time passes in it.
    pub lane: Lane,
    /// Why the real lane runs without KVM, if it does.
    pub no_kvm: Option<NoKvm>,
    /// Whether to boot it under TCG if KVM does not run it.
    pub falls_back: bool,
    /// The host's KVM.
    pub kvm: Kvm,
    /// What it does; its port is filled in here.
    pub job: Job,
    /// Our own binary for its architecture.
    pub program: PathBuf,
    /// Files of the host.
    pub add: Vec<Added>,
    /// Words added to the kernel's command line.
    pub command_line: String,
    /// The QEMU that runs it; its version is recorded in the result.
    pub qemu: Installed,
    /// Time limit until the guest reports that it is up.
    pub boot_limit: Duration,
    /// Time limit from then on.
    pub limit: Duration,
    /// How long the command has to finish, with what it has measured, after it was asked to end as by Ctrl-C: at the
    /// limit or at the user's request. Zero: the guest is ended at once, which also happens under a QEMU that cannot
    /// pass orders to it.
    pub grace: Duration,
    /// If instructions are to be counted by our plugin in QEMU: the landmarks, with which they are counted by leg, on
    /// one CPU.
    pub counting: Option<Vec<Landmark>>,
}

impl Boot {
    /// What affects every number from a guest, except for its kernel and its command.
    pub fn guest(&self) -> String {
        let provenance = Provenance { lane: self.lane, qemu: self.qemu.version.clone(), no_kvm: self.no_kvm };
        let Topology { sockets, threads, nodes, .. } = self.machine.topology;
        let cpus = counted(self.machine.topology.cpus(), "CPUs");
        let arranged = match (sockets, threads, nodes) {
            (1, 1, 1) => String::new(),
            _ => format!(" (sockets={sockets},threads={threads},nodes={nodes})"),
        };
        let words = match self.command_line.trim() {
            "" => String::new(),
            words => format!(", `{words}`"),
        };
        format!("{provenance}, {cpus}{arranged}, {} MiB{words}", self.machine.memory_mib)
    }
}

/// How far a guest is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// QEMU is being started.
    Starting,
    /// The guest is up: kernel release, and how long that took.
    Up(String, Duration),
    /// One of its files is safe on the host, even if the guest dies.
    Kept,
    /// The command was asked to end at the user's request.
    EndRequested,
    /// The command has ended and all files have arrived: exit code, and time since QEMU was started.
    Ended(i32, Duration),
}

/// Receives events while a guest runs.
pub trait Events {
    /// The guest has reached a stage.
    fn stage(&mut self, stage: Stage);
    /// The command's standard output.
    fn stdout(&mut self, bytes: &[u8]);
    /// The command's standard error.
    fn stderr(&mut self, bytes: &[u8]);
    /// Something worth knowing.
    fn note(&mut self, text: &str);
    /// New console output.
    fn console(&mut self, bytes: &[u8]);
    /// Whether the user wants an end.
    fn interrupted(&self) -> bool;
    /// Whether the user wants it to end at once.
    fn insisted(&self) -> bool;
}

/// What a guest has left.
#[derive(Debug, Default)]
pub struct GuestResult {
    /// The command's exit code.
    pub exit_code: i32,
    /// The limit, if that ended the command.
    pub late: Option<Duration>,
    /// Why the guest ended before its command did, if it had already sent something: `files` are what it had sent.
    pub cut: Option<VmError>,
    /// Files by absolute path, each below a place of the job's `collect`.
    pub files: Vec<(String, Vec<u8>)>,
    /// What was counted.
    pub counts: Option<LegCounts>,
    /// If it was booted under TCG in the end, why KVM did not run it.
    pub fell_back: Option<NoKvm>,
}

/// Boots it as described, follows the guest to its end, and returns what it sent; `proof` is stored once it is up.
pub(super) fn once(boot: &Boot, proof: Option<Proof>, events: &mut dyn Events) -> Result<GuestResult, VmError> {
    let boot_files = BootFiles::new(boot)?;
    events.stage(Stage::Starting);
    let (qemu, ports) = boot_files.start(None)?;
    let ended = Session::new(boot, qemu, ports, proof, events).follow()?;
    Ok(GuestResult { counts: boot_files.counts()?, ..ended })
}

/// Whether the guest's command can be asked to end.
pub fn takes_orders(boot: &Boot) -> bool {
    !boot.job.shell && qemu_version::takes_orders(&boot.qemu.version)
}
