//! The limits that a workload's tasks must stay within, read before anything starts.

use crate::error::BenchError;
use crate::workload::Workload;
use schedlab_sys::rlimit::{self, Resource};
use std::path::Path;

/// Limits of this process and machine; `u64::MAX` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// RLIMIT_NOFILE, once raised to its hard limit.
    pub open_files: u64,
    /// RLIMIT_NPROC, once raised; unlimited for root, for whom the kernel does not enforce it.
    pub processes: u64,
    /// kernel.pid_max.
    pub pid_max: u64,
    /// kernel.threads-max.
    pub threads_max: u64,
}

impl Limits {
    /// Raises NOFILE and NPROC to their hard limits and reads all limits; `proc_root` is `/proc`.
    pub fn raise_and_read(proc_root: &Path) -> Result<Self, BenchError> {
        rlimit::raise_to_hard(Resource::OpenFiles).map_err(BenchError::io("raising RLIMIT_NOFILE"))?;
        rlimit::raise_to_hard(Resource::Processes).map_err(BenchError::io("raising RLIMIT_NPROC"))?;
        Self::of_a_trial(proc_root)
    }

    /// The result that [`Self::raise_and_read`] will have in the trial's own process. The calling process does not
    /// raise its limits, because every trial and every command in it would inherit them.
    pub fn of_a_trial(proc_root: &Path) -> Result<Self, BenchError> {
        let files = rlimit::read(Resource::OpenFiles).map_err(BenchError::io("reading RLIMIT_NOFILE"))?;
        let processes = rlimit::read(Resource::Processes).map_err(BenchError::io("reading RLIMIT_NPROC"))?;
        let sysctl = |name: &str| -> u64 {
            let text = std::fs::read_to_string(proc_root.join("sys/kernel").join(name)).unwrap_or_default();
            text.trim().parse().unwrap_or(u64::MAX)
        };
        let root = std::fs::read_to_string(proc_root.join("self/status")).is_ok_and(|status| {
            status
                .lines()
                .any(|line| line.strip_prefix("Uid:").is_some_and(|ids| ids.split_whitespace().next() == Some("0")))
        });
        Ok(Self {
            open_files: files.hard,
            processes: if root { u64::MAX } else { processes.hard },
            pid_max: sysctl("pid_max"),
            threads_max: sysctl("threads-max"),
        })
    }

    /// Whether `tasks` tasks, and `open_files` descriptors in one process, fit; `what` describes them in the error.
    pub(crate) fn fit(
        &self,
        workload: &'static str,
        what: &str,
        tasks: u64,
        open_files: u64,
    ) -> Result<(), BenchError> {
        // Room for other processes: a workload that uses up all pids would make the machine unusable.
        const SPARE_TASKS: u64 = 300;
        const SPARE_FILES: u64 = 64;
        let over = |unit: &str, (needed, spare), limit, name: &str, fix| {
            let (what, source_of_limit) = (format!("{what} ({unit})"), name.to_owned());
            Err(BenchError::OverLimit { workload, what, needed, spare, limit, source_of_limit, fix })
        };
        for (limit, name, fix) in [
            (self.processes, "RLIMIT_NPROC", "use fewer tasks or raise `ulimit -u`"),
            (self.pid_max, "kernel.pid_max", "use fewer tasks or raise the sysctl"),
            (self.threads_max, "kernel.threads-max", "use fewer tasks or raise the sysctl"),
        ] {
            if tasks.saturating_add(SPARE_TASKS) > limit {
                return over("processes", (tasks, SPARE_TASKS), limit, name, fix);
            }
        }
        if open_files.saturating_add(SPARE_FILES) > self.open_files {
            let fix = "use fewer tasks or raise `ulimit -n`";
            return over("file descriptors", (open_files, SPARE_FILES), self.open_files, "RLIMIT_NOFILE", fix);
        }
        Ok(())
    }
}

/// The number of tasks of a workload: what it needs of a machine that allows none. 0 if that is not known.
pub fn tasks(workload: &dyn Workload) -> u64 {
    let none = Limits { open_files: u64::MAX, processes: 0, pid_max: u64::MAX, threads_max: u64::MAX };
    match workload.check(&none) {
        Err(BenchError::OverLimit { needed, .. }) => needed,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_of_a_workload_are_counted() {
        for (text, number) in [("pipe:copies=4", 8), ("messaging:5x50,groups=2", 110), ("burn:3", 3), ("timer", 1)] {
            assert_eq!(tasks(crate::parse(&text.parse().unwrap()).unwrap().as_ref()), number, "{text}");
        }
    }

    #[test]
    fn a_herd_over_a_limit_is_refused_in_one_line() {
        let limits = Limits { open_files: 1024, processes: 10_000, pid_max: 32768, threads_max: 60_000 };
        assert!(limits.fit("messaging", "10 groups × 40 tasks", 400, 300).is_ok());
        let error = limits.fit("messaging", "1000 groups × 40 tasks", 40_000, 300).unwrap_err().to_string();
        assert!(error.contains("1000 groups × 40 tasks") && error.contains("RLIMIT_NPROC"), "{error}");
        let small = Limits { pid_max: 283, ..limits };
        let error = small.fit("pipe", "1 pair", 2, 9).unwrap_err().to_string();
        assert!(error.contains("need 2 and leave 300 to others, over the limit of 283 (kernel.pid_max)"), "{error}");
        let error = limits.fit("messaging", "60 groups × 40 tasks", 2_400, 2_500).unwrap_err().to_string();
        assert!(error.contains("RLIMIT_NOFILE") && error.contains("1024"), "{error}");
    }

    #[test]
    fn the_machines_own_limits_can_be_read() {
        let limits = Limits::raise_and_read(Path::new("/proc")).unwrap();
        assert!(limits.pid_max >= 300 && limits.open_files >= 256);
    }
}
