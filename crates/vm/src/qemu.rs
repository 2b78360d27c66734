//! QEMU's command line, a pure function of the guest's description: a guest has nothing that is not named here.

use crate::kernel::image::Architecture;
use crate::lane::{Accelerator, Lane};
use crate::machine::{Machine, Topology};
use crate::profile::Landmark;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Where the guest's console goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Console {
    /// Into a file, from which the guest's last lines are read.
    File(PathBuf),
    /// To the terminal that schedlab was started from, and into that file.
    Terminal(PathBuf),
}

/// A kernel command-line word that lets the kernel print from its first moment on, at the usual verbosity until
/// `quiet`: a few lines, which show that it runs. The regular console then replaces it.
pub const EARLY_CONSOLE: &str = "earlycon=uart8250,io,0x3f8";

/// Skips the kernel's tests of its own ciphers (`crypto/testmgr.c`), which nothing here measures. Debian's 6.1 spends
/// three fifths of its boot's instructions in them: 7.1 s of 11.2 s on the virtual lane's clock.
pub const NO_CIPHER_TESTS: &str = "cryptomgr.notests=1";

/// A guest as described to QEMU.
#[derive(Debug, Clone)]
pub struct Guest<'a> {
    /// Architecture of the kernel.
    pub architecture: Architecture,
    /// Kernel image.
    pub kernel: &'a Path,
    /// Initramfs.
    pub initramfs: &'a Path,
    /// The kernel's command line.
    pub command_line: &'a str,
    /// Memory and CPUs.
    pub machine: &'a Machine,
    /// How time passes.
    pub lane: Lane,
    /// First serial port.
    pub console: Console,
    /// Second serial port: a file that accepts bytes at any speed, so that nothing in the guest waits for the host.
    pub port: &'a Path,
    /// What the host sends over that port: a named pipe, if the port takes orders.
    pub orders: Option<&'a Path>,
    /// The plugin that counts instructions.
    pub counting: Option<Counting<'a>>,
    /// For a guest whose state is saved.
    pub saved_state: Option<SaveOrRestore<'a>>,
}

/// A guest that stops so that its state can be saved, or is restored from that state. QEMU gets commands on its
/// standard input.
#[derive(Debug, Clone, Copy)]
pub struct SaveOrRestore<'a> {
    /// The file that it gets when restored.
    pub restored_job: &'a Path,
    /// The state to restore; `None`: the guest boots.
    pub from: Option<&'a Path>,
}

/// The name of the file for a restored guest, among the files of QEMU's fw_cfg device.
pub const FW_CFG_RESTORED_JOB: &str = "opt/schedlab/handed";

/// The plugin that counts instructions.
#[derive(Debug, Clone, Copy)]
pub struct Counting<'a> {
    /// Itself.
    pub plugin: &'a Path,
    /// The file that it writes.
    pub out: &'a Path,
    /// Where legs begin and end; empty if everything is counted as one.
    pub landmarks: &'a [Landmark],
}

/// The virtual lane's wall clock when its guest boots.
const VIRTUAL_EPOCH: &str = "2024-01-01T00:00:00";

/// The QEMU program for guests of an architecture.
pub fn program(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "qemu-system-x86_64",
        Architecture::Aarch64 => "qemu-system-aarch64",
    }
}

/// The device of the second serial port in the guest.
pub fn port_device(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "/dev/ttyS1",
        // The PL011 is the console; the port is a PCI card, the first of its kind.
        Architecture::Aarch64 => "/dev/ttyS0",
    }
}

/// The console's name for `console=`, and its device.
pub fn console_name(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "ttyS0",
        Architecture::Aarch64 => "ttyAMA0",
    }
}

/// All arguments.
pub fn arguments(guest: &Guest<'_>) -> Vec<OsString> {
    let mut line = Line::default();
    // Nothing from the user's configuration, and no device that is not named; a guest that reboots ends.
    line.flags(&["-no-user-config", "-nodefaults", "-no-reboot"]);
    line.option("-display", "none");
    line.option("-machine", machine_type(guest.architecture));
    lane(&mut line, guest);
    line.option("-m", format!("{}M", guest.machine.memory_mib));
    cpus(&mut line, guest.machine);
    match &guest.console {
        // QEMU puts the terminal into raw mode and restores it; Ctrl-A X ends it.
        Console::Terminal(path) => line.path("-chardev", "stdio,id=console,mux=on,signal=off,logfile=", path),
        Console::File(path) => line.path("-chardev", "file,id=console,path=", path),
    }
    line.option("-serial", "chardev:console");
    line.path("-chardev", "file,id=port,path=", guest.port);
    if let Some(orders) = guest.orders {
        line.extend_last(OsStr::new(",input-path="));
        line.extend_last(&quoted(orders));
    }
    match guest.architecture {
        Architecture::X86_64 => line.option("-serial", "chardev:port"),
        Architecture::Aarch64 => line.option("-device", "pci-serial,chardev=port"),
    }
    if matches!(guest.console, Console::Terminal(_)) {
        line.option("-mon", "chardev=console,mode=readline");
    }
    // The guest that makes a state only boots; instructions are counted in the guest restored from it.
    let makes_a_state = guest.saved_state.is_some_and(|saved_state| saved_state.from.is_none());
    if let Some(Counting { plugin, out, landmarks }) = guest.counting.filter(|_| !makes_a_state) {
        line.path("-plugin", "file=", plugin);
        line.extend_last(OsStr::new(",out="));
        line.extend_last(&quoted(out));
        for (name, address) in landmarks {
            line.extend_last(OsStr::new(&format!(",{name}={address:x}")));
        }
    }
    if let Some(saved_state) = guest.saved_state {
        save_or_restore(&mut line, saved_state);
    }
    line.flags(&["-kernel"]);
    line.0.push(guest.kernel.into());
    line.flags(&["-initrd"]);
    line.0.push(guest.initramfs.into());
    line.option("-append", guest.command_line);
    line.0
}

/// The device with which a guest stops itself: a write to its port is the last thing that it does (`panic=pause`).
/// In a restored guest, the same event ends QEMU.
fn save_or_restore(line: &mut Line, SaveOrRestore { restored_job, from }: SaveOrRestore<'_>) {
    line.option("-device", "pvpanic");
    line.path("-fw_cfg", &format!("name={FW_CFG_RESTORED_JOB},file="), restored_job);
    line.option("-chardev", "stdio,id=monitor,signal=off");
    line.option("-mon", "chardev=monitor,mode=control");
    match from {
        None => line.option("-action", "panic=pause"),
        Some(state) => {
            line.flags(&["-incoming"]);
            let mut uri = OsString::from("file:");
            uri.push(state);
            line.0.push(uri);
            // After a restore, QEMU would announce its network cards, using timers.
            line.option("-global", "migration.announce-rounds=0");
        }
    }
}

fn machine_type(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "pc,usb=off,vmport=off",
        Architecture::Aarch64 => "virt",
    }
}

fn lane(line: &mut Line, guest: &Guest<'_>) {
    let x86 = guest.architecture == Architecture::X86_64;
    match guest.lane {
        Lane::Real { accelerator: Accelerator::Kvm, .. } => {
            line.option("-accel", "kvm");
            line.option("-cpu", "host");
        }
        Lane::Real { accelerator: Accelerator::Tcg, .. } => {
            line.option("-accel", "tcg,thread=multi");
            line.option("-cpu", model(guest, &[]));
        }
        Lane::Virtual(parameters) => {
            line.option("-accel", "tcg,thread=single");
            line.option("-icount", format!("shift={},sleep=off", parameters.shift));
            line.option("-rtc", format!("base={VIRTUAL_EPOCH},clock=vm"));
            // Removes sources of the host's randomness: CPU instructions, and the seed that QEMU gives the kernel.
            line.option("-cpu", model(guest, if x86 { &["-rdrand", "-rdseed"] } else { &[] }));
            line.option("-seed", "1");
            if let Some(us) = parameters.quantum_us {
                // Its timer on the virtual clock ends each CPU's turn; the network is connected to nothing else.
                line.option("-netdev", "hubport,hubid=0,id=quantum");
                line.option("-object", format!("filter-buffer,id=turns,netdev=quantum,interval={us}"));
            }
        }
    }
}

/// Whether a translated CPU must claim to be Intel's, so that its CPUID shows SMT threads: it is AMD's
/// otherwise, where the kernel sees no threads. Under KVM the CPU is the host's.
pub fn needs_intel_vendor(architecture: Architecture, lane: Lane, machine: &Machine) -> bool {
    let translated = !matches!(lane, Lane::Real { accelerator: Accelerator::Kvm, .. });
    translated && architecture == Architecture::X86_64 && machine.topology.threads > 1
}

/// Everything that translation supports, except some features.
fn model(guest: &Guest<'_>, less: &[&str]) -> String {
    let needs_vendor = needs_intel_vendor(guest.architecture, guest.lane, guest.machine);
    let features = less.iter().copied().chain(needs_vendor.then_some("vendor=GenuineIntel"));
    ["max"].into_iter().chain(features).collect::<Vec<_>>().join(",")
}

fn cpus(line: &mut Line, machine: &Machine) {
    let t = &machine.topology;
    line.option("-smp", format!("{},sockets={},cores={},threads={}", t.cpus(), t.sockets, t.cores, t.threads));
    if t.nodes > 1 {
        numa(line, t, machine.memory_mib);
    }
}

fn numa(line: &mut Line, topology: &Topology, memory_mib: u64) {
    let nodes = u64::from(topology.nodes);
    for node in 0..topology.nodes {
        // The first one gets the remainder.
        let rest = if node == 0 { memory_mib % nodes } else { 0 };
        let (first, last) = topology.cpus_of_node(node);
        line.option("-object", format!("memory-backend-ram,id=memory{node},size={}M", memory_mib / nodes + rest));
        line.option("-numa", format!("node,nodeid={node},memdev=memory{node},cpus={first}-{last}"));
    }
    for (from, row) in topology.distances.iter().enumerate() {
        for (to, distance) in row.iter().enumerate().filter(|(to, _)| *to != from) {
            line.option("-numa", format!("dist,src={from},dst={to},val={distance}"));
        }
    }
}

/// A path in a list of options, where a comma is doubled.
fn quoted(path: &Path) -> OsString {
    let parts: Vec<&[u8]> = path.as_os_str().as_bytes().split(|&byte| byte == b',').collect();
    OsString::from_vec(parts.join(&b",,"[..]))
}

/// Arguments under construction.
#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    fn extend_last(&mut self, text: &OsStr) {
        if let Some(last) = self.0.last_mut() {
            last.push(text);
        }
    }

    fn option(&mut self, name: &str, value: impl Into<String>) {
        self.0.push(name.into());
        self.0.push(value.into().into());
    }

    /// A path within the list of an option.
    fn path(&mut self, name: &str, before: &str, path: &Path) {
        let mut value = OsString::from(before);
        value.push(quoted(path));
        self.0.push(name.into());
        self.0.push(value);
    }
}

#[cfg(test)]
mod tests;
