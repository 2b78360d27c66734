//! Which events are read, by the kernel's names for them.

/// An event of the kernel that the model knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // Each is the kernel's event of that name.
pub enum Kind {
    SchedSwitch,
    SchedWaking,
    SchedWakeup,
    SchedWakeupNew,
    SchedMigrateTask,
    SchedStatRuntime,
    SchedPiSetprio,
    SchedProcessFork,
    SchedProcessExit,
    SchedProcessExec,
    TaskNewtask,
    TaskRename,
    IrqHandlerEntry,
    IrqHandlerExit,
    SoftirqRaise,
    SoftirqEntry,
    SoftirqExit,
    WorkqueueQueueWork,
    WorkqueueActivateWork,
    WorkqueueExecuteStart,
    WorkqueueExecuteEnd,
    CpuIdle,
    SysEnter,
    SysExit,
    CgroupAttachTask,
}

impl Kind {
    /// Every event with its system and name.
    pub const ALL: [(Self, &'static str, &'static str); 25] = [
        (Self::SchedSwitch, "sched", "sched_switch"),
        (Self::SchedWaking, "sched", "sched_waking"),
        (Self::SchedWakeup, "sched", "sched_wakeup"),
        (Self::SchedWakeupNew, "sched", "sched_wakeup_new"),
        (Self::SchedMigrateTask, "sched", "sched_migrate_task"),
        (Self::SchedStatRuntime, "sched", "sched_stat_runtime"),
        (Self::SchedPiSetprio, "sched", "sched_pi_setprio"),
        (Self::SchedProcessFork, "sched", "sched_process_fork"),
        (Self::SchedProcessExit, "sched", "sched_process_exit"),
        (Self::SchedProcessExec, "sched", "sched_process_exec"),
        (Self::TaskNewtask, "task", "task_newtask"),
        (Self::TaskRename, "task", "task_rename"),
        (Self::IrqHandlerEntry, "irq", "irq_handler_entry"),
        (Self::IrqHandlerExit, "irq", "irq_handler_exit"),
        (Self::SoftirqRaise, "irq", "softirq_raise"),
        (Self::SoftirqEntry, "irq", "softirq_entry"),
        (Self::SoftirqExit, "irq", "softirq_exit"),
        (Self::WorkqueueQueueWork, "workqueue", "workqueue_queue_work"),
        (Self::WorkqueueActivateWork, "workqueue", "workqueue_activate_work"),
        (Self::WorkqueueExecuteStart, "workqueue", "workqueue_execute_start"),
        (Self::WorkqueueExecuteEnd, "workqueue", "workqueue_execute_end"),
        (Self::CpuIdle, "power", "cpu_idle"),
        (Self::SysEnter, "raw_syscalls", "sys_enter"),
        (Self::SysExit, "raw_syscalls", "sys_exit"),
        (Self::CgroupAttachTask, "cgroup", "cgroup_attach_task"),
    ];

    /// The event of a system and a name.
    pub fn of(system: &str, name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, s, n)| *n == name && *s == system).map(|(kind, ..)| kind)
    }

    /// The event of a name alone, as text traces give it; a name belongs to one system.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, _, n)| *n == name).map(|(kind, ..)| kind)
    }

    /// Of the systems `sched` and `task`: what the state machine follows.
    pub fn is_of_tasks(self) -> bool {
        matches!(Self::ALL[self as usize].1, "sched" | "task")
    }

    /// The kernel's name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].2
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u32);

impl Kinds {
    /// Every kind.
    pub const ALL: Self = Self((1 << Kind::ALL.len()) - 1);

    /// What the waits of threads are told by. `sched_stat_runtime` is left out: 40 % of what `perf sched record` writes,
    /// and run times follow from the switches.
    pub const TASKS: Self = Self(0b1_1111 | 0b1_1111 << 7);

    /// These.
    pub fn of(kinds: &[Kind]) -> Self {
        Self(kinds.iter().fold(0, |set, kind| set | 1 << *kind as u8))
    }

    /// These too.
    #[must_use]
    pub fn with(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Whether it is one of them.
    pub fn has(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// The kinds, in order.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().map(|(kind, ..)| kind).filter(move |kind| self.has(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_kinds() {
        for (at, (kind, system, name)) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at);
            assert_eq!((Kind::of(system, name), Kind::of_name(name), kind.name()), (Some(kind), Some(kind), name));
        }
        assert_eq!(Kind::of("power", "sched_switch"), None);
        assert_eq!(Kinds::ALL.iter().count(), Kind::ALL.len());
    }

    #[test]
    fn the_events_of_tasks_are_named() {
        use Kind::*;
        let tasks = [
            SchedSwitch,
            SchedWaking,
            SchedWakeup,
            SchedWakeupNew,
            SchedMigrateTask,
            SchedProcessFork,
            SchedProcessExit,
            SchedProcessExec,
            TaskNewtask,
            TaskRename,
        ];
        assert_eq!(Kinds::TASKS, Kinds::of(&tasks));
        assert!(Kinds::TASKS.with(CpuIdle).has(CpuIdle) && !Kinds::TASKS.has(CpuIdle));
    }
}
