//! A process tree as /proc shows it: parents and children, and how much CPU time the living processes have used
//! together with the dead ones that they waited for. The root of the tree is a subreaper, so no process leaves it by
//! daemonizing.

use schedlab_sys::kernel_facts;
use std::collections::BTreeSet;
use std::path::Path;

/// The used fields of one line of /proc/<pid>/stat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// 15 bytes at most.
    pub(crate) comm: String,
    /// `Z`: ended but not yet waited for.
    pub(crate) state: char,
    /// User and system time of its threads, ticks.
    own_ticks: u64,
    /// The same for the children that it has waited for.
    waited_ticks: u64,
}

/// Parses the text of /proc/<pid>/stat; the name may contain anything, even `)`.
fn parse(text: &str) -> Option<Process> {
    let (pid, rest) = text.split_once(" (")?;
    let (comm, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // proc(5): the state is field 3, so field n is at n - 3; utime 14, stime 15, cutime 16, cstime 17.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Process {
        pid: pid.parse().ok()?,
        parent: number(4)? as u32,
        comm: comm.to_owned(),
        state: fields.first()?.chars().next()?,
        own_ticks: number(14)? + number(15)?,
        waited_ticks: number(16)? + number(17)?,
    })
}

/// Every process of the machine that we can read.
pub(crate) fn processes(proc_root: &Path) -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir(proc_root) else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| parse(&std::fs::read_to_string(proc_root.join(format!("{pid}/stat"))).ok()?)).collect()
}

/// The descendants of `root`, parents before children; without `root` itself, and without `except` and their
/// descendants.
pub(crate) fn descendants(all: &[Process], root: u32, except: &BTreeSet<u32>) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for child in all.iter().filter(|p| p.parent == parent && p.pid != root && !except.contains(&p.pid)) {
            // A pid that was reused between two reads could make a cycle.
            if found.iter().all(|seen| seen.pid != child.pid) {
                open.push(child.pid);
                found.push(child.clone());
            }
        }
    }
    found
}

/// CPU time of these processes and of the children that they have waited for, ns. Its resolution is a tick of 10 ms;
/// schedstat is finer, and is used if all threads of a process are still alive.
pub(crate) fn cpu_ns(proc_root: &Path, processes: &[Process]) -> u64 {
    let tick_ns = 1_000_000_000 / kernel_facts::user_hz();
    let one = |process: &Process| {
        let own_ns = (process.own_ticks * tick_ns).max(schedstat_ns(proc_root, process.pid));
        own_ns + process.waited_ticks * tick_ns
    };
    processes.iter().map(one).sum()
}

fn schedstat_ns(proc_root: &Path, pid: u32) -> u64 {
    let Ok(threads) = std::fs::read_dir(proc_root.join(format!("{pid}/task"))) else { return 0 };
    let run_ns = |thread: std::fs::DirEntry| read_schedstat(&thread.path()).map(|[run_ns, ..]| run_ns);
    threads.flatten().filter_map(run_ns).sum()
}

/// `run_ns run_delay_ns timeslices` from the task's directory (CONFIG_SCHED_INFO).
pub(crate) fn read_schedstat(task: &Path) -> Option<[u64; 3]> {
    let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
    let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, comm: &str, parent: u32, ticks: [u64; 4]) -> String {
        let [user, system, children_user, children_system] = ticks;
        format!(
            "{pid} ({comm}) S {parent} 1 1 0 -1 4194304 10 20 0 0 {user} {system} {children_user} {children_system} 20 0 1"
        )
    }

    #[test]
    fn a_name_with_brackets_and_blanks_is_read_whole() {
        let process = parse(&stat(7, "a) S (b", 3, [1, 2, 30, 40])).unwrap();
        assert_eq!((process.pid, process.parent, process.comm.as_str(), process.state), (7, 3, "a) S (b", 'S'));
        assert_eq!((process.own_ticks, process.waited_ticks), (3, 70));
        assert_eq!(parse("7 (cut"), None);
        assert_eq!(parse("7 (cut) S 3"), None);
    }

    /// ```text
    /// 1 ─ 10 ─ 11 ─ 12        root 10, kept 13
    ///       ├─ 13 ─ 14
    /// 20    └─ 15
    /// ```
    #[test]
    fn descendants_stop_at_those_that_are_kept() {
        let drawn = [(10, 1), (11, 10), (12, 11), (13, 10), (14, 13), (15, 10), (20, 1)];
        let all: Vec<Process> = drawn.iter().map(|&(pid, of)| parse(&stat(pid, "x", of, [0; 4])).unwrap()).collect();
        let pids = |root, except: &[u32]| {
            let except = except.iter().copied().collect();
            descendants(&all, root, &except).iter().map(|p| p.pid).collect::<BTreeSet<_>>()
        };
        assert_eq!(pids(10, &[13]), [11, 12, 15].into());
        assert_eq!(pids(10, &[]), [11, 12, 13, 14, 15].into());
        assert_eq!(pids(12, &[]), [].into());
    }

    #[test]
    fn the_dead_that_were_waited_for_still_count() {
        let root = std::env::temp_dir().join(format!("schedlab-tree-{}", std::process::id()));
        let task = root.join("5/task/5");
        std::fs::create_dir_all(&task).unwrap();
        std::fs::write(root.join("5/stat"), stat(5, "x", 1, [1, 1, 10, 0])).unwrap();
        std::fs::write(task.join("schedstat"), "25000000 7 3\n").unwrap();
        let found = processes(&root);
        let used = cpu_ns(&root, &found);
        std::fs::remove_dir_all(&root).unwrap();
        // 25 ms from schedstat instead of two ticks of 10 ms, and ten ticks of children that were waited for.
        assert_eq!((found.len(), used), (1, 125_000_000));
    }
}
