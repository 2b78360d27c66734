//! The processes of a program, found by a word in their environment: every process inherits it on fork, and keeps it
//! when it leaves its parent, its process group or its session. Also the network namespaces of these processes, by
//! their inodes in /proc.

use schedlab_sys::clock::{cpu_ns_of, monotonic_ns, sleep_until_ns};
use schedlab_sys::signal;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const VARIABLE: &str = "SCHEDLAB_SHOW";

/// A word that no other program on this machine has in its environment.
#[derive(Debug, Clone)]
pub struct Mark(String);

/// A process as /proc shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// When it started, clock ticks since boot: distinguishes it from a later process of the same id.
    pub started: u64,
    /// Its command line.
    pub words: Vec<String>,
    /// Its network namespace; `None` if not permitted to look.
    pub net: Option<String>,
}

impl Mark {
    /// A new one.
    pub fn new() -> Self {
        Self(format!("{}-{}", std::process::id(), monotonic_ns()))
    }

    /// Sets it on a program that will be started, and so on all its descendants.
    pub fn put_on(&self, command: &mut Command) {
        command.env(VARIABLE, &self.0);
    }

    /// The word itself: letters, digits and a dash.
    pub fn word(&self) -> &str {
        &self.0
    }

    /// All live processes with the mark, parents before children; a zombie is not alive.
    pub fn alive(&self) -> Vec<Process> {
        let carried = format!("{VARIABLE}={}", self.0);
        let carries = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|entry| entry == carried.as_bytes())
        };
        by_descent(all_pids().filter(carries).filter_map(read).collect())
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

impl Process {
    /// Whether it is still alive: it exists, is not a zombie, and has not been replaced by another process with its id.
    pub fn is_alive(&self) -> bool {
        read_stat(self.pid).is_some_and(|stat| stat.started == self.started && stat.is_alive())
    }
}

fn all_pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// `None` if it has ended or is a zombie.
fn read(pid: u32) -> Option<Process> {
    let stat = read_stat(pid).filter(Stat::is_alive)?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line.split(|&byte| byte == 0).filter(|word| !word.is_empty());
    let words = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    Some(Process { pid, parent: stat.parent, started: stat.started, words, net: net_namespace(pid) })
}

/// Fields of /proc/<pid>/stat.
struct Stat {
    state: char,
    parent: u32,
    started: u64,
}

impl Stat {
    fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }

    /// The name is in parentheses and may contain anything, including parentheses. After it, field n of proc(5) is at n
    /// - 3.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_whitespace().collect();
        let field = |n: usize| fields.get(n - 3);
        Some(Self {
            state: field(3)?.chars().next()?,
            parent: field(4)?.parse().ok()?,
            started: field(22)?.parse().ok()?,
        })
    }
}

fn read_stat(pid: u32) -> Option<Stat> {
    Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Sorts each process after its parent, if that is in the list, otherwise by age.
fn by_descent(mut processes: Vec<Process>) -> Vec<Process> {
    processes.sort_by_key(|process| (process.started, process.pid));
    let mut sorted: Vec<Process> = Vec::with_capacity(processes.len());
    while !processes.is_empty() {
        let waits = |process: &Process| processes.iter().any(|other| other.pid == process.parent);
        // Parents cannot form a circle; if two reads disagree so, the oldest goes first.
        let next = processes.iter().position(|process| !waits(process)).unwrap_or(0);
        sorted.push(processes.remove(next));
    }
    sorted
}

/// `net:[4026531840]`.
fn net_namespace(pid: u32) -> Option<String> {
    let link = fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
    Some(link.to_str()?.to_owned())
}

/// The network namespaces of these processes that are not ours.
pub fn own_namespaces(processes: &[Process]) -> BTreeSet<String> {
    let ours = net_namespace(std::process::id());
    processes.iter().filter_map(|process| process.net.clone()).filter(|net| Some(net) != ours.as_ref()).collect()
}

/// Which of these namespaces are still kept, by a process in it or by a name (a mount of ours), and which devices in
/// our own namespace have a name used in a stream's pair. The devices of a namespace and their queues end with it.
pub fn kept_network(namespaces: &BTreeSet<String>) -> Vec<String> {
    let mut kept = Vec::new();
    if !namespaces.is_empty() {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let in_use: BTreeSet<String> = all_pids().filter_map(net_namespace).collect();
        let is_kept = |net: &&String| in_use.contains(*net) || mounts.contains(net.as_str());
        kept.extend(namespaces.iter().filter(is_kept).map(|net| format!("namespace {net}")));
    }
    let devices = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = devices.map(|device| device.file_name().to_string_lossy().into_owned());
    kept.extend(names.filter(|name| name.starts_with("stream-")).map(|name| format!("device {name}")));
    kept
}

/// The process below `root` that uses most CPU time in the next `over_ns`, and how much, ns; `None` if there is none.
pub fn busiest_below(root: u32, over_ns: u64) -> Option<(u32, u64)> {
    let below = &family(root)[1..];
    let used = |pid: &u32| cpu_ns_of(*pid).ok();
    let before: Vec<Option<u64>> = below.iter().map(used).collect();
    sleep_until_ns(monotonic_ns() + over_ns);
    let gained = below.iter().zip(before).filter_map(|(pid, before)| Some((*pid, used(pid)? - before?)));
    gained.max_by_key(|&(_, ns)| ns)
}

/// SIGKILLs a child of ours that has not been waited for, and all below it.
pub fn kill_family(root: u32) {
    for pid in family(root) {
        let _ = signal::kill(pid, signal::SIGKILL);
    }
}

fn family(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let tasks = fs::read_dir(format!("/proc/{root}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|pid| pid.parse().ok()).flat_map(family));
    }
    all
}

/// Waits until a process listens on a TCP port of this machine; `false` after `limit_ns`.
pub fn wait_for_listener(port: u16, limit_ns: u64) -> bool {
    let give_up = monotonic_ns() + limit_ns;
    while monotonic_ns() < give_up {
        if ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|table| listens(Path::new(table), port)) {
            return true;
        }
        sleep_until_ns(monotonic_ns() + 5_000_000);
    }
    false
}

/// Rows `sl local_address rem_address st`, the port in hexadecimal, `0A` is LISTEN.
fn listens(table: &Path, port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    let text = fs::read_to_string(table).unwrap_or_default();
    text.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields[..], [_, local, _, "0A", ..] if local.ends_with(&wanted))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn a_marked_program_and_what_descends_from_it_is_found_until_it_is_gone() {
        let mark = Mark::new();
        let mut command = Command::new("sh");
        mark.put_on(command.args(["-c", "sleep 71 & exec sleep 72"]).stdout(Stdio::null()));
        let mut shell = command.spawn().unwrap();
        let give_up = monotonic_ns() + 10_000_000_000;
        let words = |process: &Process| process.words.join(" ");
        let both = loop {
            let found = mark.alive();
            if found.iter().map(words).collect::<Vec<_>>() == ["sleep 72", "sleep 71"] {
                break found;
            }
            assert!(monotonic_ns() < give_up, "{found:?}");
        };
        assert_eq!((both[0].pid, both[1].parent), (shell.id(), shell.id()), "the parent comes first");
        assert!(own_namespaces(&both).is_empty(), "they are in our own namespace");
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(!both[0].is_alive() && both[1].is_alive(), "an orphan is found too");
        assert_eq!(mark.alive().len(), 1);
        signal::kill(both[1].pid, signal::SIGKILL).unwrap();
        while both[1].is_alive() {
            assert!(monotonic_ns() < give_up);
        }
        assert!(mark.alive().is_empty() && Mark::new().alive().is_empty());
    }

    #[test]
    fn a_name_with_brackets_is_read_whole() {
        let stat = Stat::parse("7 (a) S (b) Z 3 1 1 0 -1 4194304 10 20 0 0 1 2 30 40 20 0 1 0 98765 4096").unwrap();
        assert_eq!((stat.state, stat.parent, stat.started), ('Z', 3, 98_765));
        assert!(Stat::parse("7 (cut) S 3").is_none());
    }

    #[test]
    fn a_listening_port_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(wait_for_listener(port, 1_000_000_000));
        drop(listener);
        // A child that another test forks at this moment has a copy of the listener until its exec.
        let give_up = monotonic_ns() + 10_000_000_000;
        while listens(Path::new("/proc/net/tcp"), port) {
            assert!(monotonic_ns() < give_up, "port {port} is still listed");
            sleep_until_ns(monotonic_ns() + 5_000_000);
        }
    }

    #[test]
    fn a_namespace_that_somebody_is_in_is_kept() {
        let ours = net_namespace(std::process::id()).unwrap();
        assert_eq!(kept_network(&[ours.clone()].into()), [format!("namespace {ours}")]);
        assert!(kept_network(&["net:[1]".to_owned()].into()).is_empty());
    }
}
