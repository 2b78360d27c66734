//! The roles of our binary inside a guest: its init process, which mounts file systems, loads modules, runs the job's
//! command, sends the files that it made and powers the machine off; and `modprobe`, which the kernel starts when it
//! wants a module.

mod arranged;
mod command;
mod keep;
mod mounts;
mod parameters;
mod port;
mod restored_job;

use crate::frame::Frame;
use crate::host::initramfs::module_path;
use crate::job::{JOB_FILE, Job, MODULES_FILE, Perturbation};
use crate::kernel::modules::{Module, answering, load_order};
pub use keep::Keeper;
pub use parameters::without_effect as words_without_effect;
pub(crate) use port::END_COMMAND;
use port::Port;
use schedlab_sys::rtnetlink::Rtnetlink;
use schedlab_sys::{clock, kernel_facts, power, process};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The role in which the binary was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The guest's init process.
    Init,
    /// The kernel's helper.
    Modprobe,
}

impl Role {
    /// Determined by the process id and the name under which it was started; `None`: an ordinary command.
    pub fn of(pid: u32, started_as: Option<&OsStr>) -> Option<Self> {
        let name = Path::new(started_as?).file_name()?;
        match (pid, name.to_str()?) {
            (1, "init") => Some(Self::Init),
            (pid, "modprobe") if pid != 1 => Some(Self::Modprobe),
            _ => None,
        }
    }

    /// Does its work and returns the exit code; as [`Role::Init`] it does not return, unless powering off fails.
    pub fn run(self) -> u8 {
        match self {
            Self::Init => {
                init();
                1
            }
            Self::Modprobe => u8::from(modprobe(&std::env::args().collect::<Vec<_>>()).is_err()),
        }
    }
}

/// A sentence on how the guest's machine differs from its job's. Also for its command.
pub fn other_machine() -> Option<String> {
    arranged::other(job()?.machine, Path::new("/sys"))
}

/// The job that this guest was booted for; `None` elsewhere.
fn job() -> Option<Job> {
    serde_json::from_slice(&fs::read(JOB_FILE).ok()?).ok()
}

/// One sentence on what went wrong, for the host.
type Failure = String;

fn init() {
    if let Err(why) = work() {
        // Without a port there is only the console; the host shows its last lines.
        let _ = fs::write("/dev/kmsg", format!("<2>schedlab: {why}\n"));
    }
    power::power_off();
}

/// Until the port is open, errors go to the console, afterwards to the host.
fn work() -> Result<(), Failure> {
    mounts::essential()?;
    let text = fs::read(JOB_FILE).map_err(|e| format!("{JOB_FILE}: {e}: was this initramfs made by schedlab?"))?;
    let job: Job = serde_json::from_slice(&text).map_err(|e| format!("{JOB_FILE}: {e}"))?;
    let mut port = Port::open(&job.port).map_err(|e| format!("the port {}: {e}", job.port))?;
    let result = serve(&job, &mut port);
    let last = match result {
        Ok(code) => Frame::Ended(code),
        Err(why) => Frame::Failed(why),
    };
    port.send(&last).map_err(|e| format!("the port {}: {e}", job.port))?;
    port.drain();
    Ok(())
}

fn serve(job: &Job, port: &mut Port) -> Result<i32, Failure> {
    for absent in mounts::others() {
        port.send(&Frame::Note(absent)).map_err(|e| e.to_string())?;
    }
    for word in parameters::unknown(job) {
        let note = format!("the guest's kernel does not know `{word}` of its command line, and goes without");
        port.send(&Frame::Note(note)).map_err(|e| e.to_string())?;
    }
    if let Some(other) = arranged::other(job.machine, Path::new("/sys")) {
        if !arranged::asks_for_fewer(&fs::read_to_string("/proc/cmdline").unwrap_or_default()) {
            return Err(other);
        }
        port.send(&Frame::Note(other)).map_err(|e| e.to_string())?;
    }
    set_up(job)?;
    let modules = modules()?;
    for module in load_order(&modules, &job.modules).map_err(|e| e.to_string())? {
        load(&module.name).map_err(|e| format!("the module {}: {e}{}", module.name, module_hint(&e)))?;
    }
    let release = kernel_facts::uname().map(|uname| uname.release).unwrap_or_default();
    port.send(&Frame::Started(release.clone())).map_err(|e| e.to_string())?;
    let mut arguments = job.arguments.clone();
    if job.stops {
        port.drain();
        let restored_job = restored_job::stop_and_take()?;
        port.send(&Frame::Started(release)).map_err(|e| e.to_string())?;
        if arguments.is_empty() {
            arguments = serde_json::from_slice(restored_job.content.as_bytes())
                .map_err(|e| format!("what it was handed: {e}"))?;
        }
        perturb(restored_job.perturbation);
    } else {
        perturb(job.perturbation);
    }
    if job.shell {
        return command::shell(&job.directory);
    }
    let code = command::run(job, &arguments, port)?;
    for place in &job.collect {
        send_below(Path::new(place), port)?;
    }
    Ok(code)
}

/// Sets up what programs rely on: a host name, a loopback, readable kernel symbols, a directory to work in.
fn set_up(job: &Job) -> Result<(), Failure> {
    let write = |path: &str, text: &str| fs::write(path, text).map_err(|e| format!("{path}: {e}"));
    write("/proc/sys/kernel/hostname", &job.hostname)?;
    // A kernel without this file shows its symbols to root.
    let _ = write("/proc/sys/kernel/kptr_restrict", "0");
    // Since Linux 6.4 the kernel shows its scheduling domains only in verbose mode.
    if !Path::new("/sys/kernel/debug/sched/domains/cpu0").exists() {
        let _ = fs::write("/sys/kernel/debug/sched/verbose", "Y");
    }
    const LOOPBACK: u32 = 1;
    // On a kernel without a network, workloads run without one.
    let _ = Rtnetlink::open().map(|mut net| net.set_up(LOOPBACK));
    // The command's files may have to be in a directory other than its working directory.
    let made = job.collect.iter().filter_map(|place| Path::new(place).parent());
    made.chain([Path::new(&job.directory)])
        .try_for_each(|directory| fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display())))
}

fn modules() -> Result<Vec<Module>, Failure> {
    let text = fs::read(MODULES_FILE).map_err(|e| format!("{MODULES_FILE}: {e}"))?;
    serde_json::from_slice(&text).map_err(|e| format!("{MODULES_FILE}: {e}"))
}

/// If the module is already loaded, this is no error.
fn load(name: &str) -> io::Result<()> {
    match schedlab_sys::module::load(&File::open(module_path(name))?) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn module_hint(error: &io::Error) -> &'static str {
    const ENOEXEC: i32 = 8;
    match error.raw_os_error() {
        Some(ENOEXEC) => ": it was built for another kernel, or is not a whole module",
        _ => "",
    }
}

/// `modprobe -q -- NAME`, as the kernel calls it.
fn modprobe(arguments: &[String]) -> Result<(), Failure> {
    let asked = arguments.iter().skip(1).rfind(|argument| !argument.starts_with('-')).ok_or("no module is named")?;
    let modules = modules()?;
    let wanted: Vec<String> = answering(&modules, asked).iter().map(|module| module.name.clone()).collect();
    if wanted.is_empty() {
        return Err(format!("no module has the name or alias {asked}"));
    }
    for module in load_order(&modules, &wanted).map_err(|e| e.to_string())? {
        load(&module.name).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Makes the differences that a seed of the virtual lane determines, before the command starts.
fn perturb(perturbation: Perturbation) {
    for _ in 0..perturbation.forks {
        if let Ok(pid) = process::fork_child(|| 0) {
            let _ = process::wait_for(pid);
        }
    }
    let tick_ns = kernel_facts::tick_ns().unwrap_or(0);
    let spin_ns = tick_ns * u64::from(perturbation.spin_tick_millionths) / 1_000_000;
    let end_ns = clock::monotonic_ns() + spin_ns;
    while clock::monotonic_ns() < end_ns {
        std::hint::spin_loop();
    }
}

/// Sends a file, or all files below a directory, in order; skips a place where nothing was written.
fn send_below(place: &Path, port: &mut Port) -> Result<(), Failure> {
    let said = |e: io::Error| format!("{}: {e}", place.display());
    let Ok(metadata) = fs::metadata(place) else { return Ok(()) };
    if !metadata.is_dir() {
        let path = place.to_str().ok_or_else(|| format!("{} is not UTF-8", place.display()))?.to_owned();
        let content = fs::read(place).map_err(said)?;
        if content.len() >= crate::frame::MAX_FILE_BYTES {
            return Err(format!("{path} is too large to be sent: {} bytes", content.len()));
        }
        return port.send(&Frame::File { path, content }).map_err(said);
    }
    let mut names: Vec<_> = fs::read_dir(place).map_err(said)?.flatten().map(|e| e.file_name()).collect();
    names.sort_unstable();
    names.iter().try_for_each(|name| send_below(&place.join(name), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_process_is_init_and_only_by_that_name() {
        let role = |pid, name: &str| Role::of(pid, Some(OsStr::new(name)));
        assert_eq!(role(1, "/init"), Some(Role::Init));
        assert_eq!(role(77, "/sbin/modprobe"), Some(Role::Modprobe));
        for (pid, name) in [(1, "/bin/schedlab"), (2, "/init"), (1, "modprobe"), (3, "schedlab"), (1, "")] {
            assert_eq!(role(pid, name), None, "{pid} {name}");
        }
        assert_eq!(Role::of(1, None), None);
    }
}
