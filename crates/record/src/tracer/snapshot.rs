//! Every thread of the machine, from /proc and sched_getattr(2): information that no event contains.

use schedlab_plan::InOrder;
use schedlab_sys::{kernel_facts, sched_attr};
use schedlab_trace::recording::ThreadState;
use std::path::Path;

/// The bit in a task's flags that marks a kernel thread (include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;

/// All threads, by id. A thread that ends while it is read is left out.
pub(super) fn threads(proc: &Path) -> Vec<ThreadState> {
    let numbers = |dir: &Path| -> Vec<u32> {
        let listing = std::fs::read_dir(dir).into_iter().flatten().flatten();
        listing.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let mut threads = Vec::new();
    for pid in numbers(proc) {
        let tasks = proc.join(pid.to_string()).join("task");
        for tid in numbers(&tasks) {
            threads.extend(thread(&tasks.join(tid.to_string()), pid, tid));
        }
    }
    threads.in_order_by_key(|thread| thread.tid);
    threads
}

fn thread(dir: &Path, pid: u32, tid: u32) -> Option<ThreadState> {
    let read = |file: &str| std::fs::read(dir.join(file)).map(|b| String::from_utf8_lossy(&b).into_owned());
    let stat = Stat::parse(&read("stat").ok()?)?;
    let attr = sched_attr::get(tid).ok();
    let allowed = read("status").ok().and_then(|text| field(&text, "Cpus_allowed_list:").map(str::to_owned));
    let cgroup = read("cgroup").map(|text| cpu_group(&text).to_owned()).unwrap_or_default();
    Some(ThreadState {
        tid,
        pid,
        start_boot_ns: stat.start_ticks.saturating_mul(1_000_000_000 / kernel_facts::user_hz()),
        comm: stat.comm,
        kernel: stat.flags & PF_KTHREAD != 0,
        policy: stat.policy,
        // The kernel shows the priority less 100 (fs/proc/array.c, task_prio).
        prio: (stat.priority + 100).clamp(-1, 140) as i16,
        nice: stat.nice,
        slice_ns: attr.map_or(0, |attr| attr.runtime_ns),
        cpus_allowed: allowed.unwrap_or_default(),
        cgroup,
    })
}

fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim)
}

/// The number of the hierarchy whose groups a snapshot contains, in the numbering of `cgroup_attach_task`.
pub(super) fn cpu_hierarchy(proc: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(proc.join("self/cgroup")).ok()?;
    cpu_line(&text)?.split(':').next()?.parse().ok()
}

/// Path of the group that holds the cpu controller, else of the unified hierarchy.
fn cpu_group(text: &str) -> &str {
    cpu_line(text).and_then(|line| line.splitn(3, ':').nth(2)).unwrap_or_default()
}

fn cpu_line(text: &str) -> Option<&str> {
    let has_cpu = |line: &&str| line.split(':').nth(1).is_some_and(|c| c.split(',').any(|c| c == "cpu"));
    text.lines().find(has_cpu).or_else(|| text.lines().find(|l| l.starts_with("0::")))
}

/// Fields of /proc/PID/stat, proc(5).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    comm: String,
    flags: u64,
    priority: i64,
    nice: i8,
    start_ticks: u64,
    policy: u8,
}

impl Stat {
    /// A name may contain spaces and parentheses, so fields are counted from the last parenthesis.
    fn parse(text: &str) -> Option<Self> {
        let (open, close) = (text.find('(')?, text.rfind(')')?);
        let comm = text.get(open + 1..close)?.to_owned();
        let fields: Vec<&str> = text.get(close + 1..)?.split_whitespace().collect();
        // The first field after the name is field 3, the state.
        let number = |at: usize| fields.get(at - 3)?.parse::<i64>().ok();
        Some(Self {
            comm,
            flags: number(9)? as u64,
            priority: number(18)?,
            nice: number(19)?.try_into().ok()?,
            start_ticks: number(22)?.try_into().ok()?,
            policy: number(41)?.try_into().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "2 (a) b (c)) S 0 0 0 0 -1 2129984 0 0 0 0 0 33 0 0 -100 -20 1 0 57 0 0 18446744073709551615 0 0 0 0 \
        0 0 0 2147483647 0 0 0 0 17 1 99 1 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn a_name_may_hold_anything_and_the_fields_are_those_of_proc() {
        let stat = Stat::parse(STAT).unwrap();
        assert_eq!(stat.comm, "a) b (c)");
        assert_eq!((stat.flags, stat.priority, stat.nice), (2_129_984, -100, -20));
        assert_eq!((stat.start_ticks, stat.policy), (57, 1));
        assert_eq!(Stat::parse("2 (a"), None);
        assert_eq!(Stat::parse("2 (a) S 1"), None);
    }

    #[test]
    fn the_group_of_the_cpu_controller_is_named() {
        assert_eq!(cpu_group("4:memory:/a\n1:cpu,cpuacct:/b:c\n0::/d\n"), "/b:c");
        assert_eq!(cpu_group("0::/user.slice\n"), "/user.slice");
        assert_eq!(cpu_line("4:memory:/a\n1:cpu,cpuacct:/b:c\n0::/d\n"), Some("1:cpu,cpuacct:/b:c"));
        assert_eq!(cpu_group(""), "");
    }

    #[test]
    fn this_thread_is_among_those_of_the_machine() {
        let all = threads(Path::new("/proc"));
        let mine = all.iter().find(|t| t.tid == schedlab_sys::thread::current_tid()).expect("we run");
        assert_eq!((mine.pid, mine.kernel), (std::process::id(), false));
        assert!(!mine.comm.is_empty() && !mine.cpus_allowed.is_empty() && (99..=140).contains(&mine.prio));
        assert!(all.is_sorted_by_key(|t| t.tid));
    }
}
