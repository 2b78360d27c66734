//! The command line of `schedlab vm`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use schedlab_run::lane::WantedAccelerator;
use schedlab_run::plan::{GuestLane, GuestPlan};
use schedlab_run::units::{parse_bytes, parse_duration_ns};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Vm {
    #[command(subcommand)]
    pub(crate) action: VmAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum VmAction {
    /// A kernel of Debian into the cache, through apt's own download; the host's package lists stay as they are
    Fetch(Fetch),
    /// Builds a small kernel from a source tree into the cache, as build:NAME
    Build(Build),
    /// Kernels in the cache
    List,
    /// Boots a kernel and shows what a guest of it can measure; or a shell in it
    Boot(Boot),
    /// `bench`, `ab`, `run` or `doctor` in a guest, its results where they would be on the host
    Run(VmRun),
    /// Instructions of each kernel function per operation of a workload, exactly; alone, or against another kernel's or run's
    Profile(VmProfile),
}

#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// debian:VERSION, such as debian:6.1 (also debian:6.1-cloud, debian:6.1-rt)
    pub(crate) kernel: String,
    /// A module to keep besides the usual ones; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) module: Vec<String>,
    /// The kernel for arm64
    #[arg(long)]
    pub(crate) aarch64: bool,
    /// A mirror of Debian's archive, such as http://HOST/debian; a second one that ends with -security is of those suites
    /// [default: those of the host's own apt sources]
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Build {
    /// The source tree; it stays as it is
    pub(crate) tree: PathBuf,
    /// A patch for a copy of it (-p1); several are applied in their order
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Vec<PathBuf>,
    /// An option of the configuration, such as HZ_1000=y; may be given several times
    #[arg(long, value_name = "OPTION=VALUE")]
    pub(crate) set: Vec<String>,
    /// A file of such options
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The kernel is build:NAME then [default: the tree's directory, and the patches]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Compilers at once [default: as many as CPUs]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// For arm64, by a cross compiler where it is not this machine's
    #[arg(long)]
    pub(crate) aarch64: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Boot {
    /// The kernel, as `schedlab vm list` has it, or a file of one
    ///
    /// debian:VERSION, build:NAME, or the path of a bzImage, vmlinuz, vmlinux or Image
    pub(crate) kernel: String,
    /// A shell at this terminal instead (busybox of the host, or what --add puts at /bin/sh); Ctrl-A X ends the guest
    #[arg(long)]
    pub(crate) shell: bool,
    #[command(flatten)]
    pub(crate) guest: GuestOptions,
}

#[derive(Debug, Args)]
pub(crate) struct VmRun {
    /// The kernel, as `schedlab vm list` has it, or a file of one
    ///
    /// debian:VERSION, build:NAME, or the path of a bzImage, vmlinuz, vmlinux or Image
    #[arg(long)]
    pub(crate) kernel: String,
    #[command(flatten)]
    pub(crate) guest: GuestOptions,
    /// The schedlab command to run in the guest
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct VmProfile {
    /// The kernel, as `schedlab vm list` has it, or a file of one
    ///
    /// debian:VERSION, build:NAME, or the path of a bzImage, vmlinuz, vmlinux or Image
    #[arg(long)]
    pub(crate) kernel: String,
    /// What to compare with, function by function: another kernel, or a FILE.json that `--json` wrote
    #[arg(long, value_name = "KERNEL|FILE")]
    pub(crate) against: Option<String>,
    /// Count each leg of a round trip alone: writes and reads of pipes are told apart by what became of them, on one CPU, and
    /// in two guests, which have to agree
    #[arg(long, conflicts_with = "against")]
    pub(crate) legs: bool,
    /// Functions to show, 0 for all [default: 25; of --json - what stays below 20 kB]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Writes all functions as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    #[command(flatten)]
    pub(crate) guest: GuestOptions,
    /// The `bench` command to run in the guest; it is always the virtual lane
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// The guest, common to `boot`, `run` and `profile`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GuestOptions {
    /// How time passes in the guest [default: real]
    #[arg(long, value_parser = lane())]
    pub(crate) lane: Option<GuestLane>,
    /// CPUs [default: 2, or 1 on a host with one]
    #[arg(long, value_name = "N")]
    cpus: Option<u32>,
    /// How the CPUs are arranged: sockets=2,cores=2,threads=2,nodes=2,distance=31, each part optional; distance also as
    /// a matrix, 10:21/21:10
    #[arg(long, value_name = "SPEC")]
    topology: Option<String>,
    /// Memory
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = parse_bytes)]
    memory: u64,
    /// Words added to the kernel's command line
    #[arg(long, value_name = "WORDS", default_value = "")]
    cmdline: String,
    /// A file or directory for the guest, HOST_PATH:GUEST_PATH or one absolute path for both; may be given several times
    #[arg(long, value_name = "PATH")]
    add: Vec<String>,
    /// A module to load at the start; others are loaded when the kernel asks for them
    #[arg(long, value_name = "NAME")]
    module: Vec<String>,
    /// More CPUs than the host has; the run is marked, since nothing of it can be compared
    #[arg(long)]
    oversubscribe: bool,
    /// What runs the real lane's CPUs: auto is kvm where it runs this kernel, else tcg, a translating thread for each; kvm is
    /// kvm or an error
    #[arg(long, value_name = "ACCELERATOR", default_value = "auto", conflicts_with = "no_kvm", value_parser = accelerator())]
    accel: WantedAccelerator,
    /// The same as --accel tcg
    #[arg(long, hide = true)]
    no_kvm: bool,
    /// Virtual lane: which of the harmless differences between boots this one has; one seed is one sample
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Virtual lane: an instruction takes 2^N ns [default: by QEMU's version and the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=10))]
    shift: Option<u8>,
    /// Virtual lane: a CPU's turn ends after at most this long, such as 100us
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    quantum: Option<u64>,
    /// Virtual lane: each task uses up to this much CPU time before its workload starts, as the seed says; 0: none
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    dither: Option<u64>,
    /// How long the guest may take to start [default: 2min, virtual lane 10min]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    boot_timeout: Option<u64>,
    /// How long its command may take
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration_ns)]
    timeout: u64,
    /// Show the guest's console as it talks
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Print QEMU's command line, and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The arm64 kernel of that name, translated; needs --binary on another machine
    #[arg(long)]
    aarch64: bool,
    /// Our own binary for the guest's architecture [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

fn accelerator() -> impl TypedValueParser<Value = WantedAccelerator> {
    PossibleValuesParser::new(WantedAccelerator::NAMES).try_map(|name| name.parse())
}

fn lane() -> impl TypedValueParser<Value = GuestLane> {
    let real = PossibleValue::new("real").help("Wall clock");
    let counted =
        PossibleValue::new("virtual").help("Time counted in instructions: repeats to the bit, and is no latency");
    PossibleValuesParser::new([real, counted])
        .map(|name| if name == "virtual" { GuestLane::Virtual } else { GuestLane::Real })
}

impl GuestOptions {
    /// As a plan would say it.
    pub(crate) fn guest(&self) -> GuestPlan {
        let console = if self.verbose { "loglevel=7 " } else { "" };
        GuestPlan {
            lane: self.lane.unwrap_or_default(),
            accelerator: if self.no_kvm { WantedAccelerator::Tcg } else { self.accel },
            first_seed: Some(self.seed).filter(|seed| *seed > 0),
            aarch64: self.aarch64,
            binary: self.binary.clone(),
            add: self.add.clone(),
            module: self.module.clone(),
            oversubscribe: self.oversubscribe,
            cpus: self.cpus,
            topology: self.topology.clone(),
            memory_bytes: Some(self.memory),
            cmdline: format!("{console}{}", self.cmdline),
            shift: self.shift,
            quantum_ns: self.quantum,
            dither_ns: self.dither,
            boot_timeout_ns: self.boot_timeout,
            timeout_ns: Some(self.timeout),
            ..GuestPlan::default()
        }
    }
}
