//! The command line of `schedlab vm`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use schedlab_plan::lane::WantedAccelerator;
use schedlab_plan::plan::{GuestLane, GuestPlan};
use schedlab_plan::units::{parse_bytes, parse_duration_ns};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Vm {
    #[command(subcommand)]
    pub(crate) action: VmAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum VmAction {
    /// Download a Debian kernel into the cache with apt; the host's package lists are not changed
    Fetch(Fetch),
    /// Build a small kernel from a source tree and add it to the cache as build:NAME
    Build(Build),
    /// List the kernels in the cache
    List,
    /// Boot a kernel and show what its guest can measure; or open a shell in it
    Boot(Boot),
    /// Run `bench`, `ab`, `run`, `repeat` or `doctor` in a guest, or look at its knobs (`tune`); results are written to the same paths as if run on the host
    Run(VmRun),
    /// Count the instructions of each kernel function per operation, exactly; --against compares with a kernel or a file
    Profile(VmProfile),
}

#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// debian:VERSION, such as debian:6.1 (also debian:6.1-cloud, debian:6.1-rt)
    pub(crate) kernel: String,
    /// A module to keep in addition to the usual ones; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) module: Vec<String>,
    /// Fetch the kernel for arm64
    #[arg(long)]
    pub(crate) aarch64: bool,
    /// A mirror of Debian's archive, such as http://HOST/debian; a second one, ending in -security, for the security suites
    /// [default: those of the host's own apt sources]
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Build {
    /// The source tree; it is not modified
    pub(crate) tree: PathBuf,
    /// A patch (-p1) to apply to a copy of the tree; several are applied in order
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Vec<PathBuf>,
    /// A kernel config option, such as HZ_1000=y; may be given several times
    #[arg(long, value_name = "OPTION=VALUE")]
    pub(crate) set: Vec<String>,
    /// A file of config options
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Name the kernel build:NAME [default: the tree's directory and the patches]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Parallel compile jobs [default: number of CPUs]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Build for arm64, with a cross compiler unless this machine is arm64
    #[arg(long)]
    pub(crate) aarch64: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Boot {
    /// A kernel that `schedlab vm list` names, or a kernel image file
    ///
    /// debian:VERSION, build:NAME, or the path of a bzImage, vmlinuz, vmlinux or Image
    pub(crate) kernel: String,
    /// Open a shell at this terminal instead (the host's busybox, or what --add puts at /bin/sh); Ctrl-A X ends the guest
    #[arg(long)]
    pub(crate) shell: bool,
    #[command(flatten)]
    pub(crate) guest: GuestOptions,
}

#[derive(Debug, Args)]
pub(crate) struct VmRun {
    /// A kernel that `schedlab vm list` names, or a kernel image file
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
    /// A kernel that `schedlab vm list` names, or a kernel image file
    ///
    /// debian:VERSION, build:NAME, or the path of a bzImage, vmlinuz, vmlinux or Image
    #[arg(long)]
    pub(crate) kernel: String,
    /// Compare function by function with another kernel, or with a FILE.json that `--json` wrote
    #[arg(long, value_name = "KERNEL|FILE")]
    pub(crate) against: Option<String>,
    /// Count each leg of a pipe round trip separately (one CPU). Each read or write is classified by whether it slept
    /// or woke the partner. Two guests are run; their counts must agree
    #[arg(long, conflicts_with = "against")]
    pub(crate) legs: bool,
    /// Show at most N functions, 0 for all [default: 25; with --json - as many as fit in 20 kB]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Write all functions as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    #[command(flatten)]
    pub(crate) guest: GuestOptions,
    /// The `bench` command to run in the guest, always in the virtual lane
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Options of the guest, common to `boot`, `run` and `profile`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GuestOptions {
    /// How time passes in the guest [default: real]
    #[arg(long, value_parser = lane())]
    pub(crate) lane: Option<GuestLane>,
    /// CPUs [default: 2, or 1 on a host with one]
    #[arg(long, value_name = "N")]
    cpus: Option<u32>,
    /// CPU topology: sockets=2,cores=2,threads=2,nodes=2,distance=31, each part optional; distance may be a matrix,
    /// 10:21/21:10
    #[arg(long, value_name = "SPEC")]
    topology: Option<String>,
    /// Memory
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = parse_bytes)]
    memory: u64,
    /// Text to append to the kernel command line
    #[arg(long, value_name = "WORDS", default_value = "")]
    cmdline: String,
    /// A file or directory to copy into the guest, HOST_PATH:GUEST_PATH or one absolute path for both; may be given several times
    #[arg(long, value_name = "PATH")]
    add: Vec<String>,
    /// A module to load at boot; others are loaded on demand
    #[arg(long, value_name = "NAME")]
    module: Vec<String>,
    /// Allow more CPUs than the host has; the run is marked, because its results cannot be compared
    #[arg(long)]
    oversubscribe: bool,
    /// Accelerator of the real lane: auto (kvm if it runs this kernel, otherwise tcg), tcg (one thread per CPU), or kvm
    /// (an error if KVM does not work)
    #[arg(long, value_name = "ACCELERATOR", default_value = "auto", conflicts_with = "no_kvm", value_parser = accelerator())]
    accel: WantedAccelerator,
    /// The same as --accel tcg
    #[arg(long, hide = true)]
    no_kvm: bool,
    /// Virtual lane: seed of the random differences between boots; equal boots with equal seeds are identical, and
    /// count as one sample
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Virtual lane: an instruction takes 2^N ns [default: depends on QEMU's version and the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=10))]
    shift: Option<u8>,
    /// Virtual lane: upper limit on a vCPU's time slice (QEMU runs them in turn), such as 100us
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    quantum: Option<u64>,
    /// Virtual lane: before its workload starts, each task spins for a random time up to this, drawn from the seed; 0
    /// for no spin
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    dither: Option<u64>,
    /// How long the guest may take to start [default: 2min, virtual lane 10min]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    boot_timeout: Option<u64>,
    /// How long the command may take
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration_ns)]
    timeout: u64,
    /// Show the guest's console while it runs
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Print QEMU's command line, and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Use the arm64 kernel of that name, emulated; needs --binary on other machines
    #[arg(long)]
    aarch64: bool,
    /// A schedlab binary for the guest's architecture [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

fn accelerator() -> impl TypedValueParser<Value = WantedAccelerator> {
    PossibleValuesParser::new(WantedAccelerator::NAMES).try_map(|name| name.parse())
}

fn lane() -> impl TypedValueParser<Value = GuestLane> {
    let real = PossibleValue::new("real").help("Wall clock");
    let counted =
        PossibleValue::new("virtual").help("Time is an instruction count: repeats bit for bit, is not a latency");
    PossibleValuesParser::new([real, counted])
        .map(|name| if name == "virtual" { GuestLane::Virtual } else { GuestLane::Real })
}

impl GuestOptions {
    /// The same options in the form of a plan.
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
