//! One guest from start to end: QEMU is started, its console and port are followed, what the guest sends is handed on,
//! and on every way out QEMU is ended.

pub use super::laid::dry_run;

use super::accelerate::Proof;
use super::initramfs::Added;
use super::kvm::Kvm;
use super::laid::Laid;
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
    /// Why a real lane is without KVM, where it is.
    pub no_kvm: Option<NoKvm>,
    /// Whether it is booted translated where KVM does not run it.
    pub falls_back: bool,
    /// The host's KVM.
    pub kvm: Kvm,
    /// What it does; the port is filled in.
    pub job: Job,
    /// Our own binary for its architecture.
    pub program: PathBuf,
    /// Files of the host.
    pub add: Vec<Added>,
    /// Words added to the kernel's command line.
    pub command_line: String,
    /// The QEMU that runs it; its version is part of the result.
    pub qemu: Installed,
    /// Time limit until the guest reports that it is up.
    pub boot_limit: Duration,
    /// Time limit from then on.
    pub limit: Duration,
    /// At the limit, and when the user wants an end, the command is asked to end as by Ctrl-C and has this long to do
    /// so, with what it has measured; zero: the guest ends at once, as it does under a QEMU that takes no orders.
    pub grace: Duration,
    /// Whether instructions are counted, by our plugin in QEMU; with landmarks by leg, on one CPU.
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
    /// The guest is up: kernel release, after how long.
    Up(String, Duration),
    /// A file of it is safe, whatever becomes of it.
    Kept,
    /// The command was asked to end, as the user wants.
    ToldToEnd,
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
    /// Whether the user wants it at once.
    fn insisted(&self) -> bool;
}

/// What is left of a guest.
#[derive(Debug, Default)]
pub struct Ended {
    /// The command's exit code.
    pub exit_code: i32,
    /// The limit, where it was what ended the command.
    pub late: Option<Duration>,
    /// Why it ended before its command had, where that had sent something by then: `files` are those.
    pub cut: Option<VmError>,
    /// Files by absolute path, each below a place of the job's `collect`.
    pub files: Vec<(String, Vec<u8>)>,
    /// What was counted.
    pub counts: Option<LegCounts>,
    /// Why it was booted translated in the end, where KVM was to run it.
    pub fell_back: Option<NoKvm>,
}

/// Boots it as it is described, follows the guest to its end, and returns what it sent; `proof` is kept when it is up.
pub(super) fn once(boot: &Boot, proof: Option<Proof>, events: &mut dyn Events) -> Result<Ended, VmError> {
    let laid = Laid::new(boot)?;
    events.stage(Stage::Starting);
    let (qemu, ends) = laid.start(None)?;
    let ended = Session::new(boot, qemu, ends, proof, events).follow()?;
    Ok(Ended { counts: laid.counts()?, ..ended })
}

/// Whether its command can be asked to end.
pub fn takes_orders(boot: &Boot) -> bool {
    !boot.job.shell && qemu_version::takes_orders(&boot.qemu.version)
}
