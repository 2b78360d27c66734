//! Runs one guest: turns its options into a machine and a lane, and shows its output.

use super::guest_command::GuestCommand;
use super::listener::Screen;
use crate::cli::vm::GuestOptions;
use crate::exit::{self, usage};
use crate::output::{print_line, say};
use anyhow::{Context, Result, bail};
use schedlab_plan::counted;
use schedlab_plan::plan::{GuestLane, GuestPlan};
use schedlab_plan::units::format_ns_exact;
use schedlab_sys::interrupt::Interrupt;
use schedlab_sys::thread::usable_cpus;
use schedlab_vm::host::accelerate::Choice;
use schedlab_vm::host::initramfs::Added;
use schedlab_vm::host::kvm::Kvm;
use schedlab_vm::host::process::Installed;
use schedlab_vm::job::Arranged;
use schedlab_vm::kernel::cache::Cache;
use schedlab_vm::kernel::image::Architecture;
use schedlab_vm::kernel::reference::Reference;
use schedlab_vm::kernel::{Kernel, debian, own_architecture};
use schedlab_vm::lane::{NoKvm, USUAL_DITHER_US, Virtual, WantedAccelerator};
use schedlab_vm::machine::Topology;
use schedlab_vm::{Boot, Job, Lane, Machine};
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The command's exit code, and the files that the guest sent.
pub(super) type Answer = (u8, Vec<(String, Vec<u8>)>);

/// For a command that was told to end: its current trial ends first.
const GRACE: Duration = Duration::from_secs(60);

/// Default time limit of a command or a trial.
pub(super) const USUAL_LIMIT: Duration = Duration::from_secs(3600);

/// Boots a guest, shows what it does, and returns when it has ended.
pub(super) fn run(kernel: &str, options: &GuestOptions, command: &GuestCommand, shell: bool) -> Result<Answer> {
    let guest = options.guest();
    let kernel = find(kernel, super::architecture(guest.aarch64))?;
    let boot = Boot { grace: GRACE, ..boot(kernel, &guest, command, shell, &Capabilities::default())? };
    advise(&boot);
    if options.dry_run {
        print_line(schedlab_vm::host::boot::dry_run(&boot)?)?;
        return Ok((exit::DONE, Vec::new()));
    }
    crate::session::restore_leftovers()?;
    let interrupt = Interrupt::catch_twice().context("signals cannot be caught")?;
    if let Lane::Virtual(_) = boot.lane {
        say("schedlab: virtual lane: time is an instruction count and CPUs run one at a time, so no time is a latency");
    }
    let mut screen = Screen::new(interrupt, options.verbose);
    let ended = schedlab_vm::boot(&boot, &mut screen)?;
    if let Some(why) = ended.cut {
        say(format_args!("schedlab: {why}; what the command had finished by then is kept"));
        return Ok((exit::ERROR, ended.files));
    }
    if let Some(limit) = ended.late {
        let kept = if ended.files.is_empty() { "left nothing" } else { "what it had measured is kept" };
        say(format_args!(
            "schedlab: the guest did not end its command within {limit:?}: it was told to, and {kept}; give it more time: \
             --timeout of `vm run`"
        ));
        return Ok((exit::ERROR, ended.files));
    }
    Ok((u8::try_from(ended.exit_code).unwrap_or(exit::ERROR), ended.files))
}

/// The host's QEMU, queried on first use, and the choice of what runs a command's guests.
#[derive(Default)]
pub(super) struct Capabilities {
    seen: OnceLock<(Architecture, Installed)>,
    settled: Mutex<Option<Choice>>,
}

impl Capabilities {
    /// The QEMU for an architecture; the first one is cached.
    fn qemu(&self, architecture: Architecture) -> Result<Installed> {
        if let Some((_, seen)) = self.seen.get().filter(|(of, _)| *of == architecture) {
            return Ok(seen.clone());
        }
        let found = Installed::find(architecture)?;
        let _ = self.seen.set((architecture, found.clone()));
        Ok(found)
    }

    fn settled(&self) -> MutexGuard<'_, Option<Choice>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a guest with this kernel is started: as settled, or according to its options.
    pub(super) fn choice(&self, kernel: &Kernel, wanted: WantedAccelerator) -> Result<Choice> {
        if let Some(settled) = *self.settled() {
            return Ok(settled);
        }
        let qemu = self.qemu(kernel.image.architecture)?;
        let (choice, note) = Choice::of(wanted, &Kvm::of_this_host(), &qemu, kernel)?;
        note.iter().for_each(|note| say(format_args!("schedlab: {note}")));
        Ok(choice)
    }

    /// Starts all further guests in this way.
    pub(super) fn settle(&self, choice: Choice) {
        *self.settled() = Some(choice);
    }

    /// Starts all further guests as they were tried; if nothing else was settled, with KVM.
    pub(super) fn keep_to_it(&self) {
        self.settled().get_or_insert(Choice::kvm(false));
    }
}

/// Builds a guest from the user's options.
pub(super) fn boot(
    kernel: Kernel,
    guest: &GuestPlan,
    command: &GuestCommand,
    shell: bool,
    capabilities: &Capabilities,
) -> Result<Boot> {
    let machine = machine(guest)?;
    let architecture = kernel.image.architecture;
    let qemu = capabilities.qemu(architecture)?;
    let virtual_ = guest.lane == GuestLane::Virtual;
    let (lane, choice) = match guest.lane {
        GuestLane::Virtual => (virtual_lane(guest, &machine, &qemu.version)?, Choice::translated(NoKvm::Unwanted)),
        GuestLane::Real => real_lane(guest, &machine, capabilities.choice(&kernel, guest.accelerator)?)?,
    };
    let usual_start = Duration::from_secs(if virtual_ { 600 } else { 120 });
    let mut add = command.reads.clone();
    add.extend(guest.add.iter().map(|text| Added::parse(text)).collect::<Result<Vec<_>, _>>()?);
    if shell && !add.iter().any(|added| added.to == "/bin/sh") {
        add.push(busybox()?);
    }
    // A missing module may be built into the kernel; if it is not, the workload reports what is missing.
    let has = |name: &&String| kernel.modules.iter().any(|(module, _)| module.name == **name);
    let modules = command.modules.iter().filter(has).chain(&guest.module).cloned().collect();
    let job = Job {
        arguments: command.arguments.clone(),
        directory: command.directory.clone(),
        environment: environment(virtual_),
        hostname: hostname(virtual_),
        modules,
        collect: command.collect.clone(),
        machine: Arranged {
            cpus: machine.topology.cpus(),
            sockets: machine.topology.sockets,
            threads: machine.topology.threads,
            nodes: machine.topology.nodes,
        },
        perturbation: schedlab_vm::lane::perturbation(lane),
        shell,
        ..Job::default()
    };
    let program = binary(guest, architecture)?;
    Ok(Boot {
        kernel,
        machine,
        lane,
        no_kvm: choice.no_kvm.filter(|_| !virtual_),
        falls_back: choice.falls_back,
        kvm: Kvm::of_this_host(),
        job,
        program,
        add,
        command_line: guest.cmdline.clone(),
        qemu,
        boot_limit: guest.boot_timeout_ns.map_or(usual_start, Duration::from_nanos),
        limit: guest.timeout_ns.map_or(USUAL_LIMIT, Duration::from_nanos),
        grace: Duration::ZERO,
        counting: None,
    })
}

/// Prints known problems of this QEMU.
pub(super) fn advise(boot: &Boot) {
    if let Some(advice) = schedlab_vm::lane::advice(boot.lane, &boot.qemu.version, boot.machine.topology.cpus()) {
        say(format_args!("schedlab: {advice}"));
    }
}

/// A kernel in the cache, or a kernel file. Nothing is fetched automatically.
pub(in crate::commands) fn find(name: &str, of: Architecture) -> Result<Kernel> {
    match name.parse()? {
        Reference::File(path) => Ok(Kernel::of_file(&path)?),
        Reference::Debian(wanted) => {
            let found = Cache::of_this_user().find(&wanted.to_string(), debian::architecture(of))?;
            let of = if of == own_architecture() { "" } else { " --aarch64" };
            found.with_context(|| format!("{wanted} is not in the cache; fetch it: schedlab vm fetch {wanted}{of}"))
        }
        Reference::Build(name) => {
            let name = format!("build:{name}");
            let cache = Cache::of_this_user();
            let architectures = [of, Architecture::Aarch64].map(debian::architecture);
            let found = architectures.iter().find_map(|of| cache.find(&name, of).transpose()).transpose()?;
            found.with_context(|| format!("{name} is not in the cache; build it: schedlab vm build TREE"))
        }
    }
}

fn machine(guest: &GuestPlan) -> Result<Machine> {
    let default = if guest.topology.is_some() { None } else { Some(host_cpus().min(2)) };
    let topology = Topology::parse(guest.cpus.or(default), guest.topology.as_deref())?;
    let bytes = memory_bytes(guest);
    if bytes < 64 << 20 {
        usage!("--memory {bytes}: a guest needs at least 64m");
    }
    Ok(Machine { memory_mib: bytes >> 20, topology })
}

/// The guest's memory.
pub(super) fn memory_bytes(guest: &GuestPlan) -> u64 {
    guest.memory_bytes.unwrap_or(1 << 30)
}

fn host_cpus() -> u32 {
    u32::try_from(usable_cpus()).unwrap_or(u32::MAX)
}

fn virtual_lane(guest: &GuestPlan, machine: &Machine, qemu_version: &str) -> Result<Lane> {
    if guest.accelerator == WantedAccelerator::Kvm {
        usage!("--accel kvm counts no instructions: it belongs to --lane real");
    }
    let usual_shift = || schedlab_vm::lane::usual_shift(qemu_version, machine.topology.cpus());
    let shift = guest.shift.unwrap_or_else(usual_shift);
    let quantum_us =
        guest.quantum_ns.map(|ns| u32::try_from(ns.div_ceil(1000))).transpose().context("--quantum is too long")?;
    if quantum_us == Some(0) {
        usage!(
            "--quantum 0: a turn has to have a length, such as 100us; leave it out for turns that end with the next timer"
        );
    }
    let dither_us = guest.dither_ns.map_or(Ok(USUAL_DITHER_US), dither_us)?;
    Ok(Lane::Virtual(Virtual { shift, seed: guest.first_seed.unwrap_or(0), quantum_us, dither_us }))
}

fn real_lane(guest: &GuestPlan, machine: &Machine, choice: Choice) -> Result<(Lane, Choice)> {
    let cpus = machine.topology.cpus();
    if guest.first_seed.is_some() || guest.shift.is_some() || guest.quantum_ns.is_some() || guest.dither_ns.is_some() {
        usage!(
            "--seed, --shift, --quantum and --dither belong to --lane virtual: in the real lane no two boots are equal \
             anyway"
        );
    }
    let oversubscribed = cpus > host_cpus();
    if oversubscribed && !guest.oversubscribe {
        bail!(
            "{} for the guest on a host with {}: its CPUs would wait for each other, and results could not be compared; give \
             fewer --cpus, --lane virtual, or --oversubscribe to run it all the same",
            counted(cpus, "CPUs"),
            host_cpus()
        );
    }
    Ok((Lane::Real { accelerator: choice.accelerator, oversubscribed }, choice))
}

/// Limited, because many tasks take turns, and a workload that is not ready after half a minute counts as hung.
fn dither_us(ns: u64) -> Result<u32> {
    const MAX_US: u64 = 100_000;
    match ns.div_ceil(1000) {
        us if us <= MAX_US => Ok(us as u32),
        _ => usage!("--dither {}: give at most 100ms", format_ns_exact(ns)),
    }
}

/// This binary, which is static; a guest of another architecture needs its own.
fn binary(guest: &GuestPlan, architecture: Architecture) -> Result<std::path::PathBuf> {
    match &guest.binary {
        Some(file) => {
            let mut magic = [0; 4];
            let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut magic));
            read.with_context(|| format!("--binary {} cannot be read", file.display()))?;
            if magic != *b"\x7fELF" {
                bail!("--binary {}: no ELF file; give schedlab's own, static, for {architecture}", file.display());
            }
            Ok(file.clone())
        }
        None if architecture == own_architecture() => Ok("/proc/self/exe".into()),
        None => bail!("an {architecture} kernel on this host: give a schedlab binary for it with --binary"),
    }
}

fn busybox() -> Result<Added> {
    let found = ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|path| Path::new(path).exists());
    let found = found
        .context("there is no busybox for the guest's shell: apt-get install busybox-static, or --add FILE:/bin/sh")?;
    Ok(Added { from: found.into(), to: "/bin/busybox".into() })
}

/// Environment variables that affect the command's output. The virtual lane does not depend on the host.
fn environment(virtual_: bool) -> Vec<(String, String)> {
    let names = if virtual_ { &[][..] } else { &["COLUMNS", "NO_COLOR"][..] };
    names.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}

/// All guests of a host count as one machine, whatever their kernels.
fn hostname(virtual_: bool) -> String {
    if virtual_ {
        return "virtual".into();
    }
    let host = schedlab_sys::kernel_facts::uname().map(|uname| uname.nodename).unwrap_or_default();
    format!("guest-of-{host}").chars().take(64).collect()
}
